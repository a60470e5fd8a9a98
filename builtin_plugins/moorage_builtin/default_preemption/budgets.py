"""Which pods cannot go without violating a PodDisruptionBudget."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import moorage

__all__ = ["violating"]


def violating(pods: moorage.PodsOnRows, budgets: moorage.BudgetStore) -> NDArray[np.bool_]:
    """Say which of the pods would break a budget if all went; (m,) bool.

    `pods` are in the order in which they would go on each row. Each row is a world of its own: it
    may use up what a budget allows. A pod breaks a budget that is used up by those before it on its
    row; what the budget's status names as disrupted already neither uses it nor breaks it.
    """
    broken = np.zeros(len(pods), dtype=np.bool_)
    if not len(budgets):
        return broken
    which, allowed, members = _memberships(pods, budgets)
    if not members.size:
        return broken
    # By row and budget, keeping the order of the pods: the k-th of a group uses the k-th disruption.
    groups = pods.positions[members] * len(allowed) + which
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    used = np.arange(1, len(order) + 1) - np.repeat(starts, sizes)
    over = used > allowed[which[order]]
    broken[members[order[over]]] = True
    return broken


def _memberships(
    pods: moorage.PodsOnRows, budgets: moorage.BudgetStore
) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.intp]]:
    """Pair pods with the budgets that they use: (budget of each pair, allowed by budget, its pod)."""
    number: dict[tuple[str, str], int] = {}
    allowed: list[int] = []
    pairs: list[tuple[int, int]] = []
    kinds, of_kind = np.unique(pods.kinds, return_inverse=True)
    firsts = np.zeros(len(kinds), dtype=np.intp)
    firsts[of_kind] = np.arange(len(pods))
    selecting = [
        budgets.selecting(metadata.namespace, metadata.labels)
        for metadata in (pods.infos[first].pod.metadata for first in firsts.tolist())
    ]
    under = np.array([bool(found) for found in selecting], dtype=np.bool_)
    for index in np.flatnonzero(under[of_kind]).tolist():
        name = pods.infos[index].pod.metadata.name
        for budget in selecting[of_kind[index]]:
            if name in budget.status.disrupted_pods:
                continue
            key = (budget.metadata.namespace, budget.metadata.name)
            if key not in number:
                number[key] = len(allowed)
                allowed.append(budget.status.disruptions_allowed)
            pairs.append((number[key], index))
    found = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return found[:, 0], np.array(allowed, dtype=np.int64), found[:, 1]
