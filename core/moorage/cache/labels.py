"""Node labels: a column for each key, made early for the usual keys and late for the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from moorage.cache.interning import InternedColumn

__all__ = ["LabelColumns"]

_EARLY = 128
_MOST = 1024


class LabelColumns:
    """Columns of label values by key.

    The first 128 keys that nodes bring get their column at once, so that a pod that asks for one
    pays nothing for it; further keys get theirs when first asked for, and of these the oldest are
    dropped beyond 1,024 columns.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._columns: dict[str, InternedColumn[str]] = {}
        self._late: list[str] = []

    def set(self, row: int, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        """Replace a row's labels."""
        for key in before:
            if key not in after and key in self._columns:
                self._columns[key].set(row, None)
        for key, value in after.items():
            column = self._columns.get(key)
            if column is None:
                if len(self._columns) - len(self._late) >= _EARLY:
                    continue
                column = self._columns[key] = InternedColumn(self._capacity)
            column.set(row, value)

    def column(self, key: str, fill: Callable[[InternedColumn[str]], None]) -> InternedColumn[str]:
        """Return the column of a key; `fill` sets all rows of one that is made now."""
        column = self._columns.get(key)
        if column is None:
            if len(self._columns) >= _MOST and self._late:
                del self._columns[self._late.pop(0)]
            column = self._columns[key] = InternedColumn(self._capacity)
            self._late.append(key)
            fill(column)
        return column

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
