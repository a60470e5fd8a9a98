"""Counts of pods by selector equal a recount, whatever happened before."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests import spread_strategies as draw
from tests.objects import make_node, make_pod

from moorage.cache import ClusterCache, NodesView, pod_table
from moorage.model import LabelSelector, Node, PodInfo, Requirement, Selector, selector_of

WEB = Selector((Requirement("app", "In", frozenset({"web"})),))
NS = frozenset({"ns"})


def recount(
    nodes: NodesView,
    namespaces: frozenset[str] | None,
    selector: Selector,
    *,
    terminating: bool,
) -> list[int]:
    """Count by looking at every pod of every row."""
    return [
        sum(
            selector.matches(pod.metadata.labels)
            and (namespaces is None or pod.metadata.namespace in namespaces)
            and (terminating or pod.metadata.deletion_timestamp is None)
            for pod in nodes.pods(position)
        )
        for position in range(len(nodes))
    ]


class Counts(RuleBasedStateMachine):
    """Questions are asked at any time and must stay answered rightly from then on."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = ClusterCache()
        self.number = 0

    @rule(node=draw.nodes())
    def set_node(self, node: Node) -> None:
        """Add or change a node."""
        self.cluster.set_node(node)

    @rule(name=st.sampled_from(draw.NODE_NAMES))
    def remove_node(self, name: str) -> None:
        """Remove a node; its pods stay a while."""
        self.cluster.remove_node(name)

    @rule(data=st.data(), name=st.sampled_from(draw.NODE_NAMES))
    def add_pod(self, data: st.DataObject, name: str) -> None:
        """See a pod bound, its node known or not."""
        self.number += 1
        self.cluster.add_pod(data.draw(draw.pods(f"p{self.number}", node=name, most=0)))

    @rule(which=st.integers(0, 99), data=st.data(), name=st.sampled_from(draw.NODE_NAMES))
    def update_pod(self, which: int, data: st.DataObject, name: str) -> None:
        """See a pod relabelled, asked to end, or even on another node."""
        info = self._some_pod(which)
        if info is not None:
            newer = data.draw(draw.pods(info.uid, node=name, most=0))
            self.cluster.add_pod(newer)

    @rule(which=st.integers(0, 99))
    def remove_pod(self, which: int) -> None:
        """See a pod go."""
        info = self._some_pod(which)
        if info is not None:
            self.cluster.remove_pod(info.uid)

    @rule(data=st.data())
    def assume(self, data: st.DataObject) -> None:
        """Assume a pod somewhere, perhaps take it back at once, as a group does."""
        if not self.cluster.node_count:
            return
        self.number += 1
        self.cluster.begin()
        row = data.draw(st.sampled_from(self.cluster.valid_rows.tolist()))
        self.cluster.assume(data.draw(draw.pods(f"p{self.number}", most=0)), row)
        if data.draw(st.booleans()):
            self.cluster.rollback()
        else:
            self.cluster.commit()

    @rule(
        namespaces=st.none() | st.frozensets(st.sampled_from(draw.NAMESPACES)),
        selector=draw.selectors(),
        terminating=st.booleans(),
        data=st.data(),
    )
    def ask(
        self,
        namespaces: frozenset[str] | None,
        selector: LabelSelector,
        *,
        terminating: bool,
        data: st.DataObject,
    ) -> None:
        """Ask about all nodes, and about some with pods added and removed."""
        wanted = selector_of(selector)
        nodes = self.cluster.view()
        found = nodes.matching_pods(namespaces, wanted, terminating=terminating)
        assert found.dtype == np.int64
        assert not found.flags.writeable
        assert found.tolist() == recount(nodes, namespaces, wanted, terminating=terminating)
        if not len(nodes):
            return
        positions = data.draw(st.lists(st.integers(0, len(nodes) - 1), min_size=1, max_size=3))
        some = nodes.take(np.array(positions, dtype=np.intp))
        changed = some.overlay(
            added=[(0, data.draw(draw.pods("more", most=0)))],
            removed=[(len(some) - 1, info) for info in some.pod_infos(len(some) - 1)[:1]],
        )
        found = changed.matching_pods(namespaces, wanted, terminating=terminating)
        assert found.tolist() == recount(changed, namespaces, wanted, terminating=terminating)

    @invariant()
    def counts_are_right(self) -> None:
        """Every count that is kept equals a recount."""
        self.cluster.check_invariants()

    def _some_pod(self, which: int) -> PodInfo | None:
        pods = sorted(self.cluster.pods(), key=lambda info: info.uid)
        return pods[which % len(pods)] if pods else None


