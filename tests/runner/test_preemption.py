"""Preemption against an API server over HTTP: victims deleted, and the preemptor bound."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.runner.test_runner import Pinned, comparable, eventually

import moorage
from moorage.queueing import Place
from moorage_builtin.default_preemption import DefaultPreemption

if TYPE_CHECKING:
    from tests.runner.conftest import Cluster


AT_ONCE: dict[str, Any] = {"terminationGracePeriodSeconds": 0}
"""Nobody here plays the kubelet: pods with time to end would stay."""


def priority_class(cluster: Cluster, name: str, value: int) -> None:
    """Create a priority class."""
    cluster.store.create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
    )


def plainer(body: dict[str, Any]) -> dict[str, Any]:
    """Leave out the pod's other conditions, and who preempted it where."""
    text = json.dumps(body)
    if "$setElementOrder/conditions" in text:
        order = body["status"]["$setElementOrder/conditions"]
        order[:] = [one for one in order if one["type"] in {"PodScheduled", "DisruptionTarget"}]
    return body | ({"note": "note"} if "note" in body else {})


def reasons(cluster: Cluster, name: str) -> list[str]:
    """Return the reasons of the Events about a pod."""
    events = cluster.store.list("events")
    return [event["reason"] for event in events if event["involvedObject"]["name"] == name]


async def test_what_preemption_writes_equals_kube_scheduler(
    cluster: Cluster, wire: list[dict[str, Any]]
) -> None:
    """Condition and Event of the victim, the preemptor's nomination, then its binding."""
    cluster.node("n1", cpu="1")
    cluster.node("n2", cpu="1")
    priority_class(cluster, "high", 1000)
    cluster.pod("low1", **AT_ONCE)
    cluster.pod("low2", **AT_ONCE)
    runner = cluster.runner(Pinned=Pinned, Preemption=DefaultPreemption)
    async with cluster.running(runner):
        await runner.until_idle()
        cluster.pod("high2", priorityClassName="high")
        await eventually(lambda: cluster.node_of("high2"))
        await runner.until_idle()
    assert cluster.node_of("high2") == "n2"
    assert cluster.node_of("low1") == "n1"
    written = [
        json.dumps([write.path, comparable(plainer(write.body))])
        for write in cluster.proxy.writes
        if write.path.endswith("/low2/status") or write.body.get("reason") == "Preempted"
    ]
    expected = [
        json.dumps([write["path"], comparable(plainer(write["body"]))])
        for write in wire
        if write["path"].endswith("/low2/status") or write["body"].get("reason") == "Preempted"
    ]
    assert len(expected) == 2
    assert sorted(written) == sorted(expected)
    deletions = cluster.proxy.bodies("DELETE", "/pods/low2")
    assert [body["kind"] for body in deletions] == ["DeleteOptions"]


async def test_who_preempted_whom_is_told_to_the_victim(cluster: Cluster) -> None:
    """By the preemptor's uid, as kube-scheduler does: its name may be a secret of its namespace."""
    cluster.node("n1", cpu="1")
    priority_class(cluster, "high", 1000)
    cluster.pod("low", nodeName="n1", **AT_ONCE)
    async with cluster.running(cluster.runner(Preemption=DefaultPreemption)) as runner:
        cluster.pod("high", priorityClassName="high")
        await eventually(lambda: cluster.node_of("high"))
        await runner.until_idle()
    [note] = [
        event["message"] for event in cluster.store.list("events") if event["reason"] == "Preempted"
    ]
    assert note == f"Preempted by pod {cluster.get('high')['metadata']['uid']} on node n1"


async def test_failed_deletion_is_tried_again(cluster: Cluster) -> None:
    """The pod is not left waiting for victims that nobody told to go."""
    cluster.node("n1", cpu="1")
    priority_class(cluster, "high", 1000)
    cluster.pod("low", nodeName="n1", **AT_ONCE)
    cluster.proxy.refuse("DELETE", "/pods/low", 500, "InternalError")
    async with cluster.running(cluster.runner(Preemption=DefaultPreemption)):
        cluster.pod("high", priorityClassName="high")
        await eventually(lambda: cluster.node_of("high"))
    assert len(cluster.proxy.bodies("DELETE", "/pods/low")) == 2


