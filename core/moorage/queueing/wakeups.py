"""Which waiting pods an event may concern, and whether it helps one of them.

A pod is asked about only where a plugin that refused it registered for the event; events that no
plugin registered for are recognised by one dictionary look-up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum

from moorage.framework.activity import Activity
from moorage.framework.blame import let_through
from moorage.framework.hints import EventHint, QueueingHint
from moorage.framework.queued_pod import QueuedPod
from moorage.model.events import ALL, ClusterEvent, EventResource, describes
from moorage.model.pods import Pod, pod_key
from moorage.queueing.in_flight import Happening
from moorage.queueing.profile import QueueProfile

__all__ = ["HintCallback", "HintErrorCallback", "Wake", "Wakeups", "is_wildcard"]

HintErrorCallback = Callable[[str, Pod, ClusterEvent, BaseException], None]
"""Called with plugin, waiting pod, event and what the hint raised."""

HintCallback = Callable[[str, str, str, float], None]
"""Called with plugin, event, answer (``Queue``, ``QueueSkip``, ``Error``) and seconds."""

_EVERYTHING = (EventHint(ALL),)


class Wake(IntEnum):
    """What an event does to a waiting pod; the larger one wins."""

    NO = 0
    AFTER_BACKOFF = 1
    AT_ONCE = 2
    """Something outside the scheduler that a plugin waited for has happened: no backoff."""


def is_wildcard(event: ClusterEvent) -> bool:
    """Say whether an event wakes everybody, whatever refused them."""
    return event.resource == EventResource.WILDCARD


class _ProfileHints:
    """What the plugins of one profile registered, by the events that happen."""

    def __init__(self, hints: Mapping[str, tuple[EventHint, ...]]) -> None:
        self._registered = dict(hints)
        self._listeners: dict[ClusterEvent, dict[str, tuple[EventHint, ...]]] = {}

    def admit(self, plugins: frozenset[str]) -> None:
        """Have plugins that are not known retried on everything."""
        for plugin in plugins - self._registered.keys():
            self._registered[plugin] = _EVERYTHING
            self._listeners.clear()

    def listeners(self, event: ClusterEvent) -> Mapping[str, tuple[EventHint, ...]]:
        """Return the plugins that registered for such an event, with the hints that they gave."""
        known = self._listeners.get(event)
        if known is None:
            known = self._listeners[event] = dict(self._matching(event))
        return known

    def _matching(self, event: ClusterEvent) -> Iterator[tuple[str, tuple[EventHint, ...]]]:
        for plugin, hints in self._registered.items():
            matching = tuple(hint for hint in hints if describes(hint.event, event))
            if matching:
                yield plugin, matching


class Wakeups:
    """The hints of all profiles, and how to ask them."""

    def __init__(
        self,
        profiles: Mapping[str, QueueProfile],
        *,
        on_error: HintErrorCallback,
        on_hint: HintCallback,
        activity: Activity,
    ) -> None:
        self._profiles = {name: _ProfileHints(profile.hints) for name, profile in profiles.items()}
        self._on_error = on_error
        self._on_hint = on_hint
        self._activity = activity

    def admit(self, queued: QueuedPod) -> None:
        """Make sure that something can wake a pod, whoever refused it."""
        plugins = queued.unschedulable_plugins | queued.pending_plugins
        if queued.gated_by:
            plugins |= {queued.gated_by}
        self._profiles[queued.pod.spec.scheduler_name].admit(plugins)

    def listeners(self, event: ClusterEvent) -> list[tuple[str, str]]:
        """Return (profile, plugin) of those that registered for such an event."""
        return [
            (profile, plugin)
            for profile, hints in self._profiles.items()
            for plugin in hints.listeners(event)
        ]

    def wake(self, queued: QueuedPod, happening: Happening) -> Wake:
        """Ask the plugins that refused a pod whether what happened may help it."""
        if is_wildcard(happening.event):
            return Wake.AFTER_BACKOFF
        hints = self._hints(queued, happening)
        for plugins, wake in (
            (queued.pending_plugins, Wake.AT_ONCE),
            (queued.unschedulable_plugins, Wake.AFTER_BACKOFF),
        ):
            asked = (plugin for plugin in hints if plugin in plugins)
            if any(self._any_helps(plugin, queued, happening) for plugin in asked):
                return wake
        return Wake.NO

    def opens_gate(self, queued: QueuedPod, happening: Happening) -> bool:
        """Ask the plugin that gates a pod whether what happened may open the gate."""
        if is_wildcard(happening.event):
            return True
        return self._any_helps(queued.gated_by, queued, happening)

    def _hints(
        self, queued: QueuedPod, happening: Happening
    ) -> Mapping[str, tuple[EventHint, ...]]:
        return self._profiles[queued.pod.spec.scheduler_name].listeners(happening.event)

    def _any_helps(self, plugin: str, queued: QueuedPod, happening: Happening) -> bool:
        hints = self._hints(queued, happening).get(plugin, ())
        return any(self._helps(plugin, hint, queued.pod, happening) for hint in hints)

    def _helps(self, plugin: str, hint: EventHint, pod: Pod, happening: Happening) -> bool:
        if hint.hint is None:
            return True
        before = self._activity.enter(plugin, "queueing hint", pod_key(pod))
        begun, label = time.perf_counter(), "Error"
        try:
            answer = _checked(hint.hint(pod, happening.old, happening.new))
            label = _LABELS[answer]
        except BaseException as error:  # noqa: BLE001 - a plugin may raise anything; no pod waits for it
            let_through(error)
            self._on_error(plugin, pod, happening.event, error)
            return True
        finally:
            self._on_hint(plugin, happening.event.label, label, time.perf_counter() - begun)
            self._activity.leave(before)
        return answer is QueueingHint.QUEUE


_LABELS = {QueueingHint.QUEUE: "Queue", QueueingHint.SKIP: "QueueSkip"}


def _checked(answer: object) -> QueueingHint:
    if not isinstance(answer, QueueingHint):
        raise TypeError(f"a hint answers QueueingHint.QUEUE or SKIP, not {answer!r}")
    return answer
