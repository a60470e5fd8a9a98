"""A reserved pod's way to its node: wait, pre-bind, bind, post-bind; and everything that can fail."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from typing import Any

import pytest
from tests.loop_kit import World, added, listed, make_node, make_pod, scripted

import moorage
from moorage.binding import Binder, DaemonThreads, Reservation
from moorage.errors import ApiError
from moorage.framework.verdict import SKIP

HOOKS = ("permit", "pre_bind_pre_flight", "pre_bind", "bind", "post_bind")


class Case:
    """Plugins A and B that follow a script, and a binder that notes what it announces."""

    def __init__(
        self,
        answers: dict[str, Any] | None = None,
        *,
        hooks: tuple[str, ...] = HOOKS,
        asynchronous: bool = True,
        pods: int = 1,
    ) -> None:
        self.log: list[str] = []
        follower = scripted(hooks, answers or {}, self.log, asynchronous=asynchronous)
        self.world = World(A=follower, B=follower)
        session = self.world.session
        session.nodes.take(listed(make_node("n1")))
        session.pods.take(added(*(make_pod(f"p{index}") for index in range(pods))))
        self.announced: list[str] = []
        self.threads = DaemonThreads(limit=4)
        self.binder = Binder(self.threads, self._announce, self._hush)

    async def _announce(self, reservation: Reservation) -> None:
        self.announced.append(reservation.node_name)
        self.log.append("announce")

    async def _hush(self, reservation: Reservation) -> None:
        self.log.append("hush")

    def reserve(self) -> Reservation:
        """Reserve a node for the next pod."""
        reservation = self.world.session.attempt()
        assert isinstance(reservation, Reservation)
        self.log.clear()
        return reservation

    async def bind(self, reservation: Reservation | None = None) -> moorage.Verdict:
        """Bind a pod."""
        async with asyncio.timeout(5):
            return await self.binder.bind(
                reservation or self.reserve(), lambda: self.log.append("permitted")
            )


@pytest.fixture(params=[True, False], ids=["async", "plain"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    """Say whether the hooks are ``async def`` or plain functions."""
    return bool(request.param)


async def test_hooks_run_in_order(asynchronous: bool) -> None:  # noqa: FBT001 - a fixture
    """Pre-flight of all, then pre-bind of all, then the first that binds."""
    case = Case({"A.bind": SKIP}, asynchronous=asynchronous)
    assert (await case.bind()).is_success
    assert case.log == [
        "A.pre_bind_pre_flight",
        "B.pre_bind_pre_flight",
        "announce",
        "permitted",
        "A.pre_bind",
        "B.pre_bind",
        "hush",
        "A.bind",
        "B.bind",
    ]


async def test_first_that_binds_ends_it() -> None:
    """The next binding plugin is not asked."""
    case = Case(hooks=("bind",))
    assert (await case.bind()).is_success
    assert case.log == ["permitted", "hush", "A.bind"]


async def test_plugin_with_nothing_to_do_is_left_out() -> None:
    """Skip in pre-flight: its pre-bind is not called, and nothing is announced for its sake."""
    case = Case({"pre_bind_pre_flight": SKIP})
    assert (await case.bind()).is_success
    assert case.announced == []
    assert "A.pre_bind" not in case.log


async def test_pod_that_has_to_wait_is_announced() -> None:
    """Others learn where it is about to go before it waits."""
    case = Case({"A.permit": moorage.Verdict.wait(30)}, hooks=("permit", "bind"))
    reservation = case.reserve()
    task = asyncio.create_task(case.bind(reservation))
    await asyncio.sleep(0)
    assert case.announced == ["n1"]
    assert reservation.waiting is not None
    reservation.waiting.allow("A")
    assert (await task).is_success


async def test_pod_is_let_go_from_another_thread() -> None:
    """A plugin may decide in a thread of its own."""
    case = Case({"A.permit": moorage.Verdict.wait(30)}, hooks=("permit", "bind"))
    reservation = case.reserve()
    assert reservation.waiting is not None
    timer = threading.Timer(0.02, reservation.waiting.allow, ["A"])
    timer.start()
    assert (await case.bind(reservation)).is_success
    timer.join()


async def test_pod_that_was_settled_before_its_task_began_does_not_wait() -> None:
    """The last pod of a group may have let it go in its own cycle."""
    case = Case({"A.permit": moorage.Verdict.wait(30)}, hooks=("permit", "bind"))
    reservation = case.reserve()
    assert reservation.waiting is not None
    reservation.waiting.reject("A", "group is incomplete")
    verdict = await case.bind(reservation)
    assert verdict == moorage.Verdict.unschedulable("group is incomplete").of("A")
    assert "permitted" not in case.log


async def test_time_that_is_over_refuses() -> None:
    """Whoever drives the clock expires the pod; its task hears of it."""
    case = Case({"A.permit": moorage.Verdict.wait(10)}, hooks=("permit", "bind"))
    reservation = case.reserve()
    task = asyncio.create_task(case.bind(reservation))
    await asyncio.sleep(0)
    case.world.clock.now += 10
    case.world.session.tick()
    assert (await task).message == "rejected due to timeout after waiting 10s at plugin A"


REFUSED = moorage.Verdict.unschedulable("no")


@pytest.mark.parametrize(
    ("hook", "answer", "expected"),
    [
        pytest.param(
            "A.pre_bind_pre_flight",
            REFUSED,
            moorage.Verdict.error(
                'PreBindPreFlight A returned "Unschedulable", which is unsupported. It is supposed '
                "to return Success, Skip, or Error status"
            ).of("A"),
            id="preflight-refuses",
        ),
        pytest.param(
            "A.pre_bind_pre_flight",
            moorage.Verdict.error("no"),
            moorage.Verdict.error('running PreBindPreFlight "A": no').of("A"),
            id="preflight-reports",
        ),
        pytest.param("B.pre_bind", REFUSED, REFUSED.of("B"), id="pre-bind-refuses"),
        pytest.param(
            "B.pre_bind",
            moorage.Verdict.error("no"),
            moorage.Verdict.error('running PreBind plugin "B": no').of("B"),
            id="pre-bind-reports",
        ),
        pytest.param(
            "A.bind",
            REFUSED,
            REFUSED.of("A"),
            id="bind-refuses",
        ),
        pytest.param(
            "A.bind",
            ApiError("pod p is bound already", code=409, reason="Conflict"),
            moorage.Verdict.error('running Bind plugin "A": pod p is bound already').of("A"),
            id="bind-conflicts",
        ),
        pytest.param(
            "A.bind",
            ValueError("no"),
            moorage.Verdict.error("plugin 'A' (tests) raised in bind: ValueError: no").of("A"),
            id="bind-raises",
        ),
        pytest.param(
            "A.pre_bind",
            "yes",
            moorage.Verdict.error(
                "plugin 'A' (tests) returned str from pre_bind, which takes a Verdict or None"
            ).of("A"),
            id="nonsense",
        ),
        pytest.param(
            "A.pre_bind",
            moorage.Verdict.wait(3),
            moorage.Verdict.error(
                'running PreBind plugin "A": it answered Wait, which has no meaning here'
            ).of("A"),
            id="wrong-code",
        ),
    ],
)
async def test_failures_name_plugin_and_cause(
    hook: str,
    answer: Any,  # noqa: ANN401 - a script
    expected: moorage.Verdict,
    asynchronous: bool,  # noqa: FBT001 - a fixture
) -> None:
    """Nothing is raised, and nothing after it runs."""
    case = Case({hook: answer}, asynchronous=asynchronous)
    assert await case.bind() == expected
    assert case.log[-1] == hook


async def test_pod_that_nobody_binds_is_an_error() -> None:
    """All binding plugins left it to the next, or there is none."""
    case = Case({"bind": SKIP}, hooks=("bind",))
    verdict = await case.bind()
    assert verdict.code is moorage.Code.ERROR
    assert "no Bind plugin of profile 'default-scheduler' binds pod ns/p0" in verdict.message


async def test_post_bind_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """What it raises is logged by name, and the others are told all the same."""
    case = Case({"A.post_bind": KeyError("lost")}, hooks=("post_bind",))
    with caplog.at_level(logging.ERROR):
        await case.binder.post_bind(case.reserve())
    assert case.log == ["A.post_bind", "B.post_bind"]
    assert "plugin 'A' (tests) raised in post_bind: KeyError: 'lost' (pod ns/p0)" in caplog.text


async def test_plain_hook_that_hangs_holds_up_its_pod_alone() -> None:
    """Others are bound meanwhile, and the event loop stays free."""
    release = threading.Event()

    def hang(pod: moorage.Pod, plugin: moorage.Plugin) -> None:
        if pod.metadata.name == "p0":
            release.wait(5)

    case = Case({"A.pre_bind": hang}, hooks=("pre_bind", "bind"), asynchronous=False, pods=2)
    hung = asyncio.create_task(case.bind(case.reserve()))
    begun = time.perf_counter()
    assert (await case.bind(case.reserve())).is_success
    assert time.perf_counter() - begun < 2
    assert not hung.done()
    release.set()
    assert (await hung).is_success


async def test_plain_hook_that_returns_an_awaitable_is_awaited() -> None:
    """A decorated ``async def`` does not look like one."""
    ran = []

    async def work() -> None:
        ran.append("it")

    case = Case({"A.bind": lambda _pod, _plugin: work()}, hooks=("bind",), asynchronous=False)
    assert (await case.bind()).is_success
    assert ran == ["it"]


async def at_work() -> tuple[
    Case, asyncio.Task[moorage.Verdict], moorage.PodInPreBind, asyncio.Event
]:
    """Bring a pod into an async hook that takes for ever; the event tells that the hook has ended."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    case = Case({"A.pre_bind": lambda _pod, _plugin: work()})
    task = asyncio.create_task(case.bind(case.reserve()))
    await begun.wait()
    pod = case.world.services.pre_binding.get("p0")
    assert pod is not None
    return case, task, pod, ended


