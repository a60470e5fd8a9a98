"""The plugins about volumes by example: reasons, bad input, some hints."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.builtin.asking_about_storage import Asked, node, on_host
from tests.builtin.asking_plugins import assemble
from tests.objects import make_pod
from tests.volumes_kit import (
    DRIVER,
    ZONE,
    claim_volume,
    make_attachment,
    make_claim,
    make_class,
    make_csi_node,
    make_volume,
    pod_with,
)

import moorage
from moorage import CycleState, QueueingHint, Services, Verdict
from moorage.model import (
    ActionType,
    ClusterEvent,
    CSIDriver,
    CSIDriverSpec,
    CSIStorageCapacity,
    EventResource,
    LabelSelector,
    ObjectMeta,
    PersistentVolume,
    StorageObject,
    Volume,
)
from moorage.model.meta import OwnerReference
from moorage.model.pods import EphemeralSource

ALL = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")


# Pods without claims


@pytest.mark.parametrize("name", ALL)
def test_pods_without_claims_share_one_answer(name: str) -> None:
    """And it is Skip: they cost nothing."""
    asked = Asked(name, make_pod("p", volumes=(Volume(name="empty"),)), [node()])

    assert asked.call("sign", asked.info.pod, asked.info) == ()
    assert asked.pre_filter() == moorage.SKIP


@pytest.mark.parametrize("name", ALL)
def test_pods_with_claims_are_asked_about_one_by_one(name: str) -> None:
    """What is promised to others changes from one pod to the next."""
    asked = Asked(name, pod_with("p", "c"), [node()])

    assert asked.call("sign", asked.info.pod, asked.info) is None


# Bad input


@pytest.mark.parametrize("name", ALL)
def test_a_missing_claim_is_named(name: str) -> None:
    """And the pod comes back when that claim is made, but no other."""
    asked = Asked(name, pod_with("p", "c"), [node()])
    added = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD)

    (reasons,) = asked.reasons()

    assert reasons[0].endswith('persistentvolumeclaim "c" not found')
    assert asked.hint(added, None, make_claim("c")) == [QueueingHint.QUEUE]
    assert asked.hint(added, None, make_claim("other")) == [QueueingHint.SKIP]


def test_a_missing_class_is_named_with_its_claim() -> None:
    """And the pod comes back when a class is made."""
    asked = Asked("VolumeBinding", pod_with("p", "c"), [node()], make_claim("c", class_name="gone"))
    added = ClusterEvent(EventResource.STORAGE_CLASS, ActionType.ADD)

    (reasons,) = asked.reasons()

    (reason,) = reasons
    assert reason == (
        "pod has unbound immediate PersistentVolumeClaims "
        '(storageclass "gone" of persistentvolumeclaim "c" not found)'
    )
    assert asked.hint(added, None, make_class("gone")) == [QueueingHint.QUEUE]


def test_a_claim_that_the_controller_is_to_bind_at_once_is_waited_for() -> None:
    """In kube-scheduler's words; the update of the claim brings the pod back."""
    claim = make_claim("c", class_name="now")
    asked = Asked(
        "VolumeBinding", pod_with("p", "c"), [node()], claim, make_class("now", mode="Immediate")
    )
    updated = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.UPDATE_OTHER)

    assert asked.reasons() == [("pod has unbound immediate PersistentVolumeClaims",)]
    assert asked.hint(updated, claim, claim) == [QueueingHint.QUEUE]


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        pytest.param(
            make_claim("c", volume="v", phase="Lost"),
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
            id="lost",
        ),
        pytest.param(
            msgspec.structs.replace(
                make_claim("c"),
                metadata=msgspec.structs.replace(
                    make_claim("c").metadata, deletion_timestamp="2026-01-01T00:00:00Z"
                ),
            ),
            'persistentvolumeclaim "c" is being deleted',
            id="deleted",
        ),
    ],
)
def test_a_claim_that_is_going_is_named(claim: Any, reason: str) -> None:  # noqa: ANN401 - a record
    """No node would help."""
    asked = Asked("VolumeBinding", pod_with("p", "c"), [node()], claim, make_class("static"))

    assert asked.reasons() == [(reason,)]


