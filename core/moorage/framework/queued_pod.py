"""A pod on its way through the queue."""

from __future__ import annotations

from moorage.model.pod_info import PodInfo
from moorage.model.pods import Pod

__all__ = ["QueuedPod"]


class QueuedPod:
    """A pod that waits for its decision, with what happened to it so far.

    `info`: the newest version of the pod, with its requests. `timestamp`: seconds of the queue's
    clock when it was added, or handed back after its last attempt; `first_attempt`: when it first
    became ready to be tried (None: gated ever since). `attempts`: how often it was popped.
    `unschedulable_count` and `error_count`: how often it was refused, and how often in a row
    something went wrong; each has its own backoff, which ends at `backoff_until` (0.0: none).
    `unschedulable_plugins` and `pending_plugins`: who refused it last time; only events that these
    registered can bring it back. `gated_by`: the PreEnqueue plugin that holds it back,
    `gated_because`: what it says about that.
    `was_flushed`: it came back by the long timeout, not by an event.
    `begun`: when its last attempt began, by the clock of the metrics.
    """

    __slots__ = (
        "attempts",
        "backoff_until",
        "begun",
        "error_count",
        "first_attempt",
        "gated_because",
        "gated_by",
        "info",
        "pending_plugins",
        "timestamp",
        "unschedulable_count",
        "unschedulable_plugins",
        "was_flushed",
    )

    def __init__(self, info: PodInfo, *, timestamp: float) -> None:
        self.info = info
        self.timestamp = timestamp
        self.first_attempt: float | None = None
        self.attempts = 0
        self.unschedulable_count = 0
        self.error_count = 0
        self.backoff_until = 0.0
        self.unschedulable_plugins: frozenset[str] = frozenset()
        self.pending_plugins: frozenset[str] = frozenset()
        self.gated_by = ""
        self.gated_because = ""
        self.was_flushed = False
        self.begun = 0.0

    @property
    def pod(self) -> Pod:
        """The pod itself."""
        return self.info.pod

    @property
    def key(self) -> str:
        """The pod's ``namespace/name``."""
        return self.info.key

    def __repr__(self) -> str:
        return f"QueuedPod({self.key}, attempts={self.attempts})"
