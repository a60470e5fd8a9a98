"""How signals end a loop, and how long that may take; tests/cli/test_process.py ends processes."""

from __future__ import annotations

import inspect
import signal
import threading

from moorage.runner import Runner, process
from moorage.runner.process import stopping_by_signals
from moorage.serving import leadership

KUBELET_SECONDS = 30.0
"""`terminationGracePeriodSeconds`, where a pod does not say otherwise."""


def test_an_end_in_good_order_is_not_cut_short() -> None:
    """Bindings, the Lease and plugins that close may all take as long as they may, one by one."""
    grace = inspect.signature(Runner).parameters["grace"].default
    longest = grace + leadership._GOODBYE_SECONDS + grace
    assert longest < process.ENDING_SECONDS < KUBELET_SECONDS
    assert process.PATIENCE_SECONDS < process.ENDING_SECONDS


async def test_nothing_is_left_of_a_block_that_ended() -> None:
    """Neither handlers nor a thread, also where a signal came in it."""
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    before = [signal.getsignal(number) for number in numbers]
    stopped, known = threading.Event(), set(threading.enumerate())
    with stopping_by_signals(stopped.set, interrupt=False):
        [deadline] = set(threading.enumerate()) - known
        assert signal.getsignal(signal.SIGTERM) != before[0]
        signal.raise_signal(signal.SIGHUP)
    deadline.join(5)
    assert not deadline.is_alive()
    assert [signal.getsignal(number) for number in numbers] == before
