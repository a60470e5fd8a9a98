"""The kit for tests of plugins: objects in one call, clusters in memory, decisions with reasons.

    from moorage.testing import Cluster, make_node, make_pod, schedule

    def test_prefers_cheap_zones():
        cluster = Cluster([make_node("n1", zone="a"), make_node("n2", zone="b")])
        decision = schedule(
            cluster, make_pod(cpu="100m"), plugins=[ZoneCost], args={"ZoneCost": {"cost": {"a": 3}}}
        )
        assert decision.node == "n2"
        assert decision.scores["n1"]["ZoneCost"] == 0

In, by how much of the scheduler runs: `SinglePlugin` (one plugin's hooks), `schedule` (one
decision), `Scheduler` (queue, Permit and binding, with a clock that you turn). `check_forms_agree`
and `check_row_local` look for counterexamples to what a plugin promises; `moorage.testing.strategies`
draws pods, nodes and clusters (hypothesis, the extra ``moorage[testing]``). pytest has the
fixtures `moorage_cluster` and `moorage_host` (module `moorage_pytest`). Not here: an API server;
that is `moorage.embedded`. Provisional until 1.0.
"""

from __future__ import annotations

from moorage.testing.checks import check_forms_agree, check_row_local
from moorage.testing.cluster import Clock, Cluster, RecordedEvent
from moorage.testing.deciding import schedule
from moorage.testing.manifests import from_manifest
from moorage.testing.objects import (
    make_affinity,
    make_namespace,
    make_node,
    make_pod,
    make_service,
    make_taint,
    make_toleration,
)
from moorage.testing.outcome import Outcome
from moorage.testing.process import Request, Scheduler
from moorage.testing.single_plugin import SinglePlugin

__all__ = [
    "Clock",
    "Cluster",
    "Outcome",
    "RecordedEvent",
    "Request",
    "Scheduler",
    "SinglePlugin",
    "check_forms_agree",
    "check_row_local",
    "from_manifest",
    "make_affinity",
    "make_namespace",
    "make_node",
    "make_pod",
    "make_service",
    "make_taint",
    "make_toleration",
    "schedule",
]
