"""Groups of pods that are placed together, and where they might go (KEP-5732)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.model.pod_info import PodInfo

__all__ = ["Placement", "PodGroup"]


class PodGroup(NamedTuple):
    """Pods that are to be scheduled as one."""

    name: str
    namespace: str
    pods: tuple[PodInfo, ...]


class Placement(NamedTuple):
    """One way to place a group: the positions (k,) intp of the nodes it may use in a view."""

    name: str
    positions: NDArray[np.intp]
