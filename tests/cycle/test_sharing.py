"""What pods share must change nothing: a cycle that keeps answers, and cycles that keep none."""

from __future__ import annotations

import msgspec
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests import strategies as draw
from tests.cycle.kinds_of_plugins import KINDS
from tests.cycle.plain_cycle import Outcome, plain_cycle
from tests.objects import queued

from moorage import Code, PodInfo, Services, discover
from moorage.cycle import Cycle, Decision
from moorage.framework.assembly import new_framework
from moorage.framework.host import PluginSource, Registry
from moorage.framework.points import POINTS, hooks_of, points_of
from moorage.framework.profile import Framework
from moorage.model import Node, Pod, PodSpec
from moorage.queueing.nominator import Nominator

BUILT_IN = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "NodeDeclaredFeatures",
)
REGISTRY = Registry(
    [
        *discover().sources(),
        *(
            PluginSource(name=name, distribution="kinds", version="1", plugin=plugin)
            for name, plugin in KINDS.items()
        ),
    ]
)
MOST_KINDS_OF_PODS = 4
labels_of_pods = st.dictionaries(
    st.sampled_from(["odd", "limit", "avoids", "dislikes", "names"]), st.just("?"), max_size=3
).flatmap(
    lambda keys: st.fixed_dictionaries(
        {
            key: {
                "odd": st.just("yes"),
                "limit": st.sampled_from(["1", "2", "4"]),
                "avoids": st.sampled_from(["a", "b"]),
                "dislikes": st.just("yes"),
                "names": st.sampled_from(["n0,n1", "n1,n9", "first", "refuse", "n8"]),
            }[key]
            for key in keys
        }
    )
)
simple_specs = st.builds(
    PodSpec,
    priority=st.sampled_from([None, 0, 10]),
    containers=st.builds(lambda spec: spec.containers, draw.pod_specs()),
)


def assemble(order: list[str], weights: dict[str, int]) -> Framework:
    """Assemble a profile of plugins in an order of their own."""
    points: dict[str, list[tuple[str, int]]] = {point: [] for point in POINTS}
    for name in order:
        for point in points_of(hooks_of(REGISTRY.load(name))):
            points[point].append((name, weights[name]))
    services = Services(generator=np.random.default_rng(1))  # for examples that are tried again
    return new_framework(REGISTRY, points, services=services)


