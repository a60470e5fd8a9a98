"""Conditions and nominations of pods, written off the critical path."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, NamedTuple

from moorage.api.client import ApiClient
from moorage.api.writing import Condition, patch_pod_status, pod_status_patch
from moorage.errors import ApiError, MoorageError, UnreachableError
from moorage.model.pod_info import PodInfo
from moorage.model.pods import Pod

__all__ = ["StatusWriter"]

_logger = logging.getLogger(__name__)

_WRITERS = 8
"""Patches in flight at most; each pod's go through one of the writers, in order."""
_PASSING = (HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS)
_RETRY_DELAYS = (0.2, 1.0, 5.0)
"""Seconds; after that the pod's next attempt has to say it."""


class _Wish(NamedTuple):
    """What a pod's status should say; None leaves the nomination alone."""

    info: PodInfo
    reason: str
    message: str
    nomination: str | None
    announced: str


class StatusWriter:
    """Brings the status of pods up to date; of several wishes for one pod the newest counts.

    That bounds what waits here by the number of pods. `newest` returns a pod's newest version as
    the API server told it, None where it is gone: nothing is written that it says already, and
    nothing to a pod that is gone. `wall` gives the time of day.
    """

    def __init__(
        self,
        client: ApiClient,
        *,
        newest: Callable[[str], PodInfo | None],
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = client
        self._newest = newest
        self._wall = wall
        self._sleep = sleep
        self._wishes: dict[str, _Wish] = {}
        self._queues = [asyncio.Queue[str]() for _ in range(_WRITERS)]
        self._writing: dict[str, _Wish] = {}
        self._sending: dict[str, asyncio.Event] = {}
        self._unfinished = 0
        self._work = None if client.metrics is None else client.metrics.work.queue("pod-status")

    def unscheduled(
        self,
        info: PodInfo,
        *,
        reason: str,
        message: str,
        nomination: str | None = None,
        announced: str = "",
    ) -> bool:
        """Have a pod say that it was not scheduled and why; False: it says so already. Never waits.

        `announced`: what `nominate` wrote last, should the watch not have told of it yet.
        """
        wish = _Wish(info, reason, message, nomination, announced)
        if self._patch(wish) is None:
            # An older wish that is still waiting must not win.
            self._drop(info.uid)
            return False
        if info.uid not in self._wishes:
            self._unfinished += 1
            if self._work is not None:
                self._work.added(info.uid)
            self._queues[hash(info.uid) % _WRITERS].put_nowait(info.uid)
        self._wishes[info.uid] = wish
        return True

    async def nominate(self, info: PodInfo, node_name: str) -> None:
        """Write at once where a pod is expected; a failure is logged, and nothing waits for it."""
        pod = self._current(info)
        if pod is None:
            return
        patch = pod_status_patch(
            [], nominated_node_name=node_name, nominated_before=pod.status.nominated_node_name
        )
        if patch is None:
            return
        try:
            await _send(self._client, info, patch)
        except MoorageError as error:
            _logger.warning("Pod %s: cannot write its nominatedNodeName: %s", info.key, error)

    async def hush(self, uid: str) -> None:
        """Write no more about a pod that is about to be bound; return when nothing is on its way.

        A condition that arrived after the binding would say for ever that the pod has no node.
        """
        self._drop(uid)
        sending = self._sending.get(uid)
        if sending is not None:
            await sending.wait()

    async def run(self) -> None:
        """Write what is wished for, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for queue in self._queues:
                group.create_task(self._drain(queue))

    async def flush(self) -> None:
        """Wait until all that was wished for is written, or given up."""
        for queue in self._queues:
            await queue.join()

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits to be written, and nothing is being written."""
        return not self._unfinished

    @property
    def unfinished(self) -> int:
        """How many pods wait for something to be written, or are being written."""
        return self._unfinished

    async def _drain(self, queue: asyncio.Queue[str]) -> None:
        while True:
            uid = await queue.get()
            if self._work is not None:
                self._work.begun(uid)
            try:
                wish = self._wishes.pop(uid, None)
                if wish is not None:
                    await self._write(wish)
            finally:
                if self._work is not None:
                    self._work.ended(uid)
                self._unfinished -= 1
                queue.task_done()

    def _drop(self, uid: str) -> None:
        """Forget what a pod was to say; what is being sent is not sent again."""
        self._wishes.pop(uid, None)
        self._writing.pop(uid, None)

    async def _write(self, wish: _Wish) -> None:
        self._writing[wish.info.uid] = wish
        try:
            await self._insist(wish)
        finally:
            self._writing.pop(wish.info.uid, None)

    async def _insist(self, wish: _Wish) -> None:
        uid = wish.info.uid
        failure: MoorageError | None = None
        for delay in (0.0, *_RETRY_DELAYS):
            if delay:
                if self._work is not None:
                    self._work.retried()
                await self._sleep(delay)
            patch = self._patch(wish)
            if patch is None or uid in self._wishes or uid not in self._writing:
                return
            sending = self._sending[uid] = asyncio.Event()
            try:
                await _send(self._client, wish.info, patch)
            except ApiError as error:
                failure = error
                if error.code == HTTPStatus.NOT_FOUND:
                    return  # the watch will say so
                if error.code < HTTPStatus.INTERNAL_SERVER_ERROR and error.code not in _PASSING:
                    break
            except UnreachableError as error:
                failure = error
            else:
                return
            finally:
                del self._sending[uid]
                sending.set()
        _logger.warning("Pod %s: cannot write its status: %s", wish.info.key, failure)

    def _patch(self, wish: _Wish) -> dict[str, Any] | None:
        """Return what is to be written by the newest that is known; None: nothing."""
        pod = self._current(wish.info)
        if pod is None:
            return None
        condition = Condition(
            type="PodScheduled",
            status="False",
            reason=wish.reason,
            message=wish.message,
            observed_generation=pod.metadata.generation,
            last_transition_time=f"{self._wall():%Y-%m-%dT%H:%M:%SZ}",
        )
        existing = [
            Condition(type=one.type, status=one.status, reason=one.reason, message=one.message)
            for one in pod.status.conditions
        ]
        return pod_status_patch(
            existing,
            condition,
            nominated_node_name=wish.nomination,
            nominated_before=pod.status.nominated_node_name or wish.announced,
        )

    def _current(self, info: PodInfo) -> Pod | None:
        newest = self._newest(info.uid)
        if newest is None or newest.pod.spec.node_name:
            return None
        return newest.pod


async def _send(client: ApiClient, info: PodInfo, patch: dict[str, Any]) -> None:
    metadata = info.pod.metadata
    await patch_pod_status(client, namespace=metadata.namespace, name=metadata.name, patch=patch)
