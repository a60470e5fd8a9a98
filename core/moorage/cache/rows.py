"""Which row is whose: names of nodes, and rows that are used again."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["RowNames"]


class RowNames:
    """Rows 0, 1, … by the name of their node; a row that is let go is the next to be used.

    `names[row]` is the name, ``""`` of a row that is free; `rows` the row by name. O(1) throughout.
    """

    __slots__ = ("_free", "_rows", "names", "rows")

    def __init__(self) -> None:
        self.names: list[str] = []
        self._rows: dict[str, int] = {}
        self.rows: Mapping[str, int] = MappingProxyType(self._rows)
        self._free: list[int] = []

    def __len__(self) -> int:
        """One more than the highest row that was ever in use."""
        return len(self.names)

    def take(self, name: str) -> int:
        """Give a name a row, which must have none."""
        if self._free:
            row = self._free.pop()
            self.names[row] = name
        else:
            row = len(self.names)
            self.names.append(name)
        self._rows[name] = row
        return row

    def let_go(self, row: int) -> None:
        """Take a row's name away, so that it can be used again."""
        del self._rows[self.names[row]]
        self.names[row] = ""
        self._free.append(row)

    def check_invariants(self) -> None:
        """Raise AssertionError where names and rows disagree."""
        used = {name: row for row, name in enumerate(self.names) if name}
        assert used == self._rows
        assert sorted(self._free) == [row for row, name in enumerate(self.names) if not name]
