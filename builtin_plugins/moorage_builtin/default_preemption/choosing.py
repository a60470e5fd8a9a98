"""Which of the nodes costs least."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moorage_builtin.default_preemption.victims import Found

__all__ = ["cheapest"]

_LIFT = 2**31
"""Added to each priority of a sum, so that one more victim never makes it smaller."""


def cheapest(found: Found, among: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return those of the nodes `among` (indices) that are best by all criteria, in that order.

    By fewest violated budgets; then by the lowest priority of the most important victim; by the
    smallest sum of priorities; by the fewest victims; by the latest start, where of the victims of
    the highest priority the earliest counts.
    """
    best = among
    # Of each node the most important victim stands first: it has the highest priority, and of those
    # with it the earliest start.
    criteria = (
        found.violations,
        found.priorities[found.firsts],
        np.add.reduceat(found.priorities + _LIFT, found.firsts),
        found.counts,
        -found.started[found.firsts],
    )
    for costs in criteria:
        if len(best) == 1:
            break
        some = costs[best]
        best = best[some == some.min()]
    return best
