"""A plugin that breaks its contract costs one pod its turn, and nobody else anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.objects import make_node, make_pod, queued

import moorage
from moorage import Code, Plugin, Registry, Services, Verdict, hookimpl
from moorage.cycle import Cycle, Decision
from moorage.framework.assembly import new_framework
from moorage.framework.host import PluginSource
from moorage.queueing.nominator import Nominator

NODES = 3
WHO = "plugin 'Broken' (acme-plugins 2.1)"


def _raise() -> None:
    raise RuntimeError("out of\nprices")


def _fail_while_iterated() -> Iterator[str]:
    yield "n0"
    raise RuntimeError("out of prices")


def _plugin(hook: str, answer: Callable[[], Any]) -> type[Plugin]:
    """Make a plugin one of whose hooks answers as told for pods with the label ``broken``."""

    def answers(self: Plugin, pod: moorage.Pod) -> Any:  # noqa: ANN401 - also what is wrong
        return answer() if "broken" in pod.metadata.labels else _GOOD[hook]()

    answers.__name__ = hook
    hooks: dict[str, Any] = {hook: hookimpl(answers)}
    if hook == "sign":  # asked only of plugins that say what their answers depend on
        hooks["filter_depends"] = moorage.Depends(node=True)
    for needed in _NEEDS.get(hook, ()):
        hooks[needed] = _helper(needed)
    return type("Broken", (Plugin,), hooks)


def _helper(hook: str) -> Any:  # noqa: ANN401 - a hook
    def answers(self: Plugin) -> Any:  # noqa: ANN401 - what the hook answers
        return _REFUSES[hook]() if hook in _REFUSES else _GOOD[hook]()

    answers.__name__ = hook
    return hookimpl(answers)


_GOOD: dict[str, Callable[[], Any]] = {
    "sign": lambda: "good",
    "pre_filter": lambda: None,
    "filter": lambda: None,
    "filter_nodes": lambda: np.ones(NODES, dtype=np.bool_),
    "explain": lambda: Verdict.unschedulable("no"),
    "post_filter": lambda: None,
    "pre_score": lambda: None,
    "score": lambda: 1,
    "score_nodes": lambda: np.arange(NODES),
    "normalize_scores": lambda: np.arange(NODES),
    "add_pods": lambda: None,
}
_REFUSES: dict[str, Callable[[], Any]] = {"filter_nodes": lambda: np.zeros(NODES, dtype=np.bool_)}
_NEEDS = {
    "sign": ("filter_nodes",),
    "explain": ("filter_nodes",),
    "post_filter": ("filter_nodes",),
    "normalize_scores": ("score_nodes",),
    "add_pods": ("filter",),
    "pre_score": ("score_nodes",),
}
_REFUSED_ANYWAY = {"sign", "explain", "post_filter"}


def _decide(hook: str, answer: Callable[[], Any]) -> tuple[Decision, Decision]:
    """Decide for a pod that the plugin fails on, and then for one of another kind."""
    source = PluginSource(
        name="Broken", distribution="acme-plugins", version="2.1", plugin=_plugin(hook, answer)
    )
    framework = new_framework(Registry([source]), ["Broken"], services=Services())
    cluster = framework.services.cluster
    for number in range(NODES):
        cluster.set_node(make_node(f"n{number}"))
    nominator = Nominator()
    if hook == "add_pods":
        nominator.nominate(make_pod("expected"), "n1")
    cycle = Cycle(framework, cluster, nominator=nominator)
    broken = cycle.decide(queued(make_pod("p", labels={"broken": "yes"})))
    return broken, cycle.decide(queued(make_pod("other")))


def _check(hook: str, answer: Callable[[], Any], rest: str) -> None:
    broken, other = _decide(hook, answer)

    assert broken.verdict.code is Code.ERROR, broken
    assert not broken.node_name
    assert "\n" not in broken.message
    assert broken.message.startswith(f"{WHO} {rest}"), broken.message
    if hook in _REFUSED_ANYWAY:
        assert other.verdict.code is Code.UNSCHEDULABLE
    else:
        assert other.verdict.code is Code.SUCCESS
        assert other.node_name


@pytest.mark.parametrize("hook", _GOOD)
def test_a_hook_that_raises(hook: str) -> None:
    """What was raised, in one line."""
    _check(hook, _raise, f"raised in {hook}: RuntimeError: out of prices")


@pytest.mark.parametrize("hook", ["pre_filter", "filter", "pre_score"])
def test_a_verdict_of_code_error(hook: str) -> None:
    """A fault that the plugin reports itself is as much its own as one that it raises."""
    broken, _ = _decide(hook, lambda: Verdict.error("out of prices"))

    assert broken.verdict.code is Code.ERROR
    assert WHO in broken.message
    assert "out of prices" in broken.message


@pytest.mark.parametrize("hook", ["pre_filter", "filter"])
@pytest.mark.parametrize("verdict", [Verdict.wait(3.0)], ids=["wait"])
def test_a_code_that_the_hook_cannot_answer(hook: str, verdict: Verdict) -> None:
    """Only Permit lets pods wait."""
    _check(hook, lambda: verdict, "returned ")


@pytest.mark.parametrize(
    ("hook", "answer"),
    [
        ("sign", lambda: ["not", "hashable"]),
        ("pre_filter", lambda: 3),
        ("pre_filter", lambda: "n1"),
        ("pre_filter", lambda: [3]),
        ("pre_filter", lambda: [["n1"]]),
        ("filter", lambda: False),
        ("filter_nodes", lambda: [True] * NODES),
        ("filter_nodes", lambda: True),
        ("explain", lambda: "no room"),
        ("explain", lambda: None),
        ("explain", Verdict),
        ("post_filter", lambda: "n1"),
        ("pre_score", lambda: 3),
        ("score", lambda: "high"),
        ("score", lambda: None),
        ("score", lambda: [1, 2]),
        ("score_nodes", lambda: [1] * NODES),
        ("score_nodes", lambda: None),
        ("score_nodes", lambda: True),
        ("score_nodes", lambda: 101),
        ("score_nodes", lambda: -1),
        ("normalize_scores", lambda: [1] * NODES),
        ("normalize_scores", lambda: None),
    ],
)
def test_an_answer_of_the_wrong_type(hook: str, answer: Callable[[], Any]) -> None:
    """What came, and what was wanted."""
    _check(hook, answer, "returned ")


@pytest.mark.parametrize("hook", ["filter_nodes", "score_nodes", "normalize_scores"])
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda: np.zeros(NODES - 1, dtype=np.int64), id="too-short"),
        pytest.param(lambda: np.zeros((NODES, 1), dtype=np.int64), id="a-matrix"),
        pytest.param(lambda: np.int64(1), id="a-scalar"),
    ],
)
def test_an_array_of_the_wrong_shape(hook: str, answer: Callable[[], Any]) -> None:
    """Both shapes are named."""
    _check(hook, answer, "returned ")


@pytest.mark.parametrize(
    ("hook", "dtype"),
    [
        ("filter_nodes", np.float64),
        ("filter_nodes", object),
        ("score_nodes", object),
        ("score_nodes", np.complex128),
        ("score_nodes", np.dtype("U3")),
        ("normalize_scores", object),
        ("normalize_scores", np.bool_),
    ],
)
def test_an_array_of_the_wrong_dtype(hook: str, dtype: Any) -> None:  # noqa: ANN401 - a dtype
    """A bool is an answer of filters, a float one of scores."""
    _check(hook, lambda: np.zeros(NODES, dtype=dtype), "returned an array of shape (3,), dtype ")


@pytest.mark.parametrize(
    ("hook", "values"),
    [
        pytest.param("filter_nodes", [0, -1, 0], id="negative-code"),
        pytest.param("filter_nodes", [0, 2**31, 0], id="large-code"),
        pytest.param("normalize_scores", [0, 101, 0], id="score-above-100"),
        pytest.param("normalize_scores", [0, -1, 0], id="score-below-0"),
        pytest.param("score_nodes", [0, 101, 0], id="score-without-normalizing"),
        pytest.param("normalize_scores", [0.0, 0.5, 0.0], id="half-a-score"),
        pytest.param("normalize_scores", [0.0, 1e300, 0.0], id="far-out-of-range"),
    ],
)
def test_numbers_out_of_range(hook: str, values: list[float]) -> None:
    """The range that came is named."""
    _check(hook, lambda: np.array(values), "returned an array of shape (3,), dtype ")


@pytest.mark.parametrize("hook", ["score", "score_nodes", "normalize_scores"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number(hook: str, value: float) -> None:
    """Not a number, or without end."""
    _check(hook, lambda: value if hook == "score" else np.array([0.0, value, 0.0]), "returned ")


@pytest.mark.parametrize(("value", "shown"), [("x", "str 'x'"), (None, "NoneType None")])
def test_a_score_that_is_no_number_is_told_as_it_was_returned(value: object, shown: str) -> None:
    """And not as the array that is made of all answers."""
    _check("score", lambda: value, f"returned {shown} from score; wanted a number for each node")


@pytest.mark.parametrize("hook", ["score_nodes", "normalize_scores"])
def test_normalize_scores_is_advised_only_to_those_without_it(hook: str) -> None:
    """It cannot help itself."""
    broken, _ = _decide(hook, lambda: np.array([0, 101, 0]))

    assert broken.message.endswith("(add normalize_scores)") is (hook == "score_nodes")


def test_names_that_fail_while_they_are_read() -> None:
    """A generator runs when it is iterated, which is still that plugin's fault."""
    _check("pre_filter", _fail_while_iterated, "raised in pre_filter: RuntimeError")


