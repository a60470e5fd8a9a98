"""Whatever a hook raises, also what ends processes and tasks, costs one pod its turn."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.loop_kit import PROFILE, Room, Sort, World, added, listed, make_framework, make_node
from tests.loop_kit import make_pod as new_pod

import moorage
from moorage.api.connection import Connection
from moorage.binding import Binder, DaemonThreads, Reservation
from moorage.embedded import EmbeddedApiServer
from moorage.errors import PluginError
from moorage.framework.blame import let_through
from moorage.framework.handle import Services
from moorage.model.events import ActionType, ClusterEvent, EventResource
from moorage.queueing import Place
from moorage.runner import Runner
from moorage.session import Failure, Session

EXITS = (asyncio.CancelledError, SystemExit, KeyboardInterrupt, GeneratorExit)


class Wordless(Exception):  # noqa: N818 - as a plugin's author may name it
    """Has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.fixture(params=[*EXITS, Wordless], ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> type[BaseException]:
    """Return what is raised."""
    found: type[BaseException] = request.param
    return found


def raising(
    hook: str, kind: type[BaseException], *, asynchronous: bool = False
) -> type[moorage.Plugin]:
    """Make a plugin one of whose hooks raises."""

    def plain(self: moorage.Plugin) -> Any:  # noqa: ANN401 - it never returns
        raise kind

    async def awaited(self: moorage.Plugin) -> Any:  # noqa: ANN401 - it never returns
        await asyncio.sleep(0)
        raise kind

    method = awaited if asynchronous else plain
    return type("Broken", (moorage.Plugin,), {hook: moorage.hookimpl(method)})


def attempt(world: World, nodes: int = 2) -> object:
    """Try one pod on some nodes."""
    world.session.nodes.take(listed(*(make_node(f"n{index}") for index in range(nodes))))
    world.session.pods.take(added(new_pod("p")))
    return world.session.attempt()


@pytest.mark.parametrize(
    "hook",
    [
        *("pre_filter", "filter", "filter_nodes", "pre_score", "score", "score_nodes"),
        *("reserve", "permit"),
    ],
)
async def test_a_hook_of_the_cycle_fails_alone(hook: str, kind: type[BaseException]) -> None:
    """The pod is tried again, and the fault names plugin, distribution and hook."""
    plugins = {"Broken": raising(hook, kind)}
    if hook == "pre_score":
        scoring = moorage.hookimpl(lambda self: 1)
        plugins["Broken"] = type("Broken", (plugins["Broken"],), {"score": scoring})
    outcome = attempt(world := World(**plugins))
    assert isinstance(outcome, Failure)
    assert outcome.place is Place.BACKOFF
    assert f"plugin 'Broken' (tests) raised in {hook}: {kind.__name__}" in outcome.message
    world.check()


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async", "plain"])
@pytest.mark.parametrize("hook", ["pre_bind_pre_flight", "pre_bind", "bind"])
async def test_a_hook_of_binding_fails_alone(
    hook: str,
    kind: type[BaseException],
    asynchronous: bool,  # noqa: FBT001 - a parameter
) -> None:
    """Binding ends with an error that names plugin and hook, whether it is awaited or not."""
    broken = raising(hook, kind, asynchronous=asynchronous)
    if hook == "pre_bind_pre_flight":
        nothing = moorage.hookimpl(lambda self: None)
        broken = type("Broken", (broken,), {"pre_bind": nothing})
    reservation = attempt(World(Broken=broken))
    assert isinstance(reservation, Reservation)
    verdict = await bind(reservation)
    assert verdict.code is moorage.Code.ERROR
    assert f"plugin 'Broken' (tests) raised in {hook}: " in verdict.message
    assert kind.__name__ in verdict.message


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async", "plain"])
async def test_a_fault_after_binding_is_only_logged(
    kind: type[BaseException],
    asynchronous: bool,  # noqa: FBT001 - a parameter
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What `post_bind` raises is logged with its plugin."""
    world = World(Broken=raising("post_bind", kind, asynchronous=asynchronous))
    reservation = attempt(world)
    assert isinstance(reservation, Reservation)
    await Binder(DaemonThreads(limit=1), _announce).post_bind(reservation)
    assert "plugin 'Broken' (tests) raised in post_bind: " in caplog.text
    assert kind.__name__ in caplog.text


async def test_a_pod_that_cannot_be_sorted_is_tried(kind: type[BaseException]) -> None:
    """It goes to the end of the queue."""
    services = Services()
    framework = make_framework({"Sort": raising("queue_sort", kind)}, services=services)
    framework.register_events()
    session = Session({PROFILE: framework}, services)
    session.nodes.take(listed(make_node("n")))
    session.pods.take(added(new_pod("p")))
    assert isinstance(session.attempt(), Reservation)


async def test_a_pod_whose_gate_fails_is_kept(kind: type[BaseException]) -> None:
    """What `pre_enqueue` raises keeps the pod aside."""
    world = World(Broken=raising("pre_enqueue", kind))
    assert attempt(world) is None
    assert world.queue.place("p") is Place.GATED


async def test_a_hint_that_fails_wakes_the_pod(
    kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    """No pod waits for ever for a hint that does not work."""

    class Hinting(moorage.Plugin):
        """Refuses everything; its hint is broken."""

        @moorage.hookimpl
        def events_to_register(self) -> tuple[moorage.EventHint, ...]:
            """Register for nodes."""
            return (
                moorage.EventHint(ClusterEvent(EventResource.NODE, ActionType.ALL), self.broken),
            )

        def broken(self, pod: moorage.Pod, old: object, new: object) -> moorage.QueueingHint:
            """Raise."""
            raise kind

        @moorage.hookimpl
        def pre_filter(self) -> moorage.Verdict:
            """Refuse."""
            return moorage.Verdict.unschedulable("never")

    world = World(Hinting=Hinting)
    assert isinstance(attempt(world), Failure)
    world.clock.now += 20
    world.session.nodes.take(added(make_node("late")))
    assert world.queue.place("p") is Place.ACTIVE
    assert "plugin 'Hinting' (tests) failed in its hint for NodeAdd" in caplog.text


async def test_a_start_that_exits_is_a_fault(kind: type[BaseException]) -> None:
    """What `start` raises is a sentence, not the end of the task."""
    passing = {"permit": moorage.hookimpl(lambda self: None)}
    broken = type("Broken", (raising("start", kind),), passing)
    framework = make_framework({"Sort": Sort, "Broken": broken})
    with pytest.raises(PluginError, match=f"in start: {kind.__name__}"):
        await framework.start()


async def test_the_cancelling_of_our_own_task_is_no_fault() -> None:
    """A binding that the host cuts short is not the plugin's doing."""

    class Slow(moorage.Plugin):
        """Takes its time."""

        @moorage.hookimpl
        async def bind(self) -> None:
            """Wait."""
            begun.set()
            await asyncio.sleep(60)

    begun = asyncio.Event()
    reservation = attempt(World(Slow=Slow))
    assert isinstance(reservation, Reservation)
    task = asyncio.create_task(bind(reservation))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_an_interruption_from_outside_is_no_fault() -> None:
    """Where Python raises on Ctrl-C by itself, a hook that runs just then is not to blame."""
    with pytest.raises(KeyboardInterrupt):
        let_through(KeyboardInterrupt())


def _raw(wait: Any) -> moorage.Verdict:  # noqa: ANN401 - also what is wrong
    return moorage.Verdict(moorage.Code.WAIT, timeout=wait)


@pytest.mark.parametrize("wait", ["x", -1.0, float("nan"), None])
@pytest.mark.parametrize("made", [moorage.Verdict.wait, _raw])
def test_a_wait_that_is_no_time_names_the_plugin(wait: Any, made: Any) -> None:  # noqa: ANN401 - also what is wrong
    """A pod must not wait for what no clock shows."""
    hook = moorage.hookimpl(lambda self: made(wait))
    outcome = attempt(World(Broken=type("Broken", (moorage.Plugin,), {"permit": hook})))
    assert isinstance(outcome, Failure)
    assert "plugin 'Broken' (tests)" in outcome.message
    assert repr(wait) in outcome.message
    assert "permit" in outcome.message


@pytest.mark.parametrize(
    ("hook", "kind"), [("filter", SystemExit), ("pre_bind", asyncio.CancelledError)]
)
async def test_a_runner_goes_on(hook: str, kind: type[BaseException]) -> None:
    """With a plugin that exits, the process is there still, and stops when it is told to."""
    services = Services()
    asynchronous = hook == "pre_bind"
    broken = raising(hook, kind, asynchronous=asynchronous)
    plugins: dict[str, type[moorage.Plugin]] = {"Sort": Sort, "Room": Room, "Broken": broken}
    framework = make_framework(plugins, services=services)
    async with EmbeddedApiServer() as server:
        amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        status = {"allocatable": amounts, "capacity": amounts}
        server.store.create(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": status}
        )
        server.store.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p", "namespace": "default"},
                "spec": {"containers": [{"name": "c", "image": "app:v1"}]},
            }
        )
        runner = Runner(
            {PROFILE: framework},
            services,
            Connection.to_url(server.url),
            initial_backoff=0.01,
            max_backoff=0.01,
        )
        task = asyncio.create_task(runner.run())
        async with asyncio.timeout(10):
            await runner.until_idle()
            runner.stop()
            await task
        pod = server.store.get("pods", "p", namespace="default")
    (condition,) = pod["status"]["conditions"]
    assert f"plugin 'Broken' (tests) raised in {hook}: {kind.__name__}" in condition["message"]


async def _announce(reservation: Reservation) -> None:
    """Tell nobody."""


async def bind(reservation: Reservation) -> moorage.Verdict:
    """Take a reserved pod to its node."""
    async with asyncio.timeout(5):
        return await Binder(DaemonThreads(limit=1), _announce).bind(reservation, lambda: None)
