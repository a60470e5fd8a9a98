"""InterPodAffinity as one would explain it: every pod looked at for every node.

Written from the API's definition of the fields, without anything of the plugin or of compiled
terms. `World` is a cluster as plain dictionaries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from moorage.model import LabelSelector, Pod, PodAffinity, PodAffinityTerm

__all__ = ["AFFINITY", "ANTI_AFFINITY", "EXISTING", "World"]

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"


def labels_match(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Say whether a label selector selects labels."""
    if selector is None:
        return False
    for key, value in selector.match_labels.items():
        if labels.get(key) != value:
            return False
    for expression in selector.match_expressions:
        value = labels.get(expression.key, "")
        found = {
            "In": expression.key in labels and value in expression.values,
            "NotIn": expression.key not in labels or value not in expression.values,
            "Exists": expression.key in labels,
            "DoesNotExist": expression.key not in labels,
        }[expression.operator]
        if not found:
            return False
    return True


@dataclass
class World:
    """Labels of nodes and namespaces by name, and pods with the node that each is on."""

    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    pods: list[tuple[Pod, str]] = field(default_factory=list)

    def with_changes(self, added: Iterable[tuple[Pod, str]], removed: Iterable[Pod]) -> World:
        """Return another world in which pods came and went."""
        gone = {pod.metadata.uid for pod in removed}
        kept = [(pod, node) for pod, node in self.pods if pod.metadata.uid not in gone]
        return World(self.nodes, self.namespaces, [*kept, *added])

    # Terms

    def selects(self, term: PodAffinityTerm, owner: Pod, target: Pod) -> bool:
        """Say whether a term of one pod means another."""
        namespace = target.metadata.namespace
        admitted = namespace in term.namespaces
        if term.namespace_selector is not None:
            everything = LabelSelector()
            admitted |= (
                labels_match(term.namespace_selector, self.namespaces[namespace])
                if namespace in self.namespaces
                else term.namespace_selector == everything
            )
        elif not term.namespaces:
            admitted = namespace == owner.metadata.namespace
        if not admitted or not labels_match(term.label_selector, target.metadata.labels):
            return False
        selector = term.label_selector
        assert selector is not None
        named = {*selector.match_labels, *(one.key for one in selector.match_expressions)}
        mine, theirs = owner.metadata.labels, target.metadata.labels
        return all(
            theirs.get(key) == mine[key]
            for key in term.match_label_keys
            if key in mine and key not in named
        ) and all(
            theirs.get(key) != mine[key]
            for key in term.mismatch_label_keys
            if key in mine and key not in named
        )

    def same_domain(self, key: str, one: str, other: str) -> bool:
        """Say whether two nodes that exist have one value of a topology key."""
        a, b = self.nodes.get(one, {}), self.nodes.get(other, {})
        return key in a and key in b and a[key] == b[key]

    # Filtering

    def refusal(self, pod: Pod, node: str) -> str | None:
        """Say why a pod may not go to a node; None: it may."""
        if not self._meets_affinity(pod, node):
            return AFFINITY
        for term in _required(_away(pod)):
            for other, where in self.pods:
                if self.selects(term, pod, other) and self.same_domain(
                    term.topology_key, where, node
                ):
                    return ANTI_AFFINITY
        for other, where in self.pods:
            for term in _required(_away(other)):
                if self.selects(term, other, pod) and self.same_domain(
                    term.topology_key, where, node
                ):
                    return EXISTING
        return None

    def _meets_affinity(self, pod: Pod, node: str) -> bool:
        terms = _required(_near(pod))
        if not all(term.topology_key in self.nodes[node] for term in terms):
            return False
        matching = [
            where
            for other, where in self.pods
            if terms and all(self.selects(term, pod, other) for term in terms)
        ]
        if all(
            any(self.same_domain(term.topology_key, where, node) for where in matching)
            for term in terms
        ):
            return True
        in_domains = any(
            term.topology_key in self.nodes.get(where, {}) for where in matching for term in terms
        )
        return not in_domains and all(self.selects(term, pod, pod) for term in terms)

    # Scoring

    def scores(
        self,
        pod: Pod,
        feasible: Sequence[str],
        *,
        hard_weight: int = 1,
        ignores_existing: bool = False,
    ) -> dict[str, int] | None:
        """Score nodes from 0 to 100; None where the plugin has nothing to say."""
        own = [*_preferred(_near(pod)), *_preferred(_away(pod))]
        if ignores_existing and not own:
            return None
        pairs: list[tuple[str, str, int]] = []
        for other, where in self.pods:
            pairs += self._weights(pod, other, where, hard_weight)
        if not pairs:
            return None
        raw = {
            node: sum(weight for key, value, weight in pairs if self.nodes[node].get(key) == value)
            for node in feasible
        }
        low, high = min(raw.values()), max(raw.values())
        if low == high:
            return dict.fromkeys(feasible, 0)
        return {node: int(100.0 * ((score - low) / (high - low))) for node, score in raw.items()}

    def _weights(
        self, pod: Pod, other: Pod, where: str, hard_weight: int
    ) -> Iterator[tuple[str, str, int]]:
        labels = self.nodes.get(where, {})
        weighted = [
            (term, owner, target, weight * sign)
            for owner, target in ((pod, other), (other, pod))
            for half, sign in ((_near(owner), 1), (_away(owner), -1))
            for term, weight in _preferred(half)
        ]
        if hard_weight:
            weighted += [(term, other, pod, hard_weight) for term in _required(_near(other))]
        for term, owner, target, weight in weighted:
            if term.topology_key in labels and self.selects(term, owner, target):
                yield term.topology_key, labels[term.topology_key], weight


def _near(pod: Pod) -> PodAffinity:
    affinity = pod.spec.affinity
    return (affinity.pod_affinity if affinity else None) or PodAffinity()


def _away(pod: Pod) -> PodAffinity:
    affinity = pod.spec.affinity
    return (affinity.pod_anti_affinity if affinity else None) or PodAffinity()


def _required(half: PodAffinity) -> tuple[PodAffinityTerm, ...]:
    return half.required_during_scheduling_ignored_during_execution


def _preferred(half: PodAffinity) -> list[tuple[PodAffinityTerm, int]]:
    return [
        (preferred.pod_affinity_term, preferred.weight)
        for preferred in half.preferred_during_scheduling_ignored_during_execution
    ]
