"""The unit of speed, and a cluster to measure on.

One fit pass is 10 times the median time of ``((A - R) >= r[:, None]).all(axis=0)`` over (4, 5000)
int64 arrays, measured in the same run: a ratio to it says the same on a slow and on a fast machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import numpy as np

from moorage import Node, Pod, PodInfo, discover
from moorage.cache import ClusterCache
from moorage.config import default_configuration
from moorage.config.leaving_out import leave_out
from moorage.config.producers import assemble
from moorage.cycle import Cycle, Decision
from moorage.framework.handle import Services
from moorage.framework.queued_pod import QueuedPod

__all__ = ["Measured", "cluster_of", "cycle_of", "fit_pass", "measure", "pod", "report"]


class FitPass:
    """The unit, sampled as often as one likes: a machine has slow moments that last for seconds."""

    def __init__(self) -> None:
        generator = np.random.default_rng(0)
        self._allocatable = generator.integers(1, 10**9, (4, 5000))
        self._requested = generator.integers(1, 10**9, (4, 5000))
        self._request = np.array([1, 2, 3, 4])
        self._times: list[float] = []

    def sample(self, times: int) -> None:
        """Take the time of the comparison so many times."""
        for _ in range(times):
            start = time.perf_counter()
            ((self._allocatable - self._requested) >= self._request[:, None]).all(axis=0)
            self._times.append(time.perf_counter() - start)

    @property
    def seconds(self) -> float:
        """How long one fit pass takes, over all samples."""
        return 10 * statistics.median(self._times)


def fit_pass() -> float:
    """Measure one fit pass now, in seconds."""
    unit = FitPass()
    unit.sample(500)
    return unit.seconds


_BETWEEN_UNITS = 20
"""Actions between two samples of the unit: enough that it does not keep their memory cold."""


class Measured:
    """Median seconds of something, and what that is in fit passes of the same run."""

    def __init__(self, seconds: float, unit: float) -> None:
        self.seconds = seconds
        self.unit = unit

    @property
    def ratio(self) -> float:
        """How many fit passes it took."""
        return self.seconds / self.unit


def measure(actions: Iterable[Callable[[], Any]], after: Callable[[Any], None]) -> Measured:
    """Time each action alone; `after` gets its result, untimed. The unit is taken in between."""
    unit = FitPass()
    times = []
    for number, action in enumerate(actions):
        if number % _BETWEEN_UNITS == 0:
            unit.sample(50)
        start = time.perf_counter()
        result = action()
        times.append(time.perf_counter() - start)
        after(result)
    unit.sample(50)
    return Measured(statistics.median(times), unit.seconds)


def report(what: str, measured: Measured, bound: float) -> None:
    """Print a figure beside its bound."""
    print(  # noqa: T201 - the figure is what a benchmark is for
        f"\n{what}: {measured.ratio:.2f} fit passes, at most {bound:g} "
        f"({measured.seconds * 1e6:.0f} us; fit pass {measured.unit * 1e6:.0f} us, "
        f"NumPy {np.__version__})"
    )


def pod(number: int, spec: dict[str, Any] | None = None, **metadata: object) -> PodInfo:
    """Make a small pod; `spec` and `metadata` add to it, in the API's spelling."""
    name = f"pod-{number}"
    base: dict[str, Any] = {
        "containers": [
            {
                "name": "main",
                "image": "registry.example/app-1:v1",
                "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
            }
        ]
    }
    return PodInfo(
        msgspec.convert(
            {
                "metadata": {"name": name, "namespace": "default", "uid": name, **metadata},
                "spec": base | (spec or {}),
            },
            Pod,
        )
    )


def cluster_of(nodes: int, pods_a_node: int) -> ClusterCache:
    """Make a cluster with zones, taints, images and bound pods."""
    cluster = ClusterCache()
    for number in range(nodes):
        cluster.set_node(msgspec.convert(_node(number), Node))
        for slot in range(pods_a_node):
            bound = nodes * slot + number
            request = {"cpu": f"{50 + bound % 7}m", "memory": "128Mi"}
            container = {"name": "main", "image": "old:v1", "resources": {"requests": request}}
            spec = {"nodeName": f"node-{number}", "containers": [container]}
            cluster.add_pod(pod(10**7 + bound, spec, labels={"app": f"app-{bound % 100}"}))
    return cluster


def cycle_of(cluster: ClusterCache, *, without: frozenset[str] = frozenset()) -> Cycle:
    """Assemble the default profile around a cluster, without some plugins."""
    services = Services(cluster=cluster, generator=np.random.default_rng(1))
    configuration = leave_out(default_configuration(), without)
    return Cycle(
        assemble(configuration, discover(), services=services).frameworks["moorage"], cluster
    )


def decide(cycle: Cycle, info: PodInfo) -> Callable[[], Decision]:
    """Return the timed part: one scheduling cycle of a pod as it comes from the queue."""
    queued = QueuedPod(info, timestamp=0.0)
    return lambda: cycle.decide(queued)


def _node(number: int) -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"node-{number}",
            "labels": {
                "kubernetes.io/hostname": f"node-{number}",
                "topology.kubernetes.io/zone": f"zone-{number % 3}",
                "disk": "ssd" if number % 2 else "hdd",
            },
        },
        "spec": {
            "taints": [{"key": "old", "value": "yes", "effect": "PreferNoSchedule"}]
            if number % 7 == 0
            else []
        },
        "status": {
            "allocatable": {
                "cpu": "32",
                "memory": "128Gi",
                "ephemeral-storage": "500Gi",
                "pods": "110",
            },
            "images": [
                {"names": [f"registry.example/app-{image}:v1"], "sizeBytes": 50_000_000 + image}
                for image in range(number % 5)
            ],
        },
    }
