"""Dry runs: a pod's filters asked about rows with other pods, by a PostFilter plugin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.objects import make_node, make_pod, queued

import moorage
from moorage import Code, Diagnosis, PodInfo, Services
from moorage.cycle import Cycle, Decision
from moorage.framework.assembly import new_framework
from moorage.framework.host import Registry
from moorage.queueing.nominator import Nominator

Rehearsal = Callable[[Diagnosis], None]


class Crowded(moorage.Plugin):
    """Refuses nodes with two pods or more; shares answers."""

    filter_depends = moorage.Depends(pods=True)

    @moorage.hookimpl
    def sign(self) -> Hashable:
        """All pods look the same."""
        return ()

    @moorage.hookimpl
    def filter_nodes(self, nodes: moorage.NodesView) -> NDArray[np.bool_]:
        """Count."""
        return np.asarray(nodes.pod_count < 2)

    @moorage.hookimpl
    def explain(self) -> moorage.Verdict:
        """Say so."""
        return moorage.Verdict.unschedulable("crowded")


class OneByOne(moorage.Plugin):
    """Refuses nodes with a pod whose name begins with ``bad``; takes nodes singly."""

    @moorage.hookimpl
    def filter(self, node: moorage.NodeInfo) -> moorage.Verdict | None:
        """Look at each."""
        bad = [pod.metadata.name for pod in node.pods if pod.metadata.name.startswith("bad")]
        return moorage.Verdict.unschedulable(f"{len(bad)} bad") if bad else None


class Standing(moorage.Plugin):
    """Refuses node n9; cannot depend on pods, and counts how often it is asked."""

    filter_depends = moorage.Depends(node=True)

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod) -> Hashable | None:
        """Share unless the pod says otherwise."""
        return None if pod.metadata.labels.get("unsigned") else ()

    @moorage.hookimpl
    def filter_nodes(self, nodes: moorage.NodesView) -> NDArray[np.bool_]:
        """Count this."""
        asked: Counter[str] = self.handle.shared("asked", Counter)
        asked[self.name] += 1
        return np.array([name != "n9" for name in nodes.names()], dtype=np.bool_)

    @moorage.hookimpl
    def explain(self) -> moorage.Verdict:
        """Say so."""
        return moorage.Verdict.unschedulable("it is n9")


class Counting(moorage.Plugin):
    """Keeps the number of pods in its notes alone, by what it is told; refuses three or more."""

    @moorage.hookimpl
    def pre_filter(self, state: moorage.CycleState, nodes: moorage.NodesView) -> None:
        """Count all pods of each node."""
        names = nodes.names()
        state["counts"] = dict(zip(names, nodes.pod_count.tolist(), strict=True))
        state["changes"] = {}

    @moorage.hookimpl
    def add_pods(
        self,
        state: moorage.CycleState,
        positions: NDArray[np.intp],
        pods: Sequence[PodInfo],
    ) -> None:
        """Count more."""
        self._change(state, positions, pods, 1)

    @moorage.hookimpl
    def remove_pods(
        self,
        state: moorage.CycleState,
        positions: NDArray[np.intp],
        pods: Sequence[PodInfo],
    ) -> None:
        """Count less."""
        self._change(state, positions, pods, -1)

    @moorage.hookimpl
    def filter_nodes(
        self, state: moorage.CycleState, nodes: moorage.NodesView
    ) -> NDArray[np.bool_]:
        """Compare what was counted with what is there: a plugin that is told all agrees."""
        counts = [
            state["counts"][name] + state["changes"].get(position, 0)
            for position, name in enumerate(nodes.names())
        ]
        if state["changes"]:
            assert counts == nodes.pod_count.tolist()
        return np.array(counts) < 3

    @staticmethod
    def _change(
        state: moorage.CycleState,
        positions: NDArray[np.intp],
        pods: Sequence[PodInfo],
        change: int,
    ) -> None:
        changes = dict(state["changes"])
        for position, _ in zip(positions.tolist(), pods, strict=True):
            changes[position] = changes.get(position, 0) + change
        state["changes"] = changes


class Rehearsing(moorage.Plugin):
    """Does in PostFilter what the test wants done there."""

    @moorage.hookimpl
    def post_filter(self, diagnosis: Diagnosis) -> moorage.Verdict:
        """Do it."""
        self.handle.shared("rehearsal", list)[-1](diagnosis)
        return moorage.Verdict.unschedulable("rehearsed")


PLUGINS: dict[str, type[moorage.Plugin]] = {
    "Standing": Standing,
    "Crowded": Crowded,
    "OneByOne": OneByOne,
    "Counting": Counting,
    "Rehearsing": Rehearsing,
}


class World:
    """Nodes with pods by name, and a cycle that fails on them."""

    def __init__(
        self, nodes: dict[str, list[str]], plugins: dict[str, type[moorage.Plugin]] | None = None
    ) -> None:
        self.nominator = Nominator()
        self.services = Services(nominations=self.nominator)
        for name, pods in nodes.items():
            self.services.cluster.set_node(make_node(name))
            for pod in pods:
                self.services.cluster.add_pod(make_pod(pod, node=name, priority=1))
        chosen = PLUGINS if plugins is None else plugins
        self.framework = new_framework(
            Registry.of(chosen, distribution="tests"), list(chosen), services=self.services
        )
        self.cycle = Cycle(self.framework, self.services.cluster, nominator=self.nominator)

    def rehearse(self, rehearsal: Rehearsal, **labels: str) -> Decision:
        """Decide for a pod that fits nowhere; the rehearsal must be held."""
        held: list[Rehearsal] = self.services.shared.setdefault("rehearsal", [])
        held.append(rehearsal)
        decision = self.cycle.decide(queued(make_pod("wants-in", priority=5, labels=labels)))
        assert "rehearsed" in decision.message, decision.message
        return decision


def everywhere(diagnosis: Diagnosis) -> moorage.DryRun:
    """Begin a dry run of all nodes."""
    return diagnosis.dry_run(np.arange(len(diagnosis.nodes)))


def test_pods_come_and_go_on_all_rows_at_once() -> None:
    """Every form of plugin hears of it; the runs before stay what they were."""

    def rehearsal(diagnosis: Diagnosis) -> None:
        run = everywhere(diagnosis)
        assert run.passes.tolist() == [False, False, False]
        pods = run.nodes.pods_below(5)
        names = [info.pod.metadata.name for info in pods]
        assert names == ["a", "b", "bad-c", "bad-d", "e", "f", "g"]
        empty = run.without_pods(pods)
        assert empty.passes.tolist() == [True, True, True]
        assert empty.nodes.pod_count.tolist() == [0, 0, 0]
        back = empty.with_pods(pods.take(np.array([0, 2, 4])))
        assert back.passes.tolist() == [True, False, True]
        assert back.reasons(np.array([0, 1, 2])) == {"1 bad": 1}
        two = back.with_pods(pods.take(np.array([1, 3, 5])))
        assert two.reasons(np.array([0, 1, 2])) == {"crowded": 3}
        assert two.without_pods(pods.take(np.array([1]))).passes.tolist() == [True, False, False]
        assert run.passes.tolist() == [False, False, False]
        assert empty.passes.tolist() == [True, True, True]

    World({"n1": ["a", "b"], "n2": ["bad-c", "bad-d"], "n3": ["e", "f", "g"]}).rehearse(rehearsal)


def test_some_nodes_in_an_order_of_ones_own() -> None:
    """Positions of the run are those asked for, in that order."""

    def rehearsal(diagnosis: Diagnosis) -> None:
        run = diagnosis.dry_run(np.array([2, 0]))
        assert run.nodes.names() == ["n3", "n1"]
        assert run.reasons(np.array([0])) == {"2 bad": 1}
        assert run.reasons(np.array([1])) == {"crowded": 1}

    plugins = {"OneByOne": OneByOne, "Crowded": Crowded, "Rehearsing": Rehearsing}
    world = World({"n1": ["a", "b"], "n2": ["bad"], "n3": ["bad-c", "bad-d"]}, plugins)
    world.rehearse(rehearsal)


@pytest.mark.parametrize("labels", [{}, {"unsigned": "yes"}], ids=["shared", "unshared"])
def test_who_cannot_depend_on_pods_is_not_asked_again(labels: dict[str, str]) -> None:
    """Its answer counts all the same, in its place."""

    def rehearsal(diagnosis: Diagnosis) -> None:
        asked = world.services.shared["asked"]
        run = everywhere(diagnosis)
        empty = run.without_pods(run.nodes.pods_below(5))
        assert empty.passes.tolist() == [True, False]
        before = asked["Standing"]
        again = empty.with_pods(run.nodes.pods_below(5))
        assert again.reasons(np.array([0, 1])) == {"crowded": 1, "it is n9": 1}
        assert asked["Standing"] == before

    world = World({"n1": ["a", "b"], "n9": ["c", "d"]})
    world.rehearse(rehearsal, **labels)


def test_nodes_must_pass_with_the_pods_that_are_expected_and_without() -> None:
    """Expected pods stay while others come and go, and are not among those of the rows."""

    def rehearsal(diagnosis: Diagnosis) -> None:
        run = everywhere(diagnosis)
        pods = run.nodes.pods_below(5)
        empty = run.without_pods(pods)
        assert empty.passes.tolist() == [True, True]
        assert empty.nodes.pod_count.tolist() == [0, 0]
        one = empty.with_pods(pods.take(np.array([0, 2])))
        assert one.passes.tolist() == [False, True]
        assert one.reasons(np.array([0, 1])) == {"crowded": 1}

    world = World({"n1": ["a", "b"], "n2": ["c", "d"]})
    world.nominator.nominate(make_pod("expected", priority=5), "n1")
    world.nominator.nominate(make_pod("less-important", priority=4), "n2")
    world.rehearse(rehearsal)


class RefusesEarly(moorage.Plugin):
    """Refuses in PreFilter where there are pods at all, and filters by the row's pods."""

    @moorage.hookimpl
    def pre_filter(self, nodes: moorage.NodesView) -> moorage.Verdict | None:
        """Look at all nodes."""
        return moorage.Verdict.unschedulable("pods somewhere") if nodes.pod_count.any() else None

    @moorage.hookimpl
    def filter_nodes(self, nodes: moorage.NodesView) -> NDArray[np.bool_]:
        """Let pass empty nodes."""
        return np.asarray(nodes.pod_count == 0)