class SharingChangesNothing(RuleBasedStateMachine):
    """Change the cluster at will; ask for pods of few kinds, so that they share answers."""

    @initialize(
        order=st.permutations([*BUILT_IN, *KINDS]),
        count=st.integers(1, len(BUILT_IN) + len(KINDS)),
        weights=st.fixed_dictionaries({name: st.integers(1, 3) for name in (*BUILT_IN, *KINDS)}),
        budget=st.sampled_from([0, 20_000, 64 * 1024 * 1024]),
        kinds=st.lists(
            st.tuples(simple_specs | draw.pod_specs(), labels_of_pods),
            min_size=1,
            max_size=MOST_KINDS_OF_PODS,
        ),
        nodes=st.lists(draw.nodes(), max_size=8),
    )
    def begin(
        self,
        order: list[str],
        count: int,
        weights: dict[str, int],
        budget: int,
        kinds: list[tuple[PodSpec, dict[str, str]]],
        nodes: list[Node],
    ) -> None:
        """Choose plugins, pods and the first nodes."""
        self.framework = assemble(order[:count], weights)
        self.cluster = self.framework.services.cluster
        self.nominator = Nominator()
        self.kept = Cycle(self.framework, self.cluster, nominator=self.nominator, budget=budget)
        self.kinds = kinds
        self.number = 0
        self.strangers = 0
        for node in nodes:
            self.cluster.set_node(node)

    # Changes

    @rule(node=draw.nodes())
    def set_node(self, node: Node) -> None:
        """Add or change a node."""
        self.cluster.set_node(node)

    @rule(name=st.sampled_from(draw.NODE_NAMES))
    def remove_node(self, name: str) -> None:
        """Remove a node, if it is there."""
        self.cluster.remove_node(name)

    @rule(kind=st.integers(0, 9), name=st.sampled_from([*draw.NODE_NAMES, "n8", "n9"]))
    def add_bound_pod(self, kind: int, name: str) -> None:
        """See a pod that somebody bound, maybe to a node that is not known yet."""
        self.cluster.add_pod(self.pod(kind, node=name))

    @rule(which=st.integers(0, 99))
    def remove_pod(self, which: int) -> None:
        """See a pod go."""
        pods = sorted(self.cluster.pods(), key=lambda info: info.uid)
        if pods:
            self.cluster.remove_pod(pods[which % len(pods)].uid)

    @rule(count=st.sampled_from([60, 70]))
    @precondition(lambda self: self.strangers < 2)
    def add_pods_on_unknown_nodes(self, count: int) -> None:
        """Make the arrays grow, without any node that comes or goes."""
        self.strangers += 1
        for number in range(count):
            self.cluster.add_pod(self.pod(0, node=f"stranger-{self.strangers}-{number}"))

    @rule(kind=st.integers(0, 9), name=st.sampled_from(draw.NODE_NAMES))
    def nominate(self, kind: int, name: str) -> None:
        """Expect a pod on a node."""
        self.nominator.nominate(self.pod(kind), name)

    @rule(which=st.integers(0, 9))
    def end_nomination(self, which: int) -> None:
        """Expect a pod no longer."""
        nominations = [nomination.info.uid for nomination in self.nominator]
        if nominations:
            self.nominator.remove(nominations[which % len(nominations)])

    @rule()
    def take_back_all_assumed(self) -> None:
        """Forget whatever was assumed."""
        for info in list(self.cluster.pods()):
            self.cluster.forget(info.uid)

    # Questions

    @rule(
        kind=st.integers(0, 9),
        then=st.sampled_from(["assume", "assume", "confirm", "leave"]),
        details=st.booleans(),
    )
    def decide(self, kind: int, then: str, details: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
        """Decide for a pod, check, and put it where the decision says."""
        info = self.pod(kind)
        if not details:
            # The fast path, which looks at nothing that is not needed, must leave all in order.
            self.kept.decide(queued(info))
        decision = self.kept.decide(queued(info), details=True)
        fresh = Cycle(self.framework, self.cluster, nominator=self.nominator)
        self.check_same(decision, fresh.decide(queued(info), details=True))
        self.check_plain(
            decision,
            plain_cycle(self.framework, self.cluster, info, self.nominator.expected_on(info)),
        )
        if decision.node_name and then != "leave":
            placed = info.on_node(decision.node_name)
            self.cluster.assume(placed, decision.row)
            if then == "confirm":
                self.cluster.add_pod(placed)

    @invariant()
    def cluster_is_sound(self) -> None:
        """Check what the answers are about."""
        if hasattr(self, "cluster"):
            self.cluster.check_invariants()

    # Checks

    def check_same(self, kept: Decision, fresh: Decision) -> None:
        """Compare everything but the choice among equals."""
        assert kept.verdict == fresh.verdict
        assert kept.verdict.code is not Code.ERROR, kept.verdict.message
        assert kept.details == fresh.details
        assert kept.message == fresh.message
        assert kept.feasible_count == fresh.feasible_count
        assert kept.evaluated_count == fresh.evaluated_count
        if kept.diagnosis is not None:
            assert fresh.diagnosis is not None
            assert kept.diagnosis.rejecting_plugins == fresh.diagnosis.rejecting_plugins
            assert kept.diagnosis.pending_plugins == fresh.diagnosis.pending_plugins
            for position in range(len(fresh.diagnosis.nodes)):
                assert kept.diagnosis.verdict(position) == fresh.diagnosis.verdict(position)

    def check_plain(self, kept: Decision, plain: Outcome) -> None:
        """Compare with every plugin asked about every node."""
        assert kept.details is not None
        if not self.cluster.node_count:
            assert kept.message == "no nodes available to schedule pods"
            return
        if plain.pre_filter is not None:
            assert kept.message == (
                f"0/{self.cluster.node_count} nodes are available: {plain.pre_filter.message}."
            )
            return
        assert list(kept.details.feasible) == plain.feasible
        assert kept.feasible_count == len(plain.feasible)
        if plain.scores is not None:
            assert kept.details.scores is not None
            for name, scores in plain.scores.items():
                assert kept.details.scores[name] == scores, name
        assert kept.details.scores == plain.scores
        if plain.feasible:
            assert kept.node_name in plain.best
            return
        assert kept.diagnosis is not None
        nodes = kept.diagnosis.nodes
        for position in range(len(nodes)):
            verdict = kept.diagnosis.verdict(position)
            name = nodes.name(position)
            if name in plain.refusals:
                assert verdict == plain.refusals[name], name
            else:
                assert verdict.message.startswith("node(s) didn't satisfy plugin(s) ["), name

    def pod(self, kind: int, *, node: str = "") -> PodInfo:
        """Make another pod of one of the few kinds."""
        self.number += 1
        spec, labels = self.kinds[kind % len(self.kinds)]
        if node:
            spec = msgspec.structs.replace(spec, node_name=node)
        uid = f"p{self.number}"
        pod = Pod(spec=spec)
        metadata = msgspec.structs.replace(
            pod.metadata, name=uid, namespace="ns", uid=uid, labels=labels
        )
        return PodInfo(msgspec.structs.replace(pod, metadata=metadata))


SharingChangesNothing.TestCase.settings = settings(max_examples=30, stateful_step_count=30)
TestSharingChangesNothing = SharingChangesNothing.TestCase