async def test_preemptor_is_held_back_until_its_last_victim_is_deleted(cluster: Cluster) -> None:
    """The first victim's end wakes it in vain, and costs no cycle."""
    cluster.node("n1", cpu="2")
    priority_class(cluster, "high", 1000)
    for number in (1, 2):
        cluster.pod(f"low{number}", nodeName="n1", **AT_ONCE)
    released = [cluster.proxy.hold("DELETE", f"/pods/low{number}") for number in (1, 2)]
    async with cluster.running(cluster.runner(Preemption=DefaultPreemption)) as runner:
        cluster.pod("high", cpu="2", priorityClassName="high")
        uid = cluster.get("high")["metadata"]["uid"]
        await eventually(lambda: cluster.get("high")["status"].get("nominatedNodeName") == "n1")
        cluster.store.delete("pods", "low1", namespace="default", grace_seconds=0)
        await eventually(lambda: runner.session.queue.place(uid) is Place.GATED)
        queued = runner.session.queue.find(uid)
        assert queued is not None
        assert queued.gated_by == "Preemption"
        for event in released:
            event.set()
        await eventually(lambda: cluster.node_of("high") == "n1")
        assert queued.attempts == 2


class Waits(moorage.Plugin):
    """Has pods called patient wait in Permit."""

    @moorage.hookimpl
    def permit(self, pod: moorage.Pod) -> moorage.Verdict | None:
        """Wait for long."""
        return moorage.Verdict.wait(60.0) if pod.metadata.name == "patient" else None


class Prepares(moorage.Plugin):
    """Has something done for pods called patient that takes for ever."""

    @moorage.hookimpl
    async def pre_bind(self, pod: moorage.Pod) -> None:
        """Take for ever."""
        if pod.metadata.name == "patient":
            await asyncio.sleep(60)


@pytest.mark.parametrize(
    ("holding", "message"),
    [
        pytest.param(Waits, "waiting on permit for pod: preempted", id="in-permit"),
        pytest.param(Prepares, "preempted by Preemption", id="in-pre-bind"),
    ],
)
async def test_victims_that_are_not_bound_yet_are_turned_down_not_deleted(
    cluster: Cluster, holding: type[moorage.Plugin], message: str
) -> None:
    """They give their place back and live on: nothing is wrong with them, they are tried again."""
    cluster.node("n1", cpu="1")
    priority_class(cluster, "high", 1000)
    cluster.pod("patient")
    runner = cluster.runner(Holding=holding, Preemption=DefaultPreemption)
    async with cluster.running(runner):
        await eventually(
            lambda: (
                len(runner.session.services.waiting) + len(runner.session.services.pre_binding) == 1
            )
        )
        cluster.pod("high", priorityClassName="high")
        await eventually(lambda: cluster.node_of("high"))
        await eventually(lambda: "Preempted" in reasons(cluster, "patient"))
        patient = runner.session.queue.find(cluster.get("patient")["metadata"]["uid"])
        assert patient is not None
        await eventually(lambda: patient.attempts == 2)
        said = [
            event["message"]
            for event in cluster.store.list("events")
            if event["involvedObject"]["name"] == "patient"
        ]
    assert cluster.node_of("patient") == ""
    assert cluster.proxy.bodies("DELETE", "/pods/patient") == []
    uid = cluster.get("high")["metadata"]["uid"]
    assert f"Preempted by pod {uid} on node n1 (in kube-scheduler memory)." in said
    assert message in said


