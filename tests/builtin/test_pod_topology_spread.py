"""PodTopologySpread by example: reports from the field, words, scores, defaults, sharing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import pytest
from tests.builtin.spreading import (
    HOST,
    NAME,
    REASON,
    REGISTRY,
    WEB,
    cluster_of,
    decide,
    ended,
    feasible,
    framework_of,
    owned,
    scores,
    service,
    spread,
    web,
)
from tests.objects import make_node, make_pod, queued, taint

import moorage
from moorage import PodInfo
from moorage.cycle import Cycle
from moorage.framework.assembly import new_framework
from moorage.model import (
    LabelSelector,
    ObjectMeta,
    ReplicaSet,
    ReplicationController,
    Workload,
)
from moorage.model.workloads import LabelSelectorSpec, MapSelectorSpec
from moorage_builtin.pod_topology_spread import PodTopologySpread

# Reports from the field: decision-bugs.md, topology spread


def test_t1_each_constraint_on_one_key_has_counts_of_its_own() -> None:
    """T1: two constraints on the same key with different selectors do not share counts."""
    cluster = cluster_of({"n1": "a", "n2": "b"})
    cluster.add_pod(make_pod("old", node="n1", labels={"app": "web"}))
    cluster.add_pod(make_pod("db", node="n2", labels={"app": "db"}))
    db = LabelSelector(match_labels={"app": "db"})

    both = decide(cluster, web(spread(), spread(selector=db)))
    swapped = decide(cluster, web(spread(selector=db), spread()))

    # n1 has too many of web; of db, which the pod is not, one more than n1 is no obstacle.
    assert feasible(both) == feasible(swapped) == ["n2"]


def test_t2_nodes_that_the_pods_affinity_excludes_do_not_count() -> None:
    """T2: zone a has 0 where its only pods are on a node that the pod cannot use."""
    cluster = cluster_of({"n2": "a", "n3": "b"}, {"n3": 1}, disk="ssd")
    cluster.set_node(make_node("n1", labels={HOST: "n1", "zone": "a", "disk": "hdd"}))
    for number in range(2):
        cluster.add_pod(make_pod(f"x{number}", node="n1", labels={"app": "web"}))

    honored = decide(cluster, web(spread(), node_selector={"disk": "ssd"}))
    ignored = decide(
        cluster, web(spread(node_affinity_policy="Ignore"), node_selector={"disk": "ssd"})
    )

    # The plugin is alone here: n1 itself is NodeAffinity's to refuse.
    assert feasible(honored) == ["n1", "n2"]
    assert feasible(ignored) == ["n3"]


@pytest.mark.parametrize(
    ("policy", "running"),
    [(None, 3), ("Ignore", 3), ("Honor", 7)],
    ids=["default", "ignore", "honor"],
)
def test_t3_a_tainted_node_is_a_domain_unless_taints_are_honored(
    policy: str | None, running: int
) -> None:
    """T3: of 7 replicas over 3 workers and a tainted node, 3 run, or all where taints count."""
    cluster = cluster_of({"w1": "a", "w2": "a", "w3": "a"})
    cluster.set_node(make_node("control", labels={HOST: "control"}, taints=[taint("role")]))
    framework = new_framework(
        REGISTRY, [NAME, "TaintToleration"], services=moorage.Services(cluster=cluster)
    )
    cycle = Cycle(framework, cluster)
    found: list[str] = []
    for _ in range(7):
        info = web(spread(HOST, node_taints_policy=policy))
        decision = cycle.decide(queued(info))
        if decision.node_name:
            found.append(decision.node_name)
            cluster.assume(info, decision.row)

    assert len(found) == running
    assert max(found.count(name) for name in found) - min(found.count(name) for name in found) <= 1


def test_t4_a_key_that_no_node_has_cannot_be_helped_by_preemption() -> None:
    """T4: the pod waits, with a code that keeps preemption from being tried."""
    decision = decide(cluster_of({"n1": None, "n2": None}), web(spread()))

    assert decision.message == f"0/2 nodes are available: 2 {REASON} (missing required label)."
    assert decision.diagnosis is not None
    assert decision.diagnosis.verdict(0).code is moorage.Code.UNSCHEDULABLE_AND_UNRESOLVABLE


@pytest.mark.parametrize(
    ("min_domains", "passed"), [(None, ["n1", "n2"]), (2, ["n1", "n2"]), (3, [])]
)
def test_t7_with_fewer_domains_than_wanted_the_fewest_pods_are_none(
    min_domains: int | None, passed: list[str]
) -> None:
    """T7: too few domains make the global minimum 0, and do not refuse by themselves."""
    cluster = cluster_of({"n1": "a", "n2": "b"}, {"n1": 1, "n2": 1})
    empty = cluster_of({"n1": "a", "n2": "b"})

    assert feasible(decide(cluster, web(spread(min_domains=min_domains)))) == passed
    assert feasible(decide(empty, web(spread(min_domains=min_domains)))) == ["n1", "n2"]


# Filtering


def test_a_domain_with_too_many_pods_is_refused_and_preemption_may_help() -> None:
    """One more than maxSkew above the emptiest domain is too many."""
    cluster = cluster_of({"n1": "a", "n2": "b"}, {"n1": 1})
    cluster.set_node(make_node("n3", labels={HOST: "n3"}))

    decision = decide(cluster, web(spread()))

    assert feasible(decision) == ["n2"]
    cluster.remove_node("n2")
    cluster.add_pod(make_pod("more", node="n1", labels={"app": "web"}))
    full = decide(cluster, web(spread(min_domains=2)))
    assert full.message == (
        f"0/2 nodes are available: 1 {REASON}, 1 {REASON} (missing required label)."
    )
    assert full.diagnosis is not None
    assert full.diagnosis.verdict(0).code is moorage.Code.UNSCHEDULABLE


def test_a_pod_that_its_own_selector_does_not_match_adds_nothing() -> None:
    """Self-match: only a pod that is counted itself can tip the balance."""
    cluster = cluster_of({"n1": "a", "n2": "b"}, {"n1": 1})

    assert feasible(decide(cluster, web(spread(), labels={"app": "other"}))) == ["n1", "n2"]
    assert feasible(decide(cluster, web(spread()))) == ["n2"]


def test_pods_that_are_ending_are_not_counted() -> None:
    """A pod with a deletionTimestamp makes room before it is gone."""
    cluster = cluster_of({"n1": "a", "n2": "b"}, {"n1": 1})
    (info,) = cluster.pods()
    cluster.add_pod(ended(info))

    assert feasible(decide(cluster, web(spread()))) == ["n1", "n2"]


def test_pods_of_other_namespaces_are_not_counted() -> None:
    """A constraint looks at the pod's own namespace only."""
    cluster = cluster_of({"n1": "a", "n2": "b"}, {"n1": 1})
    info = web(spread())
    metadata = msgspec.structs.replace(info.pod.metadata, namespace="other")

    decision = decide(cluster, PodInfo(msgspec.structs.replace(info.pod, metadata=metadata)))

    assert feasible(decision) == ["n1", "n2"]


