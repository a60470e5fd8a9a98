"""By which pods hypothetical rows differ from the real ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.cache.pods_on_rows import PodsOnRows
from moorage.model.pod_info import PodInfo

__all__ = ["RowChanges", "scatter"]

Pairs = Sequence[tuple[int, PodInfo]]


class RowChanges:
    """Steps, each of which adds pods to rows or takes pods off; false where there is none.

    `added` and `removed` are what the steps come to: pairs of (position, pod), made when first
    asked for. A pod that was added and taken off again cancels out, by row and uid, and the other
    way round.
    """

    __slots__ = ("_resolved", "_steps")

    def __init__(self, steps: tuple[tuple[int, PodsOnRows], ...] = ()) -> None:
        self._steps = steps
        self._resolved: tuple[Pairs, Pairs] | None = None

    def __bool__(self) -> bool:
        return bool(self._steps)

    def then(self, change: int, pods: PodsOnRows) -> RowChanges:
        """Return these steps and one more: 1 adds the pods, -1 takes them off."""
        return RowChanges((*self._steps, (change, pods)))

    @property
    def added(self) -> Pairs:
        """The pods that rows have and real rows do not."""
        return self._resolve()[0]

    @property
    def removed(self) -> Pairs:
        """The pods that real rows have and these do not."""
        return self._resolve()[1]

    @property
    def signed(self) -> Iterable[tuple[int, Pairs]]:
        """Both of them, with 1 for added and -1 for removed."""
        return ((1, self.added), (-1, self.removed))

    def apply_nonzero(self, nonzero: NDArray[np.int64]) -> None:
        """Bring non-zero requests of the real rows, (2, n) int64, up to date with the steps."""
        for change, pods in self._steps:
            scatter(nonzero, pods.positions, pods.table.nonzero[:, pods.requests], change)

    def _resolve(self) -> tuple[Pairs, Pairs]:
        if self._resolved is None:
            added: dict[tuple[int, str], PodInfo] = {}
            removed: dict[tuple[int, str], PodInfo] = {}
            for change, pods in self._steps:
                more, less = (added, removed) if change > 0 else (removed, added)
                for position, info in zip(pods.positions.tolist(), pods, strict=True):
                    key = (position, info.uid)
                    if less.pop(key, None) is None:
                        more[key] = info
            self._resolved = _pairs(added), _pairs(removed)
        return self._resolved


def scatter(
    into: NDArray[np.int64], positions: NDArray[np.intp], amounts: NDArray[np.int64], change: int
) -> None:
    """Add `change` times amounts (k, m) to the columns (of at least k rows) at positions (m,)."""
    if not positions.size:
        return
    before, after = positions[:-1], positions[1:]
    if np.count_nonzero(before >= after):
        # Several pods on one row: summed row by row first.
        if np.count_nonzero(before > after):
            order = np.argsort(positions, kind="stable")
            positions, amounts = positions[order], amounts[:, order]
        starts = np.flatnonzero(np.diff(positions, prepend=-1))
        positions, amounts = positions[starts], np.add.reduceat(amounts, starts, axis=1)
    if change > 0:
        into[: len(amounts), positions] += amounts
    else:
        into[: len(amounts), positions] -= amounts


def _pairs(pods: dict[tuple[int, str], PodInfo]) -> Pairs:
    return [(position, info) for (position, _), info in pods.items()]
