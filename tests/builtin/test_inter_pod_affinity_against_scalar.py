"""The arrays of InterPodAffinity against the slow, obvious form, whatever happened before."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from numpy.typing import NDArray
from tests import affinity_strategies as draw
from tests.builtin.inter_pod_affinity_scalar import World
from tests.objects import queued

import moorage
from moorage import PodInfo, Services, discover
from moorage.cache import ClusterCache
from moorage.cycle import Cycle, Decision
from moorage.framework.assembly import new_framework
from moorage.model import Namespace, Node, ObjectMeta, Pod
from moorage_builtin.inter_pod_affinity import InterPodAffinity

NAME = "InterPodAffinity"
PLAIN = tuple(
    PodInfo(
        Pod(metadata=ObjectMeta(name=f"plain-{app}", namespace="a", uid=app, labels={"app": app}))
    )
    for app in ("x", "y")
)


def world_of(cluster: ClusterCache) -> World:
    """Describe a cluster without any of its arrays."""
    return World(
        nodes={node.metadata.name: node.metadata.labels for node in cluster.nodes()},
        namespaces={
            name: namespace.metadata.labels for name, namespace in cluster.namespaces.items()
        },
        pods=[(info.pod, cluster.node_of(info.uid)) for info in cluster.pods()],
    )


class SharedAnswers(RuleBasedStateMachine):
    """One cycle that keeps answers decides after every change; nothing may be stale."""

    @initialize(
        nodes=st.lists(draw.nodes(), max_size=6),
        hard_weight=st.sampled_from([0, 1, 50]),
        ignores=st.booleans(),
    )
    def begin(self, nodes: list[Node], hard_weight: int, *, ignores: bool) -> None:
        """Choose arguments and the first nodes."""
        self.services = Services()
        self.cluster = self.services.cluster
        self.hard_weight, self.ignores = hard_weight, ignores
        args = {
            "hardPodAffinityWeight": hard_weight,
            "ignorePreferredTermsOfExistingPods": ignores,
        }
        framework = new_framework(discover(), [NAME], {NAME: args}, services=self.services)
        self.cycle = Cycle(framework, self.cluster)
        self.number = 0
        for node in nodes:
            self.cluster.set_node(node)

    # Changes

    @rule(node=draw.nodes())
    def set_node(self, node: Node) -> None:
        """Add or relabel a node."""
        self.cluster.set_node(node)

    @rule(name=st.sampled_from(draw.NODE_NAMES))
    def remove_node(self, name: str) -> None:
        """Remove a node; its pods stay a while."""
        self.cluster.remove_node(name)

    @rule(name=st.sampled_from(draw.NAMESPACES), labels=draw.pod_labels())
    def set_namespace(self, name: str, labels: dict[str, str]) -> None:
        """Add or relabel a namespace."""
        self.cluster.set_namespace(Namespace(metadata=ObjectMeta(name=name, labels=labels)))

    @rule(name=st.sampled_from(draw.NAMESPACES))
    def remove_namespace(self, name: str) -> None:
        """Remove a namespace before its pods."""
        self.cluster.remove_namespace(name)

    @rule(data=st.data(), name=st.sampled_from(draw.NODE_NAMES))
    def add_pod(self, data: st.DataObject, name: str) -> None:
        """See a pod bound."""
        self.number += 1
        self.cluster.add_pod(data.draw(draw.pods(f"p{self.number}", node=name)))

    @rule(which=st.integers(0, 99))
    def remove_pod(self, which: int) -> None:
        """See a pod go."""
        if (info := self._some_pod(which)) is not None:
            self.cluster.remove_pod(info.uid)

    @rule(which=st.integers(0, 99), labels=draw.pod_labels())
    def relabel_pod(self, which: int, labels: dict[str, str]) -> None:
        """See a pod's labels change, and with them what its own terms match or mismatch."""
        info = self._some_pod(which)
        if info is not None and not self.cluster.is_assumed(info.uid):
            metadata = msgspec.structs.replace(info.pod.metadata, labels=labels)
            self.cluster.add_pod(PodInfo(msgspec.structs.replace(info.pod, metadata=metadata)))

    @rule(which=st.integers(0, 99))
    def forget(self, which: int) -> None:
        """Take back an assumed pod."""
        if (info := self._some_pod(which)) is not None:
            self.cluster.forget(info.uid)

    # Decisions

    @rule(data=st.data())
    def decide(self, data: st.DataObject) -> None:
        """Decide for a pod as the slow form does, and assume it there."""
        self.number += 1
        info = data.draw(draw.pods(f"p{self.number}"))
        decision = self._decide_as_explained(info)
        if decision.node_name:
            self.cluster.assume(info, decision.row)

    def _decide_as_explained(self, info: PodInfo) -> Decision:
        world = world_of(self.cluster)
        refusals = {node: world.refusal(info.pod, node) for node in world.nodes}
        feasible = [node for node, reason in refusals.items() if reason is None]
        decision = self.cycle.decide(queued(info), details=True)
        assert decision.details is not None, decision.message
        assert sorted(decision.details.feasible) == sorted(feasible)
        if decision.node_name:
            if len(feasible) > 1:
                self._compare_scores(info, feasible, decision.details.scores)
        elif world.nodes:
            assert decision.diagnosis is not None
            reasons = list(refusals.values())
            assert decision.diagnosis.reasons() == {
                reason: reasons.count(reason) for reason in reasons
            }
        return decision

    def _compare_scores(self, info: PodInfo, feasible: list[str], scores: object) -> None:
        expected = world_of(self.cluster).scores(
            info.pod, feasible, hard_weight=self.hard_weight, ignores_existing=self.ignores
        )
        found = dict(scores) if isinstance(scores, dict) else {}
        own = {node: parts[NAME] for node, parts in found.items() if NAME in parts}
        assert own == (expected or {})

    @invariant()
    def counts_are_right(self) -> None:
        """Find the same by a recount."""
        if hasattr(self, "cluster"):
            self.cluster.check_invariants()

    @invariant()
    def shared_answers_are_fresh(self) -> None:
        """Decide once more for pods without terms, which share what was answered before."""
        if hasattr(self, "cluster"):
            for info in PLAIN:
                self._decide_as_explained(info)

    def _some_pod(self, which: int) -> PodInfo | None:
        pods = sorted(self.cluster.pods(), key=lambda info: info.uid)
        return pods[which % len(pods)] if pods else None