def test_a_fault_does_not_spoil_what_other_pods_share() -> None:
    """Pods of another signature that share this plugin's answers must not take half of one."""

    class Flaky(Plugin):
        filter_depends = moorage.Depends(node=True)
        fails = False

        @hookimpl
        def sign(self) -> str:
            """All pods look the same to this plugin."""
            return "same"

        @hookimpl
        def filter_nodes(self, nodes: moorage.NodesView) -> Any:  # noqa: ANN401 - an array
            """Refuse all; fail when told."""
            if Flaky.fails:
                raise RuntimeError("for the moment")
            return np.zeros(len(nodes), dtype=np.bool_)

    class Kinds(Plugin):
        filter_depends = moorage.Depends(node=True)

        @hookimpl
        def sign(self, pod: moorage.Pod) -> str:
            """Tell kinds of pods apart."""
            return pod.metadata.labels["kind"]

        @hookimpl
        def filter_nodes(self) -> None:
            """Let all pass."""

    framework = new_framework(
        Registry.of({"Flaky": Flaky, "Kinds": Kinds}), ["Flaky", "Kinds"], services=Services()
    )
    cluster = framework.services.cluster
    cluster.set_node(make_node("n0"))
    cycle = Cycle(framework, cluster)
    for kind in ("a", "b"):
        cycle.decide(queued(make_pod("p", labels={"kind": kind})))

    Flaky.fails = True
    cluster.set_node(make_node("n1"))
    assert cycle.decide(queued(make_pod("p", labels={"kind": "a"}))).verdict.code is Code.ERROR
    Flaky.fails = False

    for kind in ("a", "b"):
        decision = cycle.decide(queued(make_pod("p", labels={"kind": kind})))
        assert decision.verdict.code is Code.UNSCHEDULABLE, kind


