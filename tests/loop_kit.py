"""Objects, plugins and sessions for tests of the loop: feed, binding, session and runner."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np

import moorage
from moorage.api.decoding import Added, Change, Deleted, Modified
from moorage.api.watching import Changes, Replace
from moorage.framework.assembly import new_framework
from moorage.framework.handle import Services
from moorage.framework.host import Registry
from moorage.framework.profile import Framework
from moorage.model.events import ActionType, ClusterEvent, EventResource
from moorage.model.meta import ObjectMeta
from moorage.model.nodes import Node, NodeSpec, NodeStatus
from moorage.model.pods import Container, Pod, PodSpec, PodStatus, ResourceRequirements
from moorage.session import Session

T = TypeVar("T")
Answers: TypeAlias = dict[str, Any]

PROFILE = "default-scheduler"
_versions = itertools.count(1)


# Objects


def make_pod(
    name: str,
    *,
    cpu: str = "1",
    node: str = "",
    profile: str = PROFILE,
    labels: Mapping[str, str] | None = None,
    phase: str = "Pending",
    nominated: str = "",
    priority: int = 0,
    uid: str = "",
) -> Pod:
    """Make a new version of a pod; its uid is its name unless told."""
    requests = {"cpu": cpu} if cpu else {}
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace="ns",
            uid=uid or name,
            resource_version=str(next(_versions)),
            labels=dict(labels or {}),
        ),
        spec=PodSpec(
            node_name=node,
            scheduler_name=profile,
            priority=priority,
            containers=(Container(name="c", resources=ResourceRequirements(requests=requests)),),
        ),
        status=PodStatus(phase=phase, nominated_node_name=nominated),
    )


def make_node(
    name: str,
    *,
    cpu: str = "4",
    labels: Mapping[str, str] | None = None,
    unschedulable: bool = False,
) -> Node:
    """Make a new version of a node."""
    metadata = ObjectMeta(
        name=name, resource_version=str(next(_versions)), labels=dict(labels or {})
    )
    return Node(
        metadata=metadata,
        spec=NodeSpec(unschedulable=unschedulable),
        status=NodeStatus(allocatable={"cpu": cpu}),
    )


# Batches


def listed(*items: T) -> Replace[T]:
    """Make the batch of a new list."""
    return Replace(list(items), str(next(_versions)))


def added(*items: T) -> Changes[T]:
    """Make a batch of new objects."""
    return Changes([Added(item) for item in items])


def modified(*items: T) -> Changes[T]:
    """Make a batch of newer versions."""
    return Changes([Modified(item) for item in items])


def deleted(*items: T) -> Changes[T]:
    """Make a batch of deletions."""
    changes: list[Change[T]] = [Deleted(item) for item in items]
    return Changes(changes)


# Plugins


class Clock:
    """Seconds that pass when told."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Sort(moorage.Plugin):
    """Sorts by priority and time."""

    @moorage.hookimpl
    def queue_sort(self, queued: moorage.QueuedPod) -> tuple[int, float]:
        """Sort by falling priority."""
        return -queued.info.priority, queued.timestamp


class Room(moorage.Plugin):
    """Lets pods pass where there is cpu for them."""

    @moorage.hookimpl
    def events_to_register(self) -> tuple[moorage.EventHint, ...]:
        """Retry when a node comes or grows, or a pod leaves."""
        node = ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE
        return (
            moorage.EventHint(ClusterEvent(EventResource.NODE, node)),
            moorage.EventHint(ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)),
        )

    @moorage.hookimpl
    def filter_nodes(self, info: moorage.PodInfo, nodes: moorage.NodesView) -> np.ndarray[Any, Any]:
        """Compare cpu."""
        free = nodes.allocatable("cpu") - nodes.requested("cpu")
        return np.asarray(free >= info.requests.get("cpu"))

    @moorage.hookimpl
    def explain(self, code: int) -> moorage.Verdict:
        """Say what is missing."""
        return moorage.Verdict.unschedulable("Insufficient cpu")


def scripted(
    hooks: tuple[str, ...], answers: Answers, log: list[str], *, asynchronous: bool = False
) -> type[moorage.Plugin]:
    """Make a plugin that logs ``Name.hook`` and does what `answers` says.

    An answer for ``Name.hook`` or ``hook`` is an exception to raise, a function of the pod and the
    plugin to call, or what to return.
    """

    def answer(plugin: moorage.Plugin, hook: str, pod: moorage.Pod) -> Any:  # noqa: ANN401 - a script
        log.append(f"{plugin.name}.{hook}")
        said = answers.get(f"{plugin.name}.{hook}", answers.get(hook))
        if isinstance(said, Exception):
            raise said
        return said(pod, plugin) if callable(said) else said

    def method(hook: str) -> Callable[..., Any]:
        def plain(self: moorage.Plugin, pod: moorage.Pod) -> Any:  # noqa: ANN401 - a script
            return answer(self, hook, pod)

        async def awaited(self: moorage.Plugin, pod: moorage.Pod) -> Any:  # noqa: ANN401 - a script
            said = answer(self, hook, pod)
            return await said if hasattr(said, "__await__") else said

        inline = hook in {"reserve", "unreserve", "permit", "pre_enqueue"}
        return moorage.hookimpl(awaited if asynchronous and not inline else plain)

    return type("Scripted", (moorage.Plugin,), {hook: method(hook) for hook in hooks})


# Profiles and sessions


def make_framework(
    plugins: Mapping[str, type[moorage.Plugin]],
    *,
    services: Services | None = None,
    profile: str = PROFILE,
) -> Framework:
    """Assemble a profile of classes, each wherever it can be."""
    return new_framework(
        Registry.of(plugins, distribution="tests"),
        list(plugins),
        profile_name=profile,
        services=services,
    )


class World:
    """A session on a clock of its own, with `Sort`, `Room` and further plugins."""

    def __init__(self, **plugins: type[moorage.Plugin]) -> None:
        self.clock = Clock()
        self.services = Services(clock=self.clock, generator=np.random.default_rng(1))
        framework = make_framework({"Sort": Sort, "Room": Room, **plugins}, services=self.services)
        framework.register_events()
        self.framework = framework
        self.session = Session({PROFILE: framework}, self.services)
        self.cluster = self.session.cluster
        self.queue = self.session.queue

    def check(self) -> None:
        """Check every invariant."""
        self.cluster.check_invariants()
        self.queue.check_invariants()
