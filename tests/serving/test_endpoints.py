"""What is answered over HTTP, to whom."""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest
from tests.loop_kit import PROFILE, added, make_node, make_pod

import moorage
from moorage.embedded import EmbeddedApiServer
from moorage.errors import MoorageError
from moorage.serving import PATHS, Serving
from moorage.serving.server import _is_local
from moorage.session import Session

if TYPE_CHECKING:
    from tests.serving.conftest import Place


# Health


@pytest.mark.parametrize("kind", ["healthz", "livez", "readyz"])
async def test_health_is_ok(place: Place, kind: str) -> None:
    """Two letters, as everywhere in Kubernetes."""
    assert await place.get(f"/{kind}") == (200, "ok")


async def test_checks_are_listed(place: Place) -> None:
    """With ?verbose."""
    assert await place.get("/readyz?verbose") == (
        200,
        "[+]ping ok\n[+]leaderElection ok\n[+]sched-handler-sync ok\nreadyz check passed\n",
    )


async def test_failing_check_fails_its_endpoint(place: Place) -> None:
    """Whoever asks sees which; why is told to who asks for that check."""
    place.faults["sched-handler-sync"] = "handlers are not fully synchronized"
    assert await place.get("/livez") == (200, "ok")
    status, text = await place.get("/readyz")
    assert status == 500
    assert "[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n" in text
    assert await place.get("/readyz/sched-handler-sync") == (
        500,
        "internal server error: handlers are not fully synchronized\n",
    )
    assert await place.get("/readyz/ping") == (200, "ok")
    assert (await place.get("/readyz/nonsense"))[0] == 404


async def test_checks_can_be_left_out(place: Place) -> None:
    """A name that is no check is told of."""
    place.faults["leaderElection"] = "lost"
    status, text = await place.get("/livez?exclude=leaderElection&exclude=x&verbose")
    assert status == 200
    assert "[+]leaderElection excluded: ok\n" in text
    assert 'warn: some health checks cannot be excluded: no matches for "x"\n' in text


async def test_results_of_checks_are_counted(place: Place) -> None:
    """On a page of their own."""
    place.faults["leaderElection"] = "lost"
    await place.get("/livez")
    _, text = await place.get("/metrics/slis")
    assert 'kubernetes_healthcheck{name="ping",type="livez"} 1.0' in text
    assert 'kubernetes_healthcheck{name="leaderElection",type="livez"} 0.0' in text
    assert (
        'kubernetes_healthchecks_total{name="leaderElection",status="error",type="livez"} 1.0'
        in text
    )


class Hanging(moorage.Plugin):
    """Hangs in its filter until told otherwise."""

    release = threading.Event()

    @moorage.hookimpl
    def filter_nodes(self) -> None:
        """Hang."""
        type(self).release.wait(10)


