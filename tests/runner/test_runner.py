"""The live scheduler against an API server over HTTP, from start to stop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.loop_kit import PROFILE, Sort, make_framework, scripted

import moorage
from moorage.api.connection import Connection
from moorage.errors import ApiError, PluginError, UnreachableError
from moorage.framework.handle import Services
from moorage.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.runner.conftest import Cluster


async def eventually(truth: Callable[[], object]) -> None:
    """Wait until a function says yes; that there is no session yet means no."""
    async with asyncio.timeout(5):
        while True:
            with contextlib.suppress(RuntimeError):
                if truth():
                    return
            await asyncio.sleep(0.01)


async def test_pods_are_bound_and_the_rest_is_explained(cluster: Cluster) -> None:
    """What fits is bound, what does not says why."""
    cluster.node("n1")
    for index in range(4):
        cluster.pod(f"p{index}")
    cluster.pod("big", cpu="5")
    await cluster.until_idle()
    assert [cluster.node_of(f"p{index}") for index in range(4)] == ["n1"] * 4
    condition = cluster.condition("big")
    assert condition["status"] == "False"
    assert condition["reason"] == "Unschedulable"
    assert condition["message"] == "0/1 nodes are available: 1 Insufficient cpu."


async def test_events_tell_what_was_done(cluster: Cluster) -> None:
    """One Event a pod, from the profile that scheduled it."""
    cluster.node("n1")
    cluster.pod("p")
    cluster.pod("big", cpu="5")
    await cluster.until_idle()
    events = {event["involvedObject"]["name"]: event for event in cluster.store.list("events")}
    assert events["p"]["reason"] == "Scheduled"
    assert events["p"]["message"] == "Successfully assigned default/p to n1"
    assert events["p"]["reportingComponent"] == PROFILE
    assert events["big"]["reason"] == "FailedScheduling"
    assert events["big"]["type"] == "Warning"


async def test_pods_of_other_schedulers_are_left_alone(cluster: Cluster) -> None:
    """A name that nobody here serves: the pod is counted, and nothing is written to it."""
    cluster.node("n1")
    cluster.pod("foreign", scheduler="somebody-else")
    runner = await cluster.until_idle()
    assert cluster.node_of("foreign") == ""
    assert runner.session.pods.unserved == {"somebody-else": 1}
    assert cluster.proxy.writes == []


async def test_what_comes_later_is_scheduled_too(cluster: Cluster) -> None:
    """A pod, and a node that a refused pod waits for."""
    async with cluster.running(cluster.runner()) as runner:
        await runner.until_idle()
        cluster.pod("p", cpu="8")
        await runner.until_idle()
        assert cluster.condition("p")["message"] == "no nodes available to schedule pods"
        cluster.node("n1", cpu="16")
        await eventually(lambda: cluster.node_of("p"))
        assert cluster.node_of("p") == "n1"


async def test_deleted_pod_makes_room(cluster: Cluster) -> None:
    """The watch tells, and who waits is tried again."""
    cluster.node("n1")
    cluster.pod("first", cpu="4")
    async with cluster.running(cluster.runner()) as runner:
        await runner.until_idle()
        cluster.pod("second", cpu="4")
        await eventually(lambda: cluster.condition("second"))
        cluster.store.delete("pods", "first", namespace="default", grace_seconds=0)
        await eventually(lambda: cluster.node_of("second"))


async def test_many_pods_and_nodes_end_where_they_fit(cluster: Cluster) -> None:
    """No node is overfilled, and none is left empty while pods wait."""
    for index in range(20):
        cluster.node(f"n{index}")
    for index in range(100):
        cluster.pod(f"p{index}")
    runner = await cluster.until_idle()
    placed = [cluster.node_of(f"p{index}") for index in range(100)]
    assert sum(map(bool, placed)) == 80
    assert all(placed.count(f"n{index}") == 4 for index in range(20))
    runner.session.cluster.check_invariants()
    runner.session.queue.check_invariants()


async def test_repeated_refusals_write_nothing_anew(cluster: Cluster) -> None:
    """A condition that says the same is not patched again."""
    cluster.node("n1")
    cluster.pod("big", cpu="9")
    async with cluster.running(cluster.runner()) as runner:
        await runner.until_idle()
        runner.session.services.activate(["default/big"])
        found = runner.session.queue.find(cluster.get("big")["metadata"]["uid"])
        assert found is not None
        await eventually(lambda: found.attempts == 2)
        await runner.until_idle()
    assert len(cluster.proxy.bodies("PATCH", "/pods/big/status")) == 1


# What is written


class Expecting(moorage.Plugin):
    """Nominates node n2 to whom nothing fits."""

    @moorage.hookimpl
    def post_filter(self) -> moorage.Nomination:
        """Nominate."""
        return moorage.Nomination("n2")


class Pinned(moorage.Plugin):
    """Lets pod lowN pass on node nN alone."""

    @moorage.hookimpl
    def filter(self, pod: moorage.Pod, node: moorage.NodeInfo) -> moorage.Verdict | None:
        """Compare the last letters."""
        if pod.metadata.name[-1] == node.name[-1]:
            return None
        return moorage.Verdict.unschedulable("other number")


def comparable(body: Any, key: str = "") -> Any:  # noqa: ANN401 - JSON
    """Replace what differs from run to run by its name."""
    if isinstance(body, dict):
        return {name: comparable(value, name) for name, value in body.items()}
    if isinstance(body, list):
        return [comparable(value) for value in body]
    changing = {"uid", "eventTime", "lastTransitionTime", "resourceVersion", "reportingInstance"}
    if key == "name":  # of an Event: the pod's, and the time
        return str(body).partition(".")[0]
    return key if key in changing else body


async def test_writes_are_those_of_kube_scheduler(
    cluster: Cluster, wire: list[dict[str, Any]]
) -> None:
    """Bindings, Events, and the patch of a condition with a nomination: field by field, in order."""
    cluster.node("n1")
    cluster.node("n2")
    cluster.pod("low1")
    cluster.pod("low2")
    async with cluster.running(cluster.runner(Pinned=Pinned, Expecting=Expecting)) as runner:
        await runner.until_idle()
        cluster.pod("high", cpu="9")
        await runner.until_idle()
    written = [json.dumps([write.path, comparable(write.body)]) for write in cluster.proxy.writes]
    expected = [
        json.dumps([write["path"], comparable(write["body"])])
        for write in wire
        if write["path"].endswith(("low1/binding", "low2/binding", "high/status"))
        or (
            write["body"].get("reason") in {"Scheduled", "FailedScheduling"}
            and write["body"]["regarding"]["name"] in {"low1", "low2"}
        )
        or write["body"].get("note") == "0/2 nodes are available: 2 Insufficient cpu."
    ]
    assert len(expected) == 6
    assert sorted(written) == sorted(expected)


async def test_nomination_is_written_before_a_pod_waits(cluster: Cluster) -> None:
    """Others see where it is about to go; it is bound all the same, and expected nowhere twice."""
    cluster.node("n1")
    cluster.pod("p")
    plugin = scripted(("permit",), {"permit": moorage.Verdict.wait(30)}, [])
    async with cluster.running(cluster.runner(Gate=plugin)) as runner:
        await eventually(lambda: cluster.proxy.bodies("PATCH", "/pods/p/status"))
        [patch] = cluster.proxy.bodies("PATCH", "/pods/p/status")
        assert patch == {"status": {"nominatedNodeName": "n1"}}
        for waiting in runner.session.services.waiting:
            waiting.allow("Gate")
        await runner.until_idle()
    assert cluster.node_of("p") == "n1"


# What goes wrong


@pytest.mark.parametrize("hook", ["reserve", "permit", "pre_bind", "bind"])
async def test_refusal_after_a_node_was_chosen_is_shown(cluster: Cluster, hook: str) -> None:
    """The pod has no node, and its condition says why; after Permit it is not about the node."""
    cluster.node("n1")
    cluster.pod("p")
    log: list[str] = []
    answers = {hook: moorage.Verdict.unschedulable("quota is used up")}
    hooks = ("reserve", "unreserve", "permit", "pre_bind", *(["bind"] if hook == "bind" else []))
    plugin = scripted(hooks, answers, log)
    said = "0/1 nodes are available: 1 quota is used up."
    if hook in {"pre_bind", "bind"}:
        said = "quota is used up"
    async with cluster.running(cluster.runner(Quota=plugin)) as runner:
        await eventually(lambda: cluster.condition("p"))
        assert cluster.node_of("p") == ""
        assert cluster.condition("p")["reason"] == "Unschedulable"
        assert cluster.condition("p")["message"] == said
        await eventually(lambda: runner.session.cluster.pod_count == 0)
    assert "Quota.unreserve" in log


async def test_plugin_that_raises_delays_its_pod_alone(cluster: Cluster) -> None:
    """In whatever hook: named in the condition, retried after a backoff; others are bound meanwhile."""
    hooks = ("reserve", "permit", "pre_bind_pre_flight", "pre_bind", "bind")
    cluster.node("n1", cpu="32")
    names = {hook: hook.replace("_", "-") for hook in hooks}
    for name in names.values():
        cluster.pod(name)
    cluster.pod("other")
    left = set(hooks)

    def once(hook: str) -> Callable[[moorage.Pod, moorage.Plugin], moorage.Verdict | None]:
        def answer(pod: moorage.Pod, plugin: moorage.Plugin) -> moorage.Verdict | None:
            if pod.metadata.name == names[hook] and hook in left:
                left.remove(hook)
                raise ValueError("no luck")
            return moorage.SKIP if hook == "bind" else None

        return answer

    answers = {hook: once(hook) for hook in hooks}
    plugin = scripted(hooks, answers, [], asynchronous=True)
    async with cluster.running(cluster.runner(Unlucky=plugin)) as runner:
        await eventually(lambda: all(map(cluster.condition, [*names.values(), "other"])))
        assert cluster.node_of("other") == "n1"
        for hook, name in names.items():
            condition = cluster.condition(name)
            assert condition["reason"] == "SchedulerError"
            assert condition["message"] == (
                f"plugin 'Unlucky' (tests) raised in {hook}: ValueError: no luck"
            )
        await runner.until_idle()
    assert {cluster.node_of(name) for name in names.values()} == {"n1"}


async def test_refused_binding_is_tried_again(cluster: Cluster) -> None:
    """The room is given back meanwhile."""
    cluster.node("n1")
    cluster.pod("p")
    cluster.proxy.refuse("POST", "/pods/p/binding", 403, "Forbidden")
    await cluster.until_idle()
    assert cluster.node_of("p") == "n1"
    assert len(cluster.proxy.bodies("POST", "/pods/p/binding")) == 2


async def test_refused_binding_is_said_in_the_words_of_kube_scheduler(cluster: Cluster) -> None:
    """In condition and Event alike, without calling it the plugin's fault."""
    cluster.node("n1")
    cluster.pod("p")
    cluster.proxy.refuse("POST", "/pods/p/binding", 409, "Conflict")
    await cluster.until_idle()
    patch = cluster.proxy.bodies("PATCH", "/pods/p/status")[0]
    (condition,) = patch["status"]["conditions"]
    assert condition["reason"] == "SchedulerError"
    refusal = "/pods/p/binding is refused by this test"
    assert condition["message"] == f'running Bind plugin "Bind": {refusal}'
    events = {event["reason"]: event for event in cluster.store.list("events")}
    assert events["FailedScheduling"]["message"] == condition["message"]
    assert events["FailedScheduling"]["type"] == "Warning"


