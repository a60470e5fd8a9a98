"""The arrays of PodTopologySpread against the slow, obvious form, whatever happened before."""

from __future__ import annotations

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests import spread_strategies as draw
from tests.builtin.pod_topology_spread_scalar import World
from tests.objects import queued

import moorage
from moorage import PodInfo, Services, discover
from moorage.cache import ClusterCache
from moorage.cycle import Cycle
from moorage.framework.assembly import new_framework
from moorage.model import LabelSelector, Node, ObjectMeta, Service, TopologySpreadConstraint
from moorage.model.workloads import MapSelectorSpec
from moorage_builtin.pod_topology_spread import PodTopologySpread

NAME = "PodTopologySpread"
REGISTRY = discover()
ZONE = "topology.kubernetes.io/zone"


def world_of(cluster: ClusterCache) -> World:
    """Describe a cluster without any of its arrays."""
    return World(
        nodes={node.metadata.name: node for node in cluster.nodes()},
        pods=[(info.pod, cluster.node_of(info.uid)) for info in cluster.pods()],
    )


class Decisions(RuleBasedStateMachine):
    """One cycle decides after every change; no count may be stale."""

    @initialize(nodes=st.lists(draw.nodes(), max_size=6))
    def begin(self, nodes: list[Node]) -> None:
        """Choose the first nodes."""
        self.services = Services()
        self.cluster = self.services.cluster
        framework = new_framework(REGISTRY, [NAME], services=self.services)
        self.cycle = Cycle(framework, self.cluster)
        self.number = 0
        for node in nodes:
            self.cluster.set_node(node)

    @rule(node=draw.nodes())
    def set_node(self, node: Node) -> None:
        """Add, relabel or taint a node."""
        self.cluster.set_node(node)

    @rule(name=st.sampled_from(draw.NODE_NAMES))
    def remove_node(self, name: str) -> None:
        """Remove a node; its pods stay a while."""
        self.cluster.remove_node(name)

    @rule(data=st.data(), name=st.sampled_from(draw.NODE_NAMES))
    def add_pod(self, data: st.DataObject, name: str) -> None:
        """See a pod bound."""
        self.number += 1
        self.cluster.add_pod(data.draw(draw.pods(f"p{self.number}", node=name, most=0)))

    @rule(which=st.integers(0, 99))
    def remove_pod(self, which: int) -> None:
        """See a pod go."""
        if (info := self._some_pod(which)) is not None:
            self.cluster.remove_pod(info.uid)

    @rule(which=st.integers(0, 99), data=st.data())
    def update_pod(self, which: int, data: st.DataObject) -> None:
        """See a pod relabelled, or asked to end."""
        info = self._some_pod(which)
        if info is not None and not self.cluster.is_assumed(info.uid):
            metadata = msgspec.structs.replace(
                data.draw(draw.metadata(info.uid)), namespace=info.pod.metadata.namespace
            )
            self.cluster.add_pod(PodInfo(msgspec.structs.replace(info.pod, metadata=metadata)))

    @rule(which=st.integers(0, 99))
    def forget(self, which: int) -> None:
        """Take back an assumed pod."""
        if (info := self._some_pod(which)) is not None:
            self.cluster.forget(info.uid)

    @rule(data=st.data())
    def decide(self, data: st.DataObject) -> None:
        """Decide for a pod as the slow form does, and assume it there."""
        self.number += 1
        info = data.draw(draw.pods(f"p{self.number}"))
        world = world_of(self.cluster)
        refusals = {name: world.refusal(info.pod, name) for name in world.nodes}
        feasible = [name for name, reason in refusals.items() if reason is None]
        decision = self.cycle.decide(queued(info), details=True)
        assert decision.details is not None, decision.message
        assert sorted(decision.details.feasible) == sorted(feasible)
        if decision.node_name:
            if len(feasible) > 1:
                found = decision.details.scores or {}
                own = {name: parts[NAME] for name, parts in found.items() if NAME in parts}
                assert own == (world.scores(info.pod, feasible) or {})
            self.cluster.assume(info, decision.row)
        elif world.nodes:
            assert decision.diagnosis is not None
            reasons = list(refusals.values())
            assert decision.diagnosis.reasons() == {
                reason: reasons.count(reason) for reason in reasons
            }

    @invariant()
    def counts_are_right(self) -> None:
        """Find the same by a recount."""
        if hasattr(self, "cluster"):
            self.cluster.check_invariants()

    def _some_pod(self, which: int) -> PodInfo | None:
        pods = sorted(self.cluster.pods(), key=lambda info: info.uid)
        return pods[which % len(pods)] if pods else None


TestDecisions = Decisions.TestCase
TestDecisions.settings = settings(max_examples=25, stateful_step_count=20)