def test_match_label_keys_count_pods_of_the_same_revision_only() -> None:
    """A label that the pod lacks is left out of the comparison."""
    cluster = cluster_of({"n1": "a", "n2": "b"})
    cluster.add_pod(make_pod("old", node="n1", labels={"app": "web", "rev": "1"}))
    constraint = spread(match_label_keys=("rev", "absent"))

    def passed(rev: str) -> list[str]:
        return feasible(decide(cluster, web(constraint, labels={"app": "web", "rev": rev})))

    assert passed("1") == ["n2"]
    assert passed("2") == ["n1", "n2"]


def test_expected_pods_are_counted_on_their_node() -> None:
    """Pods nominated to a node fill its domain before they are there."""
    cluster = cluster_of({"n1": "a", "n2": "b"})
    expected = web(priority=10)

    class Nominated:
        def at_least(self, priority: int, *, besides: str) -> Mapping[str, Sequence[PodInfo]]:
            del priority, besides
            return {"n1": [expected]}

    cycle = Cycle(framework_of(cluster), cluster, nominator=Nominated())

    assert feasible(cycle.decide(queued(web(spread())), details=True)) == ["n2"]
    # An empty selector counts none that is there (1.36), but these.
    everybody = spread(selector=LabelSelector())
    assert feasible(decide(cluster, web(everybody))) == ["n1", "n2"]
    assert feasible(cycle.decide(queued(web(everybody)), details=True)) == ["n2"]


