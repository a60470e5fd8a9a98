"""Which of many selectors can match some labels, without asking each of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

from moorage.model.selectors import Selector

__all__ = ["SelectorIndex"]

T = TypeVar("T", bound=Hashable)

_MOST_VALUES = 16


class _Anchor(NamedTuple):
    """A place in the index; `namespace` None: any, `key` empty: whatever the labels."""

    namespace: str | None
    key: str = ""
    value: str = ""


class SelectorIndex(Generic[T]):
    """Things that have a selector, entered under what it cannot do without.

    Most selectors say ``app=web`` in one namespace: such a one is looked at only for pods there
    that are labelled so. One without an ``In`` of at most 16 values is looked at for all labels.
    """

    def __init__(self) -> None:
        self._entered: dict[_Anchor, dict[T, None]] = {}

    def add(self, item: T, selector: Selector, *, namespace: str | None = None) -> None:
        """Enter a thing; with `namespace`, only what is in it is selected."""
        for anchor in _anchors(selector, namespace):
            self._entered.setdefault(anchor, {})[item] = None

    def remove(self, item: T, selector: Selector, *, namespace: str | None = None) -> None:
        """Take a thing out that was entered with the same arguments."""
        for anchor in _anchors(selector, namespace):
            items = self._entered[anchor]
            del items[item]
            if not items:
                del self._entered[anchor]

    def check_invariants(self, expected: Iterable[tuple[T, Selector, str | None]]) -> None:
        """Raise AssertionError where what is entered differs from these (thing, selector, place)."""
        anew: SelectorIndex[T] = SelectorIndex()
        for item, selector, namespace in expected:
            anew.add(item, selector, namespace=namespace)
        assert self._entered == anew._entered

    def candidates(self, labels: Mapping[str, str], *, namespace: str | None = None) -> Iterator[T]:
        """Iterate over the things whose selector may match labels in a namespace; each once.

        Without `namespace`, over those only that were entered without one.
        """
        entered = self._entered
        if not entered:
            return
        for where in (None,) if namespace is None else (None, namespace):
            yield from entered.get(_Anchor(where), ())
            for key, value in labels.items():
                yield from entered.get(_Anchor(where, key, value), ())


def _anchors(selector: Selector, namespace: str | None) -> list[_Anchor]:
    """Return the places of a selector; none where it matches nothing."""
    if selector.nothing:
        return []
    narrow = [
        needed
        for needed in selector.requirements
        if needed.operator == "In" and len(needed.values) <= _MOST_VALUES
    ]
    if not narrow:
        return [_Anchor(namespace)]
    narrowest = min(narrow, key=lambda needed: len(needed.values))
    return [_Anchor(namespace, narrowest.key, value) for value in narrowest.values]