async def test_pod_bound_by_a_neighbour_is_dropped(cluster: Cluster) -> None:
    """A conflict is found out by reading; the pod is where the other put it."""
    cluster.node("n1")
    cluster.node("n2")
    cluster.pod("p")
    release = cluster.proxy.hold("POST", "/pods/p/binding")
    async with cluster.running(cluster.runner()) as runner:
        await eventually(lambda: cluster.proxy.bodies("POST", "/pods/p/binding"))
        [binding] = cluster.proxy.bodies("POST", "/pods/p/binding")
        other = "n1" if binding["target"]["name"] == "n2" else "n2"
        cluster.store.bind("p", other, namespace="default")
        release.set()
        await runner.until_idle()
        assert runner.session.cluster.node_of(cluster.get("p")["metadata"]["uid"]) == other
        assert runner.session.cluster.assumed_count == 0
    assert cluster.node_of("p") == other


async def test_pod_that_is_being_deleted_is_told_that_it_is_not_tried(cluster: Cluster) -> None:
    """Somebody's finalizer keeps it, and it waits for no node any more."""
    cluster.node("n1")
    cluster.pod("ending", schedulingGates=[{"name": "later"}])
    pod = cluster.get("ending")
    pod["metadata"]["finalizers"] = ["example.com/wait"]
    cluster.store.update(pod)
    cluster.store.delete("pods", "ending", namespace="default")
    async with cluster.running(cluster.runner()) as runner:
        await runner.until_idle()
    notes = [event["message"] for event in cluster.store.list("events")]
    assert notes == ["skip schedule deleting pod: default/ending"]


