"""A plugin's way to the rest of the scheduler."""

from __future__ import annotations

import importlib
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import msgspec
import numpy as np
from prometheus_client import CollectorRegistry

from moorage.cache.budgets import BudgetStore
from moorage.cache.cluster import ClusterCache
from moorage.cache.devices import DeviceStore
from moorage.cache.storage import StorageStore
from moorage.cache.view import NodesView
from moorage.cache.workloads import WorkloadStore
from moorage.errors import PluginError
from moorage.framework.activity import Activity
from moorage.framework.informing import InformedKind, Informer, Informers
from moorage.framework.pre_binding import PodsInPreBind
from moorage.framework.waiting_pods import WaitingPods
from moorage.metrics import Metrics
from moorage.model.nodes import Node
from moorage.model.pod_info import PodInfo
from moorage.model.pods import Pod
from moorage.model.storage import ObjectReference, PersistentVolume, PersistentVolumeClaim

if TYPE_CHECKING:
    from moorage.api.client import ApiClient
    from moorage.framework.tracing import Tracer

__all__ = ["Activator", "EventSink", "Handle", "Nominations", "Services"]

T = TypeVar("T")


def _writing() -> ModuleType:
    """Import the writes when the first is made: aiohttp is a third of what `import moorage` costs."""
    return importlib.import_module("moorage.api.writing")


def _volume_writing() -> ModuleType:
    """Import the writes about volumes, as late as those about pods."""
    return importlib.import_module("moorage.api.volume_writing")


class EventSink(Protocol):
    """Where Events about pods go; never blocks."""

    def __call__(self, pod: Pod, *, kind: str, reason: str, action: str, note: str) -> None:
        """Record an Event of `kind` Normal or Warning."""
        ...


class Nominations(Protocol):
    """Which pods are expected on which nodes."""

    def nominated_on(self, node_name: str) -> Iterable[Any]:
        """Return the pods (`PodInfo`) nominated to a node."""
        ...

    def node_of(self, uid: str) -> str:
        """Return the node that a pod is nominated to; an empty text: none."""
        ...

    def remove(self, uid: str) -> None:
        """End a pod's nomination, if it has one."""
        ...


Activator = Callable[[Iterable[str]], None]
"""Moves waiting pods, by ``namespace/name``, to the active queue."""


Spawn = Callable[[Coroutine[Any, Any, None]], bool]
"""Has a coroutine run beside the scheduling, in a task of its own; False: it will not run."""


def _run_nothing(work: Coroutine[Any, Any, None]) -> bool:
    """Drop work: there is no event loop, and no API server that it could be done at."""
    work.close()
    return False


def _no_event(pod: Pod, *, kind: str, reason: str, action: str, note: str) -> None:
    """Drop an Event: there is nobody to send it to."""


@dataclass(kw_only=True)
class Services:
    """What one process shares among its profiles and plugins; the runner fills it in.

    `clock` gives monotonic seconds, `wall` the time of day. `spawn` runs what plugins do at the API
    server beside the scheduling; without an event loop nothing does. `is_there` says by uid whether
    a pod is still there. `generator` is seeded, for ties and for plugins. `client` is None where no API server is there (tests, `moorage verify`).
    `tracer` is set before profiles are assembled, where somebody watches what plugins do.
    """

    cluster: ClusterCache = field(default_factory=ClusterCache)
    clock: Callable[[], float] = time.monotonic
    generator: np.random.Generator = field(default_factory=np.random.default_rng)
    shared: dict[str, Any] = field(default_factory=dict)
    informers: Informers = field(default_factory=Informers)
    waiting: WaitingPods = field(default_factory=WaitingPods)
    pre_binding: PodsInPreBind = field(default_factory=PodsInPreBind)
    metrics: Metrics = field(default_factory=Metrics)
    activity: Activity = field(default_factory=Activity)
    client: ApiClient | None = None
    events: EventSink = _no_event
    activate: Activator = lambda _: None
    nominations: Nominations | None = None
    spawn: Spawn = _run_nothing
    is_there: Callable[[str], bool] = lambda _: True
    wall: Callable[[], datetime] = lambda: datetime.now(UTC)
    tracer: Tracer | None = None


