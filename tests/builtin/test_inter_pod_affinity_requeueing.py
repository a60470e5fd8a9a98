"""Which events bring back a pod that InterPodAffinity refused.

Q1 to Q3 are reports from the field (research/decision-bugs.md); tests/data/requeue/ is recorded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.builtin.affinity import (
    NAME,
    away,
    cluster_of,
    decide,
    feasible,
    framework_of,
    labelled,
    namespace,
    near,
    pod,
    term,
)
from tests.objects import make_node

from moorage import ActionType, ClusterEvent, EventResource, PodInfo, QueueingHint
from moorage.cache import ClusterCache
from moorage.model import Affinity, Namespace, Node, Pod
from moorage.model.changes import node_changes, pod_changes
from moorage.model.events import describes
from moorage_builtin.inter_pod_affinity import InterPodAffinity

DB = labelled(app="db")
RED = labelled(team="red")
ADD, DELETE = ActionType.ADD, ActionType.DELETE
RECORDED = Path(__file__).parents[1] / "data" / "requeue" / "kube-scheduler-1.36.json"


class Event:
    """Something that happened, in the cluster and to whom it may concern."""

    def __init__(self, cluster: ClusterCache, waiting: PodInfo) -> None:
        self.cluster = cluster
        self.waiting = waiting
        plugin = framework_of(cluster).plugin(NAME)
        assert isinstance(plugin, InterPodAffinity)
        self.hints = plugin.events_to_register()

    def helps(self, resource: str, action: ActionType, before: object, after: object) -> bool:
        """Ask the hints that registered for such an event."""
        happened = ClusterEvent(resource, action)
        asked = [hint.hint for hint in self.hints if describes(hint.event, happened)]
        return any(
            hint is None or hint(self.waiting.pod, before, after) is QueueingHint.QUEUE
            for hint in asked
        )

    def pod_added(self, info: PodInfo) -> bool:
        """See a pod bound."""
        self.cluster.add_pod(info)
        return self.helps(EventResource.ASSIGNED_POD, ADD, None, info.pod)

    def pod_deleted(self, info: PodInfo) -> bool:
        """See a bound pod go."""
        self.cluster.remove_pod(info.uid)
        return self.helps(EventResource.ASSIGNED_POD, DELETE, info.pod, None)

    def pod_relabelled(self, info: PodInfo, **labels: str) -> bool:
        """See a bound pod's labels change."""
        metadata = msgspec.structs.replace(info.pod.metadata, labels=labels)
        after = PodInfo(msgspec.structs.replace(info.pod, metadata=metadata))
        self.cluster.add_pod(after)
        return self.helps(EventResource.ASSIGNED_POD, pod_changes(info, after), info.pod, after.pod)

    def node_set(self, node: Node) -> bool:
        """See a node come or change."""
        row = self.cluster.row(node.metadata.name)
        before = None if row is None else self.cluster.node(row)
        self.cluster.set_node(node)
        action = ADD if before is None else node_changes(before, node)
        return self.helps(EventResource.NODE, action, before, node)

    def node_deleted(self, name: str) -> bool:
        """See a node go, its pods still known."""
        row = self.cluster.row(name)
        assert row is not None
        before = self.cluster.node(row)
        self.cluster.remove_node(name)
        return self.helps(EventResource.NODE, DELETE, before, None)

    def namespace_set(self, after: Namespace) -> bool:
        """See a namespace come or change."""
        before = self.cluster.namespaces.get(after.metadata.name)
        self.cluster.set_namespace(after)
        action = ADD if before is None else ActionType.UPDATE_OTHER
        return self.helps(EventResource.NAMESPACE, action, before, after)

    def namespace_deleted(self, name: str) -> bool:
        """See a namespace go."""
        before = self.cluster.namespaces[name]
        self.cluster.remove_namespace(name)
        return self.helps(EventResource.NAMESPACE, DELETE, before, None)


def refused(cluster: ClusterCache, waiting: PodInfo) -> Event:
    """Make sure that a pod is refused, and wait for an event."""
    assert feasible(cluster, waiting) == []
    return Event(cluster, waiting)


# Recorded events


def recorded() -> list[Any]:
    """Return the recorded cases in which only this plugin refused the pod."""
    cases = msgspec.json.decode(RECORDED.read_bytes())
    mine = [case for case in cases if "affinity rules" in (case["messageBefore"] or "")]
    return [pytest.param(case, id=case["name"]) for case in mine]


@pytest.mark.parametrize("case", recorded())
def test_recorded_events_retry_as_recorded(case: dict[str, Any]) -> None:
    """But what reaches another namespace by its labels, which 1.36 overlooks (Q1)."""
    cluster = ClusterCache()
    objects = case["objects"]
    for item in objects.get("namespaces", ()):
        cluster.set_namespace(msgspec.convert(item, Namespace))
    for item in objects.get("nodes", ()):
        cluster.set_node(msgspec.convert(item, Node))
    for item in objects.get("pods", ()):
        cluster.add_pod(_as_bound(item))
    waiting = PodInfo(msgspec.convert(case["pod"], Pod))
    happened = refused(cluster, waiting)

    helps = _happens(happened, case["event"])

    retried = case["retried"] or "namespace-selector" in case["name"]
    assert helps == retried
    assert bool(feasible(cluster, waiting)) == retried
    if case["boundTo"]:
        assert decide(cluster, waiting).node_name == case["boundTo"]


