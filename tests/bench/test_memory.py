"""How much memory a process takes that knows 5,000 nodes and 10,000 pods."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.bench

_MOST = 300

_PROGRAM = """
import resource
from tests.bench.fit_pass import cluster_of, cycle_of, decide, pod

cluster = cluster_of(5000, 2)
cycle = cycle_of(cluster)
for number in range(300):
    zone = {"labelSelector": {"matchLabels": {"app": f"app-{number % 50}"}},
            "topologyKey": "topology.kubernetes.io/zone"}
    spread = zone | {"maxSkew": 5, "whenUnsatisfiable": "DoNotSchedule"}
    spec = [
        {},
        {"topologySpreadConstraints": [spread]},
        {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            zone | {"topologyKey": "kubernetes.io/hostname"}]}}},
        {"nodeSelector": {"disk": "ssd"}},
    ][number % 4]
    labels = {"app": f"app-{number % 50}"}
    decision = decide(cycle, pod(number, spec, labels=labels))()
    assert decision.node_name, decision.message
    cluster.assume(decision.info, decision.row)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def test_a_process_takes_at_most_300_mib_at_its_peak() -> None:
    """Peak resident memory of a process of its own, with decisions of several kinds."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    peak = int(done.stdout)
    print(f"\npeak: {peak} MiB, at most {_MOST}")  # noqa: T201 - the figure is what a benchmark is for
    assert peak <= _MOST
