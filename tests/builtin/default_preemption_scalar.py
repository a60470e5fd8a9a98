"""Preemption as one would explain it: one node after the other, one pod after the other.

Slow and obvious. A cluster is a list of pods with their nodes; whether a pod fits a node is asked of
the scalar forms of the plugins, with every pod of the cluster looked at each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tests.builtin import inter_pod_affinity_scalar as affinity
from tests.builtin.inter_pod_affinity_scalar import labels_match
from tests.builtin.scalar import node_resources_fit, taint_toleration
from tests.cache.plain_cluster import PlainRow

from moorage import Node, PodInfo
from moorage.model.disruption import PodDisruptionBudget

__all__ = ["Plain", "Room"]

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"


class Refusal(NamedTuple):
    """Why a pod does not fit a node, and whether fewer pods there could help."""

    reasons: tuple[str, ...]
    is_final: bool


class Room(NamedTuple):
    """Whom it costs to make room on a node, the most important first."""

    node: str
    victims: tuple[PodInfo, ...]
    violations: int


@dataclass
class Plain:
    """Nodes by name, pods with their nodes in the order in which they came, budgets, nominations."""

    nodes: dict[str, Node]
    pods: list[tuple[PodInfo, str]] = field(default_factory=list)
    budgets: list[PodDisruptionBudget] = field(default_factory=list)
    nominated: list[tuple[PodInfo, str]] = field(default_factory=list)

    # Does it fit?

    def refusal(self, info: PodInfo, node: str) -> Refusal | None:
        """Say why a pod may not go to a node, with the pods expected there and without; None: it may."""
        expected = [
            (other, where)
            for other, where in self.nominated
            if where == node and other.priority >= info.priority and other.uid != info.uid
        ]
        if expected:
            refusal = replace(self, pods=[*self.pods, *expected])._refusal(info, node)
            if refusal is not None:
                return refusal
        return self._refusal(info, node)

    def _refusal(self, info: PodInfo, node: str) -> Refusal | None:
        row = PlainRow(self.nodes[node], self.on(node))
        verdict = taint_toleration(info.pod, row)
        if verdict is not None:
            return Refusal(verdict.reasons, is_final=True)
        if row.port_conflict(info.host_ports):
            taken = "node(s) didn't have free ports for the requested pod ports"
            return Refusal((taken,), is_final=False)
        verdict = node_resources_fit(info.pod, row)
        if verdict is not None:
            return Refusal(verdict.reasons, is_final=verdict.code.name != "UNSCHEDULABLE")
        world = affinity.World(
            nodes={name: one.metadata.labels for name, one in self.nodes.items()},
            pods=[(other.pod, where) for other, where in self.pods],
        )
        reason = world.refusal(info.pod, node)
        return None if reason is None else Refusal((reason,), is_final=reason == affinity.AFFINITY)

    def on(self, node: str) -> list[PodInfo]:
        """Return the pods of a node."""
        return [info for info, where in self.pods if where == node]

    # Whom does it cost?

    def without(self, gone: Sequence[PodInfo]) -> Plain:
        """Return the cluster without some pods."""
        uids = {info.uid for info in gone}
        return replace(self, pods=[pair for pair in self.pods if pair[0].uid not in uids])

    def room_on(self, info: PodInfo, node: str) -> Room | Refusal:
        """Take all less important pods away, then give back one after the other, as long as it fits."""
        lower = sorted(
            (other for other in self.on(node) if other.priority < info.priority), key=importance
        )
        if not lower:
            return Refusal((NO_VICTIMS,), is_final=True)
        gone = list(lower)
        refusal = self.without(gone).refusal(info, node)
        if refusal is not None:
            return refusal
        breaking = self.breaking(lower)
        others = [other for other in lower if other not in breaking]
        for other in (*breaking, *others):
            rest = [one for one in gone if one is not other]
            if self.without(rest).refusal(info, node) is None:
                gone = rest
        victims = tuple(other for other in lower if other in gone)
        return Room(node, victims, sum(other in breaking for other in victims))

    def breaking(self, pods: Sequence[PodInfo]) -> list[PodInfo]:
        """Return those that break a budget if all go in this order."""
        left = [budget.status.disruptions_allowed for budget in self.budgets]
        found = []
        for info in pods:
            metadata = info.pod.metadata
            breaks = False
            for index, budget in enumerate(self.budgets):
                selector = budget.spec.selector
                if (
                    budget.metadata.namespace != metadata.namespace
                    or selector is None
                    or not (selector.match_labels or selector.match_expressions)
                    or not metadata.labels
                    or not labels_match(selector, metadata.labels)
                    or metadata.name in budget.status.disrupted_pods
                ):
                    continue
                left[index] -= 1
                breaks = breaks or left[index] < 0
            if breaks:
                found.append(info)
        return found

    def best(self, info: PodInfo) -> list[Room]:
        """Return all nodes that cost least; empty: there is none."""
        rooms = [
            found
            for node in self.nodes
            if not self._final(info, node) and isinstance(found := self.room_on(info, node), Room)
        ]
        least = min(map(cost, rooms), default=None)
        return [room for room in rooms if cost(room) == least]

    def message(self, info: PodInfo) -> str:
        """Say why there is no room to be made anywhere."""
        counts: Counter[str] = Counter()
        for node in self.nodes:
            if self._final(info, node):
                counts[NOT_HELPFUL] += 1
                continue
            found = self.room_on(info, node)
            assert isinstance(found, Refusal)
            counts.update(found.reasons)
        parts = sorted(f"{count} {reason}" for reason, count in counts.items())
        return f"preemption: 0/{len(self.nodes)} nodes are available: {', '.join(parts)}."

    def _final(self, info: PodInfo, node: str) -> bool:
        refusal = self.refusal(info, node)
        return refusal is None or refusal.is_final


def importance(info: PodInfo) -> tuple[int, bool, float]:
    """Order pods: by falling priority, then by start; who has not started comes last."""
    started = info.pod.status.start_time
    return -info.priority, started is None, 0.0 if started is None else started.timestamp()


def cost(room: Room) -> tuple[float, ...]:
    """Compare nodes: the lower, the better."""
    highest = max(info.priority for info in room.victims)
    starts = [info.pod.status.start_time for info in room.victims if info.priority == highest]
    earliest = min((start.timestamp() for start in starts if start), default=float("inf"))
    return (
        room.violations,
        highest,
        sum(info.priority + 2**31 for info in room.victims),
        len(room.victims),
        -earliest,
    )
