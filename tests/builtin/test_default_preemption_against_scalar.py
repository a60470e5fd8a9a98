"""The lockstep of DefaultPreemption against the slow, obvious form, in generated clusters."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from tests.builtin.affinity import away, labelled, near, term
from tests.builtin.default_preemption_scalar import Plain
from tests.objects import make_node, make_pod, port, queued, taint

from moorage import Node, PodInfo, Services, discover
from moorage.cycle import Cycle
from moorage.framework.assembly import new_framework
from moorage.framework.profile import Framework
from moorage.model import Affinity, ObjectMeta, PodStatus
from moorage.model.disruption import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from moorage.queueing.nominator import Nominator

PLUGINS = (
    "TaintToleration",
    "NodePorts",
    "NodeResourcesFit",
    "InterPodAffinity",
    "DefaultPreemption",
)
APPS = ("a", "b", "c")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
REGISTRY = discover()


class Draw:
    """Clusters that are full, with pods that want in; everything from one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def nodes(self) -> list[Node]:
        """Draw two to six nodes in zones, some tainted, some without a zone."""
        choose = self._random.choice
        return [
            make_node(
                f"n{number}",
                labels={"host": f"n{number}"} | choose(({"zone": "x"}, {"zone": "y"}, {})),
                taints=choose(((), (), (), (taint("old"),))),
                allocatable={"cpu": choose(("2", "4")), "pods": choose(("3", "8"))},
            )
            for number in range(self._random.randint(2, 6))
        ]

    def budgets(self) -> list[PodDisruptionBudget]:
        """Draw budgets, some of the same pods, some with pods that are disrupted already."""
        return [
            PodDisruptionBudget(
                metadata=ObjectMeta(name=f"pdb-{number}", namespace="ns"),
                spec=PodDisruptionBudgetSpec(
                    selector=self._random.choice(
                        (*(labelled(app=app) for app in APPS), labelled(), None)
                    )
                ),
                status=PodDisruptionBudgetStatus(
                    disruptions_allowed=self._random.randint(0, 2),
                    disrupted_pods=dict.fromkeys(self._random.sample(BOUND, 3), NOON),
                ),
            )
            for number in range(self._random.randint(0, 3))
        ]

    def pod(self, name: str, *, node: str = "", priorities: tuple[int, ...]) -> PodInfo:
        """Draw a pod that wants something of everything."""
        choose = self._random.choice
        started = NOON + timedelta(minutes=self._random.randint(0, 5))
        return make_pod(
            name,
            node=node,
            priority=choose(priorities),
            labels=choose(({}, {"app": choose(APPS)}, {"app": choose(APPS)})),
            requests={"cpu": choose(("250m", "500m", "1", "1500m"))},
            ports=choose(((), (), (), (port(80),))),
            affinity=self._affinity(),
            status=PodStatus(start_time=choose((started, started, None))),
        )

    def _affinity(self) -> Affinity | None:
        choose = self._random.choice
        wanted = term(labelled(app=choose(APPS)), choose(("host", "zone")))
        return choose((None, None, None, None, away(wanted), near(wanted)))

    def places(self, nodes: list[Node]) -> list[str]:
        """Draw a node for each of the bound pods."""
        return [self._random.choice(nodes).metadata.name for _ in BOUND]


BOUND = [f"bound-{number}" for number in range(16)]


class Both:
    """The same cluster twice: as the plugin sees it, and as the plain form does."""

    def __init__(self, seed: int) -> None:
        self.draw = Draw(seed)
        nodes = self.draw.nodes()
        self.plain = Plain({node.metadata.name: node for node in nodes})
        self.nominator = Nominator()
        self.services = Services(generator=np.random.default_rng(seed), nominations=self.nominator)
        cluster = self.services.cluster
        for node in nodes:
            cluster.set_node(node)
        for budget in self.draw.budgets():
            cluster.budgets.put(budget)
            self.plain.budgets.append(budget)
        for name, node_name in zip(BOUND, self.draw.places(nodes), strict=True):
            info = self.draw.pod(name, node=node_name, priorities=(0, 1, 2, 5))
            cluster.add_pod(info)
            self.plain.pods.append((info, node_name))
        self.cycle = Cycle(self.framework, cluster, nominator=self.nominator)

    @property
    def framework(self) -> Framework:
        """Assemble the plugins that the plain form knows."""
        return new_framework(REGISTRY, PLUGINS, services=self.services)

    def preempt(self, info: PodInfo) -> int:
        """Decide on both sides, compare, and go on with the victims gone; return how many they are."""
        decision = self.cycle.decide(queued(info))
        fits = [node for node in self.plain.nodes if self.plain.refusal(info, node) is None]
        if fits:
            assert decision.node_name in fits
            return 0
        best = self.plain.best(info)
        made_room = decision.made_room
        assert made_room is not None, decision.message
        if not best:
            assert made_room.node_name == ""
            assert made_room.reasons == (self.plain.message(info),)
            return 0
        found = {one.node_name: one.victims for one in (made_room, *made_room.equals())}
        assert found == {room.node: room.victims for room in best}
        self._carry_out(info, made_room.node_name, made_room.victims)
        return len(made_room.victims)

    def _carry_out(self, info: PodInfo, node: str, victims: tuple[PodInfo, ...]) -> None:
        """Take the victims away, and expect the pod on its node."""
        for victim in victims:
            self.services.cluster.remove_pod(victim.uid)
        self.plain.pods = self.plain.without(victims).pods
        self.nominator.nominate(info, node)
        self.plain.nominated.append((info, node))


@pytest.mark.parametrize("first", range(0, 300, 20))
def test_victims_are_those_of_the_plain_form(first: int) -> None:
    """Twenty clusters each, and in each three pods one after another, the earlier ones nominated."""
    victims = []
    for seed in range(first, first + 20):
        both = Both(seed)
        for number in range(3):
            info = both.draw.pod(f"wants-in-{number}", priorities=(2, 3, 9, 10))
            victims.append(both.preempt(info))
        both.services.cluster.check_invariants()
    assert np.count_nonzero(victims) >= 10
