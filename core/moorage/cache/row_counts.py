"""Counts of something that is on few rows: as large as the rows that have it, read as arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["RowCounts"]

_FIRST_CAPACITY = 4


class RowCounts:
    """How often something is on each row, of which most rows have none.

    Adding is O(1) amortised. `rows` and `counts` are two parallel arrays, (k,) intp and (k,)
    int64, of the k rows with a count, in no order: views, good until the next change. A thousand
    different things cost a thousand times a few entries, not a thousand times all nodes.
    """

    __slots__ = ("_counts", "_place", "_rows")

    def __init__(self) -> None:
        self._place: dict[int, int] = {}
        self._rows = np.zeros(_FIRST_CAPACITY, dtype=np.intp)
        self._counts = np.zeros(_FIRST_CAPACITY, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._place)

    @property
    def rows(self) -> NDArray[np.intp]:
        """The rows that have a count."""
        return self._rows[: len(self._place)]

    @property
    def counts(self) -> NDArray[np.int64]:
        """The counts of `rows`; none is 0."""
        return self._counts[: len(self._place)]

    def add(self, row: int) -> None:
        """Count one more on a row."""
        place = self._place.get(row)
        if place is None:
            place = self._place[row] = len(self._place)
            if place == len(self._rows):
                self._rows = np.resize(self._rows, 2 * place)
                self._counts = np.resize(self._counts, 2 * place)
            self._rows[place] = row
            self._counts[place] = 1
        else:
            self._counts[place] += 1

    def remove(self, row: int) -> None:
        """Count one less on a row, which must have one; the last entry fills a gap."""
        place = self._place[row]
        self._counts[place] -= 1
        if self._counts[place]:
            return
        del self._place[row]
        last = len(self._place)
        if place != last:
            moved = int(self._rows[last])
            self._rows[place] = moved
            self._counts[place] = self._counts[last]
            self._place[moved] = place

    def as_dict(self) -> dict[int, int]:
        """Return the counts by row; for checks."""
        return dict(zip(self.rows.tolist(), self.counts.tolist(), strict=True))
