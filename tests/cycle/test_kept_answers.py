"""What a cycle keeps of answers is bounded."""

from __future__ import annotations

import numpy as np
from tests.objects import make_node, make_pod, queued

from moorage import discover
from moorage.config import default_configuration
from moorage.config.producers import assemble
from moorage.cycle import Cycle
from moorage.framework.handle import Services

_BUDGET = 4 * 1024 * 1024


def test_answers_about_many_kinds_of_pods_stay_within_the_budget() -> None:
    """Three hundred signatures on two thousand nodes are kept in part only."""
    services = Services(generator=np.random.default_rng(0))
    for number in range(2000):
        services.cluster.set_node(make_node(f"n{number}"))
    framework = assemble(default_configuration(), discover(), services=services).frameworks[
        "moorage"
    ]
    cycle = Cycle(framework, services.cluster, budget=_BUDGET)

    for number in range(300):
        asked = queued(make_pod(f"p{number}", requests={"cpu": f"{number + 1}m"}))
        assert cycle.decide(asked).node_name

    assert 0 < cycle.kept_bytes <= 2 * _BUDGET