def test_the_claim_of_an_ephemeral_volume_is_waited_for_and_must_be_the_pods_own() -> None:
    """It is named after pod and volume."""
    info = make_pod("p", volumes=(Volume(name="scratch", ephemeral=EphemeralSource()),))
    others = make_claim("p-scratch")
    owner = OwnerReference(kind="Pod", name="p", uid=info.uid, controller=True)
    own = msgspec.structs.replace(
        others, metadata=msgspec.structs.replace(others.metadata, owner_references=(owner,))
    )

    def asked(*objects: StorageObject) -> list[tuple[str, ...]]:
        return Asked("VolumeBinding", info, [node()], make_class("static"), *objects).reasons()

    assert asked() == [
        ('waiting for ephemeral volume controller to create the persistentvolumeclaim "p-scratch"',)
    ]
    assert asked(others) == [("PVC ns/p-scratch was not created for pod ns/p (pod is not owner)",)]
    assert asked(own) == [()]


# Volumes that are there, or are to be made


def test_the_smallest_volume_that_fits_is_chosen_on_each_node() -> None:
    """Of those that the node can reach."""
    asked = Asked(
        "VolumeBinding",
        pod_with("p", "c"),
        [node("n0"), node("n1"), node("n2")],
        make_class("static", provisioner="kubernetes.io/no-provisioner"),
        make_claim("c", size="4Gi"),
        make_volume("small", size="1Gi"),
        make_volume("large", size="20Gi", terms=on_host("n0", "n1")),
        make_volume("right", size="5Gi", terms=on_host("n0")),
    )
    plugin: Any = asked.framework.plugin("VolumeBinding")
    asked.pre_filter()

    for name, chosen in (("n0", "right"), ("n1", "large")):
        plugin.reserve(asked.state, asked.info.pod, name)
        assert [volume for volume, _ in asked.state["promised"].static] == [chosen]
        plugin.unreserve(asked.info.pod)
    assert asked.reasons()[2] == ("node(s) didn't find available persistent volumes to bind",)


def test_a_promised_volume_is_no_longer_there_for_others() -> None:
    """Also not for pods of other profiles: the promise is the process's."""
    services = Services()
    services.cluster.set_node(node())
    for item in (
        make_class("static", provisioner="kubernetes.io/no-provisioner"),
        make_volume("only"),
        make_claim("a"),
        make_claim("b"),
    ):
        services.cluster.storage.put(item)
    first: Any = assemble("VolumeBinding", services=services).plugin("VolumeBinding")
    second: Any = assemble("VolumeBinding", services=services).plugin("VolumeBinding")
    one, other = pod_with("one", "a").pod, pod_with("other", "b").pod
    state, other_state = CycleState(), CycleState()
    first.pre_filter(state, one)
    second.pre_filter(other_state, other)

    assert first.reserve(state, one, "n0") is None
    refused = second.filter_nodes(other_state, services.cluster.view()).tolist()
    first.unreserve(one)
    allowed = second.filter_nodes(other_state, services.cluster.view()).tolist()

    assert (refused, allowed) == ([2], [0])


def test_two_claims_of_a_pod_get_two_volumes() -> None:
    """The smaller claim chooses first, and both must be had on one node."""
    objects = (
        make_class("static", provisioner="kubernetes.io/no-provisioner"),
        make_claim("a", size="5Gi"),
        make_claim("b", size="1Gi"),
    )

    def reasons(*volumes: PersistentVolume) -> list[tuple[str, ...]]:
        return Asked(
            "VolumeBinding", pod_with("p", "a", "b"), [node()], *objects, *volumes
        ).reasons()

    assert reasons(make_volume("v", size="9Gi"))[0]
    assert reasons(make_volume("v", size="9Gi"), make_volume("w", size="1Gi")) == [()]


