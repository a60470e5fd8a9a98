"""Backoff and throttling, without waiting."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.pacing import Backoff, TokenBucket


@given(seed=st.integers(0, 2**32), failures=st.integers(1, 20))
def test_delays_double_within_their_bounds(seed: int, failures: int) -> None:
    """Each delay lies between its step and twice that, whatever the jitter."""
    backoff = Backoff(rng=random.Random(seed), clock=lambda: 0.0)
    for failure in range(failures):
        step = min(30.0, 0.8 * 2**failure)
        assert step <= backoff.delay() <= 2 * step


def test_a_healthy_period_resets() -> None:
    """Two minutes after the last failure, delays begin anew; a second earlier they do not."""
    now = 0.0
    backoff = Backoff(rng=random.Random(1), clock=lambda: now)
    for _ in range(6):
        backoff.delay()
    now += 119
    assert backoff.delay() >= 30
    now += 120
    assert backoff.delay() <= 1.6


async def test_bucket_refills_up_to_its_burst() -> None:
    """After a long rest, no more than the burst goes through at once."""
    now = 0.0
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    bucket = TokenBucket(qps=2, burst=3, clock=lambda: now, sleep=sleep)
    for _ in range(3):
        await bucket.acquire()
    assert not waits
    now = 1000.0
    for _ in range(4):
        await bucket.acquire()
    assert waits == [0.5]


@pytest.mark.parametrize(("qps", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_a_limit_that_lets_nothing_through_is_refused(qps: float, burst: int) -> None:
    """Such a client would hang for ever."""
    with pytest.raises(ValueError, match="qps above 0 and a burst of 1"):
        TokenBucket(qps=qps, burst=burst, clock=lambda: 0.0)
