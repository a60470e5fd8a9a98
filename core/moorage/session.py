"""The scheduler without its edges: events in, decisions out.

In: what the API server tells (through the feeds), what became of a binding, the time. Out: pods
that got a node, to be bound, and pods that got none, to be reported. No I/O, no await, no clock but
`Services.clock`: the live runner, a simulation in virtual time and tests drive the same code.

    session.nodes.take(batch), session.pods.take(batch), ...
    outcome = session.attempt()          # a Reservation, a Failure, or None: nothing is ready
    session.permitted(reservation)       # before PreBind
    session.bound(reservation)           # or: session.undo(reservation, verdict) -> Failure
    session.tick(); session.next_at()    # timers
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from moorage.api.resources import NAMESPACES, NODES, PODS
from moorage.binding.reservation import BindingHooks, Reservation
from moorage.binding.wording import message_of
from moorage.cycle import Cycle, Decision
from moorage.errors import PluginError
from moorage.fault_log import log_fault, worded
from moorage.feed import Feed, InformedFeed, NamespaceFeed, NodeFeed, PodFeed
from moorage.feed.watched import Watched, watched_kinds
from moorage.framework import slowness
from moorage.framework.handle import Services
from moorage.framework.informing import Informer
from moorage.framework.profile import Framework
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.requeue import NO_NODES, RequeueRequest
from moorage.framework.verdict import Code, Verdict
from moorage.model.events import ActionType, ClusterEvent, EventResource
from moorage.model.pod_info import PodInfo
from moorage.model.pods import Pod, is_terminating
from moorage.queueing import Place, SchedulingQueue
from moorage.queueing.framework_profile import FrameworkProfile
from moorage.queueing.sorting import SortKeys
from moorage.serving.gauges import read_gauges
from moorage.serving.record import Record

__all__ = ["Failure", "Session", "Watched"]

_logger = logging.getLogger(__name__)

NOT_READY = "NotReadyForScheduling"
"""The reason of a pod that PreEnqueue holds back; the name is that of KEP-5501."""

_DELETED = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)


def _nothing() -> None:
    """Tell nobody."""


def _ignore(_: object) -> None:
    """Tell nobody."""


class Failure(NamedTuple):
    """A pod that was not scheduled: back in the queue, and to be reported.

    `reason` is that of the PodScheduled condition: Unschedulable, SchedulerError or `NOT_READY`.
    `nomination`: the node that it is to be tried on later (empty: an earlier nomination is void;
    None: nothing changes); `announced` the nomination that was written last, which the watch may not
    have told yet. `place` is where the queue keeps it; `Place.OUTSIDE`: it is gone or bound by now,
    and there is nothing to report.
    """

    info: PodInfo
    reason: str
    message: str
    nomination: str | None
    place: Place
    announced: str = ""


Outcome: TypeAlias = Reservation | Failure


class Session:
    """Cache, queue, cycles and feeds of one process, over started frameworks by profile name.

    All frameworks were made with `services`, whose activation and nominations this fills in.
    Backoffs and `unschedulable_timeout` are in seconds; `on_ready` is called when `attempt` or
    `next_at` may answer otherwise than before, `on_gated` for a pod that PreEnqueue holds back,
    `on_skipped` for one that is not tried since it is being deleted. Pods and objects are taken in
    through `pods`, `nodes`, `namespaces`, `watched(plural)` and `informed(informer)`.
    """

    def __init__(
        self,
        frameworks: Mapping[str, Framework],
        services: Services,
        *,
        initial_backoff: float = 1.0,
        max_backoff: float = 10.0,
        unschedulable_timeout: float = 300.0,
        on_ready: Callable[[], None] = _nothing,
        on_gated: Callable[[Failure], None] = _ignore,
        on_skipped: Callable[[PodInfo], None] = _ignore,
    ) -> None:
        self.frameworks = dict(frameworks)
        self.services = services
        self._on_gated = on_gated
        self._on_skipped = on_skipped
        self.cluster = services.cluster
        self.record = Record(services)
        keys = SortKeys(self._on_sort_error)
        self.queue = SchedulingQueue(
            {name: FrameworkProfile(one, keys) for name, one in self.frameworks.items()},
            clock=services.clock,
            initial_backoff=initial_backoff,
            max_backoff=max_backoff,
            unschedulable_timeout=unschedulable_timeout,
            on_hint_error=self._on_hint_error,
            on_hint=self._on_hint,
            on_incoming=self.record.incoming,
            on_gated=self._tell_of_gate,
            activity=services.activity,
            on_ready=on_ready,
        )
        services.activate = self.queue.activate
        services.nominations = self.queue.nominator
        self.pods = PodFeed(
            self.cluster, self.queue, services.waiting, profiles=self.frameworks.keys()
        )
        services.is_there = lambda uid: self.pods.known(uid) is not None
        self.nodes = NodeFeed(self.cluster, self.queue)
        self.namespaces = NamespaceFeed(self.cluster, self.queue)
        kinds = watched_kinds(
            self.cluster, self.queue, pods=self.pods, nodes=self.nodes, namespaces=self.namespaces
        )
        self._watched = {one.resource.plural: one for one in kinds}
        read_gauges(
            services.metrics, self.queue, self.cluster, count_nodes=lambda: self.nodes.count
        )
        feeds: list[Feed[Any]] = [self.pods, self.nodes, self.namespaces]
        for feed in (*feeds, *(one.feed for one in self._watched.values())):
            feed.on_event = self.record.event
        self._hooks = {name: BindingHooks(one) for name, one in self.frameworks.items()}
        self._cycles = {
            name: Cycle(one, self.cluster, nominator=self.queue.nominator)
            for name, one in self.frameworks.items()
        }

    def informed(self, informer: Informer) -> InformedFeed:
        """Return the feed of an informer."""
        feed = InformedFeed(informer, self.queue)
        feed.on_event = self.record.event
        return feed

    def watched(self, plural: str) -> Watched | None:
        """Return how a kind of object is taken in, None where it is of no concern."""
        return self._watched.get(plural)

    def wanted(self) -> list[Watched]:
        """Return what must be watched: pods, nodes, namespaces, and what plugins want to know of."""
        always = {PODS.plural, NODES.plural, NAMESPACES.plural}
        return [
            one
            for plural, one in self._watched.items()
            if plural in always or self.watchers_of(plural)
        ]

    def watchers_of(self, plural: str) -> frozenset[str]:
        """Return the plugins that declare to read a kind of object, or have hints for its events.

        As in kube-scheduler, who registers an event need not ask for its objects as well.
        """
        resource, record, _ = self._watched[plural]
        kinds = {record.__name__, f"{plural}.{resource.version}.{resource.group}"}
        return frozenset(
            plugin.name
            for framework in self.frameworks.values()
            for plugin in framework.plugins
            if plural in plugin.watches
            or any(_kind_of(hint.event) in kinds for hint in framework.hints.get(plugin.name, ()))
        )

    # One pod

    def attempt(self) -> Outcome | None:
        """Try the next pod, up to and including Permit; None: nothing is ready, see `next_at`.

        A reservation has its node in the cache and is the caller's to bind; where it is
        `waiting`, Permit is not settled yet.
        """
        while (queued := self.queue.pop()) is not None:
            if not self._is_worth_trying(queued):
                self.queue.done(queued.info.uid)
                continue
            self.services.activity.begin(queued.key)
            self.record.begin(queued)
            try:
                return self._try(queued)
            except Exception as error:  # noqa: BLE001 - a fault of ours must lose no pod and end no process
                self.cluster.forget(queued.info.uid)
                log_fault(_logger, error)
                verdict = Verdict.error(worded(error))
                return self._hand_back(queued, verdict, verdict.message, nomination="")
            finally:
                self.services.activity.end()
        return None

    def permitted(self, reservation: Reservation) -> None:
        """Note that a pod has passed Permit: from here on it can fail, not be refused."""
        reservation.permitted = True
        self.services.waiting.remove(reservation.info.uid)
        self.queue.stop_listening(reservation.info.uid)

    def bound(self, reservation: Reservation) -> None:
        """Note that a pod is bound; the cache keeps it as assumed until the API server tells."""
        info = reservation.info
        _logger.info(
            "Successfully bound pod %s to node %s (%d nodes)",
            info.key,
            reservation.node_name,
            self.cluster.node_count,
            extra={"about": {"pod": info.key, "node": reservation.node_name}},
        )
        self.record.bound(reservation)
        self.queue.done(info.uid)
        if self.pods.known(info.uid) is None and self.cluster.forget(info.uid) is not None:
            # It was deleted meanwhile, and nobody else will take it out again.
            self.queue.move(_DELETED, info.pod, None)

    def undo(self, reservation: Reservation, verdict: Verdict) -> Failure:
        """Take back a reservation that was refused or failed after Permit had let it go on or wait.

        Room that becomes free helps other pods, not this one. A refusal after Permit says nothing
        about the node: the pod is tried again after its backoff, as after a failure.
        """
        info = reservation.info
        self.services.waiting.remove(info.uid)
        freed = reservation.undo()
        if freed and not verdict.is_rejection:
            self.queue.move(_DELETED, info.pod, None)
        # It is expected nowhere now, whoever said so: nobody knows where it will fit next time.
        permitted = reservation.permitted
        failure = self._hand_back(
            reservation.queued,
            verdict,
            verdict.message if permitted else message_of(verdict),
            request=RequeueRequest.error() if permitted else None,
            nomination="",
        )._replace(announced=reservation.announced)
        if freed and verdict.is_rejection:
            # Only now: during its own cycle it would hear of itself.
            self.queue.move(_DELETED, info.pod, None, besides=info.uid)
        return failure

    # Time

    def tick(self) -> None:
        """Do what is due by the clock: backoffs that are over, pods that waited in Permit too long."""
        now = self.services.clock()
        for waiting in self.services.waiting:
            if waiting.deadline <= now:
                waiting.expire(now)
        self.queue.tick()
        self.services.metrics.tick()

    def next_at(self) -> float | None:
        """Return when `tick` has something to do, by the clock; None: only an event can help."""
        times = [waiting.deadline for waiting in self.services.waiting if waiting.verdict is None]
        ready = self.queue.next_ready_at()
        return min(times if ready is None else [*times, ready], default=None)

    # Inside

    def _is_worth_trying(self, queued: QueuedPod) -> bool:
        if self.cluster.pod(queued.info.uid) is not None:
            return False
        newest = self.pods.known(queued.info.uid) or queued.info
        if is_terminating(newest.pod):
            _logger.debug("Skip scheduling of pod %s, which is being deleted", queued.key)
            self._on_skipped(newest)
            return False
        return True

    def _try(self, queued: QueuedPod) -> Outcome:
        name = queued.pod.spec.scheduler_name
        _logger.debug("Attempting to schedule pod %s", queued.key)
        decision = self._cycles[name].decide(queued)
        if not decision.node_name:
            return self._not_placed(queued, decision)
        reservation = Reservation(
            self._hooks[name],
            self.cluster,
            queued,
            row=decision.row,
            states=decision.states,
        )
        expected = self._end_nomination(reservation)
        verdict = reservation.reserve()
        if verdict.is_success:
            verdict = reservation.permit(self.services.clock())
        if reservation.waiting is not None and verdict.code is Code.WAIT:
            self.services.waiting.add(reservation.waiting)
            return reservation
        if verdict.is_success:
            return reservation
        # Nobody has seen the room taken, so nobody needs to hear that it is free.
        reservation.undo()
        failure = self._hand_back(queued, verdict, message_of(verdict), nomination="")
        if expected == reservation.node_name:
            self._release(queued, expected)
        return failure

    def _end_nomination(self, reservation: Reservation) -> str:
        """Expect a pod nowhere any more: it is on its node, and must not count there twice.

        Returns where it was expected; an empty text: nowhere.
        """
        info, nominator = reservation.queued.info, self.queue.nominator
        expected = nominator.node_of(info.uid)
        nominator.remove(info.uid)
        if expected != reservation.node_name:
            self._release(reservation.queued, expected)
        return expected

    def _release(self, queued: QueuedPod, expected: str) -> None:
        """Tell who waits for room that a node, if any, need not keep it for a pod any more."""
        info = queued.info
        if expected and self.queue.nominator.node_of(info.uid) != expected:
            self.queue.release(info, expected)

    def _not_placed(self, queued: QueuedPod, decision: Decision) -> Failure:
        request = None
        if decision.diagnosis is not None and decision.verdict.is_rejection:
            refusing = decision.diagnosis.rejecting_plugins
            if not len(decision.diagnosis.nodes):
                refusing |= {NO_NODES}
            request = RequeueRequest(
                decision.verdict.code, refusing, decision.diagnosis.pending_plugins
            )
        return self._hand_back(
            queued,
            decision.verdict,
            decision.message,
            request=request,
            nomination=decision.nomination,
        )

    def _hand_back(
        self,
        queued: QueuedPod,
        verdict: Verdict,
        message: str,
        *,
        request: RequeueRequest | None = None,
        nomination: str | None = None,
    ) -> Failure:
        """Give a pod back to the queue and say what is to be reported about it."""
        refused = verdict.is_rejection
        place = self.queue.requeue(queued, request or RequeueRequest.after(verdict))
        if place is not Place.OUTSIDE:
            before = self.queue.nominator.node_of(queued.info.uid)
            self.queue.nominator.nominate(queued.info, self._expected(queued, nomination))
            self._release(queued, before)
        about = {"about": {"pod": queued.key}}
        if place is Place.OUTSIDE:
            _logger.debug("Pod %s is gone, or was bound by another scheduler", queued.key)
        elif refused:
            _logger.info("Unable to schedule pod %s; waiting: %s", queued.key, message, extra=about)
        else:
            _logger.error("Error scheduling pod %s; retrying: %s", queued.key, message, extra=about)
        reason = "Unschedulable" if refused else "SchedulerError"
        self.record.failed(queued, message, refused=refused)
        return Failure(queued.info, reason, message, nomination, place)

    def _expected(self, queued: QueuedPod, nomination: str | None) -> str:
        """Say where a pod is to be expected after an attempt, by its newest version where that says it.

        What is known here is ahead of the status; it ended where the pod was on a node meanwhile.
        """
        if nomination is not None:
            return nomination
        known = self.queue.nominator.node_of(queued.info.uid)
        return known or queued.pod.status.nominated_node_name

    def _tell_of_gate(self, queued: QueuedPod, verdict: Verdict) -> None:
        """Report a pod that a PreEnqueue plugin holds back and says why."""
        fault = verdict.code is Code.ERROR
        if fault:
            _logger.error("Pod %s is not let into the queue: %s", queued.key, verdict.message)
        if queued.pod.spec.scheduling_gates or not verdict.message:
            return  # the API server has said so already; or the plugin does not want it shown
        reason = "SchedulerError" if fault else NOT_READY
        self._on_gated(Failure(queued.info, reason, verdict.message, None, Place.GATED))

    def _on_hint(self, plugin: str, event: str, answer: str, seconds: float) -> None:
        self.record.hint(plugin, event, answer, seconds)
        if seconds >= slowness.SLOW_SECONDS:
            framework = next(one for one in self.frameworks.values() if plugin in one.hints)
            slowness.tell(framework, plugin, f"its hint for {event}", seconds)

    def _on_hint_error(
        self, plugin: str, pod: Pod, event: ClusterEvent, error: BaseException
    ) -> None:
        name = f"{pod.metadata.namespace}/{pod.metadata.name}"
        origin = self.frameworks[pod.spec.scheduler_name].origin(plugin)
        log_fault(
            _logger,
            error,
            f"plugin {plugin!r} ({origin}) failed in its hint for {event.label} about pod {name}, "
            f"which is tried again: {worded(error)}",
        )

    def _on_sort_error(self, queued: QueuedPod, error: BaseException) -> None:
        framework = self.frameworks[queued.pod.spec.scheduler_name]
        sort = framework.points["queue_sort"][0]
        problem = error if isinstance(error, PluginError) else framework.fault(sort, error)
        log_fault(_logger, error, f"Pod {queued.key} goes to the end of the queue: {problem}")


def _kind_of(event: ClusterEvent) -> str:
    """Return the kind of the objects of an event; a label is GROUP/KIND, or KIND in the core group."""
    return event.resource.rpartition("/")[2]
