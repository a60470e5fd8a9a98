"""Whether all that an API server holds has been seen."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from tests.loop_kit import World

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