def test_room_and_topology_are_looked_at_where_a_volume_is_to_be_made() -> None:
    """The class's topology first, then what the driver says of its room."""
    room = CSIStorageCapacity(
        metadata=ObjectMeta(name="r", namespace="kube-system"),
        node_topology=LabelSelector(match_labels={ZONE: "z-a"}),
        storage_class_name="wait",
        capacity="2Gi",
    )
    asked = Asked(
        "VolumeBinding",
        pod_with("p", "c"),
        [node("n0", zone="z-a"), node("n1", zone="z-b"), node("n2", zone="z-c")],
        make_class("wait", zones=[["z-a", "z-b"]]),
        CSIDriver(metadata=ObjectMeta(name=DRIVER), spec=CSIDriverSpec(storage_capacity=True)),
        room,
        make_claim("c", class_name="wait"),
    )
    larger = msgspec.structs.replace(room, capacity="9Gi")
    updated = ClusterEvent(EventResource.CSI_STORAGE_CAPACITY, ActionType.UPDATE_OTHER)

    assert asked.reasons() == [
        (),
        ("node(s) did not have enough free storage",),
        ("node(s) didn't find available persistent volumes to bind",),
    ]
    assert asked.hint(updated, room, larger) == [QueueingHint.QUEUE]
    assert asked.hint(updated, larger, room) == [QueueingHint.SKIP]


def test_pods_that_want_claims_come_back_when_a_driver_no_longer_tells_of_room() -> None:
    """kube-scheduler 1.36 looks at volumes that are made for the pod alone instead."""
    asked = Asked("VolumeBinding", pod_with("p", "c"), [node()])
    on, off = (
        CSIDriver(metadata=ObjectMeta(name=DRIVER), spec=CSIDriverSpec(storage_capacity=value))
        for value in (True, False)
    )
    updated = ClusterEvent(EventResource.CSI_DRIVER, ActionType.UPDATE_OTHER)

    assert asked.hint(updated, on, off) == [QueueingHint.QUEUE]
    assert asked.hint(updated, off, on) == [QueueingHint.SKIP]


def test_a_pod_that_gives_up_before_its_claims_are_bound_wakes_others() -> None:
    """Its volumes may be had again, and no volume changes when that happens."""
    gone = pod_with("gone", "a", node="n0").pod
    deleted = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)

    unbound = Asked("VolumeBinding", pod_with("p", "b"), [node()], make_claim("a"))
    bound = Asked("VolumeBinding", pod_with("p", "b"), [node()], make_claim("a", volume="v"))

    assert unbound.hint(deleted, gone, None) == [QueueingHint.QUEUE]
    assert bound.hint(deleted, gone, None) == [QueueingHint.SKIP]


# Scores of VolumeBinding


def test_with_a_shape_nodes_are_scored_by_how_full_volumes_would_be() -> None:
    """Without one there are no scores."""
    objects = (
        make_class("static", provisioner="kubernetes.io/no-provisioner"),
        make_claim("c", size="5Gi"),
        make_volume("tight", size="5Gi", terms=on_host("n0")),
        make_volume("wide", size="20Gi", terms=on_host("n1")),
    )
    shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    nodes = [node("n0"), node("n1")]
    asked = Asked("VolumeBinding", pod_with("p", "c"), nodes, *objects, args={"shape": shape})
    plain = Asked("VolumeBinding", pod_with("p", "c"), nodes, *objects)
    for one in (asked, plain):
        one.pre_filter()

    def pre_score(one: Asked) -> Verdict | None:
        answer: Verdict | None = one.call("pre_score", one.state, one.info.pod, one.info, one.view)
        return answer

    assert pre_score(asked) is None
    scores = asked.call("score_nodes", asked.state, asked.info.pod, asked.info, asked.view)
    assert scores.tolist() == [100, 25]
    assert pre_score(plain) == moorage.SKIP


# NodeVolumeLimits


def test_a_volume_that_is_still_attached_takes_no_further_room_for_its_next_pod() -> None:
    """But volumes attached for pods that have gone do count."""
    asked = Asked(
        "NodeVolumeLimits",
        pod_with("p", "c"),
        [node("n0"), node("n1")],
        make_csi_node("n0", {DRIVER: 1}),
        make_csi_node("n1", {DRIVER: 1}),
        make_claim("c", volume="v"),
        make_volume("v"),
        make_volume("w"),
        make_attachment("a", node="n0", volume="v"),
        make_attachment("b", node="n1", volume="w"),
    )

    assert asked.reasons() == [(), ("node(s) exceed max volume count",)]


