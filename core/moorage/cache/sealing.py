"""Arrays that their readers cannot change."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["sealed"]

S = TypeVar("S", bound=np.generic)


def sealed(array: NDArray[S]) -> NDArray[S]:
    """Return an array of the same memory that nobody can write through; O(1).

    Not by its flag alone: whoever has a slice of an array that can be written to may set the flag
    back, and the cluster would be what a plugin made of it.
    """
    shown: NDArray[S] = np.asarray(array.data.toreadonly())
    return shown
