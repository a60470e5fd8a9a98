"""The scheduling queue: when a pod is tried, and what brings it back.

Behaves as kube-scheduler 1.36 does, with SchedulerQueueingHints and SchedulerPopFromBackoffQ on.
The places and the ways between them are drawn in `moorage.queueing.places`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from moorage.framework.activity import Activity
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.requeue import RequeueRequest
from moorage.framework.verdict import Verdict
from moorage.model.changes import pod_changes
from moorage.model.events import ALL, ActionType, ClusterEvent, EventResource
from moorage.model.pod_info import PodInfo
from moorage.queueing.backoff import Backoff
from moorage.queueing.in_flight import Happening
from moorage.queueing.ledger import Ledger
from moorage.queueing.nominator import Nominator
from moorage.queueing.places import Place
from moorage.queueing.profile import QueueProfile
from moorage.queueing.wakeups import (
    HintCallback,
    HintErrorCallback,
    Wake,
    Wakeups,
    is_wildcard,
)

__all__ = ["SchedulingQueue"]

_LEFT = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)

# What kube-scheduler's metrics call the causes that are no events of the cluster.
_ADDED = "UnschedulablePodAdd"
_FAILED = "ScheduleAttemptFailure"
_BACKOFF_OVER = "BackoffComplete"
_POPPED_FROM_BACKOFF = "PopFromBackoffQ"
_ACTIVATED = "ForceActivate"
_TIMED_OUT = "UnschedulableTimeout"


def _ignore(*_: object) -> None:
    """Tell nobody."""


class SchedulingQueue:
    """Pods of several profiles that wait for a decision; one event loop calls it, nothing blocks.

    `clock` gives seconds that never run backwards. `initial_backoff`, `max_backoff` and
    `unschedulable_timeout` are seconds; the defaults are kube-scheduler's. `on_hint_error` hears of
    a hint that raised, `on_hint` of each that was asked; `on_incoming(queue, event)` of every pod that enters a queue, in the words of
    ``scheduler_queue_incoming_pods_total``; `on_gated` of a pod that PreEnqueue holds back, for a reason
    that is news; `on_ready` is called when `pop` or `next_ready_at` may
    answer otherwise than before.

    The profiles have registered their events by the time the queue is made. The caller hands over
    pods that no node has and that a profile here is for, and none that the cache holds as assumed:
    an update that was sent before a binding must not revive the pod.
    """

    def __init__(
        self,
        profiles: Mapping[str, QueueProfile],
        *,
        clock: Callable[[], float],
        initial_backoff: float = 1.0,
        max_backoff: float = 10.0,
        unschedulable_timeout: float = 300.0,
        on_hint_error: HintErrorCallback = _ignore,
        on_hint: HintCallback = _ignore,
        on_incoming: Callable[[str, str], None] = _ignore,
        on_gated: Callable[[QueuedPod, Verdict], None] = _ignore,
        activity: Activity | None = None,
        on_ready: Callable[[], None] = _ignore,
    ) -> None:
        self._profiles = dict(profiles)
        self._clock = clock
        self._timeout = unschedulable_timeout
        self._on_incoming = on_incoming
        self._on_gated = on_gated
        self._on_ready = on_ready
        self._backoff = Backoff(initial=initial_backoff, maximum=max_backoff)
        self._wakeups = Wakeups(
            profiles, on_error=on_hint_error, on_hint=on_hint, activity=activity or Activity()
        )
        self._ledger = Ledger(sort_key=self._sort_key, clock=clock)
        self.nominator = Nominator()

    def add(self, info: PodInfo) -> None:
        """Take in a pod: to be tried, or gated. One that is here already is updated."""
        known = self._ledger.find(info.uid)
        if known is not None:
            self.update(self._newest(known), info)
            return
        self._let_in(QueuedPod(info, timestamp=self._clock()), Place.ACTIVE, _ADDED)
        self.nominator.add(info)

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """Put a newer version of a pod in place, and try it again if the change may help it.

        A change that no plugin could have registered for moves nothing. A pod in flight keeps its
        version until it comes back.
        """
        queued = self._ledger.find(new.uid)
        if queued is None:
            self.delete(old)
            self.add(new)
            return
        self.nominator.update(old, new)
        changes = pod_changes(old, new)
        event = ClusterEvent(EventResource.UNSCHEDULED_POD, changes)
        happening = Happening(event, old.pod, new.pod)
        place = self._ledger.place(queued)
        if place is Place.IN_FLIGHT:
            self._ledger.in_flight.renew(new.uid, new)
            if changes:
                self._ledger.in_flight.record_for(new.uid, happening)
            return
        queued.info = new
        self._ledger.refresh(queued)
        if changes and place is Place.GATED:
            # Whatever changed may be what the gate is about: asking costs one call.
            self._wake(queued, Wake.AFTER_BACKOFF, event.label, in_place=True)
        elif changes and place is Place.UNSCHEDULABLE:
            wake = self._wakeups.wake(queued, happening)
            self._wake(queued, wake, event.label, in_place=True)

    def delete(self, info: PodInfo) -> None:
        """Forget a pod, wherever it is: it was deleted, or has a node now.

        When a pod in flight comes back after that, `requeue` drops it.
        """
        self.nominator.remove(info.uid)
        queued = self._ledger.find(info.uid)
        if queued is not None:
            self._ledger.transfer(queued, Place.OUTSIDE)

    def pop(self) -> QueuedPod | None:
        """Hand out the pod to try next; None: nothing is ready, see `next_ready_at`.

        While nothing is active, a refused pod is handed out before its backoff is over; one that met
        an error never is. Each pod handed out comes back by `requeue`, or ends by `done` or `delete`.
        """
        self.tick()
        queued = self._ledger.active.first()
        if queued is None:
            queued = self._ledger.backoff.first_refused()
            if queued is None:
                return None
            self._on_incoming(Place.ACTIVE.value, _POPPED_FROM_BACKOFF)
        self._ledger.transfer(queued, Place.IN_FLIGHT)
        queued.attempts += 1
        return queued

    def stop_listening(self, uid: str) -> None:
        """Keep no more events for a pod in flight: from here on it can fail, not be refused.

        To be called before PreBind. A pod that is refused nevertheless goes to backoff.
        """
        self._ledger.in_flight.stop_listening(uid)

    def done(self, uid: str) -> None:
        """End a pod's cycle: it is bound, or gone. Unknown pods and pods that wait are left alone."""
        queued = self._ledger.find(uid)
        if queued is not None and self._ledger.place(queued) is Place.IN_FLIGHT:
            self.nominator.remove(uid)
            self._ledger.transfer(queued, Place.OUTSIDE)

    def requeue(self, queued: QueuedPod, request: RequeueRequest) -> Place:
        """Take back a pod whose cycle failed; returns where it is now.

        After an error it goes to backoff. A refused pod waits for an event that may help it, unless
        one came during its cycle. `Place.OUTSIDE`: it was deleted meanwhile and is dropped.
        """
        if self._ledger.place(queued) is not Place.IN_FLIGHT:
            return Place.OUTSIDE
        newest = self._newest(queued)
        if newest is not queued.info:
            queued.info = newest
        self._note_failure(queued, request)
        wake = self._wake_after_cycle(queued)
        if wake is Wake.NO:
            self._place(queued, Place.UNSCHEDULABLE, _FAILED)
        else:
            self._wake(queued, wake, _FAILED)
        return self._ledger.place(queued)

    def move(
        self,
        event: ClusterEvent,
        old: Any,  # noqa: ANN401 - any API object
        new: Any,  # noqa: ANN401 - any API object
        *,
        besides: str = "",
        at_most: int | None = None,
    ) -> None:
        """Try those pods again that an event of the cluster may help.

        `old` is None for an addition, `new` for a deletion. Costs one look-up, and time for each pod
        that was refused by a plugin that registered for such an event; gated pods likewise. An event
        about the resource `*` moves everybody without asking. The pod with uid `besides` is left
        where it is: what it gave back cannot help itself. `at_most`: only pods of this priority or
        lower are tried again, since more important ones did not leave it any room.
        """
        listeners = self._wakeups.listeners(event)
        happening = Happening(event, old, new)
        if listeners or is_wildcard(event):
            self._ledger.in_flight.record(happening)
        for queued in self._concerned(event, listeners):
            if queued.info.uid == besides:
                continue
            if at_most is not None and queued.info.priority > at_most:
                continue
            # A plugin may have activated the pod while another one was asked.
            place = self._ledger.place(queued)
            if place is Place.UNSCHEDULABLE:
                self._wake(queued, self._wakeups.wake(queued, happening), event.label)
            elif place is Place.GATED and self._wakeups.opens_gate(queued, happening):
                self._wake(queued, Wake.AFTER_BACKOFF, event.label)

    def release(
        self, info: PodInfo, node_name: str, *, was_on_it: bool = False, tell_itself: bool = False
    ) -> None:
        """Tell those who wait for room that a node no longer has to have it for this pod.

        Hints look at pods on nodes, so that it is told as if the pod had been on this one. Where it
        was expected there and no more, pods that are more important did not leave it any room.
        """
        self.move(
            _LEFT,
            info.on_node(node_name).pod,
            None,
            besides="" if tell_itself else info.uid,
            at_most=None if was_on_it else info.priority,
        )

    def activate(self, keys: Iterable[str]) -> None:
        """Have pods tried at once, by ``namespace/name``, whatever refused them; unknown ones are skipped.

        A pod in flight is tried again after its backoff, should its cycle fail.
        """
        for key in keys:
            queued = self._ledger.find_key(key)
            if queued is None:
                continue
            place = self._ledger.place(queued)
            if place is Place.IN_FLIGHT:
                happening = Happening(ALL, None, queued.pod)
                self._ledger.in_flight.record_for(queued.info.uid, happening)
            elif place is Place.BACKOFF:
                self._place(queued, Place.ACTIVE, _ACTIVATED)
            elif place is not Place.ACTIVE:
                self._let_in(queued, Place.ACTIVE, _ACTIVATED, in_place=True)

    def tick(self) -> None:
        """Move what is due: pods whose backoff is over, and pods that have waited for too long.

        The long timeout is a net below the hints; gated pods are asked again by it too.
        """
        now = self._clock()
        while (queued := self._ledger.backoff.first_due(now)) is not None:
            self._place(queued, Place.ACTIVE, _BACKOFF_OVER)
        for pool in (self._ledger.unschedulable, self._ledger.gated):
            for queued in pool.overdue(after=self._timeout, now=now):
                queued.was_flushed = True
                self._wake(queued, Wake.AFTER_BACKOFF, _TIMED_OUT)

    def next_ready_at(self) -> float | None:
        """Return when `tick` has something to move, by the clock; None: only an event can help."""
        since = (self._ledger.unschedulable.oldest_since(), self._ledger.gated.oldest_since())
        flushes = [when + self._timeout for when in since if when is not None]
        backoff = self._ledger.backoff.next_due_at()
        return min(flushes if backoff is None else [*flushes, backoff], default=None)

    def place(self, uid: str) -> Place:
        """Return where the pod with this uid is."""
        queued = self._ledger.find(uid)
        return Place.OUTSIDE if queued is None else self._ledger.place(queued)

    def find(self, uid: str) -> QueuedPod | None:
        """Return what the queue knows of a pod; None: not here."""
        return self._ledger.find(uid)

    def find_key(self, key: str) -> QueuedPod | None:
        """Return what the queue knows of the newest pod of a name ``namespace/name``."""
        return self._ledger.find_key(key)

    def pending(self) -> Mapping[Place, tuple[QueuedPod, ...]]:
        """List the pods of each place, in order; O(n log n), for people."""
        return self._ledger.pods()

    def counts(self) -> Mapping[Place, int]:
        """Count the pods of each place; O(1)."""
        return self._ledger.counts()

    def refused_counts(self) -> Counter[tuple[str, str]]:
        """Count the pods that were refused and not tried again since, by (profile, plugin).

        May be called in another thread; a RuntimeError then means: ask again.
        """
        return self._ledger.refusals.counts()

    def event_counts(self) -> Counter[str]:
        """Count the events that are kept for pods in flight, and those pods as ``PodPopped``."""
        return self._ledger.in_flight.event_counts()

    def check_invariants(self) -> None:
        """Raise `AssertionError` unless each pod is in one place and every index agrees."""
        self._ledger.check_invariants()
        self.nominator.check_invariants()

    def _sort_key(self, queued: QueuedPod) -> Any:  # noqa: ANN401 - the plugin's key
        return self._profiles[queued.pod.spec.scheduler_name].sort_key(queued)

    def _newest(self, queued: QueuedPod) -> PodInfo:
        if self._ledger.place(queued) is Place.IN_FLIGHT:
            return self._ledger.in_flight.newest(queued.info.uid)
        return queued.info

    def _note_failure(self, queued: QueuedPod, request: RequeueRequest) -> None:
        if request.is_error:
            queued.unschedulable_plugins = queued.pending_plugins = frozenset()
            queued.error_count += 1
        else:
            queued.unschedulable_plugins = request.plugins
            queued.pending_plugins = request.pending_plugins
            queued.unschedulable_count += 1
            queued.error_count = 0
        queued.timestamp = self._clock()
        queued.backoff_until = self._backoff.end(queued)
        queued.was_flushed = False
        self._wakeups.admit(queued)

    def _wake_after_cycle(self, queued: QueuedPod) -> Wake:
        """Say what came of an attempt: what happened meanwhile may have helped already."""
        in_flight, uid = self._ledger.in_flight, queued.info.uid
        if queued.error_count or not in_flight.listens(uid):
            return Wake.AFTER_BACKOFF
        wakes = (self._wakeups.wake(queued, happening) for happening in in_flight.happenings(uid))
        return max(wakes, default=Wake.NO)

    def _concerned(
        self, event: ClusterEvent, listeners: Iterable[tuple[str, str]]
    ) -> Iterable[QueuedPod]:
        pools = (self._ledger.unschedulable, self._ledger.gated)
        if is_wildcard(event):
            return [queued for pool in pools for queued in pool]
        return {
            queued.info.uid: queued
            for pool in pools
            for profile, plugin in listeners
            for queued in pool.refused_by(profile, plugin)
        }.values()

    def _wake(self, queued: QueuedPod, wake: Wake, event: str, *, in_place: bool = False) -> None:
        if wake is Wake.NO:
            return
        waits = wake is Wake.AFTER_BACKOFF and queued.backoff_until > self._clock()
        to = Place.BACKOFF if waits else Place.ACTIVE
        self._let_in(queued, to, event, in_place=in_place)

    def _let_in(self, queued: QueuedPod, to: Place, event: str, *, in_place: bool = False) -> None:
        """Put a pod into `to`, active or backoff, if PreEnqueue lets it in; else it is gated.

        `in_place`: one that a gate keeps has stayed where it was, and does not count as incoming.
        """
        verdict = self._profiles[queued.pod.spec.scheduler_name].pre_enqueue(queued.pod)
        queued.gated_by = "" if verdict.is_success else verdict.plugin
        if not verdict.is_success:
            queued.was_flushed = False
            self._wakeups.admit(queued)
            to = Place.GATED
        self._place(queued, to, event, in_place=in_place)
        before, queued.gated_because = queued.gated_because, verdict.message
        if to is Place.GATED and verdict.message != before:
            self._on_gated(queued, verdict)

    def _place(self, queued: QueuedPod, to: Place, event: str, *, in_place: bool = False) -> None:
        if to is Place.ACTIVE and queued.first_attempt is None:
            queued.first_attempt = self._clock()
        self._ledger.transfer(queued, to)
        # kube-scheduler keeps gated pods in its unschedulable queue, and takes a pod out of there
        # first where an event or the long timeout may bring it back.
        if to is not Place.GATED:
            self._on_incoming(to.value, event)
        elif not in_place:
            self._on_incoming(Place.UNSCHEDULABLE.value, event)
        self._on_ready()
