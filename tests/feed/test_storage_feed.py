"""Storage objects into the cache, and to the pods that they may help."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from tests.loop_kit import World, added, deleted, listed, make_node, make_pod, modified
from tests.volumes_kit import make_claim, make_volume

import moorage
from moorage.model import ActionType, ClusterEvent, EventResource, PersistentVolume
from moorage.queueing import Place


class Refusing(moorage.Plugin):
    """Refuses every pod; waits for updates of volumes."""

    watches = ("persistentvolumes", "persistentvolumeclaims")

    @moorage.hookimpl
    def events_to_register(self) -> tuple[moorage.EventHint, ...]:
        """Register for volumes that change or go."""
        action = ActionType.UPDATE | ActionType.DELETE
        return (moorage.EventHint(ClusterEvent(EventResource.PERSISTENT_VOLUME, action)),)

    @moorage.hookimpl
    def filter_nodes(self, nodes: moorage.NodesView) -> np.ndarray[Any, Any]:
        """Refuse."""
        return np.zeros(len(nodes), dtype=np.bool_)


@pytest.fixture
def refused() -> World:
    """Make a session with a pod that was refused, and a volume."""
    world = World(Refusing=Refusing)
    world.session.nodes.take(listed(make_node("n1")))
    feed(world, "persistentvolumes").take(listed(make_volume("v", version=5)))
    world.session.pods.take(added(make_pod("p")))
    world.session.attempt()
    world.clock.now += 20
    assert world.queue.place("p") is Place.UNSCHEDULABLE
    return world


def feed(world: World, plural: str) -> Any:  # noqa: ANN401 - a feed of any record
    """Return the feed of a kind."""
    watched = world.session.watched(plural)
    assert watched is not None
    return watched.feed


def test_a_volume_that_changes_or_goes_wakes_who_waits_for_it(refused: World) -> None:
    """And is kept, or forgotten."""
    feed(refused, "persistentvolumes").take(modified(make_volume("v", size="20Gi", version=6)))

    assert refused.queue.place("p") is Place.ACTIVE
    feed(refused, "persistentvolumes").take(deleted(make_volume("v", version=7)))
    assert refused.cluster.storage.volume("v") is None


def test_a_version_that_says_nothing_new_is_kept_and_wakes_nobody(refused: World) -> None:
    """Who writes with a version needs the newest one."""
    feed(refused, "persistentvolumes").take(modified(make_volume("v", version=6)))

    known = refused.cluster.storage.volume("v")
    assert known is not None
    assert known.metadata.resource_version == "6"
    assert refused.queue.place("p") is Place.UNSCHEDULABLE


def test_a_watch_that_repeats_itself_takes_nothing_back(refused: World) -> None:
    """An older version is left out; a new list may go back, and lacks what is gone."""
    feed(refused, "persistentvolumes").take(modified(make_volume("v", size="1Gi", version=4)))
    known = refused.cluster.storage.volume("v")
    feed(refused, "persistentvolumes").take(listed(make_volume("w", version=3)))

    assert known is not None
    assert known.spec.capacity == {"storage": "10Gi"}
    names = [one.metadata.name for one in refused.cluster.storage.all(PersistentVolume)]
    assert names == ["w"]


def test_claims_of_one_name_in_two_namespaces_are_two(refused: World) -> None:
    """Both are kept."""
    claim = make_claim("c")
    metadata = msgspec.structs.replace(claim.metadata, namespace="elsewhere")
    feed(refused, "persistentvolumeclaims").take(
        listed(claim, msgspec.structs.replace(claim, metadata=metadata))
    )

    storage = refused.cluster.storage
    assert storage.claim("ns", "c") is not None
    assert storage.claim("elsewhere", "c") is not None


def test_only_what_plugins_declare_is_watched(refused: World) -> None:
    """Nobody declared classes here."""
    wanted = {one.resource.plural for one in refused.session.wanted()}

    assert {"persistentvolumes", "persistentvolumeclaims"} <= wanted
    assert "storageclasses" not in wanted
