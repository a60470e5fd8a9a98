"""A cluster in memory, for tests: nodes, pods, services, volumes, devices, custom objects, a clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias, cast, get_args

import msgspec
import numpy as np

from moorage.cache import ClusterCache, NodesView
from moorage.framework.handle import Services
from moorage.framework.informing import InformedKind
from moorage.model import (
    DeviceClass,
    DeviceObject,
    Namespace,
    Node,
    Pod,
    PodInfo,
    ResourceClaim,
    ResourceSlice,
    StorageObject,
    Workload,
)
from moorage.testing.objects import make_namespace, make_node

__all__ = ["Clock", "Cluster", "KubeObject", "RecordedEvent"]

KubeObject: TypeAlias = Node | Pod | Namespace | Workload | StorageObject | DeviceObject
"""What a cluster can be given; a pod must be on a node."""


class Clock:
    """Seconds that pass when told."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class RecordedEvent(NamedTuple):
    """An Event that a plugin recorded about a pod (``namespace/name``)."""

    pod: str
    kind: str
    reason: str
    action: str
    note: str


class Cluster:
    """Nodes with their pods, as plugins see them; cheap to make, one for each test.

    Nodes may be given by name only: ``Cluster(["n1", "n2"])`` has two of the usual size. `events`
    collects what plugins record, `clock` is the time that they see, and `seed` that of the
    generator for ties.
    """

    def __init__(
        self,
        nodes: Iterable[Node | str] = (),
        pods: Iterable[Pod] = (),
        *,
        seed: int = 0,
    ) -> None:
        self.clock = Clock()
        self.events: list[RecordedEvent] = []
        self.cache = ClusterCache()
        self._services = Services(cluster=self.cache, clock=self.clock, events=self._record)
        self._seed = seed
        self.add(make_namespace("default"))
        self.add(*(make_node(node) if isinstance(node, str) else node for node in nodes))
        self.add(*pods)

    def __repr__(self) -> str:
        placed = {info.key: info.pod.spec.node_name for info in self.cache.pods()}
        return f"Cluster(nodes={list(self.nodes)}, pods={placed})"

    # What is there

    @property
    def nodes(self) -> dict[str, Node]:
        """The nodes by name."""
        return {node.metadata.name: node for node in self.cache.nodes()}

    @property
    def pods(self) -> dict[str, Pod]:
        """The pods on nodes by ``namespace/name``."""
        return {info.key: info.pod for info in self.cache.pods()}

    def pods_on(self, node: str) -> list[Pod]:
        """Return the pods of one node; KeyError where there is no such node."""
        return [info.pod for info in self.cache.pods_on(self._row(node))]

    def view(self, names: Iterable[str] | None = None) -> NodesView:
        """Return a view of all nodes, or of some in this order, as hooks are given one."""
        if names is None:
            return self.cache.view()
        rows = [self._row(name) for name in names]
        return self.cache.view_of(np.array(rows, dtype=np.intp))

    # What changes

    def add(self, *objects: KubeObject) -> None:
        """Add objects, or replace them by newer versions; pods must be on a node."""
        for item in objects:
            if isinstance(item, Node):
                self.cache.set_node(item)
            elif isinstance(item, Namespace):
                self.cache.set_namespace(item)
            elif isinstance(item, Pod):
                if not item.spec.node_name:
                    raise ValueError(
                        f"pod {item.metadata.name!r} is on no node; give it one "
                        "(make_pod(..., node=...)), or schedule it"
                    )
                self.cache.add_pod(PodInfo(item))
            elif isinstance(item, get_args(Workload)):
                self.cache.set_workload(cast("Workload", item))
            elif isinstance(item, ResourceClaim):
                self.cache.devices.claims.put(item)
            elif isinstance(item, ResourceSlice):
                self.cache.devices.slices.put(item)
            elif isinstance(item, DeviceClass):
                self.cache.devices.classes.put(item)
            else:
                self.cache.storage.put(cast("StorageObject", item))

    def bind(self, pod: Pod, node: str) -> Pod:
        """Put a pod on a node, as if it had been scheduled there; return the bound pod."""
        self._row(node)
        spec = msgspec.structs.replace(pod.spec, node_name=node)
        bound = msgspec.structs.replace(pod, spec=spec)
        self.add(bound)
        return bound

    def remove_node(self, name: str) -> None:
        """Forget a node."""
        self.cache.remove_node(name)

    def remove_pod(self, pod: Pod) -> None:
        """Take a pod off its node."""
        self.cache.remove_pod(pod.metadata.uid)

    def put_custom(self, group: str, version: str, plural: str, item: Mapping[str, Any]) -> None:
        """Add an object of a kind that plugins read through ``handle.informer``."""
        informer = self._services.informers.get(InformedKind(group, version, plural))
        informer.put(item)
        informer.synced = True

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.advance(seconds)

    # For those who run plugins on it

    def services(self) -> Services:
        """Return what a process that has just started would share among its plugins.

        The cluster, the clock, the informers and the events are this cluster's; metrics, shared
        state, waiting pods and the seeded generator are new.
        """
        return Services(
            cluster=self.cache,
            clock=self.clock,
            events=self._record,
            informers=self._services.informers,
            generator=np.random.default_rng(self._seed),
        )

    def _row(self, name: str) -> int:
        row = self.cache.row(name)
        if row is None:
            raise KeyError(f"there is no node {name!r} in this cluster")
        return row

    def _record(self, pod: Pod, *, kind: str, reason: str, action: str, note: str) -> None:
        key = f"{pod.metadata.namespace}/{pod.metadata.name}"
        self.events.append(RecordedEvent(key, kind, reason, action, note))
