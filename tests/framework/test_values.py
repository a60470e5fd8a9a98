"""Small values of the contract: verdicts, notes, scales, waiting pods, diagnoses, hookspecs."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray
from tests.objects import make_node, make_pod

from moorage import SKIP, SUCCESS, Code, CycleState, Verdict, WaitingPod, WaitingPods, scale
from moorage.cache import ClusterCache, NodesView
from moorage.framework import hookspecs
from moorage.framework.diagnosis import Diagnosis, Refusals
from moorage.framework.points import HOOK_ARGUMENTS, POINTS

# The reference of hooks


@pytest.mark.parametrize("hook", HOOK_ARGUMENTS)
def test_every_hook_is_documented_and_typed(hook: str) -> None:
    """Its docstring is the contract, its annotations are the types."""
    function = getattr(hookspecs, hook)
    signature = inspect.signature(function)

    assert len(inspect.getdoc(function) or "") > 40
    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in signature.parameters.values():
        assert parameter.annotation is not inspect.Parameter.empty, parameter.name


def test_every_point_names_hooks_that_exist() -> None:
    """And every hook is at a point or belongs to the plugin as a whole."""
    at_points = {hook for forms in POINTS.values() for hook in forms}

    assert at_points <= HOOK_ARGUMENTS.keys()


# Verdicts


def test_a_verdict_says_what_it_is() -> None:
    """As kube-scheduler's log does."""
    assert str(Verdict.unschedulable("too small", "too far")) == (
        "Unschedulable: too small, too far"
    )
    assert str(SKIP) == "Skip"
    assert Verdict.wait(3.0).timeout == 3.0
    assert SUCCESS.is_success
    refusals = (Verdict.unschedulable(), Verdict.unresolvable(), Verdict.pending())
    assert all(verdict.is_rejection for verdict in refusals)
    assert not any(verdict.is_rejection for verdict in (SUCCESS, SKIP, Verdict.error("x")))
    assert Verdict.pending("x").of("Cost").plugin == "Cost"


def test_a_clone_of_notes_can_be_changed_alone() -> None:
    """Values that can be cloned are cloned, others shared."""

    class Counts(dict[str, int]):
        def clone(self) -> Counts:
            return Counts(self)

    state = CycleState({"counts": Counts(a=1), "name": "x"})
    clone = state.clone()
    clone["counts"]["a"] = 2
    clone["name"] = "y"

    assert state == {"counts": {"a": 1}, "name": "x"}


# Scaling


@pytest.mark.parametrize(
    ("scores", "reverse", "expected"),
    [
        pytest.param([0, 1, 2, 3], False, [0, 33, 66, 100], id="integers"),
        pytest.param([0, 1, 2, 3], True, [100, 67, 34, 0], id="reversed"),
        pytest.param([0, 0], False, [0, 0], id="all-zero"),
        pytest.param([0, 0], True, [100, 100], id="all-zero-reversed"),
        pytest.param([7, 7], False, [100, 100], id="all-equal"),
        pytest.param([-1, 0, 1], False, [0, 50, 100], id="negative"),
        pytest.param([0.5, 1.5, 1.0], False, [0, 100, 50], id="floats"),
        pytest.param([0.5, 0.5], False, [0, 0], id="floats-without-range"),
        pytest.param([0.5, 0.5], True, [100, 100], id="floats-without-range-reversed"),
        pytest.param([True, False], False, [100, 0], id="bools"),
        pytest.param([2**62, 2**61], False, [100, 50], id="large-integers"),
        pytest.param([-1e308, 1e308, 0.0], False, [0, 100, 50], id="the-whole-range-of-floats"),
        pytest.param([], False, [], id="none"),
    ],
)
def test_scores_are_scaled(scores: list[Any], reverse: bool, expected: list[int]) -> None:  # noqa: FBT001 - pytest passes it by name
    """Integers as kube-scheduler's DefaultNormalizeScore, others by their range."""
    scaled = scale(np.array(scores), reverse=reverse)

    assert scaled.dtype == np.int64
    assert scaled.tolist() == expected


