"""DefaultPreemption by example: who goes, from where, and what is said when nobody can."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.builtin.affinity import labelled
from tests.objects import affinity as node_affinity
from tests.objects import make_node, make_pod, port, queued, requirement, term

from moorage import Node, PodInfo, Services, discover
from moorage.cycle import Cycle, Decision
from moorage.errors import PluginError
from moorage.framework.assembly import new_framework
from moorage.framework.nomination import Nomination
from moorage.model import LabelSelector, LabelSelectorRequirement, ObjectMeta, PodStatus
from moorage.model.disruption import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from moorage.model.pods import PodCondition
from moorage.queueing.nominator import Nominator

NAME = "DefaultPreemption"
PLUGINS = ("NodeAffinity", "NodePorts", "NodeResourcesFit", NAME)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LOW, MID, HIGH, VERY_HIGH = 10, 20, 30, 40


def node(name: str, cpu: str = "2") -> Node:
    """Make a node."""
    return make_node(name, labels={"host": name}, allocatable={"cpu": cpu})


def pod(name: str, priority: int, where: str = "", cpu: str = "1", **more: Any) -> PodInfo:  # noqa: ANN401 - of make_pod
    """Make a pod that needs some cpu."""
    return make_pod(name, node=where, priority=priority, requests={"cpu": cpu}, **more)


def started(minutes: int) -> PodStatus:
    """Make the status of a pod that started so many minutes after noon."""
    return PodStatus(start_time=NOON + timedelta(minutes=minutes))


def budget(
    name: str, selector: LabelSelector | None, allowed: int = 0, disrupted: Sequence[str] = ()
) -> PodDisruptionBudget:
    """Make a budget in the namespace of all these pods."""
    return PodDisruptionBudget(
        metadata=ObjectMeta(name=name, namespace="ns"),
        spec=PodDisruptionBudgetSpec(selector=selector),
        status=PodDisruptionBudgetStatus(
            disruptions_allowed=allowed, disrupted_pods=dict.fromkeys(disrupted, NOON)
        ),
    )


class World:
    """A cluster, who is expected where, and a profile with preemption."""

    def __init__(
        self,
        nodes: Sequence[Node],
        pods: Sequence[PodInfo],
        budgets: Sequence[PodDisruptionBudget] = (),
        **args: int,
    ) -> None:
        self.nominator = Nominator()
        self.services = Services(generator=np.random.default_rng(3), nominations=self.nominator)
        cluster = self.services.cluster
        for one in nodes:
            cluster.set_node(one)
        for info in pods:
            cluster.add_pod(info)
        for each in budgets:
            cluster.budgets.put(each)
        framework = new_framework(discover(), PLUGINS, {NAME: args}, services=self.services)
        self.cycle = Cycle(framework, cluster, nominator=self.nominator)

    def decide(self, info: PodInfo) -> Decision:
        """Decide for one pod."""
        return self.cycle.decide(queued(info))

    def preempt(self, info: PodInfo) -> Nomination:
        """Decide for a pod that is to find room."""
        made_room = self.decide(info).made_room
        assert made_room is not None
        return made_room


def victims(nomination: Nomination) -> tuple[str, list[str]]:
    """Return a node and the names of who goes, the most important first."""
    return nomination.node_name, [info.pod.metadata.name for info in nomination.victims]


def on_two_nodes(n1: Sequence[PodInfo], n2: Sequence[PodInfo], **more: Any) -> World:  # noqa: ANN401 - of World
    """Make a world of two nodes with two cpus."""
    return World([node("n1"), node("n2")], [*n1, *n2], **more)


# The entries of the field reports


def test_e1_the_node_with_the_lower_top_victim_wins_whoever_was_asked_first() -> None:
    """PR#128307: of n1 go high (no violation) and low (violates); its top victim is high, not low."""
    kept = {"app": "kept"}
    world = on_two_nodes(
        [pod("high", HIGH, "n1"), pod("low", LOW, "n1", labels=kept)],
        [pod("mid", MID, "n2", cpu="2", labels=kept)],
        budgets=[budget("keep", labelled(app="kept"))],
    )
    assert victims(world.preempt(pod("wants-in", VERY_HIGH, cpu="2"))) == ("n2", ["mid"])


