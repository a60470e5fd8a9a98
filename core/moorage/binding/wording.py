"""What people read about a pod that was not bound, in kube-scheduler's words."""

from __future__ import annotations

from collections import Counter

from moorage.errors import MoorageError, PluginError
from moorage.fault_log import text_of
from moorage.framework.profile import Framework, Hook
from moorage.framework.verdict import Code, Verdict

__all__ = ["failure", "message_of"]

_POINTS = {
    "reserve": "Reserve",
    "permit": "Permit",
    "pre_bind_pre_flight": "PreBindPreFlight",
    "pre_bind": "PreBind",
    "bind": "Bind",
    "post_bind": "PostBind",
}


def message_of(verdict: Verdict) -> str:
    """Word a verdict after a node was chosen; kube-scheduler reports a refusal as that of one node."""
    if not verdict.is_rejection:
        return verdict.message
    counts = Counter(verdict.reasons)
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return "0/1 nodes are available:" + (f" {reasons}." if reasons else "")


def failure(framework: Framework, hook: Hook, problem: BaseException | Verdict) -> Verdict:
    """Return code Error for what went wrong in a hook: raised, or reported by a verdict.

    What the API server refused, or could not be asked, is not the plugin's fault and is said as it
    is; everything else that is raised names plugin and distribution.
    """
    if isinstance(problem, PluginError) or not isinstance(problem, (MoorageError, Verdict)):
        return Verdict.error(str(framework.fault(hook, problem))).of(hook.plugin)
    said = problem.message if isinstance(problem, Verdict) else text_of(problem)
    point = _POINTS[hook.name]
    if hook.name == "pre_bind_pre_flight":
        text = f'running {point} "{hook.plugin}": {said}'
        if isinstance(problem, Verdict) and problem.code is not Code.ERROR:
            text = (
                f'{point} {hook.plugin} returned "{problem.code.label}", which is unsupported. '
                "It is supposed to return Success, Skip, or Error status"
            )
        return Verdict.error(text).of(hook.plugin)
    if isinstance(problem, Verdict) and problem.code is not Code.ERROR:
        said = said or f"it answered {problem}, which has no meaning here"
    return Verdict.error(f'running {point} plugin "{hook.plugin}": {said}').of(hook.plugin)
