"""Pods that wait for an event, found by the plugins whose events could help them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator
from typing import NamedTuple

from moorage.framework.queued_pod import QueuedPod

__all__ = ["WaitingPool"]


class _Member(NamedTuple):
    queued: QueuedPod
    since: float
    keys: tuple[tuple[str, str], ...]
    """(profile, plugin) of each plugin whose events may help."""


class WaitingPool:
    """Pods without an order, by uid, indexed by (profile, plugin) and by how long they are here.

    Everything but `check_invariants` costs O(1) a pod, or O(answer).
    """

    def __init__(self) -> None:
        # In the order of arrival: the first one has been here longest. Not a plain dict, which is
        # slow to find its first item after many have been removed from the front.
        self._members: OrderedDict[str, _Member] = OrderedDict()
        self._by_plugin: dict[tuple[str, str], dict[str, QueuedPod]] = {}

    def add(self, queued: QueuedPod, plugins: frozenset[str], *, now: float) -> None:
        """Add a pod that events of `plugins` may bring back."""
        uid = queued.info.uid
        profile = queued.pod.spec.scheduler_name
        member = _Member(queued, now, tuple((profile, plugin) for plugin in plugins))
        self._members[uid] = member
        for key in member.keys:
            self._by_plugin.setdefault(key, {})[uid] = queued

    def discard(self, queued: QueuedPod) -> None:
        """Remove a pod, if it is in here."""
        uid = queued.info.uid
        member = self._members.pop(uid, None)
        if member is None:
            return
        for key in member.keys:
            pods = self._by_plugin[key]
            del pods[uid]
            if not pods:
                del self._by_plugin[key]

    def refused_by(self, profile: str, plugin: str) -> Collection[QueuedPod]:
        """Return the pods of one profile that events of one plugin may bring back; a live view."""
        return self._by_plugin.get((profile, plugin), {}).values()

    def oldest_since(self) -> float | None:
        """Return since when the pod has waited that has waited longest; None: no pod."""
        return next((member.since for member in self._members.values()), None)

    def overdue(self, *, after: float, now: float) -> list[QueuedPod]:
        """Return the pods that have waited for `after` seconds or more, longest first."""
        found = []
        for member in self._members.values():
            if member.since + after > now:
                break
            found.append(member.queued)
        return found

    def check_invariants(self) -> None:
        """Raise `AssertionError` where pool and index disagree."""
        indexed = {(uid, key) for key, pods in self._by_plugin.items() for uid in pods}
        expected = {(uid, key) for uid, member in self._members.items() for key in member.keys}
        if indexed != expected:
            raise AssertionError(f"the index by plugin differs: {indexed ^ expected}")

    def __contains__(self, queued: QueuedPod) -> bool:
        member = self._members.get(queued.info.uid)
        return member is not None and member.queued is queued

    def __iter__(self) -> Iterator[QueuedPod]:
        return (member.queued for member in self._members.values())

    def __len__(self) -> int:
        return len(self._members)
