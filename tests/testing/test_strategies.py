"""What the strategies draw is valid, and the host can work with it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.model import Node, Pod, PodInfo
from moorage.testing import Cluster, schedule, strategies


@settings(max_examples=30)
@given(strategies.clusters(), strategies.pods())
def test_the_default_profile_decides_about_any_of_it(cluster: Cluster, pod: Pod) -> None:
    """Without a fault; every node passes or has a reason."""
    decision = schedule(cluster, pod, plugins=["NodeResourcesFit", "NodeAffinity", "NodePorts"])

    assert decision.feasible | decision.reasons.keys() == cluster.nodes.keys()
    assert (decision.node in decision.feasible) == bool(decision.feasible)


@settings(max_examples=50)
@given(strategies.clusters())
def test_clusters_hold_together(cluster: Cluster) -> None:
    """Pods are on nodes that are there."""
    cluster.cache.check_invariants()
    assert {pod.spec.node_name for pod in cluster.pods.values()} <= cluster.nodes.keys()


@given(strategies.pods(priority=st.just(5), node=st.just("n1")), strategies.nodes())
def test_what_is_drawn_can_be_said_more_closely(pod: Pod, node: Node) -> None:
    """Fields are the arguments of `make_pod`."""
    assert PodInfo(pod).priority == 5
    assert pod.spec.node_name == "n1"
    assert node.metadata.labels[strategies.HOSTNAME] == node.metadata.name
