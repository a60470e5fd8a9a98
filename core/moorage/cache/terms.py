"""The inter-pod affinity terms of the pods on rows: each distinct term once, with its counts.

kube-scheduler walks over all pods that have terms for each pod that it schedules. Here a term
knows the rows it is on, and a pod finds the terms that select it by its namespace and labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache.row_counts import RowCounts
from moorage.cache.selector_index import SelectorIndex
from moorage.model.affinity_terms import AffinityTerm, AffinityTerms, TermKind
from moorage.model.meta import Namespace
from moorage.model.pod_info import PodInfo
from moorage.model.pods import Pod

__all__ = ["FACT_OF_KIND", "TermColumn", "TermColumns", "TermCounts"]

FACT_OF_KIND = {
    TermKind.AFFINITY: "affinity_terms",
    TermKind.ANTI_AFFINITY: "anti_affinity_terms",
    TermKind.PREFERRED: "preferred_affinity_terms",
}
"""The facts of the cluster that count changes of what terms of each kind are on which nodes."""


class TermCounts(NamedTuple):
    """Terms of one topology key and weight that select a pod, and how many are on each row.

    `counts` (n,) int64 counts pods; a pod with two such terms counts twice.
    """

    topology_key: str
    weight: int
    counts: NDArray[np.int64]


class TermColumn:
    """One distinct term, and on which rows how many pods have it."""

    __slots__ = ("counts", "term")

    def __init__(self, term: AffinityTerm) -> None:
        self.term = term
        self.counts = RowCounts()

    @property
    def scopes(self) -> Iterable[str | None]:
        """The namespaces to enter it under; None where any may be meant."""
        return self.term.namespaces if self.term.namespace_selector.nothing else (None,)


class _Kind:
    """All terms of one kind: by value, and by the pods that they may select."""

    def __init__(self) -> None:
        self.columns: dict[AffinityTerm, TermColumn] = {}
        self._index: SelectorIndex[TermColumn] = SelectorIndex()

    def add(self, term: AffinityTerm, row: int) -> None:
        column = self.columns.get(term)
        if column is None:
            column = self.columns[term] = TermColumn(term)
            for namespace in column.scopes:
                self._index.add(column, term.selector, namespace=namespace)
        column.counts.add(row)

    def remove(self, term: AffinityTerm, row: int) -> None:
        column = self.columns[term]
        column.counts.remove(row)
        if not len(column.counts):
            del self.columns[term]
            for namespace in column.scopes:
                self._index.remove(column, term.selector, namespace=namespace)

    def selecting(
        self, pod: Pod, namespace_labels: Mapping[str, str] | None
    ) -> Iterator[TermColumn]:
        metadata = pod.metadata
        for column in self._index.candidates(metadata.labels, namespace=metadata.namespace):
            if column.term.selects(pod, namespace_labels):
                yield column

    def check_invariants(self, expected: _Kind) -> None:
        assert self.columns.keys() == expected.columns.keys()
        for term, column in self.columns.items():
            assert column.term == term
            assert column.counts.as_dict() == expected.columns[term].counts.as_dict(), term
        self._index.check_invariants(
            (column, column.term.selector, namespace)
            for column in self.columns.values()
            for namespace in column.scopes
        )


class TermColumns:
    """The terms of all pods on rows by `TermKind`; costs nothing for pods without any.

    A distinct term is kept while a pod on a row has it. Adding and removing a pod is O(its terms);
    finding the terms that select a pod is O(terms that its namespace and labels bring up).
    `facts` are the cluster's: one is counted up whenever terms of its kind come, go or move.
    """

    def __init__(self, facts: dict[str, int]) -> None:
        self._facts = facts
        self._kinds = tuple(_Kind() for _ in TermKind)
        self._of_pod: dict[str, AffinityTerms] = {}
        self._pods_on: Counter[int] = Counter()

    # Changing

    def add(self, info: PodInfo, row: int) -> None:
        """Enter the terms of a pod that came to a row."""
        if info.pod.spec.affinity is None:
            return
        terms = info.affinity_terms
        if any(terms[:3]):
            self._of_pod[info.uid] = terms
            self._pods_on[row] += 1
            for kind in TermKind:
                for term in terms.of(kind):
                    self._kinds[kind].add(term, row)
            self._note(terms)

    def remove(self, uid: str, row: int) -> None:
        """Take out the terms of a pod that left its row."""
        terms = self._of_pod.pop(uid, None)
        if terms is None:
            return
        self._pods_on[row] -= 1
        if not self._pods_on[row]:
            del self._pods_on[row]
        for kind in TermKind:
            for term in terms.of(kind):
                self._kinds[kind].remove(term, row)
        self._note(terms)

    def replace(self, before: PodInfo, after: PodInfo, row: int) -> None:
        """Enter the newer version of a pod that stays where it is."""
        old, new = before.pod, after.pod
        if (
            (
                old.spec.affinity != new.spec.affinity
                # What is to match or mismatch is taken from the pod's own labels.
                or (new.spec.affinity is not None and old.metadata.labels != new.metadata.labels)
            )
            and self._of_pod.get(after.uid, AffinityTerms())[:3] != after.affinity_terms[:3]
        ):
            self.remove(after.uid, row)
            self.add(after, row)

    def node_changed(self, row: int) -> None:
        """Note that a node came, went or was relabelled: its pods' terms are elsewhere now."""
        if row in self._pods_on:
            for fact in FACT_OF_KIND.values():
                self._facts[fact] += 1

    def _note(self, terms: AffinityTerms) -> None:
        for kind, fact in FACT_OF_KIND.items():
            if terms.of(kind):
                self._facts[fact] += 1

    # Reading

    def selecting(
        self, pod: Pod, kind: TermKind, namespace: Namespace | None
    ) -> Iterator[TermColumn]:
        """Iterate over the terms that select a pod; `namespace` is the pod's, None: not known."""
        if not self._kinds[kind].columns:
            return iter(())
        labels = None if namespace is None else namespace.metadata.labels
        return self._kinds[kind].selecting(pod, labels)

    def check_invariants(self, pods: Mapping[int, Iterable[PodInfo]]) -> None:
        """Raise AssertionError where terms or counts differ from those of the pods on rows."""
        expected = TermColumns(dict.fromkeys(FACT_OF_KIND.values(), 0))
        for row, infos in pods.items():
            for info in infos:
                expected.add(PodInfo(info.pod), row)
        assert self._of_pod == expected._of_pod
        assert self._pods_on == expected._pods_on
        for ours, recounted in zip(self._kinds, expected._kinds, strict=True):
            ours.check_invariants(recounted)
