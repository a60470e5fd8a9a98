"""Values of nodes as small integers, so that work is done once for each distinct value."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["ABSENT", "InternedColumn"]

V = TypeVar("V", bound=Hashable)

ABSENT = -1
"""The code of a row that has no value."""
_SPARE = 1024


class InternedColumn(Generic[V]):
    """One value a row, kept as a code: `codes` (capacity,) int32, `ABSENT` where there is none.

    `values[code]` is the value. Setting is O(1) amortised: when far more values have come and
    gone than there are rows, the codes are dealt anew, so nobody may keep codes between calls.
    """

    __slots__ = ("_code_of", "_uses", "codes", "values")

    def __init__(self, capacity: int) -> None:
        self.codes: NDArray[np.int32] = np.full(capacity, ABSENT, dtype=np.int32)
        self.values: list[V] = []
        self._uses: list[int] = []
        self._code_of: dict[V, int] = {}

    def grow(self, capacity: int) -> None:
        """Make room for `capacity` rows; the new ones have no value."""
        codes = np.full(capacity, ABSENT, dtype=np.int32)
        codes[: len(self.codes)] = self.codes
        self.codes = codes

    def set(self, row: int, value: V | None) -> None:
        """Give a row its value; None takes it away."""
        before = int(self.codes[row])
        if before != ABSENT:
            self._uses[before] -= 1
            self.codes[row] = ABSENT
        if value is None:
            return
        code = self._code_of.get(value)
        if code is None:
            if len(self.values) > 2 * len(self.codes) + _SPARE:
                self._deal_anew()
            code = self._code_of[value] = len(self.values)
            self.values.append(value)
            self._uses.append(0)
        self.codes[row] = code
        self._uses[code] += 1

    def code(self, value: V) -> int:
        """Return the code of a value, `ABSENT` where no row ever had it."""
        return self._code_of.get(value, ABSENT)

    @property
    def in_use(self) -> list[int]:
        """The codes of the values that rows have; O(values)."""
        return [code for code, uses in enumerate(self._uses) if uses]

    def get(self, row: int) -> V | None:
        """Return the value of a row."""
        code = int(self.codes[row])
        return None if code == ABSENT else self.values[code]

    def check_invariants(self) -> None:
        """Raise AssertionError where codes and values disagree."""
        assert all(self._code_of[value] == code for code, value in enumerate(self.values))
        assert self.codes.max(initial=ABSENT) < len(self.values)
        present = self.codes[self.codes != ABSENT]
        assert np.bincount(present, minlength=len(self.values)).tolist() == self._uses

    def _deal_anew(self) -> None:
        used, codes = np.unique(self.codes, return_inverse=True)
        kept = [self.values[code] for code in used.tolist() if code != ABSENT]
        offset = 1 if used.size and used[0] == ABSENT else 0
        self.codes = (codes - offset).astype(np.int32)
        self.values = kept
        present = self.codes[self.codes != ABSENT]
        self._uses = np.bincount(present, minlength=len(kept)).tolist()
        self._code_of = {value: code for code, value in enumerate(kept)}
