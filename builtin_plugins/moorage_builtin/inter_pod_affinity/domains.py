"""Sums over the domains of a topology key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

import moorage

__all__ = ["DomainSums"]


class DomainSums:
    """For each value of one topology key, the sum of a number over the nodes that have it.

    Made from one view, read through others: `on` spreads the sums over any rows. `in_any` says
    whether a number other than 0 was in any domain, even where such numbers cancel out.
    """

    __slots__ = ("_sums", "_values", "in_any", "key")

    def __init__(self, key: str, values: Sequence[str]) -> None:
        self.key = key
        self.in_any = False
        self._values = values
        # One place more than there are values: index -1, no value, is the last and stays 0.
        self._sums: NDArray[np.int64] = np.zeros(len(values) + 1, dtype=np.int64)

    @classmethod
    def of(cls, nodes: moorage.NodesView, key: str, numbers: Iterable[NDArray[np.int64]]) -> Self:
        """Sum several arrays of numbers, each (n,) int64 by row of `nodes`."""
        labels = nodes.labels(key)
        sums = cls(key, labels.values)
        for array in numbers:
            sums._add(labels.codes, array)
        return sums

    def on(self, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Return the sum of each row's domain; (n,) int64, new, 0 where a node lacks the key."""
        labels = nodes.labels(self.key)
        if labels.values is not self._values:
            self._translate(labels)
        missing = len(labels.values) + 1 - len(self._sums)
        if missing > 0:  # values that came since have nothing in their domain
            self._sums = np.concatenate([self._sums, np.zeros(missing, dtype=np.int64)])
        return self._sums[labels.codes]

    def _add(self, codes: NDArray[np.int32], numbers: NDArray[np.int64]) -> None:
        rows = np.flatnonzero(numbers)
        if not rows.size:
            return
        codes = codes[rows]
        present = codes >= 0
        if not present.all():
            rows, codes = rows[present], codes[present]
        if rows.size:
            self.in_any = True
            # In float64, exact up to 2**53: counts of pods times weights up to 100.
            sums = np.bincount(codes, weights=numbers[rows], minlength=len(self._sums))
            self._sums += sums.astype(np.int64)

    def _translate(self, labels: moorage.LabelColumnView[str]) -> None:
        """Follow the codes of values, which are dealt anew now and then."""
        sums = np.zeros(len(labels.values) + 1, dtype=np.int64)
        for index in np.flatnonzero(self._sums).tolist():
            code = labels.code(self._values[index])
            if code >= 0:
                sums[code] = self._sums[index]
        self._values, self._sums = labels.values, sums
