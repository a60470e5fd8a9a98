"""Pods in the order of a key, with removal from the middle."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count
from typing import Any

from moorage.framework.queued_pod import QueuedPod

__all__ = ["PodHeap"]

_FEWEST_STALE = 64


class PodHeap:
    """A binary heap of pods, smallest key first, equal keys in the order of arrival.

    `push`, `discard` and `pop` cost O(log n) amortised: a removed entry stays in the heap until it
    comes up, or until half of the heap is stale.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[Any, int, QueuedPod]] = []
        self._entries: dict[str, tuple[Any, int, QueuedPod]] = {}
        self._arrivals = count()

    def push(self, queued: QueuedPod, key: Any) -> None:  # noqa: ANN401 - whatever compares
        """Add a pod, or give it another key."""
        # The running number keeps pods themselves from ever being compared.
        entry = (key, next(self._arrivals), queued)
        heapq.heappush(self._heap, entry)
        self._entries[queued.info.uid] = entry
        self._compact()

    def discard(self, queued: QueuedPod) -> None:
        """Remove a pod, if it is in here."""
        if self._entries.pop(queued.info.uid, None) is not None:
            self._compact()

    def first(self) -> QueuedPod | None:
        """Return the pod with the smallest key, without removing it; None: empty."""
        while self._heap:
            entry = self._heap[0]
            if self._entries.get(entry[2].info.uid) is entry:
                return entry[2]
            heapq.heappop(self._heap)
        return None

    def _compact(self) -> None:
        stale = len(self._heap) - len(self._entries)
        if stale > _FEWEST_STALE and stale > len(self._entries):
            self._heap = list(self._entries.values())
            heapq.heapify(self._heap)

    def check_invariants(self) -> None:
        """Raise `AssertionError` where the heap and its index disagree."""
        members = {id(entry) for entry in self._heap}
        for uid, entry in self._entries.items():
            _require(id(entry) in members, f"{uid} is indexed but not in the heap")
            _require(entry[2].info.uid == uid, f"{uid} is indexed under another uid")
        for position, entry in enumerate(self._heap[1:], start=1):
            parent = self._heap[(position - 1) // 2]
            _require(not entry[:2] < parent[:2], "the heap is out of order")

    def __contains__(self, queued: QueuedPod) -> bool:
        entry = self._entries.get(queued.info.uid)
        return entry is not None and entry[2] is queued

    def __iter__(self) -> Iterator[QueuedPod]:
        """Yield the pods in order; O(n log n)."""
        return (entry[2] for entry in sorted(self._entries.values(), key=lambda entry: entry[:2]))

    def __len__(self) -> int:
        return len(self._entries)


def _require(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as assert does
    if not holds:
        raise AssertionError(otherwise)