async def test_pod_deleted_while_it_is_bound_leaves_nothing(cluster: Cluster) -> None:
    """Nothing is assumed for it, and nothing is written about it."""
    cluster.node("n1")
    cluster.pod("p", cpu="4")
    release = cluster.proxy.hold("POST", "/pods/p/binding")
    async with cluster.running(cluster.runner()) as runner:
        await eventually(lambda: cluster.proxy.bodies("POST", "/pods/p/binding"))
        cluster.store.delete("pods", "p", namespace="default", grace_seconds=0)
        release.set()
        await eventually(lambda: runner.session.cluster.pod_count == 0)
        cluster.pod("next", cpu="4")
        await runner.until_idle()
    assert cluster.node_of("next") == "n1"
    assert cluster.proxy.bodies("PATCH", "/pods/p/status") == []


async def test_pod_deleted_while_it_waits_gives_its_node_back(cluster: Cluster) -> None:
    """At once, not when its time is over."""
    cluster.node("n1")
    cluster.pod("p", cpu="4")

    def first_waits(pod: moorage.Pod, plugin: moorage.Plugin) -> moorage.Verdict | None:
        return moorage.Verdict.wait(600) if pod.metadata.name == "p" else None

    plugin = scripted(("permit",), {"permit": first_waits}, [])
    async with cluster.running(cluster.runner(Gate=plugin)) as runner:
        await eventually(lambda: len(runner.session.services.waiting) == 1)
        cluster.pod("next", cpu="4")
        cluster.store.delete("pods", "p", namespace="default", grace_seconds=0)
        await runner.until_idle()
    assert cluster.node_of("next") == "n1"


