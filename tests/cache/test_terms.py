"""Affinity terms of the pods on rows: counted once each, and found by the pods they select."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests import affinity_strategies as draw
from tests.objects import make_node

from moorage import NodesView, PodInfo
from moorage.cache import ClusterCache
from moorage.cache.row_counts import RowCounts
from moorage.cache.terms import FACT_OF_KIND
from moorage.model import Namespace, ObjectMeta, TermKind


@given(steps=st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=60))
def test_counts_by_row_are_those_of_a_counter(steps: list[tuple[int, bool]]) -> None:
    """Whatever the order in which rows come and go."""
    counts, expected = RowCounts(), Counter[int]()
    for row, adds in steps:
        if adds:
            counts.add(row)
            expected[row] += 1
        elif expected[row]:
            counts.remove(row)
            expected[row] -= 1
        assert counts.as_dict() == dict(+expected)
        assert len(counts) == len(counts.rows) == len(counts.counts) == len(+expected)


class Terms(RuleBasedStateMachine):
    """Pods with terms come, go and change, also within a journal; nodes and namespaces too."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = ClusterCache()
        self.number = 0
        self.has_journal = False

    @rule(node=draw.nodes())
    def set_node(self, node: object) -> None:
        """Add or relabel a node."""
        self.cluster.set_node(node)  # type: ignore[arg-type]

    @rule(name=st.sampled_from(draw.NODE_NAMES))
    def remove_node(self, name: str) -> None:
        """Remove a node."""
        self.cluster.remove_node(name)

    @rule(name=st.sampled_from(draw.NAMESPACES), labels=draw.pod_labels())
    def set_namespace(self, name: str, labels: dict[str, str]) -> None:
        """Relabel a namespace."""
        self.cluster.set_namespace(Namespace(metadata=ObjectMeta(name=name, labels=labels)))

    @rule(data=st.data(), name=st.sampled_from(draw.NODE_NAMES), again=st.booleans())
    @precondition(lambda self: not self.has_journal)
    def add_pod(self, data: st.DataObject, name: str, *, again: bool) -> None:
        """See a pod bound, or a newer version of one, maybe elsewhere."""
        if not again:
            self.number += 1
        self.cluster.add_pod(data.draw(draw.pods(f"p{self.number}", node=name)))

    @rule(data=st.data(), which=st.integers(0, 99))
    def assume(self, data: st.DataObject, which: int) -> None:
        """Assume a pod."""
        rows = self.cluster.valid_rows.tolist()
        if rows:
            self.number += 1
            self.cluster.assume(data.draw(draw.pods(f"p{self.number}")), rows[which % len(rows)])

    @rule(which=st.integers(0, 99), forget=st.booleans())
    def remove(self, which: int, *, forget: bool) -> None:
        """Take a pod back, or see it go."""
        pods = sorted(self.cluster.pods(), key=lambda info: info.uid)
        if pods and (forget or self.has_journal):
            self.cluster.forget(pods[which % len(pods)].uid)
        elif pods:
            self.cluster.remove_pod(pods[which % len(pods)].uid)

    @rule()
    @precondition(lambda self: not self.has_journal)
    def begin(self) -> None:
        """Start to note."""
        self.cluster.begin()
        self.has_journal = True

    @rule()
    @precondition(lambda self: self.has_journal)
    def rollback(self) -> None:
        """Take all back."""
        self.cluster.rollback()
        self.has_journal = False

    @invariant()
    def a_recount_agrees(self) -> None:
        """Recount everything."""
        self.cluster.check_invariants()

    @rule(data=st.data())
    def look(self, data: st.DataObject) -> None:
        """Find the terms that select a pod, in views of all kinds."""
        pod = data.draw(draw.pods("looking"))
        whole = self.cluster.view()
        assert_found(self.cluster, whole, pod)
        if len(whole):
            positions = data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=4))
            some = whole.take(np.array(positions, dtype=np.intp))
            assert_found(self.cluster, some, pod)
            added = [(place, data.draw(draw.pods(f"a{place}"))) for place in range(len(positions))]
            removed = [
                (place, info)
                for place in range(len(positions))
                for info in some.pod_infos(place)[:1]
            ]
            assert_found(self.cluster, some.overlay(added=added, removed=removed), pod)


def assert_found(cluster: ClusterCache, nodes: NodesView, info: PodInfo) -> None:
    """Compare what is found with what each pod of each row says."""
    namespace = cluster.namespaces.get(info.pod.metadata.namespace)
    labels = None if namespace is None else namespace.metadata.labels
    for kind in TermKind:
        expected: dict[tuple[str, int], list[int]] = {}
        for position in range(len(nodes)):
            for other in nodes.pod_infos(position):
                for term in other.affinity_terms.of(kind):
                    if term.selects(info.pod, labels):
                        key = (term.topology_key, term.weight)
                        expected.setdefault(key, [0] * len(nodes))[position] += 1
        found = {
            (one.topology_key, one.weight): one.counts.tolist()
            for one in nodes.terms_selecting(info.pod, kind)
            if one.counts.any()
        }
        assert found == expected


TestTerms = Terms.TestCase
TestTerms.settings = settings(max_examples=25, stateful_step_count=20)


@given(data=st.data())
@settings(max_examples=30)
def test_a_fact_counts_whatever_changes_the_terms_of_a_kind(data: st.DataObject) -> None:
    """Pods with such terms that come or go, and nodes under them; nothing else."""
    cluster = ClusterCache()
    cluster.set_node(make_node("n0", labels={"zone": "1"}))
    info = data.draw(draw.pods("p", node="n0"))
    kinds = {kind for kind in TermKind if info.affinity_terms.of(kind)}

    def moved(change: object) -> set[TermKind]:
        before = dict(cluster.facts)
        assert callable(change)
        change()
        return {kind for kind, fact in FACT_OF_KIND.items() if cluster.facts[fact] != before[fact]}

    assert moved(lambda: cluster.add_pod(info)) == kinds
    assert moved(lambda: cluster.add_pod(PodInfo(info.pod))) == set()
    assert moved(lambda: cluster.set_node(make_node("n0", labels={"zone": "1"}))) == set()
    relabelled = moved(lambda: cluster.set_node(make_node("n0", labels={"zone": "2"})))
    assert relabelled == (set(TermKind) if kinds else set())
    assert moved(lambda: cluster.remove_pod("p")) == kinds
    assert moved(lambda: cluster.set_node(make_node("n0"))) == set()