def _as_bound(item: dict[str, Any]) -> PodInfo:
    metadata = {"uid": item["metadata"]["name"]} | item["metadata"]
    return PodInfo(msgspec.convert(item | {"metadata": metadata}, Pod))


def _happens(happened: Event, event: dict[str, Any]) -> bool:
    if event["op"] == "create":
        item = event["object"]
        if event["resource"] == "pods":
            return happened.pod_added(_as_bound(item))
        return happened.node_set(msgspec.convert(item, Node))
    name = event["name"]
    if event["resource"] == "nodes":
        labels = event["patch"]["metadata"]["labels"]
        row = happened.cluster.row(name)
        assert row is not None
        before = happened.cluster.node(row)
        return happened.node_set(make_node(name, labels=before.metadata.labels | labels))
    info = happened.cluster.pod(name)
    assert info is not None
    if event["op"] == "delete":
        return happened.pod_deleted(info)
    return happened.pod_relabelled(info, **event["patch"]["metadata"]["labels"])


# Reports from the field


@pytest.mark.parametrize("team", ["red", "blue"])
def test_q1_a_pod_in_a_selected_namespace_brings_back_the_one_that_wants_it(team: str) -> None:
    """And a pod in a namespace that is not selected does not."""
    cluster = cluster_of(["n1"], [], [namespace("a", team=team)])
    waiting = pod(near(term(DB, namespace_selector=RED)), namespace="b")

    happened = refused(cluster, waiting)

    assert happened.pod_added(pod(node="n1", namespace="a", app="db")) == (team == "red")


def test_q1_a_blocker_in_a_selected_namespace_brings_back_the_other_when_it_goes() -> None:
    """Deleted or relabelled."""
    for change in ("delete", "relabel"):
        blocker = pod(node="n1", namespace="a", app="db")
        cluster = cluster_of(["n1"], [blocker], [namespace("a", team="red")])
        waiting = pod(away(term(DB, namespace_selector=RED)), namespace="b")
        happened = refused(cluster, waiting)

        if change == "delete":
            assert happened.pod_deleted(blocker)
        else:
            assert happened.pod_relabelled(blocker, app="web")


def test_q2_the_last_pod_of_a_series_makes_the_next_one_the_first_when_it_goes() -> None:
    """It was on a node that takes no more pods; elsewhere the waiting one starts anew."""
    own = near(term(DB))
    last = pod(own, node="n1", app="db")
    cluster = cluster_of({"n1": {"host": "n1"}, "n2": {"host": "n2"}}, [last])
    waiting = pod(own, app="db")
    assert feasible(cluster, waiting) == ["n1"]

    assert Event(cluster, waiting).pod_deleted(last)
    assert feasible(cluster, waiting) == ["n1", "n2"]


def test_q2_such_a_pod_may_also_be_relabelled() -> None:
    """It is no longer of the series, wherever it stays."""
    own = near(term(DB))
    last = pod(own, node="n1", app="db")

    assert Event(cluster_of(["n1"], [last]), pod(own, app="db")).pod_relabelled(last, app="x")


def test_a_pod_that_could_not_be_the_first_waits_for_one_to_come() -> None:
    """Where others go, it gains nothing."""
    there = pod(node="n1", app="db")

    assert not Event(cluster_of(["n1"], [there]), pod(near(term(DB)))).pod_deleted(there)


def test_q3_a_pod_whose_own_term_kept_the_other_out_brings_it_back_when_it_goes() -> None:
    """The waiting pod has no terms at all."""
    guard = pod(away(term(DB)), node="n1")

    assert refused(cluster_of(["n1"], [guard]), pod(app="db")).pod_deleted(guard)


def test_a_guard_of_others_helps_nobody_when_it_goes() -> None:
    """Its term does not mean the waiting pod."""
    guard = pod(away(term(labelled(app="web"))), node="n1")

    assert not Event(cluster_of(["n1"], [guard]), pod(app="db")).pod_deleted(guard)


def test_one_of_two_blockers_may_be_enough() -> None:
    """A pod that broke two terms breaks but one now."""
    both = away(term(DB), term(labelled(tier="back"), "zone"))
    blocker = pod(node="n1", app="db", tier="back")
    cluster = cluster_of({"n1": {"host": "n1", "zone": "z"}}, [blocker])

    assert refused(cluster, pod(both)).pod_relabelled(blocker, app="web", tier="back")


def test_own_labels_that_change_are_worth_another_try() -> None:
    """Terms of others may no longer mean the pod."""
    waiting = pod(app="db")
    metadata = msgspec.structs.replace(waiting.pod.metadata, labels={"app": "web"})
    after = msgspec.structs.replace(waiting.pod, metadata=metadata)
    guard = pod(away(term(DB)), node="n1")

    happened = refused(cluster_of(["n1"], [guard]), waiting)

    assert happened.helps(
        EventResource.UNSCHEDULED_POD, ActionType.UPDATE_POD_LABEL, waiting.pod, after
    )


