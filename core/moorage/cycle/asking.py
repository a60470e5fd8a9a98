"""One question to one plugin, and the check of its answer.

Whatever a plugin answers wrongly becomes a `PluginError` that names it, its distribution and the
hook, so that a bad plugin costs a pod its turn and the scheduler nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache import NodeInfo, NodesView, PodsOnRows
from moorage.cycle.steps import Step
from moorage.errors import PluginError
from moorage.framework import slowness
from moorage.framework.blame import let_through
from moorage.framework.cycle_state import CycleState
from moorage.framework.points import POINT_LABELS
from moorage.framework.profile import Framework, Hook
from moorage.framework.scaling import HIGHEST_SCORE
from moorage.framework.verdict import SUCCESS, Code, Verdict
from moorage.model.pod_info import PodInfo

__all__ = ["Asker", "PreFiltered"]

_LARGEST_CODE = 2**31 - 1
_SAID = "moorage.verdicts"


class PreFiltered(NamedTuple):
    """What a plugin's `pre_filter` said; `names` are the only nodes to look at, None: all."""

    verdict: Verdict = SUCCESS
    names: frozenset[str] | None = None


class Asker:
    """Asks the plugins of one profile; every method raises PluginError for a broken contract."""

    def __init__(self, framework: Framework) -> None:
        self._framework = framework
        self._activity = framework.services.activity
        self._metrics = framework.services.metrics.profile(framework.profile_name)
        self._is_sampled = False
        self.pre_filter_seconds = 0.0
        """How long `pre_filter` hooks have taken since `begin`."""
        self.pre_score_seconds = 0.0
        """How long `pre_score` hooks have taken since `begin`."""

    def begin(self) -> None:
        """Begin a cycle, of which perhaps each plugin is timed by itself."""
        self._is_sampled = self._metrics.sample()
        self.pre_filter_seconds = self.pre_score_seconds = 0.0

    def sign(self, hooks: Sequence[Hook], info: PodInfo) -> tuple[Hashable | None, ...]:
        """Ask for fragments; None where a plugin cannot sign the pod."""
        pod, activity = info.pod, self._activity
        activity.hook = "sign"
        fragments: list[Hashable | None] = []
        try:
            for hook in hooks:
                activity.plugin = hook.plugin
                if self._is_sampled:
                    fragments.append(self._timed(hook, (pod, info)))
                else:
                    fragments.append(hook.call(pod, info))
        except BaseException as error:
            raise self._framework.fault(hooks[len(fragments)], error) from error
        return tuple(fragments)

    def unhashable(self, hooks: Sequence[Hook], fragments: Sequence[object]) -> PluginError:
        """Say which plugin gave a fragment that cannot be hashed."""
        hook, fragment = next(
            (hook, fragment)
            for hook, fragment in zip(hooks, fragments, strict=True)
            if not _is_hashable(fragment)
        )
        return self._wrong(hook, "something hashable", fragment)

    def pre_filter(
        self, step: Step, state: CycleState, info: PodInfo, nodes: NodesView
    ) -> PreFiltered:
        """Ask `pre_filter`, where the plugin has one."""
        hook = step.pre_filter
        if hook is None:
            return PreFiltered()
        begun = self._metrics.clock()
        answer = self._call(hook, state, info.pod, info, nodes)
        self.pre_filter_seconds += self._metrics.clock() - begun
        skips = isinstance(answer, Verdict) and answer.code is Code.SKIP
        step.evaluations.pre_filter.value += not skips
        if answer is None or isinstance(answer, Verdict):
            return PreFiltered(self.verdict(hook, answer, may_skip=True))
        if isinstance(answer, Iterable) and not isinstance(answer, str):
            try:
                names = tuple(answer)
            except BaseException as error:  # a generator is the plugin's code as well
                raise self._framework.fault(hook, error) from error
            if all(isinstance(name, str) for name in names):
                return PreFiltered(names=frozenset(names))
        raise self._wrong(hook, "a Verdict, names of nodes, or None", answer)

    def verdict(self, hook: Hook, answer: object, *, may_skip: bool = False) -> Verdict:
        """Return a verdict that passes or refuses (or skips); PluginError for any other."""
        verdict = self._framework.check_verdict(hook, answer)
        if verdict.code is Code.ERROR:
            raise PluginError(
                f"plugin {hook.plugin!r} ({self._framework.origin(hook.plugin)}) failed in "
                f"{hook.name}: {verdict.message}"
            )
        if verdict.code is Code.WAIT or (verdict.code is Code.SKIP and not may_skip):
            raise self._wrong(hook, "None or a Verdict that refuses", answer)
        return verdict

    def filter(
        self, step: Step, state: CycleState, info: PodInfo, nodes: NodesView
    ) -> NDArray[np.int32] | None:
        """Ask which nodes pass: (n,) int32 codes, 0 where it passes; None: all do."""
        hook = step.filter
        if hook is None:
            return None
        step.evaluations.filter.value += 1
        if step.takes_nodes_singly:
            begun = slowness.begin()
            codes = self._filter_singly(hook, state, info, nodes)
            self._tell_if_slow(hook, begun)
            return codes
        answer = self._call(hook, state, info.pod, info, nodes)
        if answer is None:
            return None
        if not isinstance(answer, np.ndarray) or answer.shape != (len(nodes),):
            raise self._wrong(hook, f"an array of shape ({len(nodes)},)", answer)
        if answer.dtype == np.bool_:
            return (~answer).view(np.int8).astype(np.int32)
        if answer.dtype.kind not in "iu":
            raise self._wrong(hook, "bool or integers", answer)
        if answer.size and (answer.min() < 0 or answer.max() > _LARGEST_CODE):
            raise self._wrong(hook, f"codes from 0 to {_LARGEST_CODE}", answer)
        return answer.astype(np.int32, copy=False)

    def explain(self, step: Step, state: CycleState, info: PodInfo, code: int) -> Verdict:
        """Turn a code into a verdict that names the plugin."""
        if step.takes_nodes_singly:
            return self._said(state)[code - 1]
        if step.explain is None:
            return Verdict.unschedulable(f"node(s) didn't satisfy plugin {step.name}").of(step.name)
        answer = self._call(step.explain, state, info.pod, code)
        verdict = self.verdict(step.explain, answer)
        if verdict.is_success:
            raise self._wrong(step.explain, "a Verdict that refuses", answer)
        return verdict

    def pre_score(self, step: Step, state: CycleState, info: PodInfo, nodes: NodesView) -> bool:
        """Ask `pre_score`; False where the plugin skips scoring this pod."""
        hook = step.pre_score
        if hook is None:
            return True
        begun = self._metrics.clock()
        verdict = self.verdict(hook, self._call(hook, state, info.pod, info, nodes), may_skip=True)
        self.pre_score_seconds += self._metrics.clock() - begun
        if verdict.code is Code.SKIP:
            return False
        step.evaluations.pre_score.value += 1
        if not verdict.is_success:
            raise PluginError(
                f"plugin {step.name!r} ({self._framework.origin(step.name)}) refused the pod in "
                f"pre_score, where only Skip is allowed: {verdict.message}"
            )
        return True

    def score(
        self, step: Step, state: CycleState, info: PodInfo, nodes: NodesView
    ) -> NDArray[Any] | int:
        """Ask for raw scores: (n,) int64 or float64, finite; or one that is final, of all nodes."""
        hook = step.score
        assert hook is not None  # noqa: S101 - only scoring steps are asked
        step.evaluations.score.value += 1
        answer: Any
        if hook.name == "score":
            begun = slowness.begin()
            answer = self._score_singly(hook, state, info, nodes)
            self._tell_if_slow(hook, begun)
        else:
            answer = self._call(hook, state, info.pod, info, nodes)
            if type(answer) is int and 0 <= answer <= HIGHEST_SCORE:
                return answer
        if not isinstance(answer, np.ndarray) or answer.shape != (len(nodes),):
            raise self._wrong(hook, f"numbers, one for each of {len(nodes)} nodes", answer)
        if answer.dtype.kind in "iub":
            return answer.astype(np.int64, copy=False)
        if answer.dtype.kind != "f" or not np.isfinite(answer).all():
            raise self._wrong(hook, "finite numbers", answer)
        return answer.astype(np.float64, copy=False)

    def undecided(self, step: Step) -> PluginError:
        """Say that a plugin has one score for all of some nodes, and another for others."""
        assert step.score is not None  # noqa: S101 - only scoring steps are asked
        return self._wrong(step.score, "the same int for all nodes, or none", 0)

    def normalize(
        self,
        step: Step,
        state: CycleState,
        info: PodInfo,
        scores: NDArray[Any] | int,
        nodes: NodesView,
    ) -> NDArray[np.int64]:
        """Bring raw scores, as `score` gave them, to integers 0 to 100; (n,) int64."""
        if isinstance(scores, int):
            return np.full(len(nodes), scores, dtype=np.int64)
        if step.normalize is not None:
            scores = scores.view()  # the array itself may be the plugin's own
            scores.flags.writeable = False
            answer = self._call(step.normalize, state, info.pod, scores, nodes)
            return self.check_scores(step.normalize, answer, len(nodes))
        assert step.score is not None  # noqa: S101 - only scoring steps are asked
        return self.check_scores(step.score, scores, len(nodes))

    def check_scores(self, hook: Hook, scores: object, count: int) -> NDArray[np.int64]:
        """Return scores as (count,) int64; PluginError unless all are integers 0 to 100."""
        if not isinstance(scores, np.ndarray) or scores.shape != (count,):
            raise self._wrong(hook, f"an array of shape ({count},)", scores)
        whole = scores
        if scores.dtype.kind == "f":
            bounded = np.nan_to_num(scores, nan=-1.0).clip(-1, HIGHEST_SCORE + 1)
            whole = bounded.astype(np.int64)
            if not np.array_equal(whole, bounded):
                raise self._wrong(hook, f"whole numbers{_advice(hook)}", scores)
        elif scores.dtype.kind not in "iu":
            raise self._wrong(hook, "integers", scores)
        whole = whole.astype(np.int64, copy=False)
        if not _are_in_range(whole):
            raise self._wrong(hook, f"scores from 0 to {HIGHEST_SCORE}{_advice(hook)}", scores)
        return whole

    def change_pods(
        self,
        step: Step,
        state: CycleState,
        info: PodInfo,
        nodes: NodesView,
        pods: PodsOnRows,
        *,
        change: int,
    ) -> CycleState:
        """Return a clone of the notes that reckons with pods added (1) to rows, or taken off (-1)."""
        hook = step.add_pods if change > 0 else step.remove_pods
        if hook is None:
            return state
        clone = self._clone(state)
        self._call(hook, clone, info.pod, nodes, pods.positions, pods)
        return clone

    def _filter_singly(
        self, hook: Hook, state: CycleState, info: PodInfo, nodes: NodesView
    ) -> NDArray[np.int32]:
        verdicts = self._said(state)
        known = {verdict: code for code, verdict in enumerate(verdicts, start=1)}
        codes = np.zeros(len(nodes), dtype=np.int32)
        for position in range(len(nodes)):
            node = NodeInfo(nodes, position)
            verdict = self.verdict(hook, self._call_once(hook, state, info.pod, info, node))
            if not verdict.is_success:
                code = known.setdefault(verdict, len(verdicts) + 1)
                if code > len(verdicts):
                    verdicts.append(verdict)
                codes[position] = code
        return codes

    def _score_singly(
        self, hook: Hook, state: CycleState, info: PodInfo, nodes: NodesView
    ) -> NDArray[Any]:
        answers = [
            self._call_once(hook, state, info.pod, info, NodeInfo(nodes, position))
            for position in range(len(nodes))
        ]
        try:
            scores = np.array(answers)
        except (ValueError, TypeError, OverflowError):  # lists of several lengths, for instance
            scores = np.array(answers, dtype=object)
        if scores.dtype.kind not in "iubf" or scores.shape != (len(nodes),):
            raise self._wrong(hook, "a number for each node", _odd_one(answers))
        return scores

    @staticmethod
    def _said(state: CycleState) -> list[Verdict]:
        """Return what a plugin that takes nodes singly has said; a code is a place in it, from 1."""
        verdicts: list[Verdict] = state.setdefault(_SAID, [])
        return verdicts

    def _clone(self, state: CycleState) -> CycleState:
        """Clone notes for hypothetical pods; codes mean the same in both."""
        said = self._said(state)
        clone = state.clone()
        clone[_SAID] = said
        return clone

    def _call(self, hook: Hook, *arguments: Any) -> Any:  # noqa: ANN401 - as the hook has them
        # As `_call_once`, not by it: each call of a hook is worth a microsecond of every cycle.
        activity = self._activity
        activity.plugin, activity.hook = hook.plugin, hook.name
        begun = slowness.begin()
        try:
            if self._is_sampled:
                return self._timed(hook, arguments)
            return hook.call(*arguments)
        except BaseException as error:
            raise self._framework.fault(hook, error) from error
        finally:
            if slowness.begin() - begun >= slowness.SLOW_SECONDS:
                self._tell_if_slow(hook, begun)

    def _tell_if_slow(self, hook: Hook, begun: float) -> None:
        """Warn of a hook, or of all its calls for single nodes, that kept the loop waiting."""
        framework, pod = self._framework, self._activity.pod
        slowness.tell_if_slow(framework, hook.plugin, hook.name, pod, begun=begun)

    def _call_once(self, hook: Hook, *arguments: Any) -> Any:  # noqa: ANN401 - as the hook has them
        activity = self._activity
        activity.plugin, activity.hook = hook.plugin, hook.name
        try:
            if self._is_sampled:
                return self._timed(hook, arguments)
            return hook.call(*arguments)
        except BaseException as error:
            raise self._framework.fault(hook, error) from error

    def _timed(self, hook: Hook, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401 - as above
        status = Code.ERROR.label
        begun = self._metrics.clock()
        try:
            answer = hook.call(*arguments)
            status = _label(hook, answer)
        finally:
            point = POINT_LABELS.get(hook.name)
            if point is not None:
                self._metrics.plugin(hook.plugin, point, status, self._metrics.clock() - begun)
        return answer

    def _wrong(self, hook: Hook, wanted: str, answer: object) -> PluginError:
        return PluginError(
            f"plugin {hook.plugin!r} ({self._framework.origin(hook.plugin)}) returned "
            f"{_describe(answer)} from {hook.name}; wanted {wanted}"
        )


def _label(hook: Hook, answer: object) -> str:
    """Say for the metrics how a call ended."""
    if isinstance(answer, Verdict):
        return answer.code.label
    cannot_sign = hook.name == "sign" and answer is None
    return (Code.UNSCHEDULABLE if cannot_sign else Code.SUCCESS).label


def _are_in_range(scores: NDArray[np.int64]) -> bool:
    if len(scores) == 1:  # the row that changed since the last pod: plain numbers are faster
        return bool(0 <= scores.item() <= HIGHEST_SCORE)
    # Read as unsigned, a negative score is a very high one: one look instead of two.
    return not np.count_nonzero(scores.view(np.uint64) > HIGHEST_SCORE)


def _is_hashable(fragment: object) -> bool:
    try:
        hash(fragment)
    except BaseException as error:  # noqa: BLE001 - it runs the plugin's code
        let_through(error)
        return False
    return True


def _advice(hook: Hook) -> str:
    """Say what helps where scores are not yet integers 0 to 100."""
    return "" if hook.name == "normalize_scores" else " (add normalize_scores)"


def _odd_one(answers: Sequence[object]) -> object:
    """Return the first answer that is no number; the array of all where each is one."""
    for answer in answers:
        if not isinstance(answer, (bool, int, float, np.bool_, np.integer, np.floating)):
            return answer
    return np.array(answers)


def _describe(answer: object) -> str:
    if isinstance(answer, np.ndarray):
        text = f"an array of shape {answer.shape}, dtype {answer.dtype}"
        if answer.size and answer.dtype.kind in "iuf":
            text += f", values {answer.min():g} to {answer.max():g}"
        return text
    try:
        return f"{type(answer).__name__} {answer!r}"[:80]
    except BaseException as error:  # noqa: BLE001 - it runs the plugin's code
        let_through(error)
        return type(answer).__name__
