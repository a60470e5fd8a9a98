"""PreFilter plugins that name nodes: who counts as having refused the pod, and what is said of whom."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from tests.objects import make_node, make_pod, queued

import moorage
from moorage import Services, Verdict
from moorage.cycle import Cycle, Decision
from moorage.framework.assembly import new_framework
from moorage.framework.host import Registry
from moorage.queueing.nominator import Nominator

POD = make_pod("p")


def naming(answer: Iterable[str] | Verdict) -> type[moorage.Plugin]:
    """Make a plugin with one answer in PreFilter."""

    class Names(moorage.Plugin):
        """Gives it."""

        @moorage.hookimpl
        def pre_filter(self) -> Iterable[str] | Verdict:
            """Give it."""
            return answer

    return Names


class Refuses(moorage.Plugin):
    """Refuses every node by its name."""

    @moorage.hookimpl
    def filter(self, node: moorage.NodeInfo) -> Verdict:
        """Refuse."""
        return Verdict.unschedulable(f"not {node.name}")


def decide(nominator: Nominator | None = None, **plugins: type[moorage.Plugin]) -> Decision:
    """Decide for pod p on nodes n1 to n3."""
    services = Services(nominations=nominator)
    for number in (1, 2, 3):
        services.cluster.set_node(make_node(f"n{number}"))
    framework = new_framework(
        Registry.of(plugins, distribution="tests"), list(plugins), services=services
    )
    return Cycle(framework, services.cluster, nominator=nominator).decide(queued(POD))


def rejecting(decision: Decision) -> frozenset[str]:
    """Return who has to do with the refusal: their events bring the pod back."""
    assert decision.diagnosis is not None
    return decision.diagnosis.rejecting_plugins


def test_all_who_named_nodes_refused_where_no_node_is_left() -> None:
    """An event of any of them may help."""
    decision = decide(A=naming(["n1"]), B=naming(["n2"]), C=naming(["n3"]))
    assert decision.message == (
        "0/3 nodes are available: node(s) didn't satisfy plugin(s) [A B] simultaneously."
    )
    assert rejecting(decision) == {"A", "B"}


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        pytest.param(Verdict.unschedulable("no"), {"A", "B", "C"}, id="preemption-may-help"),
        pytest.param(Verdict.unresolvable("no"), {"B"}, id="nothing-helps"),
    ],
)
def test_who_named_nodes_counts_beside_who_refuses_all(
    refusal: Verdict, expected: set[str]
) -> None:
    """Unless the refusal ends it at once: what others would have said is not asked."""
    decision = decide(A=naming(["n1"]), B=naming(refusal), C=naming(["n1"]))
    assert decision.message == "0/3 nodes are available: no."
    assert rejecting(decision) == expected


def test_a_refusal_that_says_nothing_adds_nothing() -> None:
    """No reason, no full stop."""
    assert decide(A=naming(Verdict.unresolvable())).message == "0/3 nodes are available:"


def test_a_nominated_node_is_judged_by_the_filters_also_where_it_was_not_named() -> None:
    """It is looked at first, before anybody is held to the names."""
    nominator = Nominator()
    nominator.nominate(POD, "n3")
    decision = decide(nominator, A=naming(["n1"]), Refuses=Refuses)
    assert decision.message == (
        "0/3 nodes are available: 1 node(s) didn't satisfy plugin(s) [A], 1 not n1, 1 not n3."
    )


def test_a_nominated_node_that_was_not_named_has_to_have_room_for_expected_pods() -> None:
    """Like any other node."""

    class Lonely(moorage.Plugin):
        """Refuses nodes with pods."""

        @moorage.hookimpl
        def filter(self, node: moorage.NodeInfo) -> Verdict | None:
            """Count them."""
            return Verdict.unschedulable("is not alone") if list(node.pods) else None

    nominator = Nominator()
    nominator.nominate(POD, "n3")
    nominator.nominate(make_pod("other"), "n3")
    assert decide(nominator, A=naming(["n1"]), Lonely=Lonely).node_name == "n1"