def test_e2_only_victims_that_really_go_count_as_violations() -> None:
    """K#129136: on n1 evicting high alone is enough, so no budget is broken there."""
    kept = {"app": "kept"}
    world = on_two_nodes(
        [pod("high", HIGH, "n1"), pod("low", LOW, "n1", labels=kept)],
        [pod("mid", MID, "n2", cpu="2", labels=kept)],
        budgets=[budget("keep", labelled(app="kept"))],
    )
    assert victims(world.preempt(pod("wants-in", VERY_HIGH, cpu="1"))) == ("n1", ["high"])


# Who goes


def test_only_pods_of_lower_priority_go() -> None:
    """Not those of the same priority."""
    world = on_two_nodes(
        [pod("same", MID, "n1", cpu="2")], [pod("low", LOW, "n2"), pod("same-too", MID, "n2")]
    )
    assert victims(world.preempt(pod("wants-in", MID))) == ("n2", ["low"])


def test_as_many_as_possible_stay_the_important_ones_first() -> None:
    """One cpu is enough, and the least important pod has it."""
    pods = [pod("low", LOW, "n1"), pod("mid", MID, "n1")]
    world = World([node("n1")], pods)
    assert victims(world.preempt(pod("wants-in", HIGH))) == ("n1", ["low"])


def test_of_equal_priority_who_runs_longest_stays() -> None:
    """Whoever has not started at all goes before them."""
    pods = [
        pod("new", LOW, "n1", status=started(9)),
        pod("old", LOW, "n1", status=started(1)),
        pod("starting", LOW, "n1"),
    ]
    world = World([node("n1", cpu="3")], pods)
    assert victims(world.preempt(pod("wants-in", HIGH, cpu="2"))) == ("n1", ["new", "starting"])


def test_pods_under_a_budget_stay_before_more_important_ones() -> None:
    """They are asked first whether they can."""
    pods = [pod("low", LOW, "n1", labels={"app": "kept"}), pod("mid", MID, "n1")]
    world = World([node("n1")], pods, [budget("keep", labelled(app="kept"))])
    assert victims(world.preempt(pod("wants-in", HIGH))) == ("n1", ["mid"])


@pytest.mark.parametrize(
    "harmless",
    [
        pytest.param(budget("enough-left", labelled(app="kept"), allowed=1), id="allows-one"),
        pytest.param(budget("granted", labelled(app="kept"), disrupted=["low"]), id="granted"),
        pytest.param(budget("others", labelled(app="other")), id="of-other-pods"),
        pytest.param(budget("everything", labelled()), id="an-empty-selector"),
        pytest.param(budget("nothing", None), id="no-selector"),
        pytest.param(
            budget(
                "broken",
                LabelSelector(
                    match_expressions=(LabelSelectorRequirement(key="app", operator="Like"),)
                ),
            ),
            id="an-invalid-selector",
        ),
    ],
)
def test_budgets_that_hold_nobody_back(harmless: PodDisruptionBudget) -> None:
    """The less important pod goes as if there were none."""
    pods = [pod("low", LOW, "n1", labels={"app": "kept"}), pod("mid", MID, "n1")]
    world = World([node("n1")], pods, [harmless])
    assert victims(world.preempt(pod("wants-in", HIGH))) == ("n1", ["low"])


def test_victims_need_not_be_the_reason_of_the_refusal() -> None:
    """A port is given back by who has it, however important the others are."""
    pods = [
        pod("holder", MID, "n1", ports=[port(80)], cpu="500m"),
        pod("low", LOW, "n1", cpu="500m"),
    ]
    world = World([node("n1")], pods)
    wants_in = pod("wants-in", HIGH, ports=[port(80)])
    assert victims(world.preempt(wants_in)) == ("n1", ["holder"])


# Which node


def test_fewest_violations_come_first() -> None:
    """Even where the victim is far more important."""
    world = on_two_nodes(
        [pod("low", LOW, "n1", cpu="2", labels={"app": "kept"})],
        [pod("high", HIGH, "n2", cpu="2")],
        budgets=[budget("keep", labelled(app="kept"))],
    )
    assert victims(world.preempt(pod("wants-in", VERY_HIGH))) == ("n2", ["high"])


def test_then_the_lowest_top_priority() -> None:
    """Two unimportant pods rather than one that matters."""
    world = on_two_nodes(
        [pod("mid", MID, "n1", cpu="2")], [pod("low1", LOW, "n2"), pod("low2", LOW, "n2")]
    )
    assert victims(world.preempt(pod("wants-in", HIGH, cpu="2"))) == ("n2", ["low1", "low2"])


