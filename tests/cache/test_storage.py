"""Volumes and claims by name and by what is asked for; who uses them; what nodes can have of them."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given
from tests.objects import make_node, make_pod
from tests.volumes_kit import (
    DRIVER,
    clusters,
    make_attachment,
    make_claim,
    make_csi_node,
    make_volume,
    pod_with,
)

from moorage.cache import ClusterCache
from moorage.model import (
    CSIStorageCapacity,
    Node,
    ObjectMeta,
    PersistentVolume,
    PodInfo,
    StorageObject,
    VolumeAttachment,
)

NO_LIMIT = 2**63 - 1


def cluster_of(*nodes: str) -> ClusterCache:
    """Make a cluster of nodes by name."""
    cluster = ClusterCache()
    for name in nodes:
        cluster.set_node(make_node(name))
    return cluster


@given(drawn=clusters(), gone=st.lists(st.booleans(), min_size=40, max_size=40))
def test_indexes_and_counts_equal_a_recount(
    drawn: tuple[list[Node], list[PodInfo], list[StorageObject], PodInfo],
    gone: list[bool],
) -> None:
    """After objects and pods have come, changed and gone in any order."""
    nodes, pods, objects, _ = drawn
    cluster = ClusterCache()
    for node in nodes:
        cluster.set_node(node)
    for item in (*objects, *objects):
        cluster.storage.put(item)
    for pod in pods:
        cluster.add_pod(pod)
    cluster.check_invariants()
    for item, goes in zip(objects, gone, strict=False):
        if goes:
            cluster.storage.drop(type(item), item.metadata.name, item.metadata.namespace)
    for pod, goes in zip(pods, gone, strict=False):
        if goes:
            cluster.remove_pod(pod.uid)

    cluster.check_invariants()


def test_volumes_attachments_and_room_are_found_by_what_is_asked_for() -> None:
    """An object that changes place is found in its new one alone."""
    storage = cluster_of().storage
    room = CSIStorageCapacity(metadata=ObjectMeta(name="r", namespace="ns"), storage_class_name="a")

    storage.put(make_volume("v", class_name="a"))
    storage.put(make_volume("v", class_name="b"))
    storage.put(make_attachment("x", node="n0", volume="v"))
    storage.put(make_attachment("x", node="n1", volume="v"))
    storage.put(room)

    assert [one.metadata.name for one in storage.volumes_of_class("b")] == ["v"]
    assert storage.volumes_of_class("a") == []
    assert storage.nodes_with_attachments == {"n1": 1}
    assert storage.capacities_of_class("a") == [room]


def test_every_change_is_counted_and_told() -> None:
    """By the fact of its kind; a listener hears of it while it listens."""
    cluster = cluster_of()
    heard: list[str] = []

    with cluster.storage.telling(lambda: heard.append("changed")):
        cluster.storage.put(make_volume("v"))
        cluster.storage.put(make_claim("c"))
        cluster.storage.drop(PersistentVolume, "v")
        cluster.storage.drop(PersistentVolume, "unknown")
    cluster.storage.put(make_claim("d"))

    assert heard == ["changed"] * 3
    assert (cluster.facts["volumes"], cluster.facts["claims"]) == (2, 2)


def test_users_of_a_claim_are_those_on_nodes_assumed_or_not() -> None:
    """In its namespace."""
    cluster = cluster_of("n0")
    bound, assumed = pod_with("bound", "c", node="n0"), pod_with("assumed", "c", "d")
    cluster.add_pod(bound)
    cluster.assume(assumed, 0)

    both = {info.uid for info in cluster.volume_users.of_claim("ns", "c")}
    cluster.forget(assumed.uid)

    assert both == {bound.uid, assumed.uid}
    assert [info.uid for info in cluster.volume_users.of_claim("ns", "c")] == [bound.uid]
    assert list(cluster.volume_users.of_claim("elsewhere", "c")) == []


def test_a_view_counts_volumes_with_hypothetical_pods() -> None:
    """Each use counts; pods without volumes count nothing."""
    cluster = cluster_of("n0", "n1")
    there, more = pod_with("there", "c", "d", node="n0"), pod_with("more", "c")
    cluster.add_pod(there)
    view = cluster.view()

    changed = view.overlay(added=[(1, more), (1, make_pod("plain"))], removed=[(0, there)])

    assert view.volume_counts.tolist() == [2, 0]
    assert changed.volume_counts.tolist() == [0, 1]


def test_a_view_knows_what_drivers_say_of_its_nodes() -> None:
    """Also of nodes that come after it was said, and in rows that are recycled."""
    cluster = cluster_of("n0", "n1")
    cluster.storage.put(make_csi_node("n1", {DRIVER: 3, "other": None}))
    cluster.storage.put(make_csi_node("late", {DRIVER: 0}))
    before = cluster.view().volume_limits(DRIVER)
    cluster.remove_node("n0")
    cluster.set_node(make_node("late"))
    after = cluster.view().volume_limits(DRIVER)

    assert before is not None
    assert after is not None
    names = cluster.view().names()
    assert before.tolist() == [NO_LIMIT, 3]
    assert dict(zip(names, after.tolist(), strict=True)) == {"late": 0, "n1": 3}
    assert cluster.view().volume_limits("other") is None


def test_a_view_counts_attachments() -> None:
    """To nodes that there are."""
    cluster = cluster_of("n0", "n1")
    for name, node in (("a", "n1"), ("b", "n1"), ("c", "gone")):
        cluster.storage.put(make_attachment(name, node=node, volume="v"))
    before = cluster.view().attachment_counts.tolist()

    cluster.storage.drop(VolumeAttachment, "a")

    assert before == [0, 2]
    assert cluster.view().attachment_counts.tolist() == [0, 1]
