"""PreScore of plugins that do not score: asked where others score, as kube-scheduler does."""

from __future__ import annotations

from typing import Any

import pytest
from tests.loop_kit import World, added, listed, make_node, make_pod

import moorage
from moorage.binding import Reservation
from moorage.queueing import Place
from moorage.session import Failure


class Scoring(moorage.Plugin):
    """Finds every node equally good."""

    @moorage.hookimpl
    def score(self) -> int:
        """Answer the same."""
        return 1


class Noting(moorage.Plugin):
    """Notes which nodes passed, and shows its notes when the pod is reserved."""

    seen: list[tuple[str, list[str]]]
    noted: list[Any]

    @moorage.hookimpl
    def pre_score(
        self, state: moorage.CycleState, pod: moorage.Pod, nodes: moorage.NodesView
    ) -> None:
        """Note the nodes."""
        self.seen.append((pod.metadata.name, sorted(nodes.names())))
        state["for"] = pod.metadata.name

    @moorage.hookimpl
    def reserve(self, state: moorage.CycleState) -> None:
        """Show the note."""
        self.noted.append(state.get("for"))


class SharedNoting(Noting):
    """Does the same, and shares what it says."""

    filter_depends = moorage.Depends(node=True)
    score_depends = moorage.Depends(node=True)

    @moorage.hookimpl
    def sign(self) -> str:
        """Look the same for all pods."""
        return ""


@pytest.fixture(params=[Noting, SharedNoting])
def noting(request: pytest.FixtureRequest) -> type[Noting]:
    """Make a plugin that notes, sharing or not, with lists of its own."""
    return type("Noting", (request.param,), {"seen": [], "noted": []})


def world(nodes: int, pods: int, **plugins: type[moorage.Plugin]) -> World:
    """Make a session with so many nodes and pods."""
    made = World(**plugins)
    made.session.nodes.take(listed(*(make_node(f"n{index}") for index in range(nodes))))
    made.session.pods.take(added(*(make_pod(f"p{index}") for index in range(pods))))
    return made


def test_it_is_asked_for_each_pod_with_the_nodes_that_passed(noting: type[Noting]) -> None:
    """Also for pods that share answers; its notes reach the hooks that come later."""
    session = world(2, 2, Scoring=Scoring, Noting=noting).session
    session.nodes.take(added(make_node("small", cpu="0")))
    for _ in range(2):
        assert isinstance(session.attempt(), Reservation)
    assert noting.seen == [("p0", ["n0", "n1"]), ("p1", ["n0", "n1"])]
    assert noting.noted == ["p0", "p1"]


def test_it_is_not_asked_about_a_single_node(noting: type[Noting]) -> None:
    """Nothing is scored there; nor does the pod get notes that were made for another."""
    made = world(2, 1, Scoring=Scoring, Noting=noting)
    assert isinstance(made.session.attempt(), Reservation)
    made.session.nodes.take(listed(make_node("n0")))
    made.session.pods.take(added(make_pod("late")))
    assert isinstance(made.session.attempt(), Reservation)
    assert [pod for pod, _ in noting.seen] == ["p0"]
    assert noting.noted == ["p0", None]


def test_it_is_not_asked_where_nobody_scores(noting: type[Noting]) -> None:
    """As in kube-scheduler, which scores nothing then."""
    assert isinstance(world(2, 1, Noting=noting).session.attempt(), Reservation)
    assert not noting.seen


def test_a_refusal_is_a_fault() -> None:
    """Only Skip may be said there."""
    refusing = moorage.hookimpl(lambda self: moorage.Verdict.unschedulable("no"))
    plugin = type("Refusing", (moorage.Plugin,), {"pre_score": refusing})
    outcome = world(2, 1, Scoring=Scoring, Refusing=plugin).session.attempt()
    assert isinstance(outcome, Failure)
    assert outcome.place is Place.BACKOFF
    assert "plugin 'Refusing' (tests) refused the pod in pre_score" in outcome.message
