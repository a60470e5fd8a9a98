"""All metrics of one process, and their text."""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric

from moorage.metrics.client import ClientMetrics
from moorage.metrics.families import Family, Histogram, families_in
from moorage.metrics.process import ProcessMetrics, process_metrics
from moorage.metrics.profile import ProfileMetrics
from moorage.metrics.scheduling import SchedulingMetrics
from moorage.metrics.work import WorkMetrics

__all__ = ["Metrics"]

_FOLD_SECONDS = 1.0


class Metrics:
    """The numbers of one process; passed to whoever counts, never global.

    `plugins` is the registry of plugins' own metrics, which are served along. With `recording` off,
    time stands still and nothing of a cycle is measured, to see what measuring costs.
    """

    def __init__(self, plugins: CollectorRegistry | None = None, *, recording: bool = True) -> None:
        self.recording = recording
        self.clock: Callable[[], float] = time.perf_counter if recording else float
        self.plugins = CollectorRegistry(auto_describe=True) if plugins is None else plugins
        self.scheduling = SchedulingMetrics()
        self.client = ClientMetrics()
        self.work = WorkMetrics()
        self.process = ProcessMetrics(importlib.metadata.version("moorage"))
        self.process.register(self.families())
        for family in self.families():
            if isinstance(family, Histogram):
                family.keeps = recording
        self._profiles: dict[str, ProfileMetrics] = {}
        self._folded_at = 0.0

    def profile(self, name: str) -> ProfileMetrics:
        """Return the numbers of a profile, made when first asked for."""
        if name not in self._profiles:
            self._profiles[name] = ProfileMetrics(self.scheduling, name, self.clock)
        return self._profiles[name]

    def families(self) -> Iterator[Family]:
        """Yield all families of ours."""
        for holder in (self.scheduling, self.client, self.work, self.process):
            yield from families_in(holder)

    def tick(self) -> None:
        """Fold what was observed, once a second; to be called often, by whoever observes."""
        now = time.monotonic()
        if now - self._folded_at >= _FOLD_SECONDS:
            self._folded_at = now
            self.fold()

    def fold(self) -> None:
        """Fold all that was observed, so that it takes no more room."""
        for family in self.families():
            if isinstance(family, Histogram):
                family.fold()

    def collect(self) -> Iterable[Metric]:
        """Return all metrics: ours, the process's, the plugins'."""
        for family in self.families():
            metric = family.collect()
            if metric.samples:
                yield metric
        yield from process_metrics()
        for metric in self.plugins.collect():
            yield without_created(metric)

    def text(self) -> bytes:
        """Return all metrics as ``/metrics`` serves them."""
        return generate_latest(self)


def without_created(metric: Metric) -> Metric:
    """Leave out the series that say when a series began: they double the number of series.

    The library can be told not to make them, but only for everybody in the process.
    """
    if not any(sample.name.endswith("_created") for sample in metric.samples):
        return metric
    plain = Metric(metric.name, metric.documentation, metric.type, metric.unit)
    plain.samples = [one for one in metric.samples if one.name != f"{metric.name}_created"]
    return plain
