"""The hooks of InterPodAffinity."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import moorage
from moorage_builtin.inter_pod_affinity.filtering import (
    AFFINITY,
    ANTI_AFFINITY,
    EXISTING_ANTI_AFFINITY,
    Rules,
)
from moorage_builtin.inter_pod_affinity.requeueing import Requeueing
from moorage_builtin.inter_pod_affinity.scoring import Attraction, spread

__all__ = ["InterPodAffinity", "InterPodAffinityArgs"]

_VERDICTS = {
    AFFINITY: moorage.Verdict.unresolvable("node(s) didn't match pod affinity rules"),
    ANTI_AFFINITY: moorage.Verdict.unschedulable("node(s) didn't match pod anti-affinity rules"),
    EXISTING_ANTI_AFFINITY: moorage.Verdict.unschedulable(
        "node(s) didn't satisfy existing pods anti-affinity rules"
    ),
}


class InterPodAffinityArgs(moorage.PluginArgs):
    """Arguments of InterPodAffinity."""

    hard_pod_affinity_weight: int = Field(
        default=1,
        ge=0,
        le=100,
        strict=True,
        description="What a required affinity term of a pod on a node counts in scores.",
    )
    ignore_preferred_terms_of_existing_pods: bool = Field(
        default=False,
        strict=True,
        description="Score only pods that have preferred terms of their own.",
    )


class InterPodAffinity(moorage.Plugin):
    """Filters by required and scores by preferred affinity and anti-affinity between pods.

    A pod without terms of its own depends on the terms of pods on nodes that select it: such pods
    share answers by namespace and labels until those terms change. Others are asked anew.
    """

    Args = InterPodAffinityArgs
    filter_depends = moorage.Depends(node=True, facts=("anti_affinity_terms", "namespaces"))
    score_depends = moorage.Depends(
        node=True, facts=("affinity_terms", "preferred_affinity_terms", "namespaces")
    )

    def __init__(self, args: InterPodAffinityArgs, handle: moorage.Handle) -> None:
        super().__init__(args, handle)
        self._hard_weight = args.hard_pod_affinity_weight
        self._ignores_existing = args.ignore_preferred_terms_of_existing_pods
        self._requeueing = Requeueing(handle)

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod, info: moorage.PodInfo) -> Hashable | None:
        """Return what selectors of other pods see; None for a pod with terms of its own."""
        if pod.spec.affinity is not None and not info.affinity_terms.are_none:
            return None
        return pod.metadata.namespace, frozenset(pod.metadata.labels.items())

    @moorage.hookimpl
    def pre_filter(
        self, state: moorage.CycleState, info: moorage.PodInfo, nodes: moorage.NodesView
    ) -> moorage.Verdict | None:
        """Count the pods that matter by topology domain.

        Never skips: pods that are expected on a node may have terms against this one.
        """
        invalid = info.affinity_terms.invalid
        if invalid:
            return moorage.Verdict.unresolvable(invalid)
        state["rules"] = Rules(info, nodes)
        return None

    @moorage.hookimpl
    def add_pods(
        self,
        state: moorage.CycleState,
        nodes: moorage.NodesView,
        positions: NDArray[np.intp],
        pods: Sequence[moorage.PodInfo],
    ) -> None:
        """Count more pods in the domains of rows."""
        state["rules"] = state["rules"].with_pods(nodes, positions, pods, 1)

    @moorage.hookimpl
    def remove_pods(
        self,
        state: moorage.CycleState,
        nodes: moorage.NodesView,
        positions: NDArray[np.intp],
        pods: Sequence[moorage.PodInfo],
    ) -> None:
        """Count fewer pods in the domains of rows."""
        state["rules"] = state["rules"].with_pods(nodes, positions, pods, -1)

    @moorage.hookimpl
    def filter_nodes(
        self, state: moorage.CycleState, nodes: moorage.NodesView
    ) -> NDArray[np.int8] | None:
        """Return (n,) codes of the first rule that is not met."""
        rules: Rules = state["rules"]
        return rules.codes(nodes)

    @moorage.hookimpl
    def explain(self, code: int) -> moorage.Verdict:
        """Preempting pods cannot bring those that are to be near; it can take away the others."""
        return _VERDICTS[code]

    @moorage.hookimpl
    def pre_score(
        self, state: moorage.CycleState, info: moorage.PodInfo, nodes: moorage.NodesView
    ) -> moorage.Verdict | None:
        """Sum the weights of all terms by domain, over all nodes; skip where nothing matters."""
        if self._ignores_existing and not info.affinity_terms.preferred:
            return moorage.SKIP
        attraction = Attraction(info, nodes.all_nodes, hard_weight=self._hard_weight)
        if attraction.is_none:
            return moorage.SKIP
        state["attraction"] = attraction
        return None

    @moorage.hookimpl
    def score_nodes(self, state: moorage.CycleState, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Return the sums of each node's domains; (n,) int64."""
        attraction: Attraction = state["attraction"]
        return attraction.scores(nodes)

    @moorage.hookimpl
    def normalize_scores(self, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        """Spread what there is from 0 to 100."""
        return spread(scores)

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Come back when pods, labels of nodes or labels of namespaces change what is near."""
        action, resource = moorage.ActionType, moorage.EventResource
        return [
            moorage.EventHint(
                moorage.ClusterEvent(
                    resource.POD, action.ADD | action.UPDATE_POD_LABEL | action.DELETE
                ),
                self._requeueing.pod_changed,
            ),
            moorage.EventHint(
                moorage.ClusterEvent(
                    resource.NODE, action.ADD | action.UPDATE_NODE_LABEL | action.DELETE
                ),
                self._requeueing.node_changed,
            ),
            moorage.EventHint(
                moorage.ClusterEvent(resource.NAMESPACE, action.ALL),
                self._requeueing.namespace_changed,
            ),
        ]
