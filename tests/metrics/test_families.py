"""How numbers are kept: recorded cheaply, folded later, never lost."""

from __future__ import annotations

import threading
from bisect import bisect_left

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Counter as LibraryCounter

from moorage.metrics import Counter, Gauge, Histogram, Metrics

BOUNDS = (0.1, 1.0, 10.0)


@given(st.lists(st.floats(0, 100)), st.integers(1, 5))
def test_histogram_counts_as_a_plain_one_would(values: list[float], every: int) -> None:
    """However often it is folded in between, counts and sum are those of a loop."""
    histogram = Histogram("h", "", bounds=BOUNDS)
    for index, value in enumerate(values):
        histogram.observe(value)
        if not index % every:
            histogram.fold()
    counts = [0] * (len(BOUNDS) + 1)
    for value in values:
        counts[bisect_left(BOUNDS, value)] += 1
    samples = {
        sample.labels.get("le", sample.name): sample.value for sample in histogram.collect().samples
    }
    assert [samples[edge] for edge in ("0.1", "1.0", "10.0", "+Inf")] == [
        sum(counts[: index + 1]) for index in range(4)
    ]
    assert samples["h_sum"] == pytest.approx(sum(values))
    assert histogram.pending == 0


def test_nothing_is_lost_between_threads() -> None:
    """One thread observes while another one folds."""
    histogram = Histogram("h", "", bounds=BOUNDS)
    stop = threading.Event()

    def fold() -> None:
        while not stop.is_set():
            histogram.fold()

    folding = threading.Thread(target=fold)
    folding.start()
    for _ in range(50_000):
        histogram.observe(0.5)
    stop.set()
    folding.join()
    assert histogram.count() == 50_000


def test_labels_are_counted() -> None:
    """A series with too few labels is a fault of the caller."""
    with pytest.raises(ValueError, match="has labels"):
        Counter("c_total", "", "a", "b").inc("1")


def test_gauge_reads_where_the_number_stands() -> None:
    """A source is asked again when its dictionary changed under it."""
    gauge = Gauge("g", "", "queue")
    failures = iter([RuntimeError("dictionary changed size")])

    def source() -> dict[tuple[str, ...], float]:
        for failure in failures:
            raise failure
        return {("active",): 3.0}

    gauge.read_from(source)
    [sample] = gauge.collect().samples
    assert (sample.labels, sample.value) == ({"queue": "active"}, 3.0)


def test_observations_take_no_room_for_long() -> None:
    """`tick` folds what nobody scrapes."""
    metrics = Metrics()
    metrics.scheduling.pod_attempts.observe(1)
    metrics.tick()
    assert metrics.scheduling.pod_attempts.pending == 0


def test_no_created_series() -> None:
    """Neither of ours nor of a plugin that uses the library."""
    metrics = Metrics()
    LibraryCounter("mine", "A plugin's.", registry=metrics.plugins).inc()
    text = metrics.text().decode()
    assert "mine_total 1.0" in text
    assert "_created" not in text


def test_what_is_switched_off_stands_still() -> None:
    """Without recording, the clock that durations are made of does not move."""
    assert Metrics(recording=False).clock() == 0.0
