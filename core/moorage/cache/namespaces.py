"""Namespaces with their labels, for selectors that choose among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from moorage.cache.interning import InternedColumn
from moorage.cache.label_view import LabelColumnView
from moorage.cache.labels import LabelColumns
from moorage.model.meta import Namespace
from moorage.model.selectors import Selector

__all__ = ["NamespaceTable"]

_FIRST_CAPACITY = 64
_MOST_ANSWERS = 1024


class NamespaceTable(Mapping[str, Namespace]):
    """Namespaces by name; `matching` finds those that a selector chooses.

    Answers are kept until a namespace's labels change, or there are 1,024 of them.
    """

    def __init__(self) -> None:
        self._namespaces: dict[str, Namespace] = {}
        self._row_of: dict[str, int] = {}
        self._names: list[str] = []
        self._free: list[int] = []
        self._capacity = _FIRST_CAPACITY
        self._used: NDArray[np.bool_] = np.zeros(_FIRST_CAPACITY, dtype=np.bool_)
        self._labels = LabelColumns(_FIRST_CAPACITY)
        self._answers: dict[Selector, frozenset[str]] = {}

    def __getitem__(self, name: str) -> Namespace:
        return self._namespaces[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._namespaces)

    def __len__(self) -> int:
        return len(self._namespaces)

    def put(self, namespace: Namespace) -> bool:
        """Store a namespace; say whether it is new or has other labels than before."""
        name, labels = namespace.metadata.name, namespace.metadata.labels
        before = self._namespaces.get(name)
        self._namespaces[name] = namespace
        if before is not None and before.metadata.labels == labels:
            return False
        row = self._row_of.get(name)
        if row is None:
            row = self._row_of[name] = self._new_row(name)
        self._labels.set(row, before.metadata.labels if before else {}, labels)
        self._answers.clear()
        return True

    def drop(self, name: str) -> bool:
        """Forget a namespace; say whether there was one."""
        before = self._namespaces.pop(name, None)
        if before is None:
            return False
        row = self._row_of.pop(name)
        self._labels.set(row, before.metadata.labels, {})
        self._used[row] = False
        self._free.append(row)
        self._answers.clear()
        return True

    def matching(self, selector: Selector) -> frozenset[str]:
        """Return the names of the namespaces whose labels are selected; O(namespaces) once."""
        answer = self._answers.get(selector)
        if answer is None:
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            answer = self._answers[selector] = self._matching(selector)
        return answer

    def check_invariants(self) -> None:
        """Raise AssertionError where a column or an answer differs from the namespaces' labels."""
        assert self._row_of.keys() == self._namespaces.keys()
        assert int(np.count_nonzero(self._used)) == len(self._namespaces)
        self._labels.check_invariants(
            {row: self._namespaces[name].metadata.labels for name, row in self._row_of.items()}
        )
        for selector, answer in self._answers.items():
            assert answer == {
                name
                for name, namespace in self._namespaces.items()
                if selector.matches(namespace.metadata.labels)
            }

    def _matching(self, selector: Selector) -> frozenset[str]:
        if selector.nothing:
            return frozenset()
        matches = self._used.copy()
        for needed in selector.requirements:
            column = self._labels.column(needed.key, partial(self._fill, needed.key))
            matches &= LabelColumnView[str](column, column.codes).meets(needed)
        return frozenset(self._names[row] for row in np.flatnonzero(matches).tolist())

    def _new_row(self, name: str) -> int:
        if self._free:
            row = self._free.pop()
            self._names[row] = name
        else:
            row = len(self._names)
            self._names.append(name)
            if row >= self._capacity:
                self._capacity *= 2
                self._used = np.concatenate([self._used, np.zeros_like(self._used)])
                self._labels.grow(self._capacity)
        self._used[row] = True
        return row

    def _fill(self, key: str, column: InternedColumn[str]) -> None:
        for name, row in self._row_of.items():
            column.set(row, self._namespaces[name].metadata.labels.get(key))
