"""What metrics cost: pods taken through a session with and without them, in one run.

Without means that nothing is kept and the clock stands still; what is left are some twenty calls
that do nothing, about a microsecond a pod.
"""

from __future__ import annotations

import statistics
import time

import msgspec
import numpy as np
import pytest
from tests.bench.fit_pass import cluster_of, pod

from moorage import Pod, discover
from moorage.api.decoding import Added
from moorage.api.watching import Changes
from moorage.binding.reservation import Reservation
from moorage.config import default_configuration
from moorage.config.producers import assemble
from moorage.framework.handle import Services
from moorage.metrics import Metrics
from moorage.session import Session

pytestmark = pytest.mark.bench

NODES, PODS, ROUNDS = 1000, 500, 11


class Bench:
    """One session, and numbers for the pods that come next."""

    def __init__(self, *, recording: bool) -> None:
        services = Services(
            cluster=cluster_of(NODES, 2),
            generator=np.random.default_rng(1),
            metrics=Metrics(recording=recording),
        )
        configuration = default_configuration(("default-scheduler",))
        frameworks = assemble(configuration, discover(), services=services).frameworks
        for framework in frameworks.values():
            framework.register_events()
        self.session = Session(frameworks, services)
        self._next = 0

    def seconds(self) -> float:
        """Take pods in, decide and bind them; return how long one took."""
        pods: list[Pod] = []
        for _ in range(PODS):
            self._next += 1
            info = pod(self._next, {"schedulerName": "default-scheduler"} | SPEC)
            pods.append(info.pod)
        begun = time.perf_counter()
        self.session.pods.take(Changes([Added(one) for one in pods]))
        for _ in pods:
            self.session.tick()
            outcome = self.session.attempt()
            assert isinstance(outcome, Reservation), outcome
            self.session.permitted(outcome)
            self.session.bound(outcome)
        seconds = (time.perf_counter() - begun) / PODS
        for one in pods:
            self.session.pods.drop(one.metadata.uid)
        return seconds


SPEC = msgspec.json.decode(
    b'{"containers":[{"name":"main","image":"registry.example/app-1:v1",'
    b'"resources":{"requests":{"cpu":"100m","memory":"256Mi"}}}]}'
)


def test_metrics_cost_at_most_five_percent() -> None:
    """Of the time that a pod takes from the watch to being bound, HTTP left out."""
    kept, dropped = Bench(recording=True), Bench(recording=False)
    kept.seconds()
    dropped.seconds()
    ratios, times = [], []
    for round_ in range(ROUNDS):
        # Alternately first, so that a machine that slows down favours neither.
        if round_ % 2:
            with_metrics, without = kept.seconds(), dropped.seconds()
        else:
            without, with_metrics = dropped.seconds(), kept.seconds()
        ratios.append(with_metrics / without)
        times.append(with_metrics)
    ratio = statistics.median(ratios)
    microseconds = statistics.median(times) * 1e6
    print(f"metrics: {ratio:.3f} of the time without, {microseconds:.0f} us a pod")  # noqa: T201 - a benchmark reports
    assert ratio <= 1.05
