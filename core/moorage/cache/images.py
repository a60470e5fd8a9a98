"""Which images lie on which nodes, and how large they are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from moorage.cache.sealing import sealed
from moorage.model.nodes import Node

__all__ = ["ImageIndex", "ImageState"]


class ImageState:
    """One image: `size` in bytes as first reported, and the `rows` of the nodes that have it."""

    __slots__ = ("_array", "rows", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: set[int] = set()
        self._array: NDArray[np.intp] | None = None

    @property
    def row_array(self) -> NDArray[np.intp]:
        """The rows as a sorted, read-only array, made anew after a change."""
        if self._array is None:
            self._array = sealed(np.array(sorted(self.rows), dtype=np.intp))
        return self._array

    def add(self, row: int) -> None:
        """Note that a node has the image."""
        self.rows.add(row)
        self._array = None

    def discard(self, row: int) -> None:
        """Note that a node no longer has the image."""
        self.rows.discard(row)
        self._array = None


class ImageIndex:
    """Images by name; a name is forgotten with the last node that has it."""

    def __init__(self) -> None:
        self._states: dict[str, ImageState] = {}

    def get(self, name: str) -> ImageState | None:
        """Return the state of an image, None where no node has it."""
        return self._states.get(name)

    def set(self, row: int, before: Node | None, after: Node | None) -> bool:
        """Replace a row's images; say whether anything changed."""
        if (before.status.images if before else ()) == (after.status.images if after else ()):
            return False
        old = _sizes(before)
        new = _sizes(after)
        for name in old.keys() - new.keys():
            state = self._states[name]
            state.discard(row)
            if not state.rows:
                del self._states[name]
        for name, size in new.items():
            state = self._states.setdefault(name, ImageState(size))
            if name not in old:
                state.add(row)
            elif len(state.rows) == 1:
                # As in kube-scheduler the first report counts, and this node's is now the first.
                state.size = size
        return True

    def check_invariants(self, nodes: Mapping[int, Node]) -> None:
        """Raise AssertionError where the index differs from what nodes report."""
        expected: dict[str, set[int]] = {}
        for row, node in nodes.items():
            for name in _sizes(node):
                expected.setdefault(name, set()).add(row)
        assert {name: state.rows for name, state in self._states.items()} == expected


def _sizes(node: Node | None) -> dict[str, int]:
    if node is None:
        return {}
    sizes: dict[str, int] = {}
    for image in node.status.images:
        for name in image.names or ():
            sizes.setdefault(name, image.size_bytes)
    return sizes
