"""What is watched: pods, nodes, namespaces, and what plugins asked for."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import Any

from moorage.api.client import ApiClient
from moorage.api.resources import NAMESPACES, NODES, PODS, Resource
from moorage.api.watching import SILENCE_LIMIT, Batch, Reflector
from moorage.errors import NotServedError
from moorage.feed import Feed
from moorage.framework.profile import Framework
from moorage.model.decoding import Declaration, record_types
from moorage.session import Session

__all__ = [
    "BUDGET",
    "POD_SELECTOR",
    "SILENCE_LIMIT",
    "Watch",
    "cluster_reflectors",
    "declared_watches",
    "informed_watches",
]

_logger = logging.getLogger(__name__)

BUDGET = 0.005
"""Seconds that anything works without letting the rest of the event loop have a turn."""

POD_SELECTOR = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
"""Pods that have ended use nothing; the server leaves them out, and says so when one ends."""


class Watch:
    """One reflector, what it feeds, and the selectors by which it asks."""

    def __init__(
        self, reflector: Reflector[Any], feed: Feed[Any], params: Mapping[str, str] = {}
    ) -> None:
        self.reflector = reflector
        self.params = params
        self.feed = feed
        self.is_taking = False
        """Whether a batch is half taken in."""

    async def run(self) -> None:
        """Feed for ever, with pauses."""
        async with aclosing(self.reflector.batches()) as batches:
            async for batch in batches:
                self.is_taking = True
                await self._take(batch)
                self.is_taking = False

    async def _take(self, batch: Batch[Any]) -> None:
        until = time.perf_counter() + BUDGET
        for _ in self.feed.steps(batch):
            if time.perf_counter() >= until:
                await asyncio.sleep(0)
                until = time.perf_counter() + BUDGET


def cluster_reflectors(
    client: ApiClient, frameworks: Iterable[Framework], *, silence_limit: float = SILENCE_LIMIT
) -> tuple[Reflector[Any], Reflector[Any], Reflector[Any]]:
    """Make the reflectors of pods, nodes and namespaces, with the fields that plugins want.

    Raises PluginError for fields that cannot be had.
    """
    types = record_types(
        Declaration(plugin.name, plugin.extra_fields)
        for framework in frameworks
        for plugin in framework.plugins
    )
    return (
        Reflector(client, PODS, types.pod, params=POD_SELECTOR, silence_limit=silence_limit),
        Reflector(client, NODES, types.node, silence_limit=silence_limit),
        Reflector(client, NAMESPACES, types.namespace, silence_limit=silence_limit),
    )


async def declared_watches(
    client: ApiClient, session: Session, *, silence_limit: float = SILENCE_LIMIT
) -> list[Watch]:
    """Watch the further kinds of objects that plugins declare (`Plugin.watches`).

    What the server does not serve is left out, with a notice that names who goes without. Raises
    ApiError (403 names the missing rule), UnreachableError.
    """
    found = []
    for watched in session.wanted():
        if watched.resource in {PODS, NODES, NAMESPACES}:
            continue
        reflector: Reflector[Any] = Reflector(
            client, watched.resource, watched.record, silence_limit=silence_limit
        )
        try:
            await reflector.probe()
        except NotServedError:
            _warn_of_absence(watched.resource, session.watchers_of(watched.resource.plural))
            continue
        found.append(Watch(reflector, watched.feed))
    return found


def _warn_of_absence(resource: Resource, plugins: Iterable[str]) -> None:
    _logger.warning(
        "The API server does not serve %s; plugin %s goes without",
        resource,
        ", ".join(sorted(plugins)),
    )


async def informed_watches(
    client: ApiClient, session: Session, *, silence_limit: float = SILENCE_LIMIT
) -> list[Watch]:
    """Watch what plugins asked for an informer of.

    What the server does not serve is left out, with a notice that names who goes without. Raises
    ApiError (403 names the missing rule), UnreachableError.
    """
    found = []
    for informer in session.services.informers:
        group, version, plural = informer.kind
        resource = Resource(group, version, plural, kind=plural, namespaced=False)
        reflector: Reflector[Any] = Reflector(
            client, resource, Mapping[str, Any], silence_limit=silence_limit
        )
        try:
            await reflector.probe()
        except NotServedError:
            _warn_of_absence(resource, informer.asked_by)
            continue
        found.append(Watch(reflector, session.informed(informer)))
    return found
