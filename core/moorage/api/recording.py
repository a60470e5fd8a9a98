"""Events about pods, written off the critical path.

`EventRecorder.record` only puts an event into a bounded queue; `run` drains it. Under pressure,
events are dropped and counted: they inform people, and nothing waits for them. Equal events become
a series of one, as in client-go's recorder for events.k8s.io/v1.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from moorage.api.client import STRATEGIC_MERGE_PATCH
from moorage.api.resources import EVENTS
from moorage.errors import ApiError, MoorageError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from moorage.api.client import ApiClient

__all__ = ["EventRecorder", "Reference"]

_logger = logging.getLogger(__name__)

_NOTE_BYTES = 1024
"""The API's limit for a note."""
_CUT = " ..."
_SERIES_SECONDS = 360.0
"""A series ends when its event did not come again for this long, as in client-go."""
_REPORT_SECONDS = 1800.0
"""A series that goes on is written anew this often, or the server would forget the event."""
_KEYS = 4096
"""How many recent events are remembered to find repetitions; a few hundred bytes each."""
_NAME_LENGTH = 253
_SWEEP_SECONDS = 60.0
_WRITERS = 4
_ATTEMPTS = 3
_RETRY_SECONDS = 2.0


class Reference(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An ObjectReference: what an event is about."""

    kind: str
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""


class _Key(NamedTuple):
    """What makes two events equal; client-go leaves out the note and so loses changed messages."""

    type: str
    action: str
    reason: str
    note: str
    regarding: Reference
    related: Reference | None


@dataclass(slots=True, eq=False)
class _Event:
    """An event, how often it came, how much of that the server has been told.

    `waiting`: it is in a queue, and whoever takes it out tells the server all of it.
    """

    body: dict[str, Any]
    last_seen: float
    last_time: str
    count: int = 1
    reported: int = 0
    reported_at: float = 0.0
    waiting: bool = False


class EventRecorder:
    """Records events of one scheduler: ``recorder.record(...)`` anywhere, ``run()`` in a task.

    `scheduler_name` is the profile's; `capacity` bounds the events that wait to be written.
    `clock` is monotonic and in seconds, `wall` gives nanoseconds since the epoch.

    `written`, `dropped` (no room) and `failed` (refused or not answered) count events.
    """

    def __init__(
        self,
        client: ApiClient,
        scheduler_name: str,
        *,
        hostname: str | None = None,
        capacity: int = 4000,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], int] = time.time_ns,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.written = 0
        self.dropped = 0
        self.failed = 0
        self._client = client
        self._controller = scheduler_name
        self._instance = f"{scheduler_name}-{hostname or socket.gethostname()}"
        self._clock = clock
        self._wall = wall
        self._sleep = sleep
        self._last_nanoseconds = 0
        self._recent: OrderedDict[_Key, _Event] = OrderedDict()  # longest silent first
        # An event always goes to the same writer, so that nobody adds to it before it is there.
        self._queues = [
            asyncio.Queue[_Event](max(1, capacity // _WRITERS)) for _ in range(_WRITERS)
        ]

    def record(
        self,
        regarding: Reference,
        *,
        type: str,  # noqa: A002 - the API's word
        reason: str,
        action: str,
        note: str,
        related: Reference | None = None,
    ) -> None:
        """Note that something happened to an object; never waits, never raises.

        `type` is Normal or Warning. A note longer than 1,024 bytes is cut.
        """
        key = _Key(type, action, reason, _cut(note), regarding, related)
        now = self._clock()
        nanoseconds = self._next_nanoseconds()
        event = self._recent.pop(key, None)
        if event is not None and now - event.last_seen < _SERIES_SECONDS:
            self._recent[key] = event
            event.count += 1
            event.last_seen, event.last_time = now, _micro_time(nanoseconds)
            if event.count == 2:  # noqa: PLR2004 - later ones are reported when the series ends
                self._enqueue(event)
            return
        if event is not None:
            self._finish(event)
        event = _Event(self._body(key, nanoseconds), now, _micro_time(nanoseconds))
        self._recent[key] = event
        if len(self._recent) > _KEYS:
            self._finish(self._recent.popitem(last=False)[1])
        self._enqueue(event)

    async def run(self) -> None:
        """Write what is recorded, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for queue in self._queues:
                group.create_task(self._drain(queue))
            while True:
                await self._sleep(_SWEEP_SECONDS)
                self.end_series()

    async def flush(self, seconds: float) -> None:
        """Wait until all that was recorded is written, but no longer than `seconds`."""
        for event in self._recent.values():
            self._finish(event)
        try:
            async with asyncio.timeout(seconds):
                for queue in self._queues:
                    await queue.join()
        except TimeoutError:
            _logger.info("Stopped with %d events unwritten", sum(q.qsize() for q in self._queues))

    def end_series(self) -> None:
        """Report series that ended or have gone unreported for long, and forget the ended ones."""
        now = self._clock()
        for key, event in list(self._recent.items()):
            if now - event.last_seen >= _SERIES_SECONDS:
                del self._recent[key]
                self._finish(event)
            elif event.count > 1 and now - event.reported_at >= _REPORT_SECONDS:
                self._enqueue(event)

    def _finish(self, event: _Event) -> None:
        """Report the count of a series where it grew since the last report."""
        if event.reported and event.count > event.reported:
            self._enqueue(event)

    def _enqueue(self, event: _Event) -> None:
        if event.waiting:
            return
        queue = self._queues[hash(event.body["metadata"]["name"]) % _WRITERS]
        try:
            queue.put_nowait(event)
        except asyncio.QueueFull:
            self.dropped += 1
        else:
            event.waiting = True

    async def _drain(self, queue: asyncio.Queue[_Event]) -> None:
        while True:
            event = await queue.get()
            event.waiting = False
            try:
                await self._write(event)
                self.written += 1
            except MoorageError as error:
                # An event is worth no more than this; its namespace may be on its way out.
                self.failed += 1
                _logger.debug("Event %s is lost: %s", event.body["metadata"]["name"], error)
            finally:
                queue.task_done()

    async def _write(self, event: _Event) -> None:
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self._write_once(event)
            except UnreachableError:
                await self._sleep(_RETRY_SECONDS)
        return await self._write_once(event)

    async def _write_once(self, event: _Event) -> None:
        if not event.reported:
            await self._create(event, event.body)
        if event.count > event.reported:
            await self._extend(event)

    async def _extend(self, event: _Event) -> None:
        """Tell how often an event has come by now."""
        count = event.count
        series = {"count": count, "lastObservedTime": event.last_time}
        meta = event.body["metadata"]
        try:
            await self._client.request(
                "PATCH",
                EVENTS.path(meta["namespace"], meta["name"]),
                body={"series": series},
                content_type=STRATEGIC_MERGE_PATCH,
            )
        except ApiError as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            # Servers forget events after an hour: the series goes on under the same name.
            await self._create(event, {**event.body, "series": series})
        event.reported, event.reported_at = count, self._clock()

    async def _create(self, event: _Event, body: dict[str, Any]) -> None:
        path = EVENTS.path(body["metadata"]["namespace"])
        try:
            await self._client.request("POST", path, body=body)
        except ApiError as error:
            if error.code != HTTPStatus.CONFLICT:  # else it arrived, and the answer was lost
                raise
        event.reported, event.reported_at = 1, self._clock()

    def _next_nanoseconds(self) -> int:
        """Return the time, a nanosecond apart from the last: it makes the names of events."""
        self._last_nanoseconds = max(self._wall(), self._last_nanoseconds + 1)
        return self._last_nanoseconds

    def _body(self, key: _Key, nanoseconds: int) -> dict[str, Any]:
        body = {
            "kind": EVENTS.kind,
            "apiVersion": EVENTS.api_version,
            "metadata": {
                "name": _event_name(key.regarding.name, nanoseconds),
                "namespace": key.regarding.namespace or "default",
            },
            "eventTime": _micro_time(nanoseconds),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": key.action,
            "reason": key.reason,
            "regarding": key.regarding,
        }
        if key.related is not None:
            body["related"] = key.related
        return body | {
            "note": key.note,
            "type": key.type,
            "deprecatedSource": {},
            "deprecatedFirstTimestamp": None,
            "deprecatedLastTimestamp": None,
        }


def _cut(note: str) -> str:
    """Cut a note to what the API takes, in bytes, at the border of a character."""
    encoded = note.encode()
    if len(encoded) <= _NOTE_BYTES:
        return note
    return encoded[: _NOTE_BYTES - len(_CUT)].decode(errors="ignore") + _CUT


def _event_name(name: str, nanoseconds: int) -> str:
    """Name an event after its object and time, as client-go does, within what a name may hold."""
    suffix = f".{nanoseconds:x}"
    return name[: _NAME_LENGTH - len(suffix)].rstrip("-.") + suffix


def _micro_time(nanoseconds: int) -> str:
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest // 1000:06d}Z"
