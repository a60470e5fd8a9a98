"""What the process tells of itself: versions, features, leadership, and what it uses."""

from __future__ import annotations

import contextlib
import platform
import resource
from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from prometheus_client import GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from moorage.metrics.families import Counter, Family, Gauge

__all__ = ["KUBERNETES_MINOR", "ProcessMetrics", "process_metrics"]

KUBERNETES_MINOR = "36"
"""The minor version of Kubernetes 1 that Moorage equals."""

_NETWORK = Path("/proc/self/net/dev")
_RECEIVED, _SENT = 0, 8
"""Columns of ``/proc/net/dev`` after the interface's name."""


class ProcessMetrics:
    """Versions, features and leadership; `version` is Moorage's own."""

    def __init__(self, version: str) -> None:
        self.kubernetes_build = Gauge(
            "kubernetes_build_info",
            "The Kubernetes that this equals.",
            *("build_date", "compiler", "git_commit", "git_tree_state", "git_version"),
            *("go_version", "major", "minor", "platform"),
        )
        self.kubernetes_build.set(
            1,
            *("", platform.python_implementation().lower(), "", ""),
            f"v1.{KUBERNETES_MINOR}.0+moorage-{version}",
            *("", "1", KUBERNETES_MINOR, f"linux/{platform.machine()}"),
        )
        self.moorage_build = Gauge(
            "moorage_build_info", "This Moorage.", "version", "python_version", "kubernetes_minor"
        )
        self.moorage_build.set(1, version, platform.python_version(), f"1.{KUBERNETES_MINOR}")
        self.features = Gauge(
            "kubernetes_feature_enabled",
            "Feature gates of kube-scheduler, as they are set.",
            "name",
            "stage",
        )
        self.leads = Gauge(
            "leader_election_master_status",
            "Whether this process holds the Lease.",
            "name",
        )
        self.registered = Counter(
            "registered_metrics_total",
            "Metrics that are served, by stability.",
            "stability_level",
            "deprecated_version",
        )
        self.hidden = Counter("hidden_metrics_total", "Metrics that are hidden.")
        self.disabled = Counter("disabled_metrics_total", "Metrics that are disabled.")

    def register(self, families: Iterable[Family]) -> None:
        """Count the families that are served."""
        for level, count in Tally("ALPHA" for _ in families).items():
            self.registered.series(level, "").inc(count)

    def set_features(self, gates: Mapping[str, tuple[str, bool]]) -> None:
        """Tell the feature gates: name -> stage, and whether it is on."""
        for name, (stage, enabled) in gates.items():
            self.features.set(float(enabled), name, stage)


def process_metrics() -> Iterator[Metric]:
    """Read what the process uses, and what the interpreter does."""
    # None: not into the library's global registry.
    for collector in (
        ProcessCollector(registry=None),
        PlatformCollector(registry=None),
        GCCollector(registry=_Nowhere()),  # type: ignore[arg-type]
    ):
        yield from collector.collect()
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    yield GaugeMetricFamily(
        "process_virtual_memory_max_bytes",
        "Most virtual memory that the process may have; -1: no limit.",
        value=-1.0 if limit == resource.RLIM_INFINITY else float(limit),
    )
    received, sent = _network_bytes()
    for direction, value in (("receive", received), ("transmit", sent)):
        yield CounterMetricFamily(
            f"process_network_{direction}_bytes_total",
            "Bytes on all interfaces of the process's network.",
            value=value,
        )


class _Nowhere:
    """A registry for a collector of the library that insists on one."""

    def register(self, collector: object) -> None:
        """Forget it."""


def _network_bytes() -> tuple[float, float]:
    """Return the bytes received and sent; zeros where the system does not tell."""
    received = sent = 0.0
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in _NETWORK.read_text(encoding="ascii").splitlines()[2:]:
            figures = line.partition(":")[2].split()
            received += float(figures[_RECEIVED])
            sent += float(figures[_SENT])
    return received, sent
