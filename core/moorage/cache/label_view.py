"""One interned value a row, as plugins read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from moorage.cache.interning import ABSENT, InternedColumn
from moorage.model.selectors import Requirement

__all__ = ["LabelColumnView"]

S = TypeVar("S", bound=np.generic)
V = TypeVar("V")


class LabelColumnView(Generic[V]):
    """One interned value a row: `codes` (n,) int32, -1 where a row has none; `values` by code.

    All views of one label deal in the same codes until a node changes: within one cycle, not beyond.
    """

    __slots__ = ("_column", "codes")

    def __init__(self, column: InternedColumn[Any], codes: NDArray[np.int32]) -> None:
        self._column = column
        self.codes = codes

    @property
    def values(self) -> Sequence[V]:
        """The distinct values; some may belong to no row of this view."""
        return self._column.values

    def code(self, value: V) -> int:
        """Return the code of a value, -1 where no node ever had it."""
        return self._column.code(value)

    def equals(self, value: V) -> NDArray[np.bool_]:
        """Say which rows have this value; (n,) bool, new."""
        code = self._column.code(value)
        if code == ABSENT:
            return np.zeros(len(self.codes), dtype=np.bool_)
        found: NDArray[np.bool_] = self.codes == code
        return found

    def isin(self, values: Iterable[V]) -> NDArray[np.bool_]:
        """Say which rows have one of these values; (n,) bool, new; O(values + n)."""
        codes = [code for value in values if (code := self._column.code(value)) != ABSENT]
        if not codes:
            return np.zeros(len(self.codes), dtype=np.bool_)
        if len(codes) == 1:
            found: NDArray[np.bool_] = self.codes == codes[0]
            return found
        # One place more than there are codes: index -1, the absent, is the last and stays False.
        table = np.zeros(len(self._column.values) + 1, dtype=np.bool_)
        table[codes] = True
        return table[self.codes]

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which rows have a value; (n,) bool, new."""
        found: NDArray[np.bool_] = self.codes != ABSENT
        return found

    def map(self, function: Callable[[V], Any], dtype: type[S], default: float = 0) -> NDArray[S]:
        """Apply a function to each distinct value and spread it over rows; (n,) dtype, new.

        The function runs once for each value, at most for those that nodes have now; rows without
        a value get `default`.
        """
        values = self._column.values
        # A value that came and went may be one that the function cannot take.
        few = len(self.codes) < len(values)
        used = list(set(self.codes.tolist()) - {ABSENT}) if few else self._column.in_use
        answers = [function(values[code]) for code in used]
        if answers.count(default) == len(answers):
            return np.full(len(self.codes), default, dtype=dtype)
        table = np.full(len(values) + 1, default, dtype=dtype)
        table[used] = answers
        return table[self.codes]

    def meets(self, needed: Requirement) -> NDArray[np.bool_]:
        """Say on which rows a label meets a requirement on it; (n,) bool, new."""
        column: LabelColumnView[Any] = self
        if needed.operator == "In":
            return column.isin(needed.values)
        if needed.operator == "NotIn":
            return ~column.isin(needed.values)
        if needed.operator == "Exists":
            return column.present
        if needed.operator == "DoesNotExist":
            return ~column.present
        return column.map(needed.accepts, np.bool_)
