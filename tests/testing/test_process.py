"""Scheduler: queue, Permit and binding, with a clock that is turned by hand."""

from __future__ import annotations

import asyncio

import pytest
from tests.testing.sample_plugins import Evicts, Gate, Rank, Spawns

import moorage
from moorage import PluginError
from moorage.testing import Cluster, Scheduler, make_node, make_pod, process


def test_pods_are_bound_and_count_for_the_next() -> None:
    """Without a plugin that binds, they simply are."""
    cluster = Cluster(["n1"])
    with Scheduler(cluster, plugins=["NodeResourcesFit"]) as scheduler:
        scheduler.submit(make_pod("a", cpu="3"))
        scheduler.submit(make_pod("b", cpu="3"))

        assert scheduler.placed == {"default/a": "n1"}
        assert cluster.pods["default/a"].spec.node_name == "n1"
        assert "Insufficient cpu" in scheduler.messages["default/b"]


def test_a_pending_pod_is_tried_again_when_something_helps_it() -> None:
    """By the events that its plugins registered."""
    with Scheduler(Cluster(["n1"]), plugins=["NodeResourcesFit"]) as scheduler:
        scheduler.submit(make_pod("a", cpu="8"))

        scheduler.add(make_node("n2", cpu="16"))

        assert scheduler.advance(10) == {"default/a": "n2"}
        assert scheduler.messages == {}


def test_pods_wait_in_permit_until_their_time_is_over() -> None:
    """Then they give their node back."""
    with Scheduler(Cluster(["n1"]), plugins=[Gate]) as scheduler:
        scheduler.submit(make_pod("a", labels={"waits": ""}))
        assert scheduler.waiting == {"default/a": "n1"}

        scheduler.advance(31)

        assert scheduler.placed == {}
        assert "timeout after waiting 30s" in scheduler.messages["default/a"]


def test_waiting_pods_can_be_allowed() -> None:
    """By whoever holds the plugin."""
    with Scheduler(Cluster(["n1"]), plugins=[Gate]) as scheduler:
        scheduler.submit(make_pod("a", labels={"waits": ""}))
        for waiting in scheduler.plugin("Gate").handle.waiting_pods:
            waiting.allow("Gate")

        assert scheduler.run() == {"default/a": "n1"}


def test_what_is_sent_to_the_api_server_is_kept() -> None:
    """The default profile binds as it does in a cluster."""
    with Scheduler(Cluster(["n1"]), profile="default") as scheduler:
        scheduler.submit(make_pod("a"))

        (request,) = scheduler.requests
        assert request.method == "POST"
        assert request.path == "/api/v1/namespaces/default/pods/a/binding"
        assert request.body["target"]["name"] == "n1"


def test_what_plugins_spawn_is_done() -> None:
    """Its requests are kept as those of hooks are."""
    old, new = make_pod("old", cpu="3"), make_pod("new", cpu="3")
    with Scheduler(Cluster(["n1"]), plugins=["NodeResourcesFit", Evicts]) as scheduler:
        scheduler.submit(old)
        scheduler.submit(new)

        (request,) = scheduler.requests
        assert (request.method, request.path) == ("DELETE", "/api/v1/namespaces/default/pods/old")
        assert scheduler.nominated == {"default/new": "n1"}

        scheduler.remove_pod(old)
        assert scheduler.advance(10) == {"default/new": "n1"}
        assert scheduler.nominated == {}


def test_the_preemption_of_the_default_profile_is_seen() -> None:
    """Its victim is marked, then deleted; the pod waits until it is gone."""
    old, new = make_pod("old", cpu="3"), make_pod("new", cpu="3", priority=9)
    with Scheduler(Cluster(["n1"]), profile="default") as scheduler:
        scheduler.submit(old)
        scheduler.submit(new)

        assert [request.method for request in scheduler.requests] == ["POST", "PATCH", "DELETE"]
        assert "default/new" not in scheduler.placed


def test_what_spawned_work_raises_comes_out() -> None:
    """A cluster would only log it."""
    with (
        Scheduler(Cluster(["n1"]), plugins=[Spawns]) as scheduler,
        pytest.raises(LookupError, match="no such thing"),
    ):
        scheduler.run()


def test_spawned_work_that_nobody_waits_for_is_dropped() -> None:
    """Nothing is left that was never awaited."""
    with Scheduler(Cluster(["n1"]), plugins=[Spawns]) as scheduler:
        plugin = scheduler.plugin("Spawns")

    assert isinstance(plugin, Spawns)
    assert not plugin.begun


def test_spawned_work_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would keep a scheduler from ever being idle."""

    class Endless(Spawns):
        """Has work that is never done."""

        async def work(self) -> None:
            """Hang."""
            await asyncio.Event().wait()

    monkeypatch.setattr(process, "_MOST_SECONDS", 0.01)
    with (
        Scheduler(Cluster(["n1"]), plugins=[Endless]) as scheduler,
        pytest.raises(PluginError, match=r"handle\.spawn did not end .*Endless\.work; let work"),
    ):
        scheduler.run()


def test_pods_and_nodes_can_go() -> None:
    """A pod that is gone makes room."""
    first = make_pod("a", cpu="3")
    with Scheduler(Cluster(["n1", "n2"]), plugins=["NodeResourcesFit"]) as scheduler:
        scheduler.remove_node("n2")
        scheduler.submit(first)
        scheduler.submit(make_pod("b", cpu="3"))
        assert set(scheduler.placed) == {"default/a"}

        scheduler.remove_pod(first)

        assert scheduler.advance(10) == {"default/b": "n1"}


def test_pods_that_were_there_before_are_known() -> None:
    """They take their room."""
    cluster = Cluster(["n1"], [make_pod("a", node="n1", cpu="3")])
    with Scheduler(cluster, plugins=["NodeResourcesFit"]) as scheduler:
        assert scheduler.submit(make_pod("b", cpu="3")) == {}


def test_plugins_that_call_each_others_pods_for_ever_are_stopped() -> None:
    """A test must end."""

    class Restless(moorage.Plugin):
        """Refuses every pod, and calls it again."""

        @moorage.hookimpl
        def permit(self, pod: moorage.Pod) -> moorage.Verdict:
            """Refuse, and call."""
            self.handle.activate([f"default/{pod.metadata.name}"])
            return moorage.Verdict.unschedulable("not yet")

    with (
        Scheduler(Cluster(["n1"]), plugins=[Rank, Restless]) as scheduler,
        pytest.raises(PluginError, match="for ever"),
    ):
        scheduler.submit(make_pod("a"))