async def test_pod_that_is_called_off_in_pre_bind_is_not_bound() -> None:
    """What an async hook does is cut short, later hooks are not asked, and nothing is refused."""
    case, task, pod, ended = await at_work()
    assert pod.cancel("preempted by Other")
    assert await task == moorage.Verdict.error("preempted by Other")
    assert ended.is_set()
    assert "B.pre_bind" not in case.log
    assert "hush" not in case.log
    assert len(case.world.services.pre_binding) == 0


async def test_pod_may_be_called_off_from_a_thread_of_a_plugin() -> None:
    """As it may be allowed to go on from there."""
    asyncio.get_running_loop().set_debug(True)  # asyncio looks who calls only then
    _, task, pod, _ = await at_work()
    assert await asyncio.to_thread(pod.cancel, "preempted by Other")
    assert await task == moorage.Verdict.error("preempted by Other")


async def test_plain_hook_is_over_before_its_pod_is_called_off() -> None:
    """Its thread cannot be stopped, and must not go on while what it did is undone."""
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def work(_pod: moorage.Pod, _plugin: moorage.Plugin) -> None:
        begun.set()
        go_on.wait(5)
        ended.set()

    case = Case({"A.pre_bind": work}, asynchronous=False)
    task = asyncio.create_task(case.bind(case.reserve()))
    await asyncio.to_thread(begun.wait, 5)
    pod = case.world.services.pre_binding.get("p0")
    assert pod is not None
    assert pod.cancel("preempted by Other")
    await asyncio.sleep(0.01)
    assert not task.done()
    go_on.set()
    assert (await task).message == "preempted by Other"
    assert ended.is_set()
    assert "B.pre_bind" not in case.log


async def test_pod_that_is_about_to_be_bound_is_not_called_off() -> None:
    """Whoever wants its room has to delete it."""
    answers: list[bool] = []

    def work(pod: moorage.Pod, plugin: moorage.Plugin) -> None:
        found = plugin.handle.pods_in_pre_bind.get(pod.metadata.uid)
        assert found is not None
        found.finish()
        answers.append(found.cancel("preempted by Other"))

    case = Case({"B.pre_bind": work})
    assert (await case.bind()).is_success
    assert answers == [False]


async def test_end_of_the_process_is_not_mistaken_for_a_pod_that_is_called_off() -> None:
    """Both may come at once; whoever cancelled the task waits for it to end."""
    _, task, pod, _ = await at_work()
    assert pod.cancel("preempted by Other")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
