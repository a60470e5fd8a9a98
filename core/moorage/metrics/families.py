"""Counters, gauges and histograms that cost a scheduling loop next to nothing.

What happens often is only appended to a list (0.1 us); `Histogram.fold` sorts it into buckets,
thousands at a time, when somebody looks or once a second. A histogram of the library's takes a lock
and walks its buckets for each observation, which is some 4 us: thirty of those for each pod would
be felt.

Appending, and cutting off the front of a list, are atomic in CPython, so one thread may record while
another one folds. Counters are counted by one thread each; `Counter.inc` says what to do otherwise.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.utils import floatToGoString

__all__ = ["Counter", "CounterSeries", "Family", "Gauge", "Histogram", "HistogramSeries"]

Labels = tuple[str, ...]
Readings = Mapping[Labels, float]


class Family(ABC):
    """One metric by its full name, with the names of its labels, in the order they are given."""

    kind = ""

    def __init__(self, name: str, text: str, *labels: str) -> None:
        self.name = name
        self.text = text
        self.labels = labels

    @abstractmethod
    def collect(self) -> Metric:
        """Return all series as they are now."""

    def _check(self, labels: Labels) -> None:
        if len(labels) != len(self.labels):
            raise ValueError(f"{self.name} has labels {self.labels}, not {labels}")


class CounterSeries:
    """One series of a counter."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def inc(self, by: float = 1.0) -> None:
        """Count; only one thread may, since reading and writing are two steps."""
        self.value += by


class Counter(Family):
    """What only grows; `name` ends in ``_total``. A series is there from its first use on."""

    kind = "counter"

    def __init__(self, name: str, text: str, *labels: str) -> None:
        super().__init__(name, text, *labels)
        self._series: dict[Labels, CounterSeries] = {}
        if not labels:
            self._series[()] = CounterSeries()

    def series(self, *labels: str) -> CounterSeries:
        """Return the series of some values of the labels; keep it, where counting is frequent."""
        known = self._series.get(labels)
        if known is None:
            self._check(labels)
            known = self._series[labels] = CounterSeries()
        return known

    def inc(self, *labels: str) -> None:
        """Count one."""
        self.series(*labels).inc()

    def value(self, *labels: str) -> float:
        """Return what was counted so far."""
        known = self._series.get(labels)
        return 0.0 if known is None else known.value

    def collect(self) -> Metric:
        """Return all series."""
        metric = CounterMetricFamily(self.name, self.text, labels=self.labels)
        for labels, series in list(self._series.items()):
            metric.add_metric(labels, series.value)
        return metric


class Gauge(Family):
    """What goes up and down, read where it is when somebody looks; `set` for what stands nowhere."""

    kind = "gauge"

    def __init__(self, name: str, text: str, *labels: str) -> None:
        super().__init__(name, text, *labels)
        self._values: dict[Labels, float] = {}
        self._source: Callable[[], Readings] | None = None

    def set(self, value: float, *labels: str) -> None:
        """Put a value in place."""
        self._check(labels)
        self._values[labels] = value

    def read_from(self, source: Callable[[], Readings]) -> None:
        """Have `source` asked for all values from now on; it may be called in any thread."""
        self._source = source

    def collect(self) -> Metric:
        """Return all series."""
        metric = GaugeMetricFamily(self.name, self.text, labels=self.labels)
        values = dict(self._values)
        if self._source is not None:
            values.update(_patiently(self._source))
        for labels, value in values.items():
            metric.add_metric(labels, value)
        return metric


class HistogramSeries:
    """One series of a histogram; `observe(value)` is the append of a list."""

    __slots__ = ("_bounds", "_counts", "_pending", "_sum", "observe")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = np.array(bounds)
        self._counts = np.zeros(len(bounds) + 1, dtype=np.int64)
        self._sum = 0.0
        self._pending: list[float] = []
        self.observe: Callable[[float], None] = self._pending.append

    def fold(self) -> None:
        """Sort what was observed into buckets; the caller holds the family's lock."""
        count = len(self._pending)
        if not count:
            return
        values = np.array(self._pending[:count])
        del self._pending[:count]
        # A value that equals a bound belongs to its bucket: bounds are inclusive.
        buckets = np.searchsorted(self._bounds, values, side="left")
        self._counts += np.bincount(buckets, minlength=len(self._counts))
        self._sum += float(values.sum())

    @property
    def pending(self) -> int:
        """How many observations wait to be folded."""
        return len(self._pending)

    def snapshot(self) -> tuple[list[int], float]:
        """Return the counts by bucket, cumulated, and the sum."""
        return np.cumsum(self._counts).tolist(), self._sum


class Histogram(Family):
    """How often something was how large; `bounds` ascend, without infinity."""

    kind = "histogram"

    def __init__(self, name: str, text: str, *labels: str, bounds: Sequence[float]) -> None:
        super().__init__(name, text, *labels)
        self.bounds = tuple(bounds)
        self.keeps = True
        """Whether what is observed is kept; to be changed before the first series is made."""
        self._edges = [*map(floatToGoString, bounds), "+Inf"]
        self._series: dict[Labels, HistogramSeries] = {}
        self._lock = threading.Lock()

    def series(self, *labels: str) -> HistogramSeries:
        """Return the series of some values of the labels; keep it, where observing is frequent."""
        known = self._series.get(labels)
        if known is None:
            self._check(labels)
            # Of two threads that come first, one wins; both must get the same series.
            known = self._series.setdefault(labels, HistogramSeries(self.bounds))
            if not self.keeps:
                known.observe = _drop
        return known

    def observe(self, value: float, *labels: str) -> None:
        """Note one value."""
        self.series(*labels).observe(value)

    def fold(self) -> None:
        """Sort what was observed into buckets, so that it takes no more room."""
        with self._lock:
            for series in list(self._series.values()):
                series.fold()

    def count(self, *labels: str) -> int:
        """Return how many values were observed so far."""
        self.fold()
        known = self._series.get(labels)
        return 0 if known is None else known.snapshot()[0][-1]

    @property
    def pending(self) -> int:
        """How many observations wait to be folded."""
        return sum(series.pending for series in list(self._series.values()))

    def collect(self) -> Metric:
        """Return all series; that of a metric without labels also before its first value."""
        if not self.labels:
            self.series()
        self.fold()
        metric = HistogramMetricFamily(self.name, self.text, labels=self.labels)
        for labels, series in list(self._series.items()):
            with self._lock:
                counts, total = series.snapshot()
            metric.add_metric(labels, list(zip(self._edges, counts, strict=True)), total)
        return metric


def _drop(value: float) -> None:
    """Keep nothing."""


_PATIENCE = 5


def _patiently(source: Callable[[], Readings]) -> Readings:
    """Ask again where a dictionary changed while it was read, as happens between threads."""
    for _ in range(_PATIENCE):
        try:
            return source()
        except RuntimeError:
            continue
    return {}


def families_in(holder: object) -> Iterator[Family]:
    """Yield the families that an object has as attributes, in the order of their making."""
    return (value for value in vars(holder).values() if isinstance(value, Family))
