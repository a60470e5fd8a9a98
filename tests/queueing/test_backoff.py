"""How long a pod waits after a failure."""

from __future__ import annotations

import pytest
from tests.queueing.queue_fakes import pod

from moorage.framework.queued_pod import QueuedPod
from moorage.queueing.backoff import Backoff


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0), (1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (5000, 10)]
)
def test_backoff_doubles_up_to_its_maximum(failures: int, seconds: float) -> None:
    """1, 2, 4, 8 and then 10 seconds; kube-scheduler's defaults."""
    assert Backoff(initial=1.0, maximum=10.0).duration(failures) == seconds


def test_the_first_backoff_is_at_most_the_maximum() -> None:
    """An initial backoff above the maximum is cut."""
    assert Backoff(initial=5.0, maximum=2.0).duration(1) == 2.0


def test_errors_count_before_refusals() -> None:
    """While errors last, they alone decide the wait."""
    queued = QueuedPod(pod("p"), timestamp=100.0)
    queued.unschedulable_count, queued.error_count = 7, 2
    assert Backoff(initial=1.0, maximum=10.0).end(queued) == 102.0


def test_a_backoff_ends_with_a_whole_second() -> None:
    """Backoffs that end within one second end together."""
    queued = QueuedPod(pod("p"), timestamp=100.25)
    queued.unschedulable_count = 1
    assert Backoff(initial=1.0, maximum=10.0).end(queued) == 102.0
