"""Node labels: a column for each key, made early for the usual keys and late for the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from moorage.cache.interning import ABSENT, InternedColumn

__all__ = ["LabelColumns"]

_EARLY = 128
_MOST = 1024


class LabelColumns:
    """Columns of label values by key.

    The first 128 keys that nodes bring get their column at once, so that a pod that asks for one
    pays nothing for it; further keys get theirs when first asked for, and of these the oldest are
    dropped beyond 1,024 columns. A key that no row has is answered without looking at rows.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._columns: dict[str, InternedColumn[str]] = {}
        self._late: list[str] = []
        self._rows_without_column: Counter[str] = Counter()

    def set(self, row: int, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        """Replace a row's labels."""
        for key in before:
            if key not in self._columns:
                self._count(key, -1)
            elif key not in after:
                self._columns[key].set(row, None)
        for key, value in after.items():
            column = self._columns.get(key)
            if column is None:
                if len(self._columns) - len(self._late) >= _EARLY:
                    self._count(key, 1)
                    continue
                column = self._columns[key] = InternedColumn(self._capacity)
            column.set(row, value)

    def column(self, key: str, fill: Callable[[InternedColumn[str]], None]) -> InternedColumn[str]:
        """Return the column of a key; `fill` sets all rows of one that is made now."""
        column = self._columns.get(key)
        if column is None:
            if len(self._columns) >= _MOST and self._late:
                self._drop(self._late.pop(0))
            column = self._columns[key] = InternedColumn(self._capacity)
            self._late.append(key)
            if self._rows_without_column.pop(key, 0):
                fill(column)
        return column

    def _drop(self, key: str) -> None:
        rows = int(np.count_nonzero(self._columns.pop(key).codes != ABSENT))
        if rows:
            self._rows_without_column[key] = rows

    def _count(self, key: str, change: int) -> None:
        self._rows_without_column[key] += change
        if not self._rows_without_column[key]:
            del self._rows_without_column[key]

    def grow(self, capacity: int) -> None:
        """Make room for more rows."""
        self._capacity = capacity
        for column in self._columns.values():
            column.grow(capacity)

    def check_invariants(self, labels: Mapping[int, Mapping[str, str]]) -> None:
        """Raise AssertionError where a column differs from the labels of rows."""
        for key, column in self._columns.items():
            column.check_invariants()
            for row in range(self._capacity):
                assert column.get(row) == labels.get(row, {}).get(key), (key, row)
        others = Counter(
            key for keys in labels.values() for key in keys if key not in self._columns
        )
        assert self._rows_without_column == others