async def test_permit_that_nobody_answers_ends_by_the_clock(cluster: Cluster) -> None:
    """The pod is refused, by name of the plugin."""
    cluster.node("n1")
    cluster.pod("p")
    plugin = scripted(("permit",), {"permit": moorage.Verdict.wait(0.1)}, [])
    async with cluster.running(cluster.runner(Gate=plugin)):
        await eventually(lambda: cluster.condition("p"))
    assert cluster.condition("p")["message"] == (
        "0/1 nodes are available: 1 rejected due to timeout after waiting 100ms at plugin Gate."
    )


async def test_hung_plain_hook_delays_its_pod_alone(cluster: Cluster) -> None:
    """All others are bound while one hangs."""
    cluster.node("n1", cpu="32")
    for index in range(10):
        cluster.pod(f"p{index}")
    release = threading.Event()

    def hang(pod: moorage.Pod, plugin: moorage.Plugin) -> None:
        if pod.metadata.name == "p0":
            release.wait(10)

    plugin = scripted(("pre_bind",), {"pre_bind": hang}, [])
    async with cluster.running(cluster.runner(Hanging=plugin)) as runner:
        await eventually(lambda: all(cluster.node_of(f"p{index}") for index in range(1, 10)))
        assert cluster.node_of("p0") == ""
        release.set()
        await runner.until_idle()
    assert cluster.node_of("p0") == "n1"