def test_a_plugin_may_hand_out_the_same_array_each_time() -> None:
    """It stays the plugin's own: nobody makes it read-only or changes it."""
    scores = np.array([1, 2, 3])

    class Keeps(Plugin):
        @hookimpl
        def score_nodes(self) -> Any:  # noqa: ANN401 - an array
            """Write and hand out."""
            scores[0] = 0
            return scores

        @hookimpl
        def normalize_scores(self, scores: Any) -> Any:  # noqa: ANN401 - an array
            """Give 100 to the highest."""
            return moorage.scale(scores)

    framework = new_framework(Registry.of({"Keeps": Keeps}), ["Keeps"], services=Services())
    for number in range(NODES):
        framework.services.cluster.set_node(make_node(f"n{number}"))
    cycle = Cycle(framework, framework.services.cluster)

    for _ in range(2):
        assert cycle.decide(queued(make_pod("p"))).node_name == "n2"
    assert scores.tolist() == [0, 2, 3]


def test_sampling_looks_on_until_all_plugins_agree() -> None:
    """A node counts as found only when every plugin lets it pass."""

    class Lenient(Plugin):
        @hookimpl
        def filter(self) -> None:
            """Let all pass."""

    class Strict(Plugin):
        @hookimpl
        def filter(self, node: moorage.NodeInfo) -> Verdict | None:
            """Let the last nodes pass."""
            return None if node.labels.get("last") else Verdict.unschedulable("not the last")

    framework = new_framework(
        Registry.of({"Lenient": Lenient, "Strict": Strict}),
        ["Lenient", "Strict"],
        services=Services(),
        percentage_of_nodes_to_score=1,
    )
    cluster = framework.services.cluster
    for number in range(300):
        labels = {"last": "yes"} if number >= 290 else {}
        cluster.set_node(make_node(f"n{number}", labels=labels))

    decision = Cycle(framework, cluster).decide(queued(make_pod("p")))

    assert decision.node_name