@pytest.mark.parametrize("holding", [Waits, Prepares])
@pytest.mark.parametrize("first", ["patient", "low"])
async def test_preemptor_of_bound_and_unbound_victims_is_tried_when_all_have_gone(
    cluster: Cluster, holding: type[moorage.Plugin], first: str
) -> None:
    """Whichever of them is asked last: neither the deletion nor the rest may be slept through."""
    cluster.node("n1", cpu="2")
    priority_class(cluster, "high", 1000)
    priority_class(cluster, "low", 10 if first == "low" else 0)
    cluster.pod("low", nodeName="n1", priorityClassName="low", **AT_ONCE)
    priority_class(cluster, "patient", 5)
    cluster.pod("patient", priorityClassName="patient")
    released = cluster.proxy.hold("DELETE", "/pods/low")
    runner = cluster.runner(Holding=holding, Preemption=DefaultPreemption)
    async with cluster.running(runner):
        await eventually(
            lambda: (
                len(runner.session.services.waiting) + len(runner.session.services.pre_binding) == 1
            )
        )
        cluster.pod("high", cpu="2", priorityClassName="high")
        await eventually(lambda: cluster.get("high")["status"].get("nominatedNodeName") == "n1")
        released.set()
        await eventually(lambda: cluster.node_of("high") == "n1")
    assert cluster.node_of("patient") == ""


async def test_lower_nominations_are_cleared(cluster: Cluster) -> None:
    """Who waits for a node that a more important pod gets looks elsewhere."""
    cluster.node("n1", cpu="1")
    priority_class(cluster, "middle", 10)
    priority_class(cluster, "high", 1000)
    cluster.pod("low", nodeName="n1", **AT_ONCE)
    released = cluster.proxy.hold("DELETE", "/pods/low")
    async with cluster.running(cluster.runner(Preemption=DefaultPreemption)):
        cluster.pod("middle", priorityClassName="middle")
        nominated = "nominatedNodeName"
        await eventually(lambda: cluster.get("middle")["status"].get(nominated) == "n1")
        cluster.pod("high", priorityClassName="high")
        await eventually(lambda: nominated not in cluster.get("middle")["status"])
        released.set()
        await eventually(lambda: cluster.node_of("high") == "n1")
        assert cluster.node_of("middle") == ""


async def test_preemption_cut_short_by_a_stop_loses_nothing(cluster: Cluster) -> None:
    """A victim's deletion that hangs does not hang the process; the next one does it again."""
    cluster.node("n1", cpu="1")
    priority_class(cluster, "high", 1000)
    cluster.pod("low", nodeName="n1", **AT_ONCE)
    released = cluster.proxy.hold("DELETE", "/pods/low")
    async with cluster.running(cluster.runner(Preemption=DefaultPreemption)):
        cluster.pod("high", priorityClassName="high")
        await eventually(lambda: cluster.get("high")["status"].get("nominatedNodeName"))
    released.set()
    async with cluster.running(cluster.runner(Preemption=DefaultPreemption)):
        await eventually(lambda: cluster.node_of("high") == "n1")


async def test_a_budget_turns_preemption_elsewhere(cluster: Cluster) -> None:
    """Budgets are watched, and the node without one costs less."""
    for number in (1, 2):
        cluster.node(f"n{number}", cpu="1")
        cluster.pod(f"low{number}", nodeName=f"n{number}", **AT_ONCE)
    priority_class(cluster, "high", 1000)
    protected = cluster.get("low1")
    protected["metadata"]["labels"] = {"app": "kept"}
    cluster.store.update(protected)
    cluster.store.create(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "keep", "namespace": "default"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}},
        }
    )
    async with cluster.running(cluster.runner(Preemption=DefaultPreemption)) as runner:
        await eventually(lambda: len(runner.session.cluster.budgets) == 1)
        cluster.pod("high", priorityClassName="high")
        await eventually(lambda: cluster.node_of("high"))
    assert cluster.node_of("high") == "n2"
    assert reasons(cluster, "low2") == ["Preempted"]
    assert reasons(cluster, "low1") == []
