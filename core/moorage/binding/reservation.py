"""A pod that has a node but is not bound to it: what is set aside for it, and how that is undone.

::

    make (assumed) --reserve--> reserved --permit--> on its way, or waiting
         |                         |                      |
         +-------------------------+----------------------+---undo---> gone, as if never assumed
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property

from moorage.binding.wording import failure
from moorage.cache.cluster import ClusterCache
from moorage.fault_log import log_fault
from moorage.framework import slowness
from moorage.framework.cycle_state import CycleState
from moorage.framework.points import POINT_LABELS
from moorage.framework.profile import Framework, Hook
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdict import SUCCESS, Code, Verdict
from moorage.framework.waiting_pods import WaitingPod

__all__ = ["LONGEST_WAIT", "BindingHooks", "Reservation"]

_logger = logging.getLogger(__name__)

LONGEST_WAIT = 15 * 60.0
"""Seconds that a pod waits in Permit at most, whatever a plugin says; kube-scheduler's bound."""


class BindingHooks:
    """The hooks of one profile from reserve on, found once."""

    def __init__(self, framework: Framework) -> None:
        self.framework = framework
        self.metrics = framework.services.metrics.profile(framework.profile_name)
        points = framework.points
        # A plugin that only unreserves stands at the same point.
        self.reserve = tuple(hook for hook in points["reserve"] if hook.name == "reserve")
        self.unreserve = tuple(
            found
            for hook in reversed(points["reserve"])
            if (found := framework.hook(hook.plugin, "unreserve")) is not None
        )
        self.permit = points["permit"]
        self.pre_bind = points["pre_bind"]
        self.bind = points["bind"]
        self.post_bind = points["post_bind"]

    @cached_property
    def pre_flight(self) -> Mapping[str, Hook]:
        """The PreBindPreFlight hooks by plugin."""
        found = {
            hook.plugin: self.framework.hook(hook.plugin, "pre_bind_pre_flight")
            for hook in self.pre_bind
        }
        return {plugin: hook for plugin, hook in found.items() if hook is not None}


class Reservation:
    """One pod's claim on a node, from the moment it is made until the pod is bound or it is undone.

    `queued` is the pod as the queue knows it, `info` the same pod on its node. `states` are the
    plugins' notes by place in the profile. `waiting` is set while the pod waits in Permit,
    `announced` once its node was written as its nomination, which the watch may not have told yet.
    `at` is the hook of binding that it is in; `permitted` is set once the pod has passed Permit.
    `is_sampled`: its plugins are timed, each by itself; it is made within the pod's cycle.
    """

    def __init__(
        self,
        hooks: BindingHooks,
        cluster: ClusterCache,
        queued: QueuedPod,
        *,
        row: int,
        states: Mapping[int, CycleState],
    ) -> None:
        """Assume the pod on a row; ValueError where it is on one already."""
        self.hooks = hooks
        self.is_sampled = hooks.metrics.is_sampled
        self.queued = queued
        self.node_name = cluster.name(row)
        self.info = queued.info.on_node(self.node_name)
        self.states = defaultdict(CycleState, states)
        self.waiting: WaitingPod | None = None
        self.announced = ""
        self.at: Hook | None = None
        self.permitted = False
        self._cluster = cluster
        cluster.assume(self.info, row)

    @property
    def framework(self) -> Framework:
        """The profile that the pod is scheduled by."""
        return self.hooks.framework

    def reserve(self) -> Verdict:
        """Ask the Reserve plugins in order, up to the first that refuses or fails."""
        metrics = self.hooks.metrics
        begun = metrics.clock()
        verdict = self._reserve()
        metrics.point("Reserve", metrics.clock() - begun, verdict.code.label)
        return verdict

    def permit(self, now: float) -> Verdict:
        """Ask the Permit plugins in order; code Wait: the pod waits, by the clock from `now`.

        A refusal ends it at once, also where an earlier plugin wants to wait.
        """
        metrics = self.hooks.metrics
        begun = metrics.clock()
        verdict = self._permit(now)
        metrics.point("Permit", metrics.clock() - begun, verdict.code.label)
        return verdict

    def _reserve(self) -> Verdict:
        for hook in self.hooks.reserve:
            verdict = self._ask(hook)
            if not verdict.is_success:
                return verdict
        return SUCCESS

    def _permit(self, now: float) -> Verdict:
        waits: dict[str, float] = {}
        for hook in self.hooks.permit:
            verdict = self._ask(hook)
            if verdict.code is Code.WAIT:
                waits[hook.plugin] = min(verdict.timeout, LONGEST_WAIT)
            elif not verdict.is_success:
                return verdict
        if not waits:
            return SUCCESS
        self.waiting = WaitingPod(self.info, self.node_name, waits, now=now)
        return Verdict.wait(min(waits.values()))

    def undo(self) -> bool:
        """Unreserve in reverse order and forget the pod; says whether room became free.

        It did not where the pod is bound by now, by whomever.
        """
        metrics = self.hooks.metrics
        begun = metrics.clock()
        for hook in self.hooks.unreserve:
            self._unreserve(hook)
        metrics.point("Unreserve", metrics.clock() - begun)
        return self._cluster.forget(self.info.uid) is not None

    def timed(self, hook: Hook, verdict: Verdict, begun: float) -> None:
        """Note how long a call of a plugin took, in a sampled cycle."""
        if self.is_sampled:
            metrics = self.hooks.metrics
            seconds = metrics.clock() - begun
            metrics.plugin(hook.plugin, POINT_LABELS[hook.name], verdict.code.label, seconds)

    def worded(self, hook: Hook, error: BaseException) -> str:
        """Say what went wrong in a hook that nobody answers for, and with which pod."""
        return f"{self.framework.fault(hook, error)} (pod {self.info.key})"

    def arguments(self, hook: Hook) -> tuple[object, ...]:
        """Return what a hook of these points is called with."""
        return self.states[hook.place], self.info.pod, self.node_name

    def _unreserve(self, hook: Hook) -> None:
        framework, counted = self.framework, self.hooks.metrics.clock()
        activity = framework.services.activity
        before = activity.enter(hook.plugin, hook.name, self.info.key)
        begun = slowness.begin()
        try:
            hook.call(*self.arguments(hook))
            slowness.tell_if_slow(framework, hook.plugin, hook.name, self.info.key, begun=begun)
        except BaseException as error:  # noqa: BLE001 - the others are asked all the same
            log_fault(_logger, error, self.worded(hook, error))
        activity.leave(before)
        self.timed(hook, SUCCESS, counted)

    def _ask(self, hook: Hook) -> Verdict:
        begun = self.hooks.metrics.clock()
        verdict = self._answer(hook)
        self.timed(hook, verdict, begun)
        return verdict

    def _answer(self, hook: Hook) -> Verdict:
        framework = self.framework
        activity = framework.services.activity
        activity.plugin, activity.hook = hook.plugin, hook.name
        begun = slowness.begin()
        try:
            answer = hook.call(*self.arguments(hook))
            slowness.tell_if_slow(framework, hook.plugin, hook.name, self.info.key, begun=begun)
            verdict = framework.check_verdict(hook, answer)
        except BaseException as error:  # noqa: BLE001 - whatever a plugin raises costs this pod its turn
            return failure(framework, hook, error)
        waits = verdict.code is Code.WAIT and hook.name == "permit"
        if verdict.is_success or verdict.is_rejection or waits:
            return verdict
        return failure(framework, hook, verdict)

    def __repr__(self) -> str:
        return f"Reservation({self.info.key} on {self.node_name})"
