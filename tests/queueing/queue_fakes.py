"""A clock, profiles and pods for tests of the queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from moorage.framework.hints import EventHint, QueueingHint
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.requeue import RequeueRequest
from moorage.framework.verdict import SUCCESS, Code, Verdict
from moorage.model.events import ActionType, ClusterEvent, EventResource
from moorage.model.meta import ObjectMeta
from moorage.model.nodes import Node
from moorage.model.pod_info import PodInfo
from moorage.model.pods import Pod, PodSpec, PodStatus
from moorage.queueing import Place, SchedulingQueue

NODE_ADDED = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_TAINT = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
NODE_LABEL = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)
POD_DELETED = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
PROFILE = "moorage"


def node(name: str = "n1", **labels: str) -> Node:
    """Make a node; hints here look at the label ``helps``."""
    return Node(metadata=ObjectMeta(name=name, labels=labels))


def pod(
    name: str,
    *,
    uid: str = "",
    priority: int = 0,
    labels: Mapping[str, str] | None = None,
    nominated: str = "",
    version: int = 1,
    profile: str = PROFILE,
) -> PodInfo:
    """Make a pending pod; its uid is its name unless told; the label ``gate`` gates it."""
    metadata = ObjectMeta(
        name=name,
        namespace="ns",
        uid=uid or name,
        labels=dict(labels or {}),
        resource_version=str(version),
    )
    spec = PodSpec(scheduler_name=profile, priority=priority)
    return PodInfo(
        Pod(metadata=metadata, spec=spec, status=PodStatus(nominated_node_name=nominated))
    )


class Clock:
    """Seconds that pass when told."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Profile:
    """Sorts by priority and time; gates by label; counts what it is asked.

    Plugin `Fit` registers Node/Add, `Taint` Node/UpdateNodeTaint, `External` Node/UpdateNodeLabel,
    `Own` updates of the pending pod, each with a hint: QUEUE if the new object has the label
    ``helps``. `Gate` registers Node/UpdateNodeTaint, `Deaf` nothing at all; unknown ones everything.
    """

    def __init__(self) -> None:
        self.hint_calls: Counter[str] = Counter()
        self.pre_enqueue_calls = 0
        self.closed = True
        self.hints: Mapping[str, tuple[EventHint, ...]] = {
            "Fit": (EventHint(NODE_ADDED, self._counted("Fit")),),
            "Taint": (EventHint(NODE_TAINT, self._counted("Taint")),),
            "External": (EventHint(NODE_LABEL, self._counted("External")),),
            "Own": (
                EventHint(
                    ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_LABEL),
                    self._counted("Own"),
                ),
            ),
            "Gate": (EventHint(NODE_TAINT, self._counted("Gate")),),
            "Deaf": (),
        }

    def sort_key(self, queued: QueuedPod) -> tuple[int, float]:
        """Order as PrioritySort does."""
        return (-queued.info.priority, queued.timestamp)

    def pre_enqueue(self, pod: Pod) -> Verdict:
        """Refuse pods with the label ``gate`` while this profile is closed."""
        self.pre_enqueue_calls += 1
        gate = pod.metadata.labels.get("gate")
        if gate and self.closed:
            return Verdict.unschedulable("gated").of(gate)
        return SUCCESS

    def _counted(self, plugin: str) -> Callable[[Pod, Any, Any], QueueingHint]:
        def hint(waiting: Pod, old: Any, new: Any) -> QueueingHint:  # noqa: ANN401 - any object
            self.hint_calls[plugin] += 1
            helps = new is not None and "helps" in new.metadata.labels
            return QueueingHint.QUEUE if helps else QueueingHint.SKIP

        return hint


class World:
    """A queue with one profile, and what it reported."""

    def __init__(self, profile: Profile | None = None) -> None:
        self.clock = Clock()
        self.profile = profile or Profile()
        self.incoming: list[tuple[str, str]] = []
        self.hint_errors: list[tuple[str, str]] = []
        self.ready = 0
        self.queue = SchedulingQueue(
            {PROFILE: self.profile},
            clock=self.clock,
            on_hint_error=lambda plugin, pod, event, error: self.hint_errors.append(
                (plugin, str(error))
            ),
            on_incoming=lambda queue, event: self.incoming.append((queue, event)),
            on_ready=self._count_ready,
        )

    def _count_ready(self) -> None:
        self.ready += 1

    def place(self, name: str) -> Place:
        """Return where a pod is."""
        return self.queue.place(name)

    def popped(self) -> QueuedPod:
        """Pop a pod that must be there."""
        queued = self.queue.pop()
        assert queued is not None
        return queued

    def refused(self, info: PodInfo, *plugins: str, pending: tuple[str, ...] = ()) -> QueuedPod:
        """Add a pod, pop it and hand it back refused."""
        self.queue.add(info)
        queued = self.popped()
        assert queued.info is info
        self.queue.requeue(queued, refusal(*plugins, pending=pending))
        return queued

    def pass_backoff(self) -> None:
        """Let time pass until every backoff is over."""
        self.clock.now += 20.0


def refusal(*plugins: str, pending: tuple[str, ...] = ()) -> RequeueRequest:
    """Make the request of a refused pod."""
    return RequeueRequest(Code.UNSCHEDULABLE, frozenset(plugins), frozenset(pending))
