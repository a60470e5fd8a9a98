"""Which pods are expected on which node."""

from __future__ import annotations

import pytest
from tests.queueing.queue_fakes import pod

from moorage.queueing import Nominator


@pytest.fixture
def nominator() -> Nominator:
    """Make an empty nominator."""
    return Nominator()


def test_a_status_nominates(nominator: Nominator) -> None:
    """A nomination that somebody wrote counts like our own."""
    info = pod("p", nominated="n1")
    nominator.add(info)
    assert nominator.on_node("n1") == (info,)
    assert nominator.node_of("p") == "n1"


def test_a_pod_is_expected_on_one_node(nominator: Nominator) -> None:
    """A second nomination takes the place of the first."""
    info = pod("p")
    nominator.nominate(info, "n1")
    nominator.nominate(info, "n2")
    assert nominator.on_node("n1") == ()
    assert nominator.node_of("p") == "n2"
    nominator.check_invariants()


def test_an_empty_node_clears(nominator: Nominator) -> None:
    """PostFilter clears a nomination by an empty name."""
    info = pod("p")
    nominator.nominate(info, "n1")
    nominator.nominate(info, "")
    assert len(nominator) == 0


def test_an_unrelated_update_keeps_what_is_known_here(nominator: Nominator) -> None:
    """An update from before our own write arrived does not undo the nomination."""
    before, after = pod("p"), pod("p", version=2)
    nominator.nominate(before, "n1")
    nominator.update(before, after)
    assert nominator.on_node("n1") == (after,)


def test_an_update_of_the_status_moves_the_nomination(nominator: Nominator) -> None:
    """Who writes another node decides."""
    before, after = pod("p", nominated="n1"), pod("p", nominated="n2", version=2)
    nominator.add(before)
    nominator.update(before, after)
    assert nominator.node_of("p") == "n2"


def test_an_update_that_removes_the_status_ends_the_nomination(nominator: Nominator) -> None:
    """A cleared field clears the nomination."""
    before, after = pod("p", nominated="n1"), pod("p", version=2)
    nominator.add(before)
    nominator.update(before, after)
    assert nominator.node_of("p") == ""


def test_priority_decides_who_must_find_room(nominator: Nominator) -> None:
    """A pod makes room for those of its own priority and above, never for itself."""
    pods = {name: pod(name, priority=level) for name, level in (("a", 1), ("b", 5), ("c", 9))}
    for info in pods.values():
        nominator.nominate(info, "n1")
    nominator.nominate(pod("d", priority=9), "n2")
    assert nominator.at_least(5, besides="d") == {"n1": [pods["b"], pods["c"]]}
    assert nominator.at_least(10) == {}


def test_the_generation_moves_with_every_change(nominator: Nominator) -> None:
    """Whoever keeps an answer can tell that it is old; what changes nothing moves nothing."""
    info = pod("p")
    nominator.nominate(info, "n1")
    known = nominator.generation
    nominator.nominate(info, "n1")
    nominator.remove("unknown")
    assert nominator.generation == known
    nominator.remove("p")
    assert nominator.generation > known
