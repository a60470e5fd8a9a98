"""The plugin itself."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage_builtin.pod_topology_spread.arguments import PodTopologySpreadArgs
from moorage_builtin.pod_topology_spread.constraints import (
    Constraints,
    InvalidConstraintError,
    constraints_of,
)
from moorage_builtin.pod_topology_spread.defaults import Defaults
from moorage_builtin.pod_topology_spread.filtering import LACKS_KEY, TOO_MANY, HardState
from moorage_builtin.pod_topology_spread.requeueing import Requeueing
from moorage_builtin.pod_topology_spread.scoring import SoftState

__all__ = ["PodTopologySpread"]

_REASON = "node(s) didn't match pod topology spread constraints"
_VERDICTS = {
    TOO_MANY: moorage.Verdict.unschedulable(_REASON),
    # Preempting pods does not label a node.
    LACKS_KEY: moorage.Verdict.unresolvable(f"{_REASON} (missing required label)"),
}


class PodTopologySpread(moorage.Plugin):
    """Filters by hard and scores by soft topology spread constraints.

    Pods without constraints share one answer; a pod with some is counted for anew.
    """

    Args = PodTopologySpreadArgs
    filter_depends = moorage.Depends()
    score_depends = moorage.Depends()
    watches = ("services", "replicationcontrollers", "replicasets", "statefulsets")

    def __init__(self, args: PodTopologySpreadArgs, handle: moorage.Handle) -> None:
        super().__init__(args, handle)
        self._defaults = Defaults(args, handle)

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod) -> Hashable | None:
        """Only having no constraint at all is shared."""
        if pod.spec.topology_spread_constraints:
            return None
        constraints = self._defaults.constraints_of(pod)
        return None if constraints.hard or constraints.soft else ()

    @moorage.hookimpl
    def pre_filter(
        self, state: moorage.CycleState, pod: moorage.Pod, nodes: moorage.NodesView
    ) -> moorage.Verdict | None:
        """Count the pods of all domains; skip pods without hard constraints."""
        try:
            constraints = self._constraints(pod)
            if not constraints.hard:
                return moorage.SKIP
            state["hard"] = HardState.of(pod, constraints.hard, nodes)
        except InvalidConstraintError as error:
            return moorage.Verdict.unresolvable(str(error))
        return None

    @moorage.hookimpl
    def filter_nodes(
        self, state: moorage.CycleState, nodes: moorage.NodesView
    ) -> NDArray[np.int8] | None:
        """Return (n,) codes: 1 where a domain is too full, 2 where a key is missing."""
        hard: HardState = state["hard"]
        return hard.codes(nodes)

    @moorage.hookimpl
    def explain(self, code: int) -> moorage.Verdict:
        """Preempting pods may help against a domain that is too full."""
        return _VERDICTS[code]

    @moorage.hookimpl
    def add_pods(
        self,
        state: moorage.CycleState,
        nodes: moorage.NodesView,
        positions: NDArray[np.intp],
        pods: Sequence[moorage.PodInfo],
    ) -> None:
        """Count pods more, each in the world of its row."""
        hard: HardState = state["hard"]
        hard.change(nodes, positions, pods, 1)

    @moorage.hookimpl
    def remove_pods(
        self,
        state: moorage.CycleState,
        nodes: moorage.NodesView,
        positions: NDArray[np.intp],
        pods: Sequence[moorage.PodInfo],
    ) -> None:
        """Count pods less, each in the world of its row."""
        hard: HardState = state["hard"]
        hard.change(nodes, positions, pods, -1)

    @moorage.hookimpl
    def pre_score(
        self, state: moorage.CycleState, pod: moorage.Pod, nodes: moorage.NodesView
    ) -> moorage.Verdict | None:
        """Count the pods of all domains of the nodes that passed; skip pods without soft ones."""
        constraints = self._constraints(pod)
        if not constraints.soft:
            return moorage.SKIP
        soft = SoftState(pod, constraints)
        soft.count(nodes, nodes.all_nodes)
        state["soft"] = soft
        return None

    @moorage.hookimpl
    def score_nodes(self, state: moorage.CycleState, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Return what it costs to put the pod there; (n,) int64."""
        soft: SoftState = state["soft"]
        return soft.raw(nodes)

    @moorage.hookimpl
    def normalize_scores(
        self, state: moorage.CycleState, scores: NDArray[np.int64], nodes: moorage.NodesView
    ) -> NDArray[np.int64]:
        """Give most to the nodes that cost least."""
        soft: SoftState = state["soft"]
        return soft.normalized(scores, nodes)

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Come back when counts or domains change."""
        requeueing = Requeueing(lambda pod: self._constraints(pod).hard)
        return requeueing.hints(defaults_filter=self._defaults.any_hard)

    def _constraints(self, pod: moorage.Pod) -> Constraints:
        if pod.spec.topology_spread_constraints:
            return constraints_of(pod)
        return self._defaults.constraints_of(pod)