TestSharedAnswers = SharedAnswers.TestCase
TestSharedAnswers.settings = settings(max_examples=20, stateful_step_count=15)


@pytest.mark.slow
def test_shared_answers_over_many_changes() -> None:
    """As above, long enough to meet what is rare."""
    many = settings(max_examples=300, stateful_step_count=30)
    run_state_machine_as_test(SharedAnswers, settings=many)


@st.composite
def clusters(draw_from: st.DrawFn) -> tuple[Services, list[PodInfo]]:
    """Draw a cluster with at least one node, and the pods in it."""
    services = Services()
    cluster = services.cluster
    names = draw_from(st.lists(st.sampled_from(draw.NODE_NAMES), min_size=1, unique=True))
    for name in names:
        node = draw_from(draw.nodes())
        metadata = msgspec.structs.replace(node.metadata, name=name)
        cluster.set_node(msgspec.structs.replace(node, metadata=metadata))
    for name in draw.NAMESPACES:
        labels = draw_from(draw.pod_labels())
        cluster.set_namespace(Namespace(metadata=ObjectMeta(name=name, labels=labels)))
    pods = [
        draw_from(draw.pods(f"e{number}", node=draw_from(st.sampled_from(names))))
        for number in range(draw_from(st.integers(0, 8)))
    ]
    for info in pods:
        cluster.add_pod(info)
    return services, pods


@settings(max_examples=40)
@given(setting=clusters(), pod=draw.pods("new"), data=st.data())
def test_each_row_of_a_dry_run_sees_its_own_changes_only(
    setting: tuple[Services, list[PodInfo]], pod: PodInfo, data: st.DataObject
) -> None:
    """Rows with pods added and removed answer as separate clusters would, also twice one node."""
    services, pods = setting
    cluster = services.cluster
    plugin = new_framework(discover(), [NAME], services=services).plugin(NAME)
    assert isinstance(plugin, InterPodAffinity)
    state = moorage.CycleState()
    plugin.pre_filter(state, pod, cluster.view())
    rows = data.draw(st.lists(st.sampled_from(cluster.valid_rows.tolist()), max_size=4))
    names = [cluster.name(row) for row in rows]
    removed = [
        (position, info)
        for position, name in enumerate(names)
        for info in pods
        if info.pod.spec.node_name == name and data.draw(st.booleans())
    ]
    added = [
        (position, data.draw(draw.pods(f"a{position}")))
        for position in range(len(rows))
        if data.draw(st.booleans())
    ]
    before = plugin.filter_nodes(state, cluster.view())
    view = cluster.view_of(np.array(rows, dtype=np.intp)).overlay(added=added, removed=removed)
    clone = state.clone()
    for change, hook in ((removed, plugin.remove_pods), (added, plugin.add_pods)):
        positions = np.array([position for position, _ in change], dtype=np.intp)
        hook(clone, view, positions, [info for _, info in change])
    codes = plugin.filter_nodes(clone, view)
    world = world_of(cluster)
    for position, name in enumerate(names):
        its_own = world.with_changes(
            [(info.pod, name) for where, info in added if where == position],
            [info.pod for where, info in removed if where == position],
        )
        code = 0 if codes is None else int(codes[position])
        reason = plugin.explain(code).message if code else None
        assert reason == its_own.refusal(pod.pod, name)
    # What was noted about the real cluster stays as it was.
    again = plugin.filter_nodes(state, cluster.view())
    assert _listed(before) == _listed(again)


def _listed(codes: NDArray[np.int8] | None) -> list[int] | None:
    return None if codes is None else codes.tolist()