async def test_informers_feed_plugins_and_wake_pods(cluster: Cluster) -> None:
    """A custom resource: listed before the first pod is tried, watched after."""
    cluster.server.add_resource(group="example.com", version="v1", plural="racks", kind="Rack")
    cluster.node("n1")
    cluster.pod("p")
    synced: list[bool] = []

    class Racks(moorage.Plugin):
        """Lets pods pass as soon as there is a rack."""

        @moorage.hookimpl
        async def start(self) -> None:
            """Ask for racks."""
            self.racks = self.handle.informer("example.com", "v1", "racks")

        @moorage.hookimpl
        def events_to_register(self) -> tuple[moorage.EventHint, ...]:
            """Wait for racks."""
            event = moorage.ClusterEvent("racks.v1.example.com", moorage.ActionType.ADD)
            return (moorage.EventHint(event),)

        @moorage.hookimpl
        def pre_filter(self) -> moorage.Verdict | None:
            """Look."""
            synced.append(self.racks.synced)
            return None if len(self.racks) else moorage.Verdict.unresolvable("no rack")

    async with cluster.running(cluster.runner(Racks=Racks)) as runner:
        await runner.until_idle()
        assert cluster.condition("p")["message"] == "0/1 nodes are available: no rack."
        cluster.store.create(
            {
                "apiVersion": "example.com/v1",
                "kind": "Rack",
                "metadata": {"name": "r", "namespace": "default"},
            }
        )
        await eventually(lambda: cluster.node_of("p"))
    assert all(synced)


