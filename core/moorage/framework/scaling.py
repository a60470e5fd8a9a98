"""Ways to bring scores to 0..100."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["HIGHEST_SCORE", "scale"]

HIGHEST_SCORE = 100


def scale(scores: NDArray[Any], *, reverse: bool = False) -> NDArray[np.int64]:
    """Scale scores so that the highest becomes 100; with `reverse`, the highest becomes 0.

    Integers that are not negative: as kube-scheduler's DefaultNormalizeScore, score x 100 // max,
    and all 0 (reversed: all 100) where the highest is 0. Floats, and integers below 0: the range
    from lowest to highest is spread over 0 to 100 and rounded down, and all are 0 (reversed: 100)
    where there is no range. Returns (n,) int64, new.
    """
    if scores.size == 0:
        return np.zeros(0, dtype=np.int64)
    lowest, highest = scores.min(), scores.max()
    if scores.dtype.kind in "iu" and lowest >= 0:
        scaled = (
            np.zeros(len(scores), dtype=np.int64)
            if highest == 0
            else (scores.astype(np.int64, copy=False) * HIGHEST_SCORE // int(highest))
        )
    elif highest == lowest:
        scaled = np.zeros(len(scores), dtype=np.int64)
    else:
        spread = (scores - lowest) / (highest - lowest)
        scaled = np.floor(spread * HIGHEST_SCORE).astype(np.int64)
    return HIGHEST_SCORE - scaled if reverse else scaled