# Nodes


@pytest.mark.parametrize(
    ("waiting", "there"),
    [
        pytest.param(pod(away(term(DB, "zone"))), pod(node="n1", app="db"), id="own term"),
        pytest.param(pod(app="db"), pod(away(term(DB, "zone")), node="n1"), id="term of another"),
    ],
)
def test_a_pod_kept_away_comes_back_for_nodes_outside_of_the_domain(
    waiting: PodInfo, there: PodInfo
) -> None:
    """A new node, one that leaves the domain, and one that takes the blocker along."""

    def world() -> Event:
        labels = {"n1": {"zone": "a"}, "n2": {"zone": "a"}}
        return refused(cluster_of(labels, [there]), waiting)

    assert world().node_set(make_node("n3", labels={"zone": "b"}))
    assert world().node_set(make_node("n2", labels={"zone": "b"}))
    assert world().node_set(make_node("n2"))
    assert world().node_set(make_node("n1"))
    assert world().node_deleted("n1")
    assert not world().node_set(make_node("n1", labels={"zone": "a", "disk": "ssd"}))


def test_a_pod_that_seeks_others_comes_back_for_nodes_that_join_a_domain() -> None:
    """By a label that is new or has another value; other labels do not matter."""
    cluster = cluster_of({"n1": {}, "n2": {"zone": "a"}}, [pod(node="n1", app="db")])
    happened = refused(cluster, pod(near(term(DB, "zone"))))

    assert not happened.node_set(make_node("n1", labels={"disk": "ssd"}))
    assert happened.node_set(make_node("n1", labels={"zone": "a"}))
    assert happened.node_set(make_node("n3", labels={"zone": "b"}))
    assert not happened.node_set(make_node("n4"))


def test_a_pod_may_be_the_first_once_a_node_takes_the_others_out_of_its_domains() -> None:
    """The pods are there still, and in no domain."""
    own = near(term(DB, "zone"))
    cluster = cluster_of({"n1": {"zone": "a"}}, [pod(own, node="n1", app="db")])

    assert Event(cluster, pod(own, app="db")).node_deleted("n1")


# Namespaces


def test_a_namespace_that_begins_to_be_selected_brings_back_who_seeks_its_pods() -> None:
    """By new labels, or by being new."""

    def world(team: str) -> Event:
        there = pod(node="n1", namespace="a", app="db")
        cluster = cluster_of(["n1"], [there], [namespace("a", team=team)] if team else [])
        return refused(cluster, pod(near(term(DB, namespace_selector=RED)), namespace="b"))

    assert world("blue").namespace_set(namespace("a", team="red"))
    assert world("").namespace_set(namespace("a", team="red"))
    assert not world("blue").namespace_set(namespace("a", team="green"))


def test_a_namespace_that_ends_to_be_selected_brings_back_who_avoids_its_pods() -> None:
    """By other labels, or by being deleted."""

    def world() -> Event:
        there = pod(node="n1", namespace="a", app="db")
        cluster = cluster_of(["n1"], [there], [namespace("a", team="red")])
        return refused(cluster, pod(away(term(DB, namespace_selector=RED)), namespace="b"))

    assert world().namespace_set(namespace("a", team="blue"))
    assert world().namespace_deleted("a")
    assert not world().namespace_set(namespace("a", team="red", size="large"))


def test_a_series_starts_anew_where_its_namespaces_are_no_longer_selected() -> None:
    """The pods there are not meant any more, and the waiting one may be the first."""
    own = near(term(DB, namespaces=("b",), namespace_selector=RED))
    there = pod(node="n1", namespace="a", app="db")
    cluster = cluster_of(["n1"], [there], [namespace("a", team="red"), namespace("b")])

    assert Event(cluster, pod(own, namespace="b", app="db")).namespace_set(namespace("a"))


def test_the_pods_own_namespace_decides_whether_terms_of_others_mean_it() -> None:
    """Its labels changed: another try is worth while."""
    guard = pod(away(term(DB, namespace_selector=RED)), node="n1")
    cluster = cluster_of(["n1"], [guard], [namespace("b", team="red")])
    happened = refused(cluster, pod(namespace="b", app="db"))

    assert happened.namespace_set(namespace("b"))
    assert not happened.namespace_set(namespace("other"))


def test_terms_are_compiled_anew_when_the_waiting_pod_changes() -> None:
    """A hint never answers for an older version of the pod."""
    cluster = cluster_of(["n1"])
    waiting = pod(near(term(DB)))
    happened = Event(cluster, waiting)
    assert not happened.pod_added(pod(node="n1", app="web"))

    wanted = Affinity(pod_affinity=near(term(labelled(app="web"))).pod_affinity)
    spec = msgspec.structs.replace(waiting.pod.spec, affinity=wanted)
    happened.waiting = PodInfo(msgspec.structs.replace(waiting.pod, spec=spec))

    assert happened.pod_added(pod(node="n1", app="web"))
