"""Which nodes count for a constraint: those that the pod could use, as its policies have it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage.model.taints import KEEPS_OUT, untolerated
from moorage_builtin.node_terms import required_of_pod
from moorage_builtin.pod_topology_spread.constraints import Constraint

__all__ = ["Inclusion", "have_keys"]


class Inclusion:
    """What of a pod decides which nodes count."""

    def __init__(self, pod: moorage.Pod) -> None:
        self._required = required_of_pod(pod)
        self._tolerations = pod.spec.tolerations

    def rows(
        self, nodes: moorage.NodesView, constraints: Sequence[Constraint], *, all_keys: bool = True
    ) -> list[NDArray[np.bool_] | None]:
        """Say for each constraint which nodes count: (n,) bool, or None: all of them.

        With `all_keys`, a node that lacks the key of any constraint counts for none.
        """
        base = have_keys(nodes, constraints) if all_keys else None
        by_affinity = by_taints = None
        if not self._required.is_empty and any(one.honors_affinity for one in constraints):
            by_affinity = self._required.rows(nodes)
        if any(one.honors_taints for one in constraints):
            by_taints = nodes.taints.map(
                lambda taints: not untolerated(taints, self._tolerations, KEEPS_OUT),
                np.bool_,
                default=1,
            )
        return [
            _both(
                _both(base, by_affinity if one.honors_affinity else None),
                by_taints if one.honors_taints else None,
            )
            for one in constraints
        ]

    def accepts(self, node: moorage.Node, constraint: Constraint) -> bool:
        """Say whether one node, which has all keys, counts for a constraint."""
        required = self._required
        if constraint.honors_affinity and not required.is_empty and not required.accepts(node):
            return False
        return not (
            constraint.honors_taints and untolerated(node.spec.taints, self._tolerations, KEEPS_OUT)
        )


def have_keys(
    nodes: moorage.NodesView, constraints: Sequence[Constraint]
) -> NDArray[np.bool_] | None:
    """Say which nodes have the keys of all constraints; (n,) bool, or None: all of them."""
    found: NDArray[np.bool_] | None = None
    for key in dict.fromkeys(constraint.key for constraint in constraints):
        found = _both(found, nodes.labels(key).present)
    return None if found is None or found.all() else found


def _both(
    one: NDArray[np.bool_] | None, other: NDArray[np.bool_] | None
) -> NDArray[np.bool_] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
