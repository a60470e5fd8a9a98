"""Pods that a selector cannot tell apart: one kind for each namespace and set of labels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.interning import InternedColumn
from moorage.cache.label_view import LabelColumnView
from moorage.cache.labels import LabelColumns
from moorage.model.selectors import Selector

__all__ = ["PodKind", "PodKinds"]

_FIRST_CAPACITY = 64


class PodKind(NamedTuple):
    """What all pods of one kind have in common."""

    namespace: str
    labels: Mapping[str, str]


class PodKinds:
    """Kinds as rows of label columns, each for as long as pods of it are there.

    A selector is matched against kinds, not pods, and all kinds at once. `capacity` is one more
    than there is room for: the last entry of an array over kinds belongs to none, so that -1, the
    kind of no pod, indexes it.
    """

    def __init__(self) -> None:
        self.capacity = _FIRST_CAPACITY
        self._kinds: list[PodKind | None] = []
        self._uses: list[int] = []
        self._code_of: dict[tuple[str, frozenset[tuple[str, str]]], int] = {}
        self._free: list[int] = []
        self._labels = LabelColumns(self.capacity)
        self._namespaces: InternedColumn[str] = InternedColumn(self.capacity)

    def __len__(self) -> int:
        return len(self._code_of)

    def get(self, code: int) -> PodKind:
        """Return a kind that is in use."""
        kind = self._kinds[code]
        if kind is None:
            raise KeyError(f"kind {code} is not in use")
        return kind

    def take(self, namespace: str, labels: Mapping[str, str]) -> int:
        """Return the code of a kind for one more pod."""
        key = (namespace, frozenset(labels.items()))
        code = self._code_of.get(key)
        if code is not None:
            self._uses[code] += 1
            return code
        if self._free:
            code = self._free.pop()
        else:
            code = len(self._kinds)
            self._kinds.append(None)
            self._uses.append(0)
            if code >= self.capacity - 1:
                self._grow()
        self._code_of[key] = code
        self._kinds[code] = PodKind(namespace, labels)
        self._uses[code] = 1
        self._labels.set(code, {}, labels)
        self._namespaces.set(code, namespace)
        return code

    def give_back(self, code: int) -> bool:
        """Note that one pod of a kind is gone; say whether it was the last, and so the kind's end."""
        self._uses[code] -= 1
        if self._uses[code]:
            return False
        namespace, labels = self.get(code)
        del self._code_of[namespace, frozenset(labels.items())]
        self._labels.set(code, labels, {})
        self._namespaces.set(code, None)
        self._kinds[code] = None
        self._free.append(code)
        return True

    def matching(self, namespaces: frozenset[str] | None, selector: Selector) -> NDArray[np.bool_]:
        """Say which kinds are selected; (capacity,) bool, new. None: in every namespace."""
        if selector.nothing:
            return np.zeros(self.capacity, dtype=np.bool_)
        if namespaces is None:
            matches = self._column(self._namespaces).present
        else:
            matches = self._column(self._namespaces).isin(namespaces)
        for needed in selector.requirements:
            column = self._labels.column(needed.key, partial(self._fill, needed.key))
            matches &= self._column(column).meets(needed)
        return matches

    def check_invariants(
        self, expected: Mapping[tuple[str, frozenset[tuple[str, str]]], int]
    ) -> None:
        """Raise AssertionError where kinds differ from those of all pods, with their number."""
        assert {key: self._uses[code] for key, code in self._code_of.items()} == expected
        labels = {}
        for code, kind in enumerate(self._kinds):
            assert (kind is None) == (code in self._free), code
            assert self._namespaces.get(code) == (kind.namespace if kind else None), code
            if kind is not None:
                assert self._code_of[kind.namespace, frozenset(kind.labels.items())] == code
                labels[code] = kind.labels
        self._namespaces.check_invariants()
        self._labels.check_invariants(labels)

    def _grow(self) -> None:
        self.capacity *= 2
        self._labels.grow(self.capacity)
        self._namespaces.grow(self.capacity)

    def _fill(self, key: str, column: InternedColumn[str]) -> None:
        for code, kind in enumerate(self._kinds):
            if kind is not None:
                column.set(code, kind.labels.get(key))

    @staticmethod
    def _column(column: InternedColumn[str]) -> LabelColumnView[str]:
        return LabelColumnView(column, column.codes)