# VolumeZone


def test_volumes_with_labels_of_old_match_nodes_with_labels_of_today() -> None:
    """And a volume in two zones matches nodes in either."""
    asked = Asked(
        "VolumeZone",
        pod_with("p", "c"),
        [node("n0", zone="z-a"), node("n1", zone="z-b"), node("n2", zone="z-c")],
        make_claim("c", volume="v"),
        make_volume("v", labels={"failure-domain.beta.kubernetes.io/zone": "z-a__z-b"}),
    )

    conflict = ("node(s) had no available volume zone",)
    assert asked.reasons() == [(), (), conflict]


def test_only_a_class_that_waits_brings_a_pod_back_to_volume_zone() -> None:
    """And a volume whose zones change."""
    asked = Asked("VolumeZone", pod_with("p", "c"), [node()])
    added = ClusterEvent(EventResource.STORAGE_CLASS, ActionType.ADD)
    updated = ClusterEvent(EventResource.PERSISTENT_VOLUME, ActionType.UPDATE_OTHER)
    plain, zoned = make_volume("v"), make_volume("v", labels={ZONE: "z-a"})

    assert asked.hint(added, None, make_class("w")) == [QueueingHint.QUEUE]
    assert asked.hint(added, None, make_class("n", mode="Immediate")) == [QueueingHint.SKIP]
    assert asked.hint(updated, plain, zoned) == [QueueingHint.QUEUE]
    assert asked.hint(updated, plain, plain) == [QueueingHint.SKIP]


# From the project's list of small inputs


def test_v2_a_node_whose_csi_node_lacks_the_driver_has_no_limit() -> None:
    """K#95911, K#126921: as kube-scheduler 1.36."""
    asked = Asked(
        "NodeVolumeLimits",
        pod_with("p", "c"),
        [node("n0"), node("n1"), node("n2")],
        make_csi_node("n0", {"other.example.com": 0}),
        make_csi_node("n1", {DRIVER: 0}),
        make_claim("c", volume="v"),
        make_volume("v"),
    )

    assert asked.reasons() == [(), ("node(s) exceed max volume count",), ()]


def test_v3_a_node_without_any_topology_label_passes() -> None:
    """K#117983: as kube-scheduler 1.36, for clusters in one zone."""
    asked = Asked(
        "VolumeZone",
        pod_with("p", "c"),
        [node("n0"), node("n1", zone="z-b")],
        make_claim("c", volume="v"),
        make_volume("v", labels={ZONE: "z-a"}),
    )

    assert asked.reasons() == [(), ("node(s) had no available volume zone",)]


def test_a_claim_that_is_named_twice_is_one_claim() -> None:
    """And needs one volume."""
    asked = Asked(
        "VolumeBinding",
        make_pod("p", volumes=(claim_volume("c"), claim_volume("c"))),
        [node()],
        make_class("static", provisioner="kubernetes.io/no-provisioner"),
        make_claim("c"),
        make_volume("v"),
    )

    assert asked.reasons() == [()]


def test_sizes_are_compared_to_the_last_fraction() -> None:
    """A byte and a half is less than two."""
    small, large = make_volume("small", size="1500m"), make_volume("large", size="2")
    reasons = [
        Asked(
            "VolumeBinding",
            pod_with("p", "c"),
            [node("n0")],
            make_class("static", provisioner="kubernetes.io/no-provisioner"),
            make_claim("c", size="2"),
            volume,
        ).reasons()
        for volume in (small, large)
    ]

    none_to_bind = ("node(s) didn't find available persistent volumes to bind",)
    assert reasons == [[none_to_bind], [()]]


def test_a_claim_made_for_a_pod_is_not_taken_by_that_pod() -> None:
    """As far as VolumeRestrictions sees: another pod that names the claim may run."""
    owner = make_pod("own", node="n0", volumes=(Volume(name="v", ephemeral=EphemeralSource()),))
    alone = make_claim("own-v", volume="v", modes=("ReadWriteOncePod",))
    asked = Asked("VolumeRestrictions", pod_with("p", "own-v"), [node("n0")], alone, pods=[owner])

    assert asked.pre_filter() == moorage.SKIP
