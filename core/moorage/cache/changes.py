"""Which rows changed since a reader last looked."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from moorage.cache.sealing import sealed

__all__ = ["ChangeLog", "ChangedRows"]

_NONE: NDArray[np.intp] = sealed(np.empty(0, dtype=np.intp))
_LONGEST = 65536


class ChangeLog:
    """Rows in the order in which they changed; a reader keeps its own position.

    `end` is the position after the newest change and grows for ever. Appending is O(1), reading
    O(changes since). Only the last 32,768 to 65,536 changes are kept:
    a reader that is further behind is told to look at everything.
    """

    def __init__(self) -> None:
        self._rows = array("i")
        self._start = 0
        self.end = 0

    def append(self, row: int) -> None:
        """Note that a row changed."""
        self._rows.append(row)
        self.end += 1
        if len(self._rows) > _LONGEST:
            drop = _LONGEST // 2
            del self._rows[:drop]
            self._start += drop

    def since(self, position: int) -> NDArray[np.intp] | None:
        """Return the rows that changed after `position`, each once; None if too long ago."""
        newer = position - self._start
        if newer < 0:
            return None
        count = len(self._rows) - newer
        if count == 0:
            return _NONE
        if count == 1:
            return np.array(self._rows[-1:], dtype=np.intp)
        return np.array(sorted(set(self._rows[newer:])), dtype=np.intp)


class ChangedRows:
    """The rows that changed by either of two logs; readers that ask the same share one answer."""

    def __init__(self, nodes: ChangeLog, pods: ChangeLog) -> None:
        self._nodes = nodes
        self._pods = pods
        self._asked: tuple[int, int | None, int, int] | None = None
        self._answer: tuple[NDArray[np.intp] | None, NDArray[np.intp] | None] = None, None

    def since(
        self, nodes: int, pods: int | None, valid: NDArray[np.bool_]
    ) -> tuple[NDArray[np.intp] | None, NDArray[np.intp] | None]:
        """Return the rows that changed since positions of the logs, and those that are `valid`.

        Both (k,) intp, rising; None: too many to say. `pods` None leaves changes of pods out.
        `valid` (capacity,) bool changes only with the log of nodes.
        """
        question = (nodes, pods, self._nodes.end, self._pods.end)
        if question != self._asked:
            rows = self._nodes.since(nodes)
            if pods is not None and rows is not None:
                more = self._pods.since(pods)
                if more is None or not rows.size:
                    rows = more
                elif more.size:
                    rows = np.union1d(rows, more)
            # Sealed: several readers share them, and plugins see them as the rows of their view.
            valid_rows = rows = None if rows is None else sealed(rows)
            if rows is not None and rows.size:
                is_valid = valid[rows]
                if np.count_nonzero(is_valid) < len(rows):
                    valid_rows = sealed(rows[is_valid])
            self._asked, self._answer = question, (rows, valid_rows)
        return self._answer