async def test_hung_hook_fails_livez_and_is_named(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    """Health answers while the scheduling loop does not; plugin, hook and pod are in the log."""
    from tests.serving.conftest import new_session  # noqa: PLC0415 - a test folder is no package

    session = new_session(Hanging=Hanging)
    session.nodes.take(added(make_node("n1")))
    session.pods.take(added(make_pod("stuck")))
    assert place.serving is not None
    place.serving.stop()
    place.session = session
    place.start()
    assert place.watchdog is not None
    place.watchdog.start()
    place.loop.loop.call_soon_threadsafe(session.attempt)
    deadline = time.monotonic() + 5
    while (await place.get("/livez"))[0] == 200:
        assert time.monotonic() < deadline
    status, text = await place.get("/livez/scheduling-loop")
    assert status == 500
    assert "plugin 'Hanging' is in its hook filter_nodes about pod ns/stuck, for " in text
    assert "plugin 'Hanging' is in its hook filter_nodes about pod ns/stuck" in caplog.text
    assert (await place.get("/healthz/ping"))[0] == 200
    Hanging.release.set()
    while (await place.get("/livez"))[0] == 500:
        assert time.monotonic() < deadline
    place.watchdog.stop()


async def test_loop_that_does_not_move_fails_livez(place: Place) -> None:
    """Whatever holds it up."""
    place.heartbeat._last = time.monotonic() - 1
    status, text = await place.get("/livez/scheduling-loop")
    assert status == 500
    assert "the scheduling loop has not moved for 1." in text


# Numbers


async def test_metrics_are_those_of_the_session(place: Place) -> None:
    """Pods of each queue, nodes, pods, and who refused."""
    session = place.session
    session.nodes.take(added(make_node("n1", cpu="1")))
    session.pods.take(added(make_pod("a"), make_pod("b")))
    reservation, failure = session.attempt(), session.attempt()
    assert (reservation is not None, failure is not None) == (True, True)
    _, text = await place.get("/metrics")
    lines = text.splitlines()
    for line in (
        'scheduler_pending_pods{queue="unschedulable"} 1.0',
        'scheduler_pending_pods{queue="active"} 0.0',
        'scheduler_cache_size{type="nodes"} 1.0',
        'scheduler_cache_size{type="assumed_pods"} 1.0',
        f'scheduler_unschedulable_pods{{plugin="Room",profile="{PROFILE}"}} 1.0',
        'scheduler_queue_incoming_pods_total{event="UnschedulablePodAdd",queue="active"} 2.0',
        'scheduler_inflight_events{event="PodPopped"} 1.0',
        f'scheduler_schedule_attempts_total{{profile="{PROFILE}",result="unschedulable"}} 1.0',
        'scheduler_event_handling_duration_seconds_count{event="UnschedulablePodAdd"} 2.0',
        'scheduler_event_handling_duration_seconds_count{event="NodeAdd"} 1.0',
        "scheduler_scheduling_algorithm_duration_seconds_count 2.0",
    ):
        assert line in lines, line


async def test_pod_that_waits_for_nodes_is_not_counted_for_a_plugin(place: Place) -> None:
    """None refused it."""
    place.session.pods.take(added(make_pod("a")))
    place.session.attempt()
    _, text = await place.get("/metrics")
    assert 'scheduler_pending_pods{queue="unschedulable"} 1.0' in text
    assert "\nscheduler_unschedulable_pods{" not in text


async def test_extension_points_are_measured(place: Place) -> None:
    """Each with its outcome."""
    session = place.session
    session.nodes.take(added(make_node("n1", cpu="1")))
    session.pods.take(added(make_pod("a"), make_pod("b")))
    session.attempt()
    session.attempt()
    seconds = session.services.metrics.scheduling.point_seconds
    for point, status in (
        ("PreEnqueue", "Success"),
        ("PreFilter", "Success"),
        ("Filter", "Success"),
        ("Reserve", "Success"),
        ("Permit", "Success"),
    ):
        expected = 1 if point in {"Reserve", "Permit"} else 2
        assert seconds.count(point, status, PROFILE) == expected, point
    assert session.services.metrics.scheduling.evaluations.value("Room", "Filter", PROFILE) == 2


async def test_bound_pods_are_counted_by_attempts(place: Place) -> None:
    """With the time since they were ready first."""
    session: Session = place.session
    session.nodes.take(added(make_node("n1")))
    session.pods.take(added(make_pod("a")))
    reservation = session.attempt()
    assert reservation is not None
    session.permitted(reservation)  # type: ignore[arg-type]
    session.bound(reservation)  # type: ignore[arg-type]
    families = session.services.metrics.scheduling
    assert families.attempts.value("scheduled", PROFILE) == 1
    assert families.pod_sli_seconds.count("1") == 1
    assert families.pod_attempts.count() == 1
    assert families.scheduled_after_flush.value() == 0


# Documents


async def test_configz_is_the_configuration(place: Place) -> None:
    """Under the key that kube-scheduler uses."""
    assert (await place.json("/configz")) == {
        "componentconfig": {"kind": "KubeSchedulerConfiguration"}
    }


async def test_statusz_for_people_and_for_programs(place: Place) -> None:
    """Text by default, JSON for who names the type; anything else is not acceptable."""
    status, text = await place.get("/statusz")
    assert status == 200
    assert text.startswith("moorage statusz\nWarning: ")
    assert "\nEmulation version: 1.36\n" in text
    wanted = "application/json;v=v1beta1;g=config.k8s.io;as=Statusz"
    document = json.loads((await place.get("/statusz", Accept=wanted))[1])
    assert document["kind"] == "Statusz"
    assert document["paths"] == list(PATHS)
    assert (await place.get("/statusz", Accept="application/json"))[0] == 406


async def test_flagz_for_people_and_for_programs(place: Place) -> None:
    """Sorted by name."""
    _, text = await place.get("/flagz")
    assert text.endswith("\nleader-elect=true\nv=2\n")
    wanted = "application/json;v=v1beta1;g=config.k8s.io;as=Flagz"
    document = json.loads((await place.get("/flagz", Accept=wanted))[1])
    assert document["flags"] == {"leader-elect": "true", "v": "2"}


# Debugging


async def test_queue_and_last_attempts_are_shown(place: Place) -> None:
    """Where each pod waits and why; what came of the last attempt."""
    session = place.session
    session.nodes.take(added(make_node("n1", cpu="1")))
    session.pods.take(added(make_pod("big", cpu="2"), make_pod("next")))
    session.attempt()
    queue = await place.json("/debug/queue")
    [waiting] = queue["unschedulable"]
    assert (waiting["pod"], waiting["unschedulablePlugins"]) == ("ns/big", ["Room"])
    assert [pod["pod"] for pod in queue["active"]] == ["ns/next"]
    pod = await place.json("/debug/pods/ns/big")
    assert pod["queue"]["place"] == "unschedulable"
    assert pod["lastAttempt"]["result"] == "unschedulable"
    assert pod["lastAttempt"]["message"].startswith("0/1 nodes are available: 1 ")
    assert pod["lastAttempt"]["plugins"] == ["Room"]
    assert list(await place.json("/debug/attempts")) == ["ns/big"]
    assert (await place.get("/debug/attempts?limit=x"))[0] == 400
    assert (await place.get("/debug/pods/ns/nobody"))[0] == 404


async def test_cache_is_shown(place: Place) -> None:
    """Nodes, what is requested of them, and the pods there."""
    session = place.session
    session.nodes.take(added(make_node("n1", cpu="4")))
    session.pods.take(added(make_pod("a", node="n1")))
    found = await place.json("/debug/cache")
    node = found["nodes"]["n1"]
    assert (node["allocatable"]["cpu"], node["requested"]["cpu"]) == (4000, 1000)
    assert node["pods"] == [{"pod": "ns/a", "uid": "a", "assumed": False}]


async def test_cache_is_compared_with_the_api_server(place: Place) -> None:
    """What only one of the two knows."""
    async with EmbeddedApiServer() as server:
        place.api = server.url
        assert (await place.json("/debug/comparison"))["equal"]
        server.store.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
        place.session.nodes.take(added(make_node("n2")))
        place.session.pods.take(added(make_pod("a", node="n2")))
        found = await place.json("/debug/comparison")
    assert not found["equal"]
    assert found["missedNodes"] == ["n1"]
    assert found["redundantNodes"] == ["n2"]
    assert found["redundantPods"] == ["a"]


async def test_debug_views_say_when_the_loop_is_gone(place: Place) -> None:
    """One sentence, and 503."""
    place.loop.loop.call_soon_threadsafe(place.loop.loop.stop)
    place.loop._thread.join()
    place.loop.loop.close()
    assert await place.get("/debug/queue") == (503, "the scheduler has ended\n")
    place.loop.__init__()  # type: ignore[misc]


# Who may ask


async def test_strangers_are_told_of_health_only(place: Place) -> None:
    """A name that is not this machine's is a stranger's, such as a page's in a browser."""
    for path in ("/metrics", "/configz", "/debug/queue", "/flagz", "/nonsense"):
        status, text = await place.get(path, Host="evil.example:80")
        assert status == 403, path
        assert "loopback only" in text
    assert await place.get("/livez", Host="evil.example:80") == (200, "ok")
    assert (await place.get("/metrics", Host="localhost:80"))[0] == 200


@pytest.mark.parametrize(
    ("peer", "host", "local"),
    [
        ("127.0.0.1", "127.0.0.1:10259", True),
        ("::1", "[::1]:10259", True),
        ("::ffff:127.0.0.1", "localhost", True),
        ("10.0.0.7", "localhost", False),
        ("127.0.0.1", "10.0.0.7:10259", False),
        (None, "localhost", False),
    ],
)
def test_local_is_who_is_here_and_says_so(peer: str | None, host: str, local: bool) -> None:  # noqa: FBT001 - a parameter
    """By the other side's address and by the name that it asks for."""

    class Transport:
        def get_extra_info(self, name: str) -> tuple[str, int] | None:
            return None if peer is None else (peer, 1)

    class Request:
        transport = Transport()

    request = Request()
    request.host = host  # type: ignore[attr-defined]
    assert _is_local(request) is local  # type: ignore[arg-type]


async def test_port_in_use_is_one_sentence(place: Place) -> None:
    """It names the flag that helps."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        other = Serving(
            host="127.0.0.1",
            port=port,
            health=place.serving._health,  # type: ignore[union-attr]
            metrics=place.session.services.metrics,
            pages=place.serving._pages,  # type: ignore[union-attr]
            debugging=place.serving._debugging,  # type: ignore[union-attr]
        )
        with pytest.raises(MoorageError, match=f"127.0.0.1:{port}.*choose another --secure-port"):
            other.start()