@st.composite
def clusters(draw_from: st.DrawFn) -> tuple[Services, list[PodInfo]]:
    """Draw a cluster with at least one node, and the pods in it."""
    services = Services()
    names = draw_from(st.lists(st.sampled_from(draw.NODE_NAMES), min_size=1, unique=True))
    for name in names:
        services.cluster.set_node(draw_from(draw.nodes([name])))
    pods = [
        draw_from(draw.pods(f"e{number}", node=draw_from(st.sampled_from(names)), most=0))
        for number in range(draw_from(st.integers(0, 10)))
    ]
    for info in pods:
        services.cluster.add_pod(info)
    return services, pods


@settings(max_examples=50)
@given(setting=clusters(), pod=draw.pods("new"), data=st.data())
def test_each_row_of_a_dry_run_sees_its_own_changes_only(
    setting: tuple[Services, list[PodInfo]], pod: PodInfo, data: st.DataObject
) -> None:
    """Rows with pods added and removed answer as separate clusters would, also twice one node."""
    services, pods = setting
    cluster = services.cluster
    plugin = new_framework(REGISTRY, [NAME], services=services).plugin(NAME)
    assert isinstance(plugin, PodTopologySpread)
    state = moorage.CycleState()
    if plugin.pre_filter(state, pod.pod, cluster.view()) == moorage.SKIP:
        return
    rows = data.draw(st.lists(st.sampled_from(cluster.valid_rows.tolist()), max_size=5))
    names = [cluster.name(row) for row in rows]
    removed = [
        (position, info)
        for position, name in enumerate(names)
        for info in pods
        if info.pod.spec.node_name == name and data.draw(st.booleans())
    ]
    added = [
        (position, data.draw(draw.pods(f"a{position}-{number}", most=0)))
        for position in range(len(rows))
        for number in range(data.draw(st.integers(0, 3)))
    ]
    before = plugin.filter_nodes(state, cluster.view())
    view = cluster.view_of(np.array(rows, dtype=np.intp)).overlay(added=added, removed=removed)
    clone = state.clone()
    for change, hook in ((removed, plugin.remove_pods), (added, plugin.add_pods)):
        positions = np.array([position for position, _ in change], dtype=np.intp)
        hook(clone, view, positions, [info for _, info in change])
    codes = plugin.filter_nodes(clone, view)
    assert codes is not None
    assert before is not None
    world = world_of(cluster)
    for position, name in enumerate(names):
        its_own = world.with_changes(
            [(info.pod, name) for where, info in added if where == position],
            [(info.pod, name) for where, info in removed if where == position],
        )
        code = int(codes[position])
        reason = plugin.explain(code).message if code else None
        assert reason == its_own.refusal(pod.pod, name)
    # What was noted about the real cluster stays as it was.
    again = plugin.filter_nodes(state, cluster.view())
    assert again is not None
    assert before.tolist() == again.tolist()


@settings(max_examples=40)
@given(setting=clusters(), pod=draw.pods("new", most=0), data=st.data())
def test_pods_of_a_service_are_scored_by_the_built_in_constraints(
    setting: tuple[Services, list[PodInfo]], pod: PodInfo, data: st.DataObject
) -> None:
    """Nodes may lack the keys of the built-in constraints; lacking one is a domain of its own."""
    services, _ = setting
    cluster = services.cluster
    zones = st.sampled_from([None, "", "1", "2"])
    for node in list(cluster.nodes()):
        zone = data.draw(zones)
        labels = node.metadata.labels | ({} if zone is None else {ZONE: zone})
        metadata = msgspec.structs.replace(node.metadata, labels=labels)
        cluster.set_node(msgspec.structs.replace(node, metadata=metadata))
    labels = pod.pod.metadata.labels
    cluster.set_workload(
        Service(
            metadata=ObjectMeta(name="s", namespace=pod.pod.metadata.namespace),
            spec=MapSelectorSpec(selector=labels),
        )
    )
    world = world_of(cluster)
    if labels:  # a service that selects everything says nothing about this pod
        world.lenient = True
        selector = LabelSelector(match_labels=labels)
        world.defaults = tuple(
            TopologySpreadConstraint(
                max_skew=skew,
                topology_key=key,
                when_unsatisfiable="ScheduleAnyway",
                label_selector=selector,
            )
            for key, skew in (("kubernetes.io/hostname", 3), (ZONE, 5))
        )
    framework = new_framework(REGISTRY, [NAME], services=services)
    decision = Cycle(framework, cluster).decide(queued(pod), details=True)
    assert decision.details is not None
    names = list(world.nodes)
    assert sorted(decision.details.feasible) == sorted(names)
    if len(names) > 1:
        found = decision.details.scores or {}
        own = {name: parts[NAME] for name, parts in found.items() if NAME in parts}
        assert own == (world.scores(pod.pod, names) or {})