def test_reasons_with_expected_pods_are_those_of_the_plugin_that_comes_first() -> None:
    """As in kube-scheduler: with the expected pods first, also where a later plugin refuses."""

    class Early(Plugin):
        @hookimpl
        def filter_nodes(self, nodes: moorage.NodesView) -> Any:  # noqa: ANN401 - an array
            """Refuse nodes with a pod."""
            return nodes.pod_count == 0

        @hookimpl
        def explain(self) -> Verdict:
            """Say so."""
            return Verdict.unschedulable("has a pod")

    class Late(Plugin):
        filter_depends = moorage.Depends(node=True)

        @hookimpl
        def sign(self) -> str:
            """All pods look the same."""
            return "same"

        @hookimpl
        def filter_nodes(self, nodes: moorage.NodesView) -> Any:  # noqa: ANN401 - an array
            """Refuse all."""
            return np.zeros(len(nodes), dtype=np.bool_)

        @hookimpl
        def explain(self) -> Verdict:
            """Say so."""
            return Verdict.unschedulable("refuses all")

    framework = new_framework(
        Registry.of({"Early": Early, "Late": Late}),
        {"filter": [("Early", 1), ("Late", 1)]},
        services=Services(),
    )
    framework.services.cluster.set_node(make_node("n0"))
    nominator = Nominator()
    nominator.nominate(make_pod("expected"), "n0")
    cycle = Cycle(framework, framework.services.cluster, nominator=nominator)

    decision = cycle.decide(queued(make_pod("p")))

    assert decision.message == "0/1 nodes are available: 1 has a pod."


def test_reasons_of_nodes_taken_singly_with_expected_pods() -> None:
    """What a plugin says with the expected pods added is told as it was said."""

    class Singly(Plugin):
        @hookimpl
        def add_pods(self, state: moorage.CycleState) -> None:
            """Note that somebody is expected."""
            state["expected"] = True

        @hookimpl
        def filter(self, state: moorage.CycleState, node: moorage.NodeInfo) -> Verdict | None:
            """Refuse n0, and whoever expects somebody."""
            if "expected" in state:
                return Verdict.unschedulable("somebody is expected")
            return Verdict.unschedulable("first") if node.name == "n0" else None

    framework = new_framework(Registry.of({"Singly": Singly}), ["Singly"], services=Services())
    for name in ("n0", "n1"):
        framework.services.cluster.set_node(make_node(name))
    nominator = Nominator()
    nominator.nominate(make_pod("expected"), "n1")
    cycle = Cycle(framework, framework.services.cluster, nominator=nominator)

    decision = cycle.decide(queued(make_pod("p")))

    assert decision.message == ("0/2 nodes are available: 1 first, 1 somebody is expected.")


class _Undecided(moorage.Plugin):
    """Has one score for all nodes, until it is asked about fewer."""

    score_depends = moorage.Depends(node=True)

    @moorage.hookimpl
    def sign(self) -> str:
        """Take all pods for alike."""
        return ""

    @moorage.hookimpl
    def score_nodes(self, nodes: moorage.NodesView) -> int:
        """Change its mind."""
        return 3 if len(nodes) == NODES else 4


def test_one_score_for_all_nodes_holds_for_each_of_them() -> None:
    """What was said of all rows cannot be another thing for the one that changed."""
    source = PluginSource(
        name="Broken", distribution="acme-plugins", version="2.1", plugin=_Undecided
    )
    framework = new_framework(Registry([source]), ["Broken"], services=Services())
    cluster = framework.services.cluster
    for number in range(NODES):
        cluster.set_node(make_node(f"n{number}"))
    cycle = Cycle(framework, cluster)

    assert cycle.decide(queued(make_pod("first"))).node_name
    cluster.set_node(make_node("n1", labels={"new": "yes"}))
    broken = cycle.decide(queued(make_pod("second")))

    assert broken.verdict.code is Code.ERROR
    assert broken.message.startswith(f"{WHO} returned "), broken.message
    assert "the same int for all nodes, or none" in broken.message