def test_then_the_smallest_sum_of_priorities() -> None:
    """Both nodes lose a pod of priority 20; a further one of 10 costs more than one of 5."""
    world = on_two_nodes(
        [pod("mid1", MID, "n1"), pod("low", LOW, "n1")],
        [pod("mid2", MID, "n2"), pod("lower", 5, "n2")],
    )
    assert victims(world.preempt(pod("wants-in", HIGH, cpu="2"))) == ("n2", ["mid2", "lower"])


def test_a_victim_more_never_makes_a_sum_smaller() -> None:
    """Priorities below 0 do not either: one victim of -10 rather than two."""
    world = on_two_nodes(
        [pod("low1", -10, "n1"), pod("low2", -10, "n1")], [pod("low3", -10, "n2", cpu="2")]
    )
    assert victims(world.preempt(pod("wants-in", HIGH, cpu="2"))) == ("n2", ["low3"])


def test_then_the_latest_start_of_the_most_important_victims() -> None:
    """Where the earliest of several counts; when the others began is all the same."""
    world = on_two_nodes(
        [pod("a", MID, "n1", status=started(1)), pod("b", MID, "n1", status=started(9))],
        [pod("c", MID, "n2", status=started(2)), pod("d", MID, "n2", status=started(3))],
    )
    assert victims(world.preempt(pod("wants-in", HIGH, cpu="2"))) == ("n2", ["c", "d"])


def test_equal_nodes_are_told_of() -> None:
    """Any of them is right, and each has its victims."""
    world = on_two_nodes([pod("a", LOW, "n1", cpu="2")], [pod("b", LOW, "n2", cpu="2")])
    chosen = world.preempt(pod("wants-in", HIGH))
    found = sorted(victims(one) for one in (chosen, *chosen.equals()))
    assert found == [("n1", ["a"]), ("n2", ["b"])]


@pytest.mark.parametrize(("percentage", "absolute", "kept"), [(0, 1, 1), (50, 0, 2), (10, 100, 4)])
def test_no_more_nodes_are_compared_than_wanted(percentage: int, absolute: int, kept: int) -> None:
    """From a random one on; percent of those where preemption may help, or a number, or all."""
    nodes = [node(f"n{number}") for number in range(4)]
    pods = [pod(f"low{number}", LOW, f"n{number}", cpu="2") for number in range(4)]
    world = World(
        nodes,
        pods,
        min_candidate_nodes_percentage=percentage,
        min_candidate_nodes_absolute=absolute,
    )
    chosen = world.preempt(pod("wants-in", HIGH))
    assert 1 + len(chosen.equals()) == kept


def test_more_nodes_are_looked_at_while_all_break_budgets() -> None:
    """One was enough, but a node that breaks none is better than any number of others."""
    nodes = [node(f"n{number}") for number in range(200)]
    pods = [
        pod(f"low{number}", LOW, f"n{number}", cpu="2", labels={"app": "kept" if number else ""})
        for number in range(200)
    ]
    world = World(
        nodes,
        pods,
        [budget("keep", labelled(app="kept"))],
        min_candidate_nodes_percentage=0,
        min_candidate_nodes_absolute=1,
    )
    assert victims(world.preempt(pod("wants-in", HIGH))) == ("n0", ["low0"])


# Nominated pods


def test_room_is_kept_for_more_important_nominated_pods() -> None:
    """Both must fit, so that both pods go."""
    world = World([node("n1")], [pod("low", LOW, "n1"), pod("mid", MID, "n1")])
    world.nominator.nominate(pod("expected", HIGH), "n1")
    assert victims(world.preempt(pod("wants-in", HIGH))) == ("n1", ["mid", "low"])


def test_less_important_nominated_pods_are_no_obstacle() -> None:
    """They may have to look elsewhere."""
    world = World([node("n1")], [pod("low", LOW, "n1"), pod("mid", MID, "n1")])
    world.nominator.nominate(pod("expected", MID), "n1")
    assert victims(world.preempt(pod("wants-in", HIGH))) == ("n1", ["low"])


def test_a_pod_goes_to_its_nominated_node_once_it_fits_there() -> None:
    """Without a look at others, which may score higher."""
    world = World([node("n1"), node("n2", cpu="64")], [])
    wants_in = pod("wants-in", HIGH)
    world.nominator.nominate(wants_in, "n1")
    decision = world.decide(wants_in)
    assert (decision.node_name, decision.feasible_count) == ("n1", 1)


