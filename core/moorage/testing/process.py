"""A scheduler at work on the cluster of a test: queue, Permit, binding, events, time that you turn.

It is the host's own session; only the API server is missing: what is bound is simply bound, and
what a plugin sends to the server is kept, to be looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec

from moorage.api.client import JSON, ApiClient
from moorage.api.connection import Connection
from moorage.binding import Binder, DaemonThreads, Reservation
from moorage.errors import PluginError
from moorage.framework.informing import InformedKind
from moorage.framework.plugin import Plugin, hookimpl
from moorage.framework.points import hooks_of
from moorage.model import Namespace, Node, Pod, Workload
from moorage.model.pods import pod_key
from moorage.session import Failure, Session
from moorage.testing.assembling import Args, Plugins, Profile, make_framework
from moorage.testing.cluster import Cluster
from moorage.testing.running import run_to_end

__all__ = ["Request", "Scheduler"]

_MOST_ATTEMPTS = 5000
_MOST_SECONDS = 5.0
"""How long work that plugins spawned may take, by the clock on the wall: it would never end."""


class Request(NamedTuple):
    """What a plugin sent to the API server."""

    method: str
    path: str
    body: Any


class _Requests(ApiClient):
    """Stands where the API server would: keeps what is sent, and answers with an empty object."""

    def __init__(self, kept: list[Request]) -> None:
        super().__init__(Connection.to_url("http://127.0.0.1:9"))
        self._kept = kept

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,  # noqa: ARG002 - as the client has them
        body: object = None,
        content_type: str = JSON,  # noqa: ARG002 - as the client has them
        timeout: float = 30.0,  # noqa: ARG002, ASYNC109 - as the client has them
    ) -> bytes:
        self._kept.append(Request(method, path, body))
        return b"{}"


class _Binds(Plugin):
    """Binds, where none of the plugins under test does."""

    @hookimpl
    def bind(self, pod: Pod) -> None:
        """Take the pod for bound."""


class Scheduler:
    """Schedules the pods that are submitted; `run` and `advance` go on until nothing is ready.

    Plugins, profile and arguments as in `schedule`. Everything that happens to the cluster
    meanwhile must come through here, so that waiting pods hear of it. `messages` say why pods are
    pending, `nominated` where `post_filter` makes room for them; `requests` are what plugins sent
    to the API server. What they have done beside the scheduling, by `Handle.spawn`, is done before
    the next pod is tried, and what it raises comes out here. Use it as a context manager: plugins
    are started at once and closed at the end.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        plugins: Plugins = None,
        profile: Profile = None,
        args: Args = None,
        scheduler_name: str = "default-scheduler",
    ) -> None:
        self.cluster = cluster
        self.requests: list[Request] = []
        self.messages: dict[str, str] = {}
        services = cluster.services()
        services.client = _Requests(self.requests)
        self._spawned: list[Coroutine[Any, Any, None]] = []
        services.spawn = self._spawn
        self._framework = make_framework(
            services,
            plugins=_with_binding(plugins) if profile is None else plugins,
            profile=profile,
            args=args,
            scheduler_name=scheduler_name,
        )
        run_to_end(self._framework.start())
        self._session = Session({scheduler_name: self._framework}, services)
        for node in cluster.nodes.values():
            self._session.nodes.put(node)
        for pod in cluster.pods.values():
            self._session.pods.put(pod)
        self._reserved: list[Reservation] = []
        self._bound: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the plugins; raises what the first of them raises."""
        faults: list[PluginError] = []
        run_to_end(self._framework.close(faults.append))
        while self._spawned:
            self._spawned.pop().close()
        if faults:
            raise faults[0]

    # What is going on

    @property
    def placed(self) -> dict[str, str]:
        """The node of each pod that was bound here, by ``namespace/name``."""
        return dict(self._bound)

    @property
    def waiting(self) -> dict[str, str]:
        """The node of each pod that waits in Permit."""
        return {waiting.info.key: waiting.node_name for waiting in self._session.services.waiting}

    @property
    def nominated(self) -> dict[str, str]:
        """The node that each pod which has none yet is nominated to."""
        queue = self._session.queue
        return {
            queued.info.key: node
            for place in queue.pending().values()
            for queued in place
            if (node := queue.nominator.node_of(queued.info.uid))
        }

    def plugin(self, name: str) -> Plugin:
        """Return the instance of a plugin by name; KeyError where it does not run."""
        return self._framework.plugin(name)

    # What happens

    def submit(self, *pods: Pod) -> dict[str, str]:
        """Create pods and schedule them; return `placed`."""
        for pod in pods:
            self._session.pods.put(pod)
        return self.run()

    def add(self, *objects: Node | Namespace | Workload | Pod) -> None:
        """Add objects or their newer versions; pods that are on no node wait to be scheduled."""
        for item in objects:
            if isinstance(item, Node):
                self._session.nodes.put(item)
            elif isinstance(item, Namespace):
                self._session.namespaces.put(item)
            elif isinstance(item, Pod):
                self._session.pods.put(item)
            else:
                self.cluster.add(item)

    def remove_node(self, name: str) -> None:
        """Delete a node."""
        self._session.nodes.drop(name)

    def remove_pod(self, pod: Pod) -> None:
        """Delete a pod, wherever it is."""
        self._session.pods.drop(pod.metadata.uid)
        self._bound.pop(pod_key(pod), None)

    def put_custom(self, group: str, version: str, plural: str, item: Mapping[str, Any]) -> None:
        """Add an object of a kind that plugins read through ``handle.informer``."""
        informer = self._session.services.informers.get(InformedKind(group, version, plural))
        informer.synced = True
        self._session.informed(informer).put(item)

    def advance(self, seconds: float) -> dict[str, str]:
        """Let time pass, then schedule; return `placed`."""
        self.cluster.clock.advance(seconds)
        return self.run()

    def run(self) -> dict[str, str]:
        """Try pods until none is ready, and bind those that may be; return `placed`.

        Raises PluginError where that does not end: plugins that call each other's pods for ever.
        """
        self._session.tick()
        progress = True
        attempts = 0
        while progress:
            attempts += 1
            if attempts > _MOST_ATTEMPTS:
                raise PluginError(
                    f"after {_MOST_ATTEMPTS} attempts at the same moment pods are still tried again: "
                    "plugins call each other's pods for ever"
                )
            progress = self._settle()
            outcome = self._session.attempt()
            if isinstance(outcome, Reservation):
                self._reserved.append(outcome)
                progress = True
            elif isinstance(outcome, Failure):
                self.messages[outcome.info.key] = outcome.message
                progress = True
        return self.placed

    # Inside

    def _settle(self) -> bool:
        """Do what was spawned, bind or undo what Permit is done with; say whether there was any."""
        spawned = self._do_spawned()
        settled = [
            one for one in self._reserved if one.waiting is None or one.waiting.verdict is not None
        ]
        for reservation in settled:
            self._reserved.remove(reservation)
            run_to_end(self._bind(reservation))
        return spawned or bool(settled)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> bool:
        self._spawned.append(work)
        return True

    def _do_spawned(self) -> bool:
        """Do what plugins spawned, to its end; say whether there was any."""
        works = self._spawned.copy()
        self._spawned.clear()
        if works:
            run_to_end(_done(works))
        return bool(works)

    async def _bind(self, reservation: Reservation) -> None:
        threads = DaemonThreads(limit=1)
        binder = Binder(threads, _announce_nothing)
        key = reservation.info.key
        try:
            verdict = await binder.bind(reservation, lambda: self._session.permitted(reservation))
            if not verdict.is_success:
                failure = self._session.undo(reservation, verdict)
                self.messages[key] = failure.message
                return
            self._session.bound(reservation)
            pod = reservation.info.pod
            status = msgspec.structs.replace(pod.status, phase="Running")
            self._session.pods.put(msgspec.structs.replace(pod, status=status))
            self._bound[key] = reservation.node_name
            self.messages.pop(key, None)
            await binder.post_bind(reservation)
        finally:
            threads.close()


async def _done(works: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Await all of it at once; PluginError where that does not end."""
    tasks = {asyncio.ensure_future(work): getattr(work, "__qualname__", "?") for work in works}
    _, late = await asyncio.wait(tasks, timeout=_MOST_SECONDS)
    if late:
        # The event loop cancels them when it ends.
        names = ", ".join(sorted(tasks[task] for task in late))
        raise PluginError(
            f"what was given to handle.spawn did not end within {_MOST_SECONDS:g} seconds: {names}; "
            "let work that never ends be a task that start makes and close cancels"
        )
    await asyncio.gather(*tasks)


async def _announce_nothing(_: Reservation) -> None:
    """Tell nobody."""


def _with_binding(plugins: Plugins) -> Plugins:
    if plugins is None:
        return None
    given: Sequence[Any] = [one[0] if isinstance(one, tuple) else one for one in plugins]
    binds = any(one == "DefaultBinder" for one in given) or any(
        "bind" in hooks_of(one) for one in given if isinstance(one, type)
    )
    return plugins if binds else [*plugins, _Binds]
