"""Ways to bring scores to 0..100."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["HIGHEST_SCORE", "scale"]

HIGHEST_SCORE = 100
_LARGEST = (2**63 - 1) // HIGHEST_SCORE


def scale(scores: NDArray[Any], *, reverse: bool = False) -> NDArray[np.int64]:
    """Scale scores so that the highest becomes 100; with `reverse`, the highest becomes 0.

    Integers that are not negative: as kube-scheduler's DefaultNormalizeScore, score x 100 // max,
    and all 0 (reversed: all 100) where the highest is 0. Floats, and integers below 0: the range
    from lowest to highest is spread over 0 to 100 and rounded down, and all are 0 (reversed: 100)
    where there is no range. Returns (n,) int64, new.
    """
    if scores.size == 0:
        return np.zeros(0, dtype=np.int64)
    if scores.dtype.kind in "iub" and scores.min() >= 0:
        scaled = _by_highest(scores)
    else:
        scaled = _by_range(scores.astype(np.float64, copy=False))
    return HIGHEST_SCORE - scaled if reverse else scaled


def _by_highest(scores: NDArray[Any]) -> NDArray[np.int64]:
    highest = int(scores.max())
    if highest == 0:
        return np.zeros(len(scores), dtype=np.int64)
    if highest > _LARGEST:  # beyond what int64 can multiply
        exact = [score * HIGHEST_SCORE // highest for score in scores.tolist()]
        return np.array(exact, dtype=np.int64)
    scaled: NDArray[np.int64] = scores.astype(np.int64, copy=False) * HIGHEST_SCORE // highest
    return scaled


def _by_range(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    # Halved, so that the range of the largest floats is one; exact but for the very smallest.
    lowest, highest = scores.min() / 2, scores.max() / 2
    if highest == lowest:
        return np.zeros(len(scores), dtype=np.int64)
    spread = (scores / 2 - lowest) / (highest - lowest)
    scaled: NDArray[np.int64] = np.floor(spread * HIGHEST_SCORE).astype(np.int64)
    return scaled