@given(
    npst.arrays(
        st.sampled_from([np.int64, np.uint64, np.int8, np.float64, np.float32, np.bool_]),
        st.integers(1, 6),
    ),
    st.booleans(),
)
def test_whatever_is_finite_is_scaled_to_0_to_100(scores: NDArray[Any], reverse: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
    """In order, and without a warning."""
    if scores.dtype.kind == "f":
        scores = np.nan_to_num(scores)

    scaled = scale(scores, reverse=reverse)

    assert scaled.min() >= 0
    assert scaled.max() <= 100
    order = np.argsort(scores, kind="stable")
    steps = np.diff(scaled[order])
    assert (steps <= 0).all() if reverse else (steps >= 0).all()


# Waiting pods


def _is_settled(waiting: WaitingPod) -> bool:
    return waiting.verdict is not None


def test_a_pod_waits_for_all_who_asked() -> None:
    """And goes on with the last of them."""
    waiting = WaitingPod(make_pod("p"), "n1", {"A": 10.0, "B": 5.0}, now=0.0)
    settled: list[bool] = []
    waiting.on_settled = lambda: settled.append(True)

    assert waiting.deadline == 5.0
    waiting.allow("B")
    assert not _is_settled(waiting)
    assert waiting.pending_plugins == {"A"}
    waiting.allow("A")

    assert waiting.verdict == SUCCESS
    assert settled == [True]


def test_one_rejection_is_enough() -> None:
    """Whatever comes after it."""
    waiting = WaitingPod(make_pod("p"), "n1", {"A": 10.0, "B": 5.0}, now=0.0)

    waiting.reject("A", "no")
    waiting.allow("A")
    waiting.allow("B")

    assert waiting.verdict == Verdict.unschedulable("no").of("A")


def test_a_waiting_pod_that_gives_way_is_not_refused() -> None:
    """It is to be tried again after its backoff; once it may go on, it cannot give way any more."""
    waiting = WaitingPod(make_pod("p"), "n1", {"A": 10.0}, now=0.0)
    allowed = WaitingPod(make_pod("q"), "n1", {"A": 10.0}, now=0.0)
    allowed.allow("A")

    assert waiting.preempt("Preemption", "preempted")
    assert not allowed.preempt("Preemption", "preempted")

    assert waiting.verdict == Verdict.error("waiting on permit for pod: preempted").of("Preemption")
    assert allowed.verdict == SUCCESS


def test_time_is_over_for_the_plugin_that_set_it() -> None:
    """Not before."""
    waiting = WaitingPod(make_pod("p"), "n1", {"A": 10.0, "B": 5.0}, now=0.0)

    waiting.expire(4.9)
    assert not _is_settled(waiting)
    waiting.expire(5.0)

    assert waiting.verdict is not None
    assert waiting.verdict.plugin == "B"
    assert waiting.verdict.code is Code.UNSCHEDULABLE


def test_waiting_pods_go_by_uid() -> None:
    """One registry for all profiles."""
    pods = WaitingPods()
    waiting = WaitingPod(make_pod("p"), "n1", {"A": 1.0}, now=0.0)

    pods.add(waiting)
    assert pods.get(waiting.info.uid) is waiting
    assert list(pods) == [waiting]
    pods.remove(waiting.info.uid)

    assert len(pods) == 0


# Diagnoses


def _view(count: int) -> NodesView:
    cluster = ClusterCache()
    for number in range(count):
        cluster.set_node(make_node(f"n{number}"))
    return cluster.view()


def _explain(plugin: int, code: int) -> Verdict:
    if plugin == 0:
        return Verdict.unschedulable("Too many pods", f"Insufficient r{code}").of("Fit")
    return Verdict.pending("waits").of("Claims")


def test_a_diagnosis_counts_nodes_by_reason_as_kube_scheduler_does() -> None:
    """Sorted as texts, so that 10 comes before 2; a node with two reasons counts twice."""
    by = np.array([0] * 10 + [1, 1, -1], dtype=np.int16)
    codes = np.array([1] * 9 + [2] + [5, 6, 0], dtype=np.int32)

    diagnosis = Diagnosis(_view(13), refusals=Refusals(["Fit", "Claims"], by, codes, _explain))
    diagnosis.post_filter = "preemption: nothing helps"

    assert diagnosis.message() == (
        "0/13 nodes are available: 1 Insufficient r2, 10 Too many pods, 2 waits, 9 Insufficient"
        " r1. preemption: nothing helps"
    )
    assert diagnosis.rejecting_plugins == {"Fit"}
    assert diagnosis.pending_plugins == {"Claims"}
    assert diagnosis.verdict(9).reasons == ("Too many pods", "Insufficient r2")
    assert diagnosis.verdict(12) == SUCCESS


def test_a_diagnosis_of_a_pod_that_no_node_was_asked_about() -> None:
    """What PreFilter said stands for all nodes."""
    refusal = Verdict.unresolvable("claim not found").of("Claims")

    diagnosis = Diagnosis(_view(3), pre_filter=refusal)

    assert diagnosis.message() == "0/3 nodes are available: claim not found."
    assert diagnosis.rejecting_plugins == {"Claims"}
    assert diagnosis.verdict(1) == refusal


def test_nodes_that_were_not_named_are_refused_by_who_named_others() -> None:
    """As unresolvable: no preemption makes them named."""
    considered = np.array([True, False, False])
    refusals = Refusals(["Fit"], np.zeros(3, dtype=np.int16), np.ones(3, dtype=np.int32), _explain)

    diagnosis = Diagnosis(
        _view(3),
        excluded_by=frozenset({"Names", "Also"}),
        considered=considered,
        refusals=refusals,
    )

    assert diagnosis.message() == (
        "0/3 nodes are available: 1 Insufficient r1, 1 Too many pods, 2 node(s) didn't satisfy"
        " plugin(s) [Also Names]."
    )
    assert diagnosis.rejecting_plugins == {"Fit", "Names", "Also"}
    assert diagnosis.verdict(2).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def test_a_diagnosis_without_nodes() -> None:
    """kube-scheduler's words for an empty cluster."""
    assert Diagnosis(_view(0)).message() == "no nodes available to schedule pods"
