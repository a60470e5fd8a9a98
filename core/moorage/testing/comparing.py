"""What one plugin says of every node for one pod, in a form that two runs can be compared in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from moorage.framework.verdict import Verdict

__all__ = ["Answers", "difference"]

_ROUNDING = 1e-9


class Answers(NamedTuple):
    """Verdicts and raw scores by node; `scores` None: the plugin skipped the pod, or never scores."""

    verdicts: Mapping[str, Verdict]
    scores: Mapping[str, float] | None


def difference(left: Answers, right: Answers, *, names: tuple[str, str]) -> str:
    """Say in one sentence where two answers differ first; empty: nowhere.

    `names` are what the two are called. Scores may differ by rounding of floats.
    """
    for node, one in left.verdicts.items():
        other = right.verdicts[node]
        if one != other:
            return f"node {node}: {names[0]} says {one}, {names[1]} says {other}"
    if left.scores is None or right.scores is None:
        skips, scores = names if left.scores is None else names[::-1]
        same = left.scores is right.scores
        return "" if same else f"{skips} skips scoring the pod, {scores} does not"
    for node, first in left.scores.items():
        second = right.scores[node]
        if not math.isclose(first, second, rel_tol=_ROUNDING, abs_tol=_ROUNDING):
            return f"node {node}: {names[0]} scores {first}, {names[1]} scores {second}"
    return ""