TestCounts = Counts.TestCase
TestCounts.settings = settings(max_examples=20, stateful_step_count=20)


@pytest.fixture
def cluster() -> ClusterCache:
    """Make two nodes with one pod each, of which one is labelled ``app=web``."""
    cluster = ClusterCache()
    for name, app in (("n1", "web"), ("n2", "db")):
        cluster.set_node(make_node(name))
        cluster.add_pod(make_pod(name, node=name, labels={"app": app}))
    return cluster


def test_a_selector_of_nothing_counts_nothing(cluster: ClusterCache) -> None:
    """A missing selector is not an empty one."""
    nodes = cluster.view()

    assert nodes.matching_pods(None, Selector(nothing=True)).tolist() == [0, 0]
    assert nodes.matching_pods(None, Selector()).tolist() == [1, 1]
    assert nodes.matching_pods(frozenset(), Selector()).tolist() == [0, 0]


def test_the_same_question_is_answered_without_counting_again(cluster: ClusterCache) -> None:
    """Counts are one array, brought up to date where pods come and go."""
    first = cluster.view().matching_pods(NS, WEB)
    cluster.assume(make_pod("new", labels={"app": "web"}), 1)

    assert np.shares_memory(first, cluster.view().matching_pods(NS, WEB))
    assert first.tolist() == [1, 1]


def test_the_questions_asked_longest_ago_are_forgotten(
    cluster: ClusterCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts are bounded, and what is forgotten is counted anew when asked for."""
    monkeypatch.setattr(pod_table, "_BUDGET", 0)  # so that the fewest are kept
    table = cluster.pod_table
    nodes = cluster.view()
    nodes.matching_pods(NS, WEB)
    for number in range(table.room + 5):
        nodes.matching_pods(NS, WEB)
        nodes.matching_pods(NS, Selector((Requirement("app", "In", frozenset({f"app-{number}"})),)))
    kept = nodes.matching_pods(NS, WEB)
    cluster.add_pod(make_pod("new", node="n2", labels={"app": "web"}))

    assert table.kept == table.room
    assert kept.tolist() == [1, 1]
    cluster.check_invariants()


def test_pods_of_one_kind_are_matched_once(cluster: ClusterCache) -> None:
    """As many kinds as there are namespaces and label sets in use, however many pods."""
    for number in range(100):
        cluster.add_pod(make_pod(f"web-{number}", node="n1", labels={"app": "web"}))

    assert len(cluster.pod_table.kinds) == 2
    for info in list(cluster.pods()):
        if info.pod.metadata.labels == {"app": "web"}:
            cluster.remove_pod(info.uid)
    assert len(cluster.pod_table.kinds) == 1


def test_many_kinds_of_pods_find_room() -> None:
    """Kinds, pods and rows grow beyond their first capacity together."""
    cluster = ClusterCache()
    for number in range(300):
        cluster.set_node(make_node(f"n{number}"))
    question = Selector((Requirement("pod", "Exists"),))
    cluster.view().matching_pods(NS, question)
    for number in range(300):
        cluster.add_pod(make_pod("p", node=f"n{number}", labels={"pod": str(number)}))

    assert cluster.view().matching_pods(NS, question).tolist() == [1] * 300
    cluster.check_invariants()


def test_a_pod_that_changes_nothing_that_counts_keeps_its_place(cluster: ClusterCache) -> None:
    """A heartbeat of a pod is no relabelling."""
    (info,) = cluster.pods_on(0)
    metadata = msgspec.structs.replace(info.pod.metadata, resource_version="2")
    cluster.view().matching_pods(NS, WEB)

    cluster.add_pod(PodInfo(msgspec.structs.replace(info.pod, metadata=metadata)))

    assert cluster.view().matching_pods(NS, WEB).tolist() == [1, 0]
    cluster.check_invariants()
