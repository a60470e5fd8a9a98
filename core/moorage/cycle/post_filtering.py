"""The PostFilter plugins, asked in order whether they can make room for a refused pod."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moorage.cycle.steps import Plan, Step
from moorage.framework import slowness
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.nomination import Nomination
from moorage.framework.profile import Framework, Hook
from moorage.framework.verdict import Code, Verdict
from moorage.model.pod_info import PodInfo

__all__ = ["PostFilters"]

_LAST_WORD = frozenset({Code.ERROR, Code.UNSCHEDULABLE_AND_UNRESOLVABLE})


class PostFilters:
    """The PostFilter plugins of a profile."""

    def __init__(self, framework: Framework, plan: Plan) -> None:
        self._framework = framework
        self._metrics = framework.services.metrics.profile(framework.profile_name)
        self._hooks = framework.points["post_filter"]
        self._steps = {step.place: step for step in plan.asked}

    def __len__(self) -> int:
        return len(self._hooks)

    def make_room(
        self, info: PodInfo, diagnosis: Diagnosis, notes: Callable[[Step], CycleState]
    ) -> tuple[Nomination | None, Code]:
        """Return the first nomination of a node, or what clears one, if anything; fills in the text.

        And what all of it came to: Success, where there is a node, or a refusal. `notes` gives a
        plugin's notes on the pod. Raises PluginError where a plugin fails.
        """
        said: list[str] = []
        cleared: Nomination | None = None
        code = Code.UNSCHEDULABLE
        for hook in self._hooks:
            answer = self._ask(hook, info, diagnosis, notes)
            if isinstance(answer, Nomination):
                if answer.node_name:
                    return answer, Code.SUCCESS
                cleared = answer
            elif answer.code in _LAST_WORD:
                # It stands for all: what was said before counts no more.
                said, cleared, code = list(answer.reasons), None, answer.code
                break
            said.extend(answer.reasons)
        diagnosis.post_filter = ", ".join(said)
        return cleared, code

    def _ask(
        self,
        hook: Hook,
        info: PodInfo,
        diagnosis: Diagnosis,
        notes: Callable[[Step], CycleState],
    ) -> Nomination | Verdict:
        metrics, code = self._metrics, Code.ERROR
        begun = metrics.clock()
        try:
            answer = self._answer(hook, info, diagnosis, notes)
            code = _code(answer)
        finally:
            if metrics.is_sampled:
                metrics.plugin(hook.plugin, "PostFilter", code.label, metrics.clock() - begun)
        return answer

    def _answer(
        self,
        hook: Hook,
        info: PodInfo,
        diagnosis: Diagnosis,
        notes: Callable[[Step], CycleState],
    ) -> Nomination | Verdict:
        step = self._steps.get(hook.place)
        state = CycleState() if step is None else CycleState(notes(step))
        activity = self._framework.services.activity
        activity.plugin, activity.hook = hook.plugin, hook.name
        begun = slowness.begin()
        try:
            answer: Any = hook.call(state, info.pod, info, diagnosis)
            slowness.tell_if_slow(self._framework, hook.plugin, hook.name, info.key, begun=begun)
            if isinstance(answer, Nomination):
                return answer
            return self._framework.check_verdict(hook, answer)
        except BaseException as error:
            raise self._framework.fault(hook, error) from error


def _code(answer: Nomination | Verdict) -> Code:
    """Say what an answer is: a node is a success, and that there is none is not."""
    if isinstance(answer, Verdict):
        return answer.code
    return Code.SUCCESS if answer.node_name else Code.UNSCHEDULABLE
