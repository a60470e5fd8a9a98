"""Plugins that the kit is tried on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import moorage

__all__ = ["Evicts", "Gate", "Guard", "Rank", "Spawns", "Untrue"]

REASON = "node(s) were closed"


class Rank(moorage.Plugin):
    """Leaves out closed nodes and ranks by a label, in both forms."""

    class Args(moorage.PluginArgs):
        """Which label."""

        label: str = "rank"

    filter_depends = moorage.Depends(node=True)
    score_depends = moorage.Depends(node=True)

    @moorage.hookimpl
    def sign(self) -> tuple[()]:
        """See nothing of a pod."""
        return ()

    @moorage.hookimpl
    def filter_nodes(self, nodes: moorage.NodesView) -> NDArray[np.bool_]:
        """Let open nodes pass."""
        return ~nodes.unschedulable

    @moorage.hookimpl
    def explain(self) -> moorage.Verdict:
        """Say why."""
        return moorage.Verdict.unschedulable(REASON)

    @moorage.hookimpl
    def filter(self, node: moorage.NodeInfo) -> moorage.Verdict | None:
        """Do the same, node by node."""
        return moorage.Verdict.unschedulable(REASON) if node.node.spec.unschedulable else None

    @moorage.hookimpl
    def score_nodes(self, nodes: moorage.NodesView) -> NDArray[Any]:
        """Read the label."""
        return nodes.map_label(self.args.label, _number)

    @moorage.hookimpl
    def score(self, node: moorage.NodeInfo) -> float:
        """Do the same, node by node."""
        return _number(node.labels.get(self.args.label, ""))

    @moorage.hookimpl
    def normalize_scores(self, scores: NDArray[Any]) -> NDArray[np.int64]:
        """Scale."""
        return moorage.scale(scores)


class Untrue(Rank):
    """Declares that pods do not matter, and looks at them."""

    @moorage.hookimpl
    def score_nodes(self, nodes: moorage.NodesView) -> NDArray[Any]:
        """Count pods."""
        return nodes.pod_count


class Gate(moorage.Plugin):
    """Holds pods back, lets them wait, sets aside, and binds."""

    @moorage.hookimpl
    def pre_enqueue(self, pod: moorage.Pod) -> moorage.Verdict | None:
        """Hold back pods of a label."""
        held = "held" in pod.metadata.labels
        return moorage.Verdict.unresolvable("held back") if held else None

    @moorage.hookimpl
    def reserve(self, state: moorage.CycleState, node_name: str) -> None:
        """Note where the pod goes."""
        state["node"] = node_name

    @moorage.hookimpl
    def unreserve(self, state: moorage.CycleState) -> None:
        """Forget it."""
        state.pop("node", None)

    @moorage.hookimpl
    def permit(self, pod: moorage.Pod) -> moorage.Verdict | None:
        """Let pods of a label wait."""
        return moorage.Verdict.wait(30) if "waits" in pod.metadata.labels else None

    @moorage.hookimpl
    async def pre_bind(self, state: moorage.CycleState) -> moorage.Verdict | None:
        """See what Reserve noted."""
        return None if state.get("node") else moorage.Verdict.error("nothing was reserved")

    @moorage.hookimpl
    def post_bind(self, pod: moorage.Pod, node_name: str) -> None:
        """Tell."""
        self.handle.event(pod, kind="Normal", reason="Told", action="Binding", note=node_name)


class Guard(moorage.Plugin):
    """Raises about pods of a label."""

    @moorage.hookimpl
    def filter(self, pod: moorage.Pod) -> moorage.Verdict | None:
        """Raise."""
        if "bad" in pod.metadata.labels:
            raise KeyError("bad")
        return None


def _number(text: str) -> float:
    return float(text) if text.lstrip("-").isdecimal() else 0.0


class Evicts(moorage.Plugin):
    """Makes room by having a pod deleted beside the scheduling."""

    @moorage.hookimpl
    def post_filter(self, diagnosis: moorage.Diagnosis) -> moorage.Nomination:
        """Delete all pods of the first node."""
        for pod in diagnosis.nodes.pods(0):
            assert self.handle.spawn(self.handle.delete(pod))
        return moorage.Nomination(diagnosis.nodes.name(0))


class Spawns(moorage.Plugin):
    """Spawns what the test says when it starts."""

    def __init__(self, args: moorage.PluginArgs, handle: moorage.Handle) -> None:
        super().__init__(args, handle)
        self.begun = False

    async def work(self) -> None:
        """Fail."""
        self.begun = True
        message = "no such thing"
        raise LookupError(message)

    @moorage.hookimpl
    def start(self) -> None:
        """Spawn."""
        self.handle.spawn(self.work())

    @moorage.hookimpl
    def filter(self) -> None:
        """Let everything pass, so as to be at some point."""
