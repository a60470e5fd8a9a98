"""Pods that are expected on a node before they are bound to it.

A preemptor waits for its victims to end; a pod waits in Permit or PreBind; somebody else wrote
``status.nominatedNodeName``. Until then the node must have room for them against pods of equal or
lower priority. What is known here runs ahead of the API: a nomination is made before it is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from moorage.model.pod_info import PodInfo

__all__ = ["Nomination", "Nominator"]

_Key = TypeVar("_Key", int, str)


class Nomination(NamedTuple):
    """A pod and the node that it is expected on."""

    info: PodInfo
    node: str


class Nominator:
    """Nominations by pod, by node and by priority; `generation` grows with every change.

    Pods go by uid. Look-ups cost O(answer), changes O(1).
    """

    def __init__(self) -> None:
        self._by_uid: dict[str, Nomination] = {}
        self._by_node: dict[str, dict[str, Nomination]] = {}
        self._by_priority: dict[int, dict[str, Nomination]] = {}
        self.generation = 0

    def nominate(self, info: PodInfo, node: str) -> None:
        """Expect a pod on a node, and nowhere else; an empty `node` clears the nomination."""
        known = self._by_uid.get(info.uid)
        if known is not None and known.info is info and known.node == node:
            return
        self.remove(info.uid)
        if not node:
            return
        nomination = Nomination(info, node)
        self._by_uid[info.uid] = nomination
        self._by_node.setdefault(node, {})[info.uid] = nomination
        self._by_priority.setdefault(info.priority, {})[info.uid] = nomination
        self.generation += 1

    def add(self, info: PodInfo) -> None:
        """Take over what the status of a new pod says."""
        self.nominate(info, info.pod.status.nominated_node_name)

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """Take over what changed in a pod's status; otherwise the nomination stays as known here.

        An update that was sent before our own nomination arrived must not undo it.
        """
        before, after = (info.pod.status.nominated_node_name for info in (old, new))
        self.nominate(new, self.node_of(old.uid) if before == after else after)

    def remove(self, uid: str) -> None:
        """End a pod's nomination, if it has one."""
        nomination = self._by_uid.pop(uid, None)
        if nomination is None:
            return
        _drop(self._by_node, nomination.node, uid)
        _drop(self._by_priority, nomination.info.priority, uid)
        self.generation += 1

    def node_of(self, uid: str) -> str:
        """Return where a pod is expected; an empty text: nowhere."""
        nomination = self._by_uid.get(uid)
        return "" if nomination is None else nomination.node

    def on_node(self, node: str) -> tuple[PodInfo, ...]:
        """Return the pods that are expected on a node."""
        return tuple(nomination.info for nomination in self._by_node.get(node, {}).values())

    def at_least(self, priority: int, *, besides: str = "") -> dict[str, list[PodInfo]]:
        """Return the pods of this priority or higher, but the one with uid `besides`, by node.

        These are the pods that a node must have room for when a pod of this priority is tried.
        """
        found: dict[str, list[PodInfo]] = {}
        for level, nominations in self._by_priority.items():
            if level < priority:
                continue
            for uid, nomination in nominations.items():
                if uid != besides:
                    found.setdefault(nomination.node, []).append(nomination.info)
        return found

    def expected_on(self, info: PodInfo) -> Mapping[str, Sequence[PodInfo]]:
        """Return the other pods that a pod must leave room for, by node."""
        return self.at_least(info.priority, besides=info.uid)

    def nominated_on(self, node_name: str) -> tuple[PodInfo, ...]:
        """Return the pods that are expected on a node; the name that plugins' handle uses."""
        return self.on_node(node_name)

    def check_invariants(self) -> None:
        """Raise `AssertionError` where the three indexes differ."""
        expected = set(self._by_uid.values())
        for index in (self._by_node, self._by_priority):
            if {nomination for held in index.values() for nomination in held.values()} != expected:
                raise AssertionError("a nomination is not indexed")
            if not all(index.values()):
                raise AssertionError("an index keeps what is empty")

    def __iter__(self) -> Iterator[Nomination]:
        return iter(self._by_uid.values())

    def __len__(self) -> int:
        return len(self._by_uid)


def _drop(index: dict[_Key, dict[str, Nomination]], key: _Key, uid: str) -> None:
    held = index[key]
    del held[uid]
    if not held:
        del index[key]