def test_a_plugin_that_refused_before_the_filters_is_asked_in_them() -> None:
    """Else a pod would be nominated where it cannot go."""

    def rehearsal(diagnosis: Diagnosis) -> None:
        assert diagnosis.refused_with(Code.UNSCHEDULABLE).tolist() == [0, 1]
        run = everywhere(diagnosis)
        assert run.passes.tolist() == [False, True]
        assert run.without_pods(run.nodes.pods_below(5)).passes.tolist() == [True, True]

    plugins = {"RefusesEarly": RefusesEarly, "Rehearsing": Rehearsing}
    World({"n1": ["a"], "n2": []}, plugins).rehearse(rehearsal)


def test_nodes_are_found_by_the_code_of_their_verdict() -> None:
    """Each by what refused it first."""

    class Mixed(moorage.Plugin):
        """Has a verdict of each kind."""

        @moorage.hookimpl
        def filter(self, node: moorage.NodeInfo) -> moorage.Verdict | None:
            """Go by the name."""
            reason = f"about {node.name}"
            return {
                "n1": moorage.Verdict.unschedulable(reason),
                "n2": moorage.Verdict.unresolvable(reason),
                "n3": moorage.Verdict.pending(reason),
                "n4": moorage.Verdict.unschedulable(reason),
            }[node.name]

    def rehearsal(diagnosis: Diagnosis) -> None:
        assert diagnosis.refused_with(Code.UNSCHEDULABLE).tolist() == [0, 3]
        assert diagnosis.refused_with(Code.UNSCHEDULABLE_AND_UNRESOLVABLE).tolist() == [1]
        assert diagnosis.refused_with(Code.PENDING).tolist() == [2]

    nodes: dict[str, list[str]] = {f"n{number}": [] for number in (1, 2, 3, 4)}
    World(nodes, {"Mixed": Mixed, "Rehearsing": Rehearsing}).rehearse(rehearsal)


def test_a_diagnosis_that_no_cycle_made_rehearses_nothing() -> None:
    """It says so, instead of guessing."""
    diagnosis = Diagnosis(Services().cluster.view())
    with pytest.raises(RuntimeError, match="scheduling cycle"):
        diagnosis.dry_run(np.arange(0))
