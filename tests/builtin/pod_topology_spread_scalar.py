"""PodTopologySpread as one would explain it: every pod looked at for every node.

Written from the API's definition of the fields, without anything of the plugin or of compiled
selectors. `World` is a cluster as plain lists.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from moorage.model import LabelSelector, Node, Pod, TopologySpreadConstraint

__all__ = ["LACKS_KEY", "TOO_MANY", "World"]

TOO_MANY = "node(s) didn't match pod topology spread constraints"
LACKS_KEY = f"{TOO_MANY} (missing required label)"
_HOSTNAME = "kubernetes.io/hostname"


def labels_match(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Say whether a label selector selects labels."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in selector.match_labels.items()):
        return False
    for expression in selector.match_expressions:
        has = expression.key in labels
        chosen = has and labels[expression.key] in expression.values
        found = {"In": chosen, "NotIn": not chosen, "Exists": has, "DoesNotExist": not has}
        if not found[expression.operator]:
            return False
    return True


@dataclass
class World:
    """Nodes by name, and pods with the node that each is on.

    `defaults` are the constraints of pods without any, for the test to fill in selectors and all;
    with `lenient`, nodes may lack their keys. `changes` are pods that are imagined to come to a
    node (1) or to leave it (-1): whoever it is, it makes a difference of one.
    """

    nodes: dict[str, Node] = field(default_factory=dict)
    pods: list[tuple[Pod, str]] = field(default_factory=list)
    defaults: tuple[TopologySpreadConstraint, ...] = ()
    lenient: bool = False
    changes: list[tuple[Pod, str, int]] = field(default_factory=list)

    def with_changes(
        self, added: Iterable[tuple[Pod, str]], removed: Iterable[tuple[Pod, str]]
    ) -> World:
        """Return another world in which pods are imagined to come and go."""
        changes = [
            *((pod, node, 1) for pod, node in added),
            *((pod, node, -1) for pod, node in removed),
        ]
        return World(self.nodes, self.pods, self.defaults, self.lenient, changes)

    # Filtering

    def refusal(self, pod: Pod, name: str) -> str | None:
        """Say why a pod may not go to a node; None: it may."""
        hard = self._constraints(pod, "DoNotSchedule")
        labels = self.nodes[name].metadata.labels
        for constraint in hard:
            if constraint.topology_key not in labels:
                return LACKS_KEY
            counts = self._counts(pod, constraint, hard)
            fewest = min(counts.values(), default=0)
            if len(counts) < (constraint.min_domains or 1):
                fewest = 0
            own = int(self._selects(constraint, pod, pod.metadata.labels))
            there = counts.get(labels[constraint.topology_key], 0)
            if there + own - fewest > constraint.max_skew:
                return TOO_MANY
        return None

    def _counts(
        self,
        pod: Pod,
        constraint: TopologySpreadConstraint,
        together: Iterable[TopologySpreadConstraint],
        *,
        lenient: bool = False,
    ) -> dict[str, int]:
        """Count the matching pods of each domain, over nodes that count."""
        counts: dict[str, int] = {}
        for name, node in self.nodes.items():
            labels = node.metadata.labels
            has_all = all(one.topology_key in labels for one in together)
            if (has_all or lenient) and self._is_included(pod, node, constraint):
                domain = labels.get(constraint.topology_key, "")
                found = self._matching_on(pod, name, constraint)
                found += self._changed_on(pod, name, constraint)
                counts[domain] = counts.get(domain, 0) + found
        return counts

    def _changed_on(self, pod: Pod, name: str, constraint: TopologySpreadConstraint) -> int:
        return sum(
            by
            for other, where, by in self.changes
            if where == name
            and other.metadata.namespace == pod.metadata.namespace
            and self._selects(constraint, pod, other.metadata.labels)
        )

    def _matching_on(self, pod: Pod, name: str, constraint: TopologySpreadConstraint) -> int:
        selector = constraint.label_selector
        if selector is not None and not self._has_conditions(pod, constraint):
            return 0  # an empty selector selects the pod itself, and yet counts nobody
        return sum(
            1
            for other, where in self.pods
            if where == name
            and other.metadata.namespace == pod.metadata.namespace
            and other.metadata.deletion_timestamp is None
            and self._selects(constraint, pod, other.metadata.labels)
        )

    @staticmethod
    def _has_conditions(pod: Pod, constraint: TopologySpreadConstraint) -> bool:
        selector = constraint.label_selector
        assert selector is not None
        return bool(
            selector.match_labels
            or selector.match_expressions
            or any(key in pod.metadata.labels for key in constraint.match_label_keys)
        )

    @staticmethod
    def _selects(
        constraint: TopologySpreadConstraint, owner: Pod, labels: Mapping[str, str]
    ) -> bool:
        own = owner.metadata.labels
        return labels_match(constraint.label_selector, labels) and all(
            labels.get(key) == own[key] for key in constraint.match_label_keys if key in own
        )

    @staticmethod
    def _is_included(pod: Pod, node: Node, constraint: TopologySpreadConstraint) -> bool:
        if constraint.node_affinity_policy != "Ignore" and not _affinity_lets_in(pod, node):
            return False
        return constraint.node_taints_policy != "Honor" or _taints_let_in(pod, node)

    # Scoring

    def scores(self, pod: Pod, feasible: Iterable[str]) -> dict[str, int] | None:
        """Score nodes from 0 to 100; None where the pod has no soft constraint."""
        soft = self._constraints(pod, "ScheduleAnyway")
        if not soft:
            return None
        lenient = self.lenient and not pod.spec.topology_spread_constraints
        names = list(feasible)
        scored = [
            name
            for name in names
            if lenient or all(one.topology_key in self.nodes[name].metadata.labels for one in soft)
        ]
        weights = [math.log(size + 2) for size in self._sizes(soft, scored)]
        counts = [self._counts(pod, one, soft, lenient=lenient) for one in soft]
        costs = {}
        for name in scored:
            labels = self.nodes[name].metadata.labels
            cost = 0.0
            for constraint, weight, by_domain in zip(soft, weights, counts, strict=True):
                if constraint.topology_key not in labels:
                    continue
                if constraint.topology_key == _HOSTNAME:
                    found = self._matching_on(pod, name, constraint)
                else:
                    found = by_domain.get(labels[constraint.topology_key], 0)
                cost += found * weight + (constraint.max_skew - 1)
            costs[name] = math.floor(cost) + (cost - math.floor(cost) >= 0.5)
        highest, lowest = max(costs.values(), default=0), min(costs.values(), default=0)
        return dict.fromkeys(names, 0) | {
            name: 100 * (highest + lowest - cost) // highest if highest else 100
            for name, cost in costs.items()
        }

    def _sizes(self, soft: Iterable[TopologySpreadConstraint], scored: list[str]) -> Iterator[int]:
        for constraint in soft:
            if constraint.topology_key == _HOSTNAME:
                yield len(scored)
            else:
                yield len(
                    {
                        self.nodes[name].metadata.labels.get(constraint.topology_key, "")
                        for name in scored
                    }
                )

    def _constraints(self, pod: Pod, what: str) -> list[TopologySpreadConstraint]:
        given = pod.spec.topology_spread_constraints or self.defaults
        return [one for one in given if one.when_unsatisfiable == what]


def _affinity_lets_in(pod: Pod, node: Node) -> bool:
    """Understand as much of node affinity as the strategies draw."""
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity and affinity.required_during_scheduling_ignored_during_execution
    if not required:
        return True
    for term in required.node_selector_terms:
        conditions = [
            *((labels.get(one.key), one) for one in term.match_expressions),
            *((node.metadata.name, one) for one in term.match_fields),
        ]
        assert all(one.operator == "NotIn" for _, one in conditions)
        if conditions and all(value not in one.values for value, one in conditions):
            return True
    return False


def _taints_let_in(pod: Pod, node: Node) -> bool:
    """Understand as much of taints as the strategies draw."""
    tolerated = {toleration.key for toleration in pod.spec.tolerations}
    return all(
        taint.key in tolerated or taint.effect == "PreferNoSchedule" for taint in node.spec.taints
    )
