"""A watch over HTTP: one line of JSON an event, until the client leaves or time is up."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
from aiohttp import web

from moorage.embedded.queries import is_true, number_of, selection_of, wants_table
from moorage.embedded.status import StatusError
from moorage.embedded.tables import Tabulator
from moorage.embedded.watching import Watch, WatchEvent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.embedded.paths import Target
    from moorage.embedded.resources import Resource
    from moorage.embedded.store import Store

__all__ = ["WatchStreams"]

_encode = msgspec.json.encode
# As a real server does: an hour at most, so that a client that lost track starts anew some day.
_LONGEST_SECONDS = 3600.0
_INITIAL_END = "k8s.io/initial-events-end"


class WatchStreams:
    """Serves watches and ends them all when the server stops.

    A watch that asks for bookmarks gets one after `bookmark_seconds` without a change.
    """

    def __init__(self, store: Store, *, bookmark_seconds: float) -> None:
        self._store = store
        self._bookmark_seconds = bookmark_seconds
        self._open: set[Watch] = set()

    def close(self) -> None:
        """End every watch that is open."""
        for watch in self._open:
            watch.close()

    async def serve(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        """Answer a watch request.

        Without a version, or from 0, it begins with the present objects as ADDED. A version that
        the history no longer reaches back to makes one ERROR event that carries a 410.
        """
        registry = self._store.registry
        selection = selection_of(request, target)
        start_text = request.query.get("resourceVersion", "")
        initial = start_text in {"", "0"} or is_true(request, "sendInitialEvents")
        start = registry.version if initial else number_of(request, "resourceVersion") or 0
        lines = _Lines(target.resource, request, now=registry.clock.now())
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        try:
            shelf = registry.shelf(target.resource)
            watch = Watch(shelf, selection, start=start, current=registry.version)
            if initial:
                page = self._store.listing.page(target.resource, selection)
                events = [WatchEvent("ADDED", version) for version in page.versions]
                head = lines.of(events)
                if lines.bookmarks:
                    head += lines.bookmark(start, initial_end=True)
                await response.write(head)
            await self._follow(response, watch, lines, _seconds(request))
        except StatusError as error:
            await response.write(_line("ERROR", _encode(error.as_status())))
        await response.write_eof()
        return response

    async def _follow(
        self, response: web.StreamResponse, watch: Watch, lines: _Lines, seconds: float
    ) -> None:
        self._open.add(watch)
        try:
            async with asyncio.timeout(seconds):
                async for events in watch.batches(idle=self._bookmark_seconds):
                    if events:
                        await response.write(lines.of(events))
                    elif lines.bookmarks:
                        await response.write(lines.bookmark(self._store.registry.version))
        except TimeoutError:
            return
        finally:
            self._open.discard(watch)


def _seconds(request: web.BaseRequest) -> float:
    return float(number_of(request, "timeoutSeconds") or _LONGEST_SECONDS)


def _line(kind: str, item: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + item + b"}\n"


class _Lines:
    """Writes the events of one watch in the form that its client asked for."""

    def __init__(self, resource: Resource, request: web.BaseRequest, *, now: float) -> None:
        self.bookmarks = is_true(request, "allowWatchBookmarks")
        self._resource = resource
        self._table = Tabulator(resource, now=now) if wants_table(request) else None
        self._include = request.query.get("includeObject", "Metadata")

    def of(self, events: Iterable[WatchEvent]) -> bytes:
        """Return the lines of events; an object's bytes are those that every watcher gets."""
        return b"".join(_line(event.type, self._item(event)) for event in events)

    def _item(self, event: WatchEvent) -> bytes:
        if self._table is None:
            return event.version.as_json(self._resource)
        item = event.version.as_dict(self._resource)
        metadata = {"resourceVersion": str(event.version.number)}
        return _encode(self._table.table([item], metadata, self._include))

    def bookmark(self, number: int, *, initial_end: bool = False) -> bytes:
        """Return the line that says: everything up to this version has been sent."""
        metadata: dict[str, Any] = {"resourceVersion": str(number)}
        if initial_end:
            metadata["annotations"] = {_INITIAL_END: "true"}
        item: dict[str, Any] = {
            "kind": self._resource.kind,
            "apiVersion": self._resource.api_version,
            "metadata": metadata,
        }
        if self._resource.qualified == "pods":  # an empty Go struct, as a real server writes it
            item |= {"spec": {"containers": None}, "status": {}}
        return _line("BOOKMARK", _encode(item))