class Handle:
    """What a plugin instance may use; one for each plugin and profile."""

    def __init__(self, services: Services, *, plugin_name: str, profile_name: str) -> None:
        self._services = services
        self.plugin_name = plugin_name
        self.profile_name = profile_name
        self.logger = logging.getLogger(f"moorage.plugins.{plugin_name}")

    # The cluster

    def nodes(self) -> Iterable[Node]:
        """List all nodes."""
        return self._services.cluster.nodes()

    def node(self, name: str) -> Node | None:
        """Return one node by name."""
        row = self._services.cluster.row(name)
        return None if row is None else self._services.cluster.node(row)

    def nodes_view(self) -> NodesView:
        """Return all nodes as they are now, as arrays; valid until the hook returns."""
        return self._services.cluster.view()

    def pods(self) -> Iterable[Pod]:
        """List all pods that are on nodes, assumed ones included."""
        return (info.pod for info in self._services.cluster.pods())

    def pod(self, uid: str) -> Pod | None:
        """Return a pod that is on a node by its uid, as it was last seen; None: it is on none."""
        info = self._services.cluster.pod(uid)
        return None if info is None else info.pod

    @property
    def disruption_budgets(self) -> BudgetStore:
        """PodDisruptionBudgets, by the pods that are under them."""
        return self._services.cluster.budgets

    @property
    def devices(self) -> DeviceStore:
        """Devices, their classes, and claims for them, as the API server last told of them."""
        return self._services.cluster.devices

    def informer(self, group: str, version: str, plural: str) -> Informer:
        """Return the store of another kind of object; ask for it in `start`.

        One watch a process serves all plugins that ask; its changes reach the hints of plugins
        that registered ``plural.version.group``.
        """
        kind = InformedKind(group, version, plural)
        return self._services.informers.get(kind, plugin=self.plugin_name)

    @property
    def workloads(self) -> WorkloadStore:
        """Services, and the controllers of pods."""
        return self._services.cluster.workloads

    @property
    def storage(self) -> StorageStore:
        """Volumes, claims, classes, and what CSI drivers say of nodes."""
        return self._services.cluster.storage

    def claim_users(self, namespace: str, name: str) -> Iterable[PodInfo]:
        """Return the pods on nodes, assumed ones included, that use a claim."""
        return self._services.cluster.volume_users.of_claim(namespace, name)

    # Pods on their way

    @property
    def waiting_pods(self) -> WaitingPods:
        """The pods that wait in Permit."""
        return self._services.waiting

    @property
    def pods_in_pre_bind(self) -> PodsInPreBind:
        """The pods that PreBind plugins work for."""
        return self._services.pre_binding

    def activate(self, keys: Iterable[str]) -> None:
        """Try waiting pods, by ``namespace/name``, at once."""
        self._services.activate(keys)

    def nominated_pods(self, node_name: str) -> Iterable[Any]:
        """Return the pods (`PodInfo`) that are nominated to a node."""
        nominations = self._services.nominations
        return () if nominations is None else nominations.nominated_on(node_name)

    def nominated_node(self, pod: Pod) -> str:
        """Return the node that a pod is nominated to, an empty text: none.

        What is known here runs ahead of the pod's status.
        """
        nominations = self._services.nominations
        if nominations is None:
            return pod.status.nominated_node_name
        return nominations.node_of(pod.metadata.uid)

    def is_there(self, pod: Pod) -> bool:
        """Say whether a pod has neither ended nor been deleted, as far as the API server has told."""
        return self._services.is_there(pod.metadata.uid)

    def spawn(self, work: Coroutine[Any, Any, None]) -> bool:
        """Run a coroutine beside the scheduling, in a task of its own; say whether it will run.

        For what a hook that must not block wants done at the API server, and that ends: while it
        runs, the scheduler is not idle. An exception is logged. At shutdown the task has as long as
        bindings have, and is cancelled then. Where there is no API server (`moorage verify`,
        `moorage.testing` but for `Scheduler`), the coroutine is closed without being run.
        Work that goes on for ever is a task that ``start`` makes, as ``async def``, and ``close``
        cancels.
        """
        return self._services.spawn(work)

    # The outside

    @property
    def client(self) -> ApiClient:
        """The asyncio client of the API server; PluginError where there is none.

        ``await client.request("PATCH", path, body={...}, content_type=...)`` sends JSON and returns
        the answer's body; ApiError where the server refuses, UnreachableError where it does not
        answer (LostAnswerError: it may have done it all the same).
        """
        if self._services.client is None:
            raise PluginError(
                f"plugin {self.plugin_name!r} needs an API server, and this run has none; "
                "use it with `moorage run`"
            )
        return self._services.client

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Write a pod's Binding; ApiError where the API server refuses it.

        A Binding whose answer was lost is found out by reading the pod, never by binding again.
        """
        metadata = pod.metadata
        await _writing().bind(
            self.client,
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
            node=node_name,
        )

    async def delete(self, pod: Pod) -> None:
        """Delete a pod, with its own grace period; ApiError where the API server refuses it.

        A later pod of the same name is left alone (a 409); a pod that is gone already is a 404.
        """
        metadata = pod.metadata
        await _writing().delete_pod(
            self.client, namespace=metadata.namespace, name=metadata.name, uid=metadata.uid
        )

    async def claim_volume(self, volume: PersistentVolume, claim: ObjectReference) -> str:
        """Write into a volume which claim it is for; returns the version that it has then.

        Only the version of the volume that is given: ApiError (409) where it has changed.
        """
        written: str = await _volume_writing().claim_volume(
            self.client,
            name=volume.metadata.name,
            version=volume.metadata.resource_version,
            claim=msgspec.to_builtins(claim),
            by_controller=volume.spec.claim_ref is None,
        )
        return written

    async def annotate_claim(
        self, claim: PersistentVolumeClaim, annotations: Mapping[str, str]
    ) -> str:
        """Write annotations of a claim; returns the version that it has then; as `claim_volume`."""
        metadata = claim.metadata
        written: str = await _volume_writing().annotate_claim(
            self.client,
            namespace=metadata.namespace,
            name=metadata.name,
            version=metadata.resource_version,
            annotations=annotations,
        )
        return written

    async def set_condition(
        self, pod: Pod, kind: str, *, status: str, reason: str, message: str
    ) -> None:
        """Write a condition into a pod's status, unless it says just that; ApiError as `delete`."""
        metadata = pod.metadata
        writing = _writing()
        condition = writing.Condition(
            type=kind,
            status=status,
            reason=reason,
            message=message,
            observed_generation=metadata.generation,
            last_transition_time=f"{self._services.wall():%Y-%m-%dT%H:%M:%SZ}",
        )
        existing = [
            writing.Condition(
                type=one.type, status=one.status, reason=one.reason, message=one.message
            )
            for one in pod.status.conditions
        ]
        await self._patch_status(pod, writing.pod_status_patch(existing, condition))

    async def patch_status(self, pod: Pod, status: dict[str, Any]) -> None:
        """Write fields of a pod's status, in the API's spelling; ApiError as `delete`."""
        await self._patch_status(pod, {"status": status})

    async def clear_nomination(self, pod: Pod) -> None:
        """Expect a waiting pod nowhere any more, here and in its status; ApiError as `delete`."""
        if self._services.nominations is not None:
            self._services.nominations.remove(pod.metadata.uid)
        before = pod.status.nominated_node_name
        patch = _writing().pod_status_patch([], nominated_node_name="", nominated_before=before)
        await self._patch_status(pod, patch)

    async def _patch_status(self, pod: Pod, patch: dict[str, Any] | None) -> None:
        if patch is not None:
            metadata = pod.metadata
            await _writing().patch_pod_status(
                self.client, namespace=metadata.namespace, name=metadata.name, patch=patch
            )

    def event(self, pod: Pod, *, kind: str, reason: str, action: str, note: str) -> None:
        """Record an Event of `kind` Normal or Warning about a pod; never blocks."""
        self._services.events(pod, kind=kind, reason=reason, action=action, note=note)

    @property
    def registry(self) -> CollectorRegistry:
        """The Prometheus registry of this process, for a plugin's own metrics."""
        return self._services.metrics.plugins

    @property
    def metrics(self) -> Metrics:
        """kube-scheduler's metrics, for plugins that do what these tell of, such as preemption."""
        return self._services.metrics

    # The process

    def clock(self) -> float:
        """Return the time in monotonic seconds; virtual in simulations."""
        return self._services.clock()

    def wall(self) -> datetime:
        """Return the time of day, in UTC; only for what is written down or was read."""
        return self._services.wall()

    @property
    def generator(self) -> np.random.Generator:
        """The seeded generator of this process; use it for every random choice."""
        return self._services.generator

    def shared(self, key: str, factory: Callable[[], T]) -> T:
        """Return state of the process, the same for all profiles; made once by `factory`.

        What is reserved in flight belongs here, or two profiles give out the same thing twice.
        """
        values = self._services.shared
        if key not in values:
            values[key] = factory()
        return cast("T", values[key])
