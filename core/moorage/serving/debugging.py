"""``/debug``: what queue and cache hold, whether the cache is what the API server says, and why.

What is asked of queue and cache is asked in the scheduling loop, between two pods, so that it is
whole; an answer takes as long as it takes to write it down, and nothing is scheduled meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

import msgspec

from moorage.api.client import ApiClient
from moorage.api.connection import Connection
from moorage.api.resources import NODES, PODS, Resource
from moorage.cache.cluster import ClusterCache
from moorage.errors import MoorageError
from moorage.framework.queued_pod import QueuedPod
from moorage.queueing import SchedulingQueue
from moorage.serving.attempts import AttemptLog, LastAttempt

__all__ = ["Debugging", "Inspected", "NoAnswerError"]

T = TypeVar("T")

_ANSWER_SECONDS = 5.0
_AGAIN_SECONDS = 1.0
"""A difference counts if it is still there after so long: a watch lags behind a little."""
_PAGE = "5000"


class NoAnswerError(MoorageError):
    """The scheduling loop has not begun, or does not answer."""


class Inspected(NamedTuple):
    """What there is to look at; `loop` is the event loop that it belongs to."""

    loop: asyncio.AbstractEventLoop
    queue: SchedulingQueue
    cluster: ClusterCache
    attempts: AttemptLog
    clock: Callable[[], float]


class _Meta(msgspec.Struct, frozen=True):
    name: str = ""
    uid: str = ""


class _Spec(msgspec.Struct, rename="camel", frozen=True):
    node_name: str = ""


class _Object(msgspec.Struct, frozen=True):
    metadata: _Meta
    spec: _Spec = _Spec()


class _ListMeta(msgspec.Struct, frozen=True):
    next_page: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, frozen=True):
    metadata: _ListMeta
    items: list[_Object] | None = None


class Debugging:
    """Answers as JSON-ready dictionaries; raises NoAnswerError, and what the client raises.

    `inspected` returns what there is by now. `connect` is called in the loop of whoever asks.
    """

    def __init__(
        self,
        inspected: Callable[[], Inspected | None],
        connect: Callable[[], Connection],
        *,
        pause: float = _AGAIN_SECONDS,
    ) -> None:
        self._inspected = inspected
        self._connect = connect
        self._pause = pause

    async def queue(self) -> dict[str, Any]:
        """Return the pods of each place of the queue, in order."""

        def read(state: Inspected) -> dict[str, Any]:
            now = state.clock()
            return {
                place.value: [_queued(queued, now) for queued in pods]
                for place, pods in state.queue.pending().items()
            }

        return await self._ask(read)

    async def cache(self) -> dict[str, Any]:
        """Return the nodes with what is requested of them, and the pods on them."""

        def read(state: Inspected) -> dict[str, Any]:
            cluster = state.cluster
            return {
                "nodes": {
                    cluster.name(row): _node(cluster, row) for row in cluster.valid_rows.tolist()
                },
                "assumedPods": cluster.assumed_count,
                "podCount": cluster.pod_count,
            }

        return await self._ask(read)

    async def comparison(self) -> dict[str, Any]:
        """Return what cache and API server do not agree about, for a second at least."""
        found = await self._compare()
        if any(found.values()):
            await asyncio.sleep(self._pause)
            again = await self._compare()
            found = {what: sorted({*names} & {*again[what]}) for what, names in found.items()}
        return {"equal": not any(found.values()), **found}

    async def pod(self, namespace: str, name: str) -> dict[str, Any] | None:
        """Return a pod's place in the queue and its last attempt; None: neither is known."""
        key = f"{namespace}/{name}"

        def read(state: Inspected) -> dict[str, Any]:
            queued = state.queue.find_key(key)
            attempt = state.attempts.get(key)
            found: dict[str, Any] = {}
            if queued is not None:
                found["queue"] = {
                    "place": state.queue.place(queued.info.uid).value,
                    **_queued(queued, state.clock()),
                }
            if attempt is not None:
                found["lastAttempt"] = _attempt(attempt)
            return found

        found = await self._ask(read)
        return {"pod": key, **found} if found else None

    async def attempts(self, count: int) -> dict[str, Any]:
        """Return the last attempts that ended most recently, by pod."""
        newest = await self._ask(lambda state: state.attempts.newest(count))
        return {key: _attempt(attempt) for key, attempt in newest.items()}

    async def _ask(self, read: Callable[[Inspected], T]) -> T:
        """Have something read in the scheduling loop."""
        state = self._inspected()
        if state is None:
            raise NoAnswerError("the scheduler has not started yet; ask again")
        answer: Future[T] = Future()

        def answered() -> None:
            if not answer.set_running_or_notify_cancel():
                return
            try:
                answer.set_result(read(state))
            except Exception as error:  # noqa: BLE001 - whoever asked is told
                answer.set_exception(error)

        try:
            state.loop.call_soon_threadsafe(answered)
        except RuntimeError:
            raise NoAnswerError("the scheduler has ended") from None
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await asyncio.wrap_future(answer)
        except TimeoutError:
            raise NoAnswerError("the scheduling loop does not answer; see /livez") from None

    async def _compare(self) -> dict[str, list[str]]:
        """Return the names that only one of the two knows, or that it knows elsewhere."""
        async with ApiClient(self._connect()) as client:
            nodes = {one.metadata.name for one in await _list(client, NODES, {})}
            pods = {
                one.metadata.uid: one.spec.node_name
                for one in await _list(
                    client,
                    PODS,
                    {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"},
                )
                if one.spec.node_name
            }

        def read(state: Inspected) -> tuple[set[str], dict[str, str]]:
            cluster = state.cluster
            known = {node.metadata.name for node in cluster.nodes()}
            placed = {
                info.uid: cluster.node_of(info.uid)
                for info in cluster.pods()
                if not cluster.is_assumed(info.uid)
            }
            return known, placed

        known, placed = await self._ask(read)
        return {
            "missedNodes": sorted(nodes - known),
            "redundantNodes": sorted(known - nodes),
            "missedPods": sorted(pods.keys() - placed.keys()),
            "redundantPods": sorted(placed.keys() - pods.keys()),
            "misplacedPods": sorted(
                uid for uid in pods.keys() & placed.keys() if pods[uid] != placed[uid]
            ),
        }


async def _list(client: ApiClient, resource: Resource, params: Mapping[str, str]) -> list[_Object]:
    found: list[_Object] = []
    token = ""
    while True:
        more = {"limit": _PAGE, **params, **({"continue": token} if token else {})}
        page = msgspec.json.decode(
            await client.request("GET", resource.path(), params=more), type=_List
        )
        found += page.items or ()
        token = page.metadata.next_page
        if not token:
            return found


def _queued(queued: QueuedPod, now: float) -> dict[str, Any]:
    found: dict[str, Any] = {
        "pod": queued.key,
        "uid": queued.info.uid,
        "profile": queued.pod.spec.scheduler_name,
        "priority": queued.info.priority,
        "attempts": queued.attempts,
        "seconds": round(now - queued.timestamp, 3),
    }
    if queued.backoff_until > now:
        found["backoffSeconds"] = round(queued.backoff_until - now, 3)
    for name, plugins in (
        ("unschedulablePlugins", queued.unschedulable_plugins),
        ("pendingPlugins", queued.pending_plugins),
    ):
        if plugins:
            found[name] = sorted(plugins)
    if queued.gated_by:
        found["gatedBy"] = queued.gated_by
    return found


def _node(cluster: ClusterCache, row: int) -> dict[str, Any]:
    columns = cluster.columns
    amounts = {
        "allocatable": columns.allocatable[:, row].tolist(),
        "requested": columns.requested[:, row].tolist(),
    }
    return {
        **{
            what: {name: values[index] for name, index in columns.resources.items()}
            for what, values in amounts.items()
        },
        "pods": [
            {"pod": info.key, "uid": info.uid, "assumed": cluster.is_assumed(info.uid)}
            for info in cluster.pods_on(row)
        ],
    }


def _attempt(attempt: LastAttempt) -> dict[str, Any]:
    found: dict[str, Any] = {
        "uid": attempt.uid,
        "result": attempt.result,
        "attempts": attempt.attempts,
        "seconds": round(attempt.seconds, 6),
        "at": f"{datetime.fromtimestamp(attempt.at, UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
    }
    if attempt.node_name:
        found["node"] = attempt.node_name
    if attempt.message:
        found["message"] = attempt.message
    if attempt.plugins:
        found["plugins"] = sorted(attempt.plugins)
    return found
