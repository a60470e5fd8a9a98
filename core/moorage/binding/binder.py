"""What happens to a reserved pod in a task of its own: wait, pre-bind, bind, post-bind."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from moorage.binding.reservation import Reservation
from moorage.binding.threads import DaemonThreads
from moorage.binding.wording import failure
from moorage.fault_log import log_fault
from moorage.framework.blame import current_task
from moorage.framework.pre_binding import PodInPreBind
from moorage.framework.profile import Hook
from moorage.framework.verdict import SUCCESS, Code, Verdict

__all__ = ["Announce", "Binder"]

_logger = logging.getLogger(__name__)

Announce = Callable[[Reservation], Awaitable[None]]
"""Writes down where a pod is about to go; does not raise."""


class Binder:
    """Binds reserved pods, each in its caller's task; async hooks are awaited, plain ones run in threads.

    Pods that wait in Permit are settled by others: plugins, the feed, timers. `announce` is awaited before a pod waits, or has something done for it before it is bound; `hush` before it is bound, so that nothing said about it arrives later.
    """

    def __init__(
        self, threads: DaemonThreads, announce: Announce, hush: Announce | None = None
    ) -> None:
        self._threads = threads
        self._announce = announce
        self._hush = hush

    async def bind(self, reservation: Reservation, on_permitted: Callable[[], None]) -> Verdict:
        """Take a pod from Permit to being bound; Success, or why it is not bound.

        `on_permitted` is called once the pod may go on: from then on it can fail, not be refused.
        Undoes nothing. Never raises for what a plugin does.
        """
        clock, point = reservation.hooks.metrics.clock, reservation.hooks.metrics.point
        begun = clock()
        verdict, skipped = await self._pre_flight(reservation)
        has_work = len(skipped) < len(reservation.hooks.pre_bind)
        code = verdict.code if has_work or not verdict.is_success else Code.SKIP
        point("PreBindPreFlight", clock() - begun, code.label)
        if not verdict.is_success:
            return verdict
        if has_work or reservation.waiting is not None:
            await self._announce(reservation)
        verdict = await self._wait(reservation)
        if not verdict.is_success:
            return verdict
        on_permitted()
        begun = clock()
        if has_work:
            verdict = await self._pre_bind(reservation, skipped)
        prepared = clock()
        point("PreBind", prepared - begun, verdict.code.label)
        if not verdict.is_success:
            return verdict
        if self._hush is not None:
            await self._hush(reservation)
        verdict = await self._bind(reservation)
        point("Bind", clock() - prepared, verdict.code.label)
        return verdict

    async def post_bind(self, reservation: Reservation) -> None:
        """Tell the PostBind plugins, in order; what goes wrong is logged."""
        metrics = reservation.hooks.metrics
        begun = metrics.clock()
        for hook in reservation.hooks.post_bind:
            asked = metrics.clock()
            try:
                await self._call(hook, reservation)
            except BaseException as error:  # noqa: BLE001 - the pod is bound; the others are told all the same
                log_fault(_logger, error, reservation.worded(hook, error))
            reservation.timed(hook, SUCCESS, asked)
        metrics.point("PostBind", metrics.clock() - begun)

    async def _pre_bind(self, reservation: Reservation, skipped: frozenset[str]) -> Verdict:
        """Ask the PreBind plugins that have something to do, up to the first that fails.

        Or until the pod is called off. A plain hook is waited for even then: its thread cannot be
        stopped, and what it does must be over before it is undone.
        """
        pods = reservation.framework.services.pre_binding
        with pods.working_for(reservation.info.uid) as pod:
            for hook in reservation.hooks.pre_bind:
                if hook.plugin not in skipped:
                    verdict = await self._ask_unless_called_off(hook, reservation, pod)
                    if not verdict.is_success:
                        return verdict
            pod.finish()
        return SUCCESS

    async def _ask_unless_called_off(
        self, hook: Hook, reservation: Reservation, pod: PodInPreBind
    ) -> Verdict:
        # Cancelled in place: whoever drives this, a task or not, drives all of it.
        task = current_task() if _is_async(hook, reservation) else None
        if task is None:
            verdict = await self._ask(hook, reservation)
        else:
            pod.on_called_off = call_off = _CallOff(task)
            try:
                verdict = await self._ask(hook, reservation)
            except asyncio.CancelledError:
                if not call_off.was_made or task.cancelling() > 1:
                    raise  # the process ends
            finally:
                pod.on_called_off = None
                call_off.end()
        return Verdict.error(pod.called_off) if pod.called_off else verdict

    async def _pre_flight(self, reservation: Reservation) -> tuple[Verdict, frozenset[str]]:
        """Return a failure, or which plugins have nothing to do before the pod is bound."""
        skipped = set()
        for plugin, hook in reservation.hooks.pre_flight.items():
            verdict = await self._ask(hook, reservation, may_skip=True)
            if verdict.code is Code.SKIP:
                skipped.add(plugin)
            elif not verdict.is_success:
                return verdict, frozenset()
        return SUCCESS, frozenset(skipped)

    async def _wait(self, reservation: Reservation) -> Verdict:
        """Wait until Permit is settled, for whom it is not."""
        waiting = reservation.waiting
        if waiting is None:
            return SUCCESS
        begun = reservation.hooks.metrics.clock()
        if waiting.verdict is None:
            loop = asyncio.get_running_loop()
            settled = asyncio.Event()
            # A plugin may settle it from a thread of its own.
            waiting.on_settled = lambda: _tell(loop, settled)
            # It may have been settled, from such a thread, just before.
            if waiting.verdict is None:
                await settled.wait()
        assert waiting.verdict is not None  # noqa: S101 - it is settled
        metrics = reservation.hooks.metrics
        metrics.waited(metrics.clock() - begun, result=waiting.verdict.code.label)
        return waiting.verdict

    async def _bind(self, reservation: Reservation) -> Verdict:
        framework = reservation.framework
        for hook in reservation.hooks.bind:
            verdict = await self._ask(hook, reservation, may_skip=True)
            if verdict.code is not Code.SKIP:
                return verdict
        return Verdict.error(
            f"no Bind plugin of profile {framework.profile_name!r} binds pod "
            f"{reservation.info.key}; enable one, such as DefaultBinder"
        )

    async def _ask(
        self, hook: Hook, reservation: Reservation, *, may_skip: bool = False
    ) -> Verdict:
        """Return a hook's verdict; whatever goes wrong is one of code Error."""
        begun = reservation.hooks.metrics.clock()
        verdict = await self._verdict(hook, reservation, may_skip=may_skip)
        reservation.timed(hook, verdict, begun)
        return verdict

    async def _verdict(self, hook: Hook, reservation: Reservation, *, may_skip: bool) -> Verdict:
        framework = reservation.framework
        try:
            verdict = framework.check_verdict(hook, await self._call(hook, reservation))
        except BaseException as error:  # noqa: BLE001 - whatever a plugin raises costs this pod its turn
            return failure(framework, hook, error)
        skips = may_skip and verdict.code is Code.SKIP
        refuses = verdict.is_rejection and hook.name != "pre_bind_pre_flight"
        if verdict.is_success or skips or refuses:
            return verdict
        return failure(framework, hook, verdict)

    async def _call(self, hook: Hook, reservation: Reservation) -> Any:  # noqa: ANN401 - whatever a plugin returns
        reservation.at = hook
        try:
            return await self._answer(hook, reservation)
        finally:
            reservation.at = None

    async def _answer(self, hook: Hook, reservation: Reservation) -> Any:  # noqa: ANN401 - as above
        arguments = reservation.arguments(hook)
        if _is_async(hook, reservation):
            return await hook.call(*arguments)
        answer = await self._threads.run(lambda: hook.call(*arguments))
        return await answer if inspect.isawaitable(answer) else answer


class _CallOff:
    """Cancels what a task is at, until its `end`; a plugin may call it from a thread of its own."""

    def __init__(self, task: asyncio.Task[object]) -> None:
        self.was_made = False
        self._task = task
        self._loop = asyncio.get_running_loop()
        self._is_over = False

    def __call__(self) -> None:
        self._loop.call_soon_threadsafe(self._cancel)

    def end(self) -> None:
        """Cancel nothing any more, nor have the task count as cancelled."""
        self._is_over = True
        if self.was_made:
            self._task.uncancel()

    def _cancel(self) -> None:
        if not self._is_over:
            self.was_made = True
            self._task.cancel()


def _is_async(hook: Hook, reservation: Reservation) -> bool:
    """Say whether a hook is awaited; it runs in a thread otherwise."""
    plugin = reservation.framework.plugins[hook.place]
    return inspect.iscoroutinefunction(getattr(plugin, hook.name))


def _tell(loop: asyncio.AbstractEventLoop, settled: asyncio.Event) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(settled.set)
