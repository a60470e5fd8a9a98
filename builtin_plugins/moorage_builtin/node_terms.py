"""Terms over a node's labels and name, and what a pod requires of its node in such terms.

Rules: of a pod's ``nodeSelector`` all entries must hold, of its required node affinity one term;
within a term everything must hold, and a term with nothing in it matches no node. Nor does a pod's
term that cannot be read: the API takes ``Gt`` with any text. In a configuration that is an error.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage.model import (
    InvalidSelectorError,
    NodeAffinity,
    NodeSelectorTerm,
    Requirement,
    node_term_requirements,
)

__all__ = [
    "NodeTerm",
    "RequiredNodeAffinity",
    "compile_term",
    "readable_terms",
    "required_of",
    "required_of_pod",
    "required_terms",
]


class NodeTerm(NamedTuple):
    """A compiled term: conditions on labels and on the node's name, all of which must hold."""

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there is no condition at all."""
        return not self.labels and not self.fields

    def rows(self, nodes: moorage.NodesView) -> NDArray[np.bool_]:
        """Say which nodes match; (n,) bool. An empty term matches none."""
        if self.is_empty:
            return np.zeros(len(nodes), dtype=np.bool_)
        matches = [nodes.labels(needed.key).meets(needed) for needed in self.labels]
        matches += [_name_rows(needed, nodes) for needed in self.fields]
        return np.logical_and.reduce(matches) if len(matches) > 1 else matches[0]

    def accepts(self, node: moorage.Node) -> bool:
        """Say whether one node matches."""
        labels, name = node.metadata.labels, node.metadata.name
        return (
            not self.is_empty
            and all(needed.accepts(labels.get(needed.key)) for needed in self.labels)
            and all(needed.accepts(name) for needed in self.fields)
        )


class RequiredNodeAffinity(NamedTuple):
    """What a pod requires: a selector, and terms of which one must hold (None: no affinity)."""

    selector: tuple[Requirement, ...] = ()
    terms: tuple[NodeTerm, ...] | None = None

    def rows(self, nodes: moorage.NodesView) -> NDArray[np.bool_]:
        """Say which nodes match; (n,) bool, new. Not to be asked where `is_empty`."""
        matches = [nodes.labels(needed.key).meets(needed) for needed in self.selector]
        if self.terms is not None:
            any_term = np.zeros(len(nodes), dtype=np.bool_)
            for term in self.terms:
                any_term |= term.rows(nodes)
            matches.append(any_term)
        return np.logical_and.reduce(matches) if len(matches) > 1 else matches[0]

    def accepts(self, node: moorage.Node) -> bool:
        """Say whether one node matches."""
        labels = node.metadata.labels
        return all(needed.accepts(labels.get(needed.key)) for needed in self.selector) and (
            self.terms is None or any(term.accepts(node) for term in self.terms)
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing is required."""
        return not self.selector and self.terms is None


def required_of_pod(pod: moorage.Pod) -> RequiredNodeAffinity:
    """Compile what a pod requires, without the terms that cannot be read."""
    terms = required_terms(pod)
    return RequiredNodeAffinity(
        tuple(
            Requirement(key, "In", frozenset((value,)))
            for key, value in pod.spec.node_selector.items()
        ),
        None if terms is None else readable_terms(terms),
    )


def required_terms(pod: moorage.Pod) -> tuple[NodeSelectorTerm, ...] | None:
    """Return the terms of a pod's required node affinity as they are, None where it has none."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return None
    required = affinity.node_affinity.required_during_scheduling_ignored_during_execution
    return None if required is None else required.node_selector_terms


def required_of(affinity: NodeAffinity | None, *, field: str) -> RequiredNodeAffinity:
    """Compile what affinity requires; raises `InvalidSelectorError` that names `field`."""
    required = (
        affinity.required_during_scheduling_ignored_during_execution
        if affinity is not None
        else None
    )
    if required is None:
        return RequiredNodeAffinity()
    where = f"{field}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    return RequiredNodeAffinity(
        terms=tuple(
            compile_term(term, field=f"{where}[{index}]")
            for index, term in enumerate(required.node_selector_terms)
        )
    )


def compile_term(term: NodeSelectorTerm, *, field: str) -> NodeTerm:
    """Compile a term; raises `InvalidSelectorError` that names `field`."""
    return NodeTerm(*node_term_requirements(term, field=field))


@lru_cache(maxsize=16384)
def readable_terms(terms: tuple[NodeSelectorTerm, ...]) -> tuple[NodeTerm, ...]:
    """Compile terms without those that match no node: empty ones, and what cannot be read."""
    found = []
    for term in terms:
        try:
            compiled = compile_term(term, field="")
        except InvalidSelectorError:
            continue
        if not compiled.is_empty:
            found.append(compiled)
    return tuple(found)


def _name_rows(needed: Requirement, nodes: moorage.NodesView) -> NDArray[np.bool_]:
    matches = np.zeros(len(nodes), dtype=np.bool_)
    matches[nodes.positions(needed.values)] = True
    return ~matches if needed.operator == "NotIn" else matches
