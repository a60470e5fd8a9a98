"""Named facts of the whole cluster, and how often each has changed."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["Facts"]


class Facts(dict[str, int]):
    """Counts of changes by name; `version` moves with any of them, so that one look tells."""

    __slots__ = ("version",)

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(dict.fromkeys(names, 0))
        self.version = 0

    def __setitem__(self, name: str, count: int) -> None:
        super().__setitem__(name, count)
        self.version += 1