async def test_kind_that_is_not_served_is_a_notice(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """It names the plugin that goes without, and scheduling goes on."""

    class Wanting(moorage.Plugin):
        """Asks for what is not there."""

        @moorage.hookimpl
        def post_bind(self) -> None:
            """Stand at an extension point, so as to be enabled."""

        @moorage.hookimpl
        def start(self) -> None:
            """Ask."""
            self.handle.informer("example.com", "v1", "nothings")

    cluster.node("n1")
    cluster.pod("p")
    with caplog.at_level(logging.WARNING, "moorage"):
        await cluster.until_idle(Wanting=Wanting)
    assert cluster.node_of("p") == "n1"
    assert "does not serve nothings.example.com/v1; plugin Wanting goes without" in caplog.text


# Start and stop


async def test_unreachable_server_ends_the_start() -> None:
    """The error of the first request, for the command line to print."""
    services = Services()
    frameworks = {PROFILE: make_framework({"Sort": Sort}, services=services)}
    runner = Runner(frameworks, services, Connection.to_url("http://127.0.0.1:1"))
    with pytest.raises(UnreachableError, match="cannot reach"):
        await runner.run()
    await runner.until_idle()


async def test_forbidden_list_ends_the_start(cluster: Cluster) -> None:
    """A 403 is raised, not retried for ever."""
    cluster.proxy.refuse("GET", "/api/v1/nodes", 403, "Forbidden")
    with pytest.raises(ApiError) as raised:
        await asyncio.wait_for(cluster.runner().run(), 5)
    assert raised.value.code == 403


async def test_plugin_that_does_not_start_ends_the_start(cluster: Cluster) -> None:
    """By name; those that were started are closed."""
    closed = []

    class Broken(moorage.Plugin):
        """Does not start."""

        @moorage.hookimpl
        def post_bind(self) -> None:
            """Stand at an extension point, so as to be enabled."""

        @moorage.hookimpl
        def start(self) -> None:
            """Raise."""
            raise OSError("no licence")

        @moorage.hookimpl
        def close(self) -> None:
            """Note it."""
            closed.append(self.name)

    with pytest.raises(PluginError, match=r"'Broken'.*raised in start: OSError: no licence"):
        await asyncio.wait_for(cluster.runner(Broken=Broken).run(), 5)
    assert closed == ["Broken"]


async def test_stop_lets_bindings_in_flight_end(cluster: Cluster) -> None:
    """No new cycles; what was begun is finished."""
    cluster.node("n1")
    cluster.pod("p")
    release = cluster.proxy.hold("POST", "/pods/p/binding")
    runner = cluster.runner()
    task = asyncio.create_task(runner.run())
    await eventually(lambda: cluster.proxy.bodies("POST", "/pods/p/binding"))
    runner.stop()
    cluster.pod("late")
    await asyncio.sleep(0.05)
    release.set()
    await asyncio.wait_for(task, 5)
    assert cluster.node_of("p") == "n1"
    assert cluster.node_of("late") == ""


async def test_stop_undoes_what_does_not_end(cluster: Cluster) -> None:
    """A pod that waits in Permit gives back what was reserved, within the grace period."""
    cluster.node("n1")
    cluster.pod("p")
    log: list[str] = []
    answers = {"permit": moorage.Verdict.wait(600)}
    plugin = scripted(("reserve", "unreserve", "permit"), answers, log)
    async with cluster.running(cluster.runner(Gate=plugin)) as runner:
        await eventually(lambda: len(runner.session.services.waiting) == 1)
    assert log == ["Gate.reserve", "Gate.permit", "Gate.unreserve"]


async def test_signal_stops(cluster: Cluster) -> None:
    """SIGTERM, where the runner was asked to listen; the handlers are gone afterwards."""
    services = Services()
    frameworks = {PROFILE: make_framework({"Sort": Sort}, services=services)}
    connection = Connection.to_url(cluster.proxy.url)
    runner = Runner(frameworks, services, connection, handle_signals=True)
    task = asyncio.create_task(runner.run())
    await runner.until_idle()
    signal.raise_signal(signal.SIGTERM)
    await asyncio.wait_for(task, 5)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


async def test_plugins_may_call_from_their_threads(cluster: Cluster) -> None:
    """Events and activation reach the loop whichever thread they come from."""
    cluster.node("n1")
    cluster.pod("p")

    def report(pod: moorage.Pod, plugin: moorage.Plugin) -> None:
        plugin.handle.event(pod, kind="Normal", reason="Noted", action="Noting", note="from afar")
        plugin.handle.activate(["default/nobody"])

    plugin = scripted(("pre_bind",), {"pre_bind": report}, [])
    await cluster.until_idle(Reporting=plugin)
    assert "Noted" in {event["reason"] for event in cluster.store.list("events")}


async def test_stop_ends_a_start_that_hangs(cluster: Cluster) -> None:
    """A server that does not answer holds up no exit."""
    cluster.proxy.hold("GET", "/api/v1/nodes")
    runner = cluster.runner()
    task = asyncio.create_task(runner.run())
    await asyncio.sleep(0.1)
    runner.stop()
    await asyncio.wait_for(task, 5)


async def test_plugin_that_does_not_close_holds_up_no_exit(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """It has as long as bindings have."""

    class Lingering(moorage.Plugin):
        """Closes never."""

        @moorage.hookimpl
        def post_bind(self) -> None:
            """Stand at an extension point, so as to be enabled."""

        @moorage.hookimpl
        async def close(self) -> None:
            """Hang."""
            await asyncio.Event().wait()

    await cluster.until_idle(Lingering=Lingering)
    assert "did not close within 2 seconds" in caplog.text


async def test_profiles_are_closed_side_by_side(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """One after the other they could take longer than a kubelet waits."""
    both = asyncio.Barrier(2)

    class Sociable(moorage.Plugin):
        """Closes when the other profile does."""

        @moorage.hookimpl
        def post_bind(self) -> None:
            """Stand at an extension point, so as to be enabled."""

        @moorage.hookimpl
        async def close(self) -> None:
            """Wait for the other."""
            await both.wait()

    services = Services()
    frameworks = {
        name: make_framework({"Sort": Sort, "Sociable": Sociable}, services=services, profile=name)
        for name in ("one", "other")
    }
    runner = Runner(frameworks, services, Connection.to_url(cluster.proxy.url), grace=2.0)
    async with cluster.running(runner):
        await runner.until_idle()
    assert "did not close" not in caplog.text
