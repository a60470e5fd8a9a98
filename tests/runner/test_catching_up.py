"""Whether all that an API server holds has been seen."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.loop_kit import World

import moorage
from moorage.api.client import ApiClient
from moorage.api.connection import Connection
from moorage.runner.catching_up import has_caught_up
from moorage.runner.watching import POD_SELECTOR, Watch, cluster_reflectors

if TYPE_CHECKING:
    from tests.runner.conftest import Cluster


async def test_caught_up_is_who_has_seen_every_version(cluster: Cluster) -> None:
    """Neither a new object, nor a newer version, nor a deletion may be missing."""
    cluster.pod("p")
    world = World()
    async with ApiClient(Connection.to_url(cluster.server.url)) as client:
        pods, _, _ = cluster_reflectors(client, [world.framework])
        watch = Watch(pods, world.session.pods, POD_SELECTOR)
        async with aclosing(pods.batches()) as batches:

            async def take() -> None:
                watch.feed.take(await anext(batches))

            await take()
            assert await has_caught_up(client, watch)
            cluster.pod("q")
            assert not await has_caught_up(client, watch)
            await take()
            assert await has_caught_up(client, watch)
            cluster.store.delete("pods", "p", namespace="default", grace_seconds=0)
            assert not await has_caught_up(client, watch)
            await take()
            assert await has_caught_up(client, watch)
            watch.is_taking = True
            assert not await has_caught_up(client, watch)


class Readers(moorage.Plugin):
    """Has services and controllers of pods watched, and refuses nothing."""

    watches = (
        "services",
        "replicasets",
        "replicationcontrollers",
        "statefulsets",
        "poddisruptionbudgets",
        "persistentvolumeclaims",
        "storageclasses",
    )

    @moorage.hookimpl
    def permit(self) -> None:
        """Let every pod pass."""


async def test_services_and_controllers_do_not_keep_it_from_being_idle(cluster: Cluster) -> None:
    """Whatever is watched besides pods and nodes is recognised as seen."""
    cluster.node("n")
    cluster.pod("p")
    for version, kind in (
        ("v1", "Service"),
        ("apps/v1", "Deployment"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "StatefulSet"),
        ("v1", "ReplicationController"),
    ):
        labels = {"app": "web"}
        chosen = labels if version == "v1" else {"matchLabels": labels}
        container = {"name": "c", "image": "app:v1"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec: dict[str, object] = {"selector": chosen, "replicas": 0, "template": template}
        if kind == "Service":
            spec = {"selector": chosen, "ports": [{"port": 80}]}
        where = {"name": kind.lower(), "namespace": "default"}
        cluster.store.create({"apiVersion": version, "kind": kind, "metadata": where, "spec": spec})
    await cluster.until_idle(Readers=Readers)
    assert cluster.node_of("p") == "n"


_WATCHED = sorted(World().session._watched)


@pytest.mark.parametrize("plural", _WATCHED)
def test_every_feed_says_what_an_object_is_known_by(plural: str) -> None:
    """By its metadata alone, an object is known as what the feed knows it by."""
    watched = World().session.watched(plural)
    assert watched is not None
    metadata = {"name": "one", "namespace": "space", "uid": "u-1"}
    item = msgspec.convert({"metadata": metadata}, type=watched.record)
    assert watched.feed.identity_by("space", "one", "u-1") == watched.feed.identity(item)
