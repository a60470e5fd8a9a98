"""What came of each pod's last attempt, for people who ask why; bounded, the oldest go first."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from moorage.framework.queued_pod import QueuedPod

__all__ = ["AttemptLog", "LastAttempt"]

_MOST = 10_000
"""Pods remembered; some 500 bytes each, texts are shared with what is written to the pod."""


class LastAttempt(NamedTuple):
    """One pod's last attempt.

    `result` is scheduled, unschedulable or error; `at` seconds since the epoch when it ended;
    `seconds` how long it took; `attempts` how many there have been, this one included.
    """

    uid: str
    result: str
    message: str
    node_name: str
    attempts: int
    seconds: float
    at: float
    plugins: tuple[str, ...]


class AttemptLog:
    """The last attempts, by ``namespace/name``; one thread writes, others may read."""

    def __init__(self, *, most: int = _MOST, wall: Callable[[], float] = time.time) -> None:
        self._most = most
        self._wall = wall
        self._attempts: OrderedDict[str, LastAttempt] = OrderedDict()

    def note(
        self, queued: QueuedPod, *, result: str, message: str, node_name: str, seconds: float
    ) -> None:
        """Remember how an attempt ended; O(1)."""
        plugins: tuple[str, ...] = ()
        if result == "unschedulable":
            plugins = tuple(queued.unschedulable_plugins | queued.pending_plugins)
        attempts = self._attempts
        attempts[queued.key] = LastAttempt(
            queued.info.uid,
            result,
            message,
            node_name,
            queued.attempts,
            seconds,
            self._wall(),
            plugins,
        )
        attempts.move_to_end(queued.key)
        if len(attempts) > self._most:
            attempts.popitem(last=False)

    def get(self, key: str) -> LastAttempt | None:
        """Return a pod's last attempt, by ``namespace/name``; None: unknown, or long ago."""
        return self._attempts.get(key)

    def newest(self, count: int) -> dict[str, LastAttempt]:
        """Return the last attempts that ended most recently, newest first."""
        keys = list(self._attempts)[-count:] if count else []
        return {key: self._attempts[key] for key in reversed(keys) if key in self._attempts}

    def __len__(self) -> int:
        return len(self._attempts)
