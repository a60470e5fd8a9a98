"""List and watch one resource for ever, as client-go's reflector does.

::

              list (all pages)                    watch from the version reached
    LISTING ------------------> Replace   WATCHING ------------------> Changes, Changes, ...
       ^                           |         ^   |
       |                           +---------+   +--> end, cut, silence: watch again from there
       +--- 410, or an error that another watch would meet again ---+

`Reflector` owns this state; `step` is one list or one watch, and the loop around it has no end.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from moorage.api import faults
from moorage.api.decoding import Change, ObjectDecoder, log_undecodable
from moorage.api.pacing import Backoff
from moorage.errors import (
    ApiError,
    LostAnswerError,
    MoorageError,
    NotServedError,
    UnreachableError,
)
from moorage.fault_log import NOTICE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping

    import msgspec

    from moorage.api.client import ApiClient
    from moorage.api.resources import Resource

__all__ = ["SILENCE_LIMIT", "Batch", "Changes", "Reflector", "Replace"]

_logger = logging.getLogger(__name__)

T = TypeVar("T")

SILENCE_LIMIT = 150.0
"""Seconds; a kube-apiserver sends a bookmark each minute, so that two may be late."""
_LIST_SECONDS = 300.0
"""A page may hold everything: a server that answers from its cache need not obey the limit."""
_PROBE_SECONDS = 10.0
"""How long one object may take at start-up, where somebody waits for an answer."""
_WATCH_SECONDS = (300, 600)
"""How long a watch is asked to last, at random as in client-go, so that not all end at once."""
_SHORT_WATCH_SECONDS = 1.0
"""A watch that ends sooner, and empty, is a failure: at once again would be a busy loop."""
_ANY_VERSION = "0"
"""Whatever the server has in its cache; much cheaper for it than the newest."""
_NEWEST = ""


@dataclass(frozen=True, slots=True)
class Replace(Generic[T]):
    """All objects there are: what is not among them is gone."""

    items: list[T]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Changes(Generic[T]):
    """What happened since, in order; all that had been received when this was asked for."""

    changes: list[Change[T]]


Batch: TypeAlias = Replace[T] | Changes[T]


class Reflector(Generic[T]):
    """Follows one resource: ``async for batch in Reflector(client, PODS, Pod)``, for ever.

    `params` may hold a `labelSelector` and a `fieldSelector`. `on_undecodable` is told the name of
    each object that does not decode, and why; the object is left out, the rest goes on.
    `silence_limit`: a watch without even a bookmark for this long (a kube-apiserver sends one each
    minute) is taken for dead and opened again, in seconds. `clock` is monotonic.

    Failures after the start never end the iteration: they are in `last_error`, in the log, and
    followed by a backoff. To hear of them before that, call `probe` first.
    """

    def __init__(
        self,
        client: ApiClient,
        resource: Resource,
        decoder_type: type[T],
        *,
        namespace: str | None = None,
        params: Mapping[str, str] | None = None,
        page_limit: int = 500,
        silence_limit: float = SILENCE_LIMIT,
        on_undecodable: Callable[[str, msgspec.ValidationError], None] = log_undecodable,
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.resource = resource
        self.synced = asyncio.Event()
        """Set once the first Replace was taken and the next batch asked for."""
        self.last_error: MoorageError | None = None
        """The newest failure; None when the last exchange went well."""
        self.resource_version = _ANY_VERSION
        """The version reached."""
        self._client = client
        self._path = resource.path(namespace)
        self._selectors = dict(params or {})
        self._decoder = ObjectDecoder(decoder_type, on_undecodable)
        self._page_limit = page_limit
        self._silence_limit = silence_limit
        self._rng = rng or random.Random()  # noqa: S311 - spreads load, not cryptography
        self._sleep = sleep
        self._clock = clock
        self._backoff = Backoff(rng=self._rng, clock=clock)
        self._listed = False
        self._warned = False

    async def probe(self) -> None:
        """Ask for one object, to learn at start-up what would only be retried later.

        Raises ApiError (403: the message says which rule is missing), UnreachableError, or
        NotServedError where the server knows no such resource.
        """
        try:
            await self._client.request(
                "GET",
                self._path,
                params={**self._selectors, "limit": "1"},
                timeout=_PROBE_SECONDS,
            )
        except ApiError as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            core = self._path.startswith("/api/v1/") and not error.reason
            told = str(error) if core else f"the API server does not serve {self.resource}"
            raise NotServedError(told, code=error.code) from error
        except LostAnswerError as error:
            if not isinstance(error.__cause__, TimeoutError):
                raise
            connection = self._client.connection
            raise UnreachableError(
                f"the API server takes connections and did not answer within {_PROBE_SECONDS:.0f} s"
                f" ({self.resource}); check that it is well, and its address in {connection.source}"
            ) from error

    def __aiter__(self) -> AsyncIterator[Batch[T]]:
        """Return the endless iterator of batches; a reflector feeds one consumer."""
        return self.batches()

    async def batches(self) -> AsyncGenerator[Batch[T], None]:
        """Yield batches for ever; who leaves early closes it (`contextlib.aclosing`)."""
        while True:
            async with aclosing(self.step()) as batches:
                async for batch in batches:
                    yield batch

    async def step(self) -> AsyncGenerator[Batch[T], None]:
        """List once or watch once, whichever is due; a failure becomes state and a pause."""
        begun = self._clock()
        watching = self._listed
        fruitful = False
        failure: MoorageError | None = None
        try:
            async with aclosing(self._watch() if watching else self._list()) as batches:
                async for batch in batches:
                    yield batch
                    fruitful = True
        except MoorageError as error:
            failure = error
            self._note(error)
        if watching and fruitful:
            # The server is well again. A list alone says less: it may be all that works, and is dear.
            self._backoff.reset()
        fruitful = fruitful or (watching and self._clock() - begun >= _SHORT_WATCH_SECONDS)
        if _is_end_of_watch(failure) and fruitful:
            return
        await self._pause(failure)

    async def _list(self) -> AsyncGenerator[Replace[T], None]:
        """Read all pages; from the newest state where the server no longer knows the version."""
        try:
            replace = await self._pages(self.resource_version)
        except ApiError as error:
            if not _is_version_unusable(error):
                raise
            replace = await self._pages(_NEWEST)
        self._note_success()
        self.resource_version = replace.resource_version
        self._listed = True
        yield replace
        self.synced.set()

    async def _pages(self, version: str) -> Replace[T]:
        first = {**self._selectors, "limit": str(self._page_limit)}
        params = {**first, "resourceVersion": version} if version else first
        items: list[T] = []
        while True:
            body = await self._client.request(
                "GET", self._path, params=params, timeout=_LIST_SECONDS
            )
            page = self._decoder.page(body)
            items += page.items
            if not page.next_page:
                return Replace(items, page.resource_version)
            # The token carries the version; a server refuses to be told both.
            params = {**first, "continue": page.next_page}

    async def _watch(self) -> AsyncGenerator[Changes[T], None]:
        """Follow from the version reached until the stream ends, whoever ended it."""
        params = {
            **self._selectors,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.resource_version,
            "timeoutSeconds": str(self._rng.randint(*_WATCH_SECONDS)),
        }
        try:
            async with self._client.stream(
                self._path, params=params, silence_limit=self._silence_limit
            ) as chunks:
                self._note_success()
                tail = b""
                async for chunk in chunks:
                    # A line cut off by the end stays in `tail`: the next watch brings it again.
                    whole, _, tail = (tail + chunk).rpartition(b"\n")
                    lines = self._decoder.lines(whole)
                    self.resource_version = lines.resource_version or self.resource_version
                    if lines.changes:
                        yield Changes(lines.changes)
                    if lines.status is not None:
                        raise faults.refusal_in_stream(lines.status)
        except ApiError as error:
            # Overload passes, and the version is as good as before; anything else would meet
            # the next watch as well.
            self._listed = _is_overload(error)
            raise

    def _note(self, error: MoorageError) -> None:
        """Warn of a failure, once until all is well again; not of a watch's end, which is none.

        But where nothing went well since the last one ended, it was no end like any other.
        """
        ordinary = _is_end_of_watch(error) and self.last_error is None
        level = logging.DEBUG if ordinary or self._warned else logging.WARNING
        _logger.log(level, "Watching %s: %s", self.resource, error)
        self._warned = self._warned or not ordinary
        self.last_error = error

    def _note_success(self) -> None:
        if self._warned:
            _logger.log(NOTICE, "Watching %s goes on", self.resource)
        self._warned = False
        self.last_error = None

    async def _pause(self, failure: MoorageError | None) -> None:
        delay = self._backoff.delay()
        if isinstance(failure, ApiError) and failure.retry_after is not None:
            delay = max(delay, failure.retry_after)
        await self._sleep(delay)


def _is_end_of_watch(failure: MoorageError | None) -> bool:
    """Say whether this is how healthy watches end: by time, cut, silence, or a version grown old."""
    if isinstance(failure, ApiError):
        return failure.code == HTTPStatus.GONE
    return failure is None or isinstance(failure, LostAnswerError)


def _is_version_unusable(error: ApiError) -> bool:
    """Say whether the server refuses the version asked for: compacted, or ahead of its own."""
    too_large = error.code == HTTPStatus.GATEWAY_TIMEOUT and "Too large resource version" in str(
        error
    )
    return error.code == HTTPStatus.GONE or too_large


def _is_overload(error: ApiError) -> bool:
    return (
        error.code == HTTPStatus.TOO_MANY_REQUESTS or error.code >= HTTPStatus.INTERNAL_SERVER_ERROR
    )