def test_a_nomination_that_does_not_fit_binds_nobody() -> None:
    """All other nodes are looked at then."""
    world = World([node("n1"), node("n2")], [pod("full", HIGH, "n1", cpu="2")])
    wants_in = pod("wants-in", HIGH)
    world.nominator.nominate(wants_in, "n1")
    assert world.decide(wants_in).node_name == "n2"


# Who may not, and where it is no use


def test_policy_never_preempts_nobody() -> None:
    """The message says so."""
    world = World([node("n1")], [pod("low", LOW, "n1", cpu="2")])
    decision = world.decide(pod("meek", HIGH, preemption_policy="Never"))
    assert decision.nomination is None
    assert decision.message == (
        "0/1 nodes are available: 1 Insufficient cpu. "
        "preemption: not eligible due to preemptionPolicy=Never."
    )


def terminating(info: PodInfo, reason: str = "PreemptionByScheduler") -> PodInfo:
    """Let a pod end because it was preempted."""
    replace = msgspec.structs.replace
    condition = PodCondition(type="DisruptionTarget", status="True", reason=reason)
    metadata = replace(info.pod.metadata, deletion_timestamp=NOON)
    status = replace(info.pod.status, conditions=(condition,))
    return PodInfo(replace(info.pod, metadata=metadata, status=status))


def test_a_preemptor_waits_for_victims_that_are_ending() -> None:
    """It does not preempt others meanwhile."""
    ending = terminating(pod("ending", LOW, "n1", cpu="2"))
    world = on_two_nodes([ending], [pod("low", LOW, "n2", cpu="2")])
    wants_in = pod("wants-in", HIGH)
    world.nominator.nominate(wants_in, "n1")
    decision = world.decide(wants_in)
    assert decision.nomination is None
    assert decision.message.endswith(
        "preemption: not eligible due to a terminating pod on the nominated node."
    )


def test_pods_that_end_for_another_reason_are_not_waited_for() -> None:
    """Nobody has said that they end for this pod."""
    ending = terminating(pod("ending", LOW, "n1", cpu="2"), reason="DeletionByTaintManager")
    world = on_two_nodes([ending], [pod("low", LOW, "n2", cpu="2")])
    wants_in = pod("wants-in", HIGH)
    world.nominator.nominate(wants_in, "n1")
    assert world.preempt(wants_in).node_name in {"n1", "n2"}


def test_a_nominated_node_that_cannot_be_had_any_more_is_not_waited_for() -> None:
    """Since the node was relabelled, no victim's end helps."""
    ending = terminating(pod("ending", LOW, "n1", cpu="2"))
    world = on_two_nodes([ending], [pod("low", LOW, "n2", cpu="2")])
    elsewhere = node_affinity(term(requirement("host", "NotIn", "n1")))
    wants_in = pod("wants-in", HIGH, affinity=elsewhere)
    world.nominator.nominate(wants_in, "n1")
    assert victims(world.preempt(wants_in)) == ("n2", ["low"])


def test_where_nothing_helps_an_earlier_nomination_is_void() -> None:
    """Each node has its reason."""
    world = World(
        [node("big"), node("full"), node("other"), node("small", cpu="500m")],
        [
            pod("high", HIGH, "big", cpu="2"),
            pod("low", LOW, "full", cpu="1"),
            pod("high2", HIGH, "full", cpu="1500m"),
        ],
    )
    wants_in = pod(
        "wants-in",
        MID,
        cpu="1",
        affinity=node_affinity(term(requirement("host", "NotIn", "other"))),
    )
    decision = world.decide(wants_in)
    assert decision.nomination == ""
    assert decision.message == (
        "0/4 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
        "3 Insufficient cpu. preemption: 0/4 nodes are available: 1 Insufficient cpu, "
        "1 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )


# Arguments


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"minCandidateNodesPercentage": 101}, "minCandidateNodesPercentage"),
        ({"minCandidateNodesPercentage": -1}, "minCandidateNodesPercentage"),
        ({"minCandidateNodesAbsolute": -1}, "minCandidateNodesAbsolute"),
        (
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
            "cannot both be 0",
        ),
    ],
)
def test_arguments_that_compare_nothing_are_refused(args: dict[str, int], problem: str) -> None:
    """The sentence names the field."""
    with pytest.raises(PluginError, match=problem):
        new_framework(discover(), [NAME], {NAME: args})