def test_imagining_an_ending_pod_away_makes_room_once_more() -> None:
    """It was not counted while it was there: 1.36 takes it off its domain all the same."""
    cluster = cluster_of({"n1": "a", "n2": "b"}, {"n1": 2})
    gone = ended(next(iter(cluster.pods())))
    cluster.add_pod(gone)
    plugin = framework_of(cluster).plugin(NAME)
    assert isinstance(plugin, PodTopologySpread)
    state = moorage.CycleState()
    pod = web(spread()).pod
    assert plugin.pre_filter(state, pod, cluster.view()) is None
    row = np.array([cluster.row("n1")], dtype=np.intp)
    view = cluster.view_of(row).overlay(added=[], removed=[(0, gone)])

    refused = plugin.filter_nodes(state, cluster.view_of(row))
    plugin.remove_pods(state, view, np.zeros(1, dtype=np.intp), [gone])
    passed = plugin.filter_nodes(state, view)

    assert refused is not None
    assert passed is not None
    assert (refused.tolist(), passed.tolist()) == ([1], [0])


# Scoring


def test_soft_constraints_prefer_the_emptier_domain() -> None:
    """Costs are pods times ln(domains + 2) plus maxSkew - 1, rounded."""
    cluster = cluster_of({"n1": "a", "n2": "b", "n3": None}, {"n1": 3, "n2": 1})

    decision = decide(cluster, web(spread(soft=True, max_skew=2)))

    # Costs: 3 x ln 4 + 1 = 5.16 and 1 x ln 4 + 1 = 2.39; a node without the key scores nothing.
    assert scores(decision) == {"n1": 100 * (5 + 2 - 5) // 5, "n2": 100, "n3": 0}


def test_all_nodes_score_highest_where_nothing_is_there() -> None:
    """Without a pod that matches there is nothing to choose by."""
    decision = decide(cluster_of({"n1": "a", "n2": "b"}), web(spread(soft=True)))

    assert scores(decision) == {"n1": 100, "n2": 100}


# Default constraints


@pytest.mark.parametrize(
    ("workload", "kind"),
    [
        pytest.param(service({"app": "web"}), "", id="service"),
        pytest.param(
            ReplicationController(
                metadata=ObjectMeta(name="owner", namespace="ns"),
                spec=MapSelectorSpec(selector={"app": "web"}),
            ),
            "ReplicationController",
            id="replication-controller",
        ),
        pytest.param(
            ReplicaSet(
                metadata=ObjectMeta(name="owner", namespace="ns"),
                spec=LabelSelectorSpec(selector=WEB),
            ),
            "ReplicaSet",
            id="replica-set",
        ),
    ],
)
def test_pods_that_something_selects_are_spread_by_default(workload: Workload, kind: str) -> None:
    """Hosts without a zone are scored, too."""
    cluster = cluster_of({"n1": None, "n2": None}, {"n1": 2})
    cluster.set_workload(workload)

    assert scores(decide(cluster, owned(web(), kind)))["n2"] == 100
    assert scores(decide(cluster, owned(web(), kind)))["n1"] < 100
    assert scores(decide(cluster, make_pod("lone", labels={"app": "other"}))) == {}


@pytest.mark.parametrize("selector", [None, {}, {"app": "other"}])
def test_a_service_that_says_nothing_of_a_pod_spreads_nothing(
    selector: dict[str, str] | None,
) -> None:
    """No selector selects nothing, an empty one says nothing, another one is not the pod's."""
    cluster = cluster_of({"n1": "a", "n2": "b"}, {"n1": 2})
    cluster.set_workload(service(selector))

    assert scores(decide(cluster, web())) == {}


def test_listed_default_constraints_filter_and_need_all_keys() -> None:
    """With defaultingType List, nodes without the key are refused as if the pod had asked."""
    cluster = cluster_of({"n1": "a", "n2": "b", "n3": None}, {"n1": 1})
    cluster.set_workload(service({"app": "web"}))
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    args = {"defaultingType": "List", "defaultConstraints": [constraint]}

    assert feasible(decide(cluster, web(), args)) == ["n2"]
    assert feasible(decide(cluster, web(spread(soft=True)), args)) == ["n1", "n2", "n3"]


# Sharing


def test_only_pods_without_any_constraint_are_signed() -> None:
    """A pod that a service selects later is no longer like others."""
    cluster = cluster_of({"n1": "a"})
    plugin = framework_of(cluster).plugin(NAME)
    assert isinstance(plugin, PodTopologySpread)

    assert plugin.sign(web().pod) == plugin.sign(make_pod("p").pod) == ()
    assert plugin.sign(web(spread()).pod) is None
    assert plugin.sign(web(spread(soft=True)).pod) is None
    cluster.set_workload(service({"app": "web"}))
    assert plugin.sign(web().pod) is None
    assert plugin.sign(make_pod("p").pod) == ()
