"""Pods that wait in Permit for plugins to allow them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from moorage.framework.verdict import SUCCESS, Verdict
from moorage.model.pod_info import PodInfo

__all__ = ["WaitingPod", "WaitingPods"]


class WaitingPod:
    """A pod that has a node and waits until every plugin that asked for it allows it.

    waiting --allow by the last plugin--> allowed
            --reject, or time is over---> rejected
            --preempt-------------------> preempted
    """

    def __init__(
        self, info: PodInfo, node_name: str, waits: Mapping[str, float], *, now: float
    ) -> None:
        """Let a pod wait, by plugin, for so many seconds from `now` on."""
        self.info = info
        self.node_name = node_name
        self._waits = dict(waits)
        self._deadlines = {plugin: now + seconds for plugin, seconds in waits.items()}
        self.verdict: Verdict | None = None
        self.on_settled: Callable[[], None] | None = None

    @property
    def pending_plugins(self) -> frozenset[str]:
        """The plugins that have not allowed the pod yet."""
        return frozenset(self._deadlines)

    @property
    def deadline(self) -> float:
        """When the first plugin's time is over, in seconds of the handle's clock."""
        return min(self._deadlines.values(), default=float("inf"))

    def allow(self, plugin: str) -> None:
        """Let the pod go on, as far as `plugin` is concerned."""
        self._deadlines.pop(plugin, None)
        if not self._deadlines:
            self._settle(SUCCESS)

    def reject(self, plugin: str, message: str) -> None:
        """Refuse the pod; it gives its node back and waits for an event of `plugin`."""
        self._settle(Verdict.unschedulable(message).of(plugin))

    def preempt(self, plugin: str, message: str) -> bool:
        """Have the pod give its node back to a more important one; False: it waits no longer.

        Nothing is wrong with it: it is tried again as soon as its backoff is over.
        """
        if self.verdict is not None:
            return False
        self._settle(Verdict.error(f"waiting on permit for pod: {message}").of(plugin))
        return True

    def expire(self, now: float) -> None:
        """Refuse the pod where a plugin's time is over."""
        for plugin, deadline in self._deadlines.items():
            if deadline <= now:
                waited = _in_go(self._waits[plugin])
                self.reject(
                    plugin, f"rejected due to timeout after waiting {waited} at plugin {plugin}"
                )
                return

    def _settle(self, verdict: Verdict) -> None:
        if self.verdict is None:
            self.verdict = verdict
            if self.on_settled is not None:
                self.on_settled()


class WaitingPods:
    """The pods that wait in Permit, by uid; shared by all profiles of a process."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter(tuple(self._pods.values()))

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, uid: str) -> WaitingPod | None:
        """Return a waiting pod, None where it does not wait."""
        return self._pods.get(uid)

    def add(self, pod: WaitingPod) -> None:
        """Let a pod wait."""
        self._pods[pod.info.uid] = pod

    def remove(self, uid: str) -> None:
        """Forget a pod that no longer waits."""
        self._pods.pop(uid, None)


def _in_go(seconds: float) -> str:
    """Write a duration as Go does: ``10s``, ``1m30s``, ``1h0m0s``, ``250ms``, ``1.5µs``."""
    for unit, prefix in ((1e-6, "n"), (1e-3, "µ"), (1.0, "m")):
        if 0 < seconds < unit:
            return f"{seconds / unit * 1000:g}{prefix}s"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    if hours:
        return f"{hours}h{minutes}m{rest:g}s"
    return f"{minutes}m{rest:g}s" if minutes else f"{rest:g}s"
