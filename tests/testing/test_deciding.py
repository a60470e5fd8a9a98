"""`schedule`: one decision, as the host would make it, with reasons and scores to read."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.testing.sample_plugins import REASON, Gate, Guard, Rank

from moorage import Code, ConfigurationError, PluginError
from moorage.testing import Cluster, make_node, make_pod, schedule

PROFILE = """
plugins:
  multiPoint:
    enabled: [{name: Rank, weight: 7}]
    disabled: [{name: ImageLocality}]
pluginConfig: [{name: Rank, args: {label: other}}]
"""


def cluster() -> Cluster:
    """Make three nodes: closed, ranked, plain."""
    return Cluster(
        [make_node("n1", unschedulable=True), make_node("n2", labels={"rank": "4"}), "n3"]
    )


def test_the_node_reasons_and_scores_can_be_read_by_name() -> None:
    """Also the reason of a node that lost, where another was found."""
    decision = schedule(cluster(), make_pod(), plugins=[(Rank, 3)])

    assert decision.node == "n2"
    assert decision.code is Code.SUCCESS
    assert decision.message == ""
    assert decision.feasible == {"n2", "n3"}
    assert decision.reasons == {"n1": REASON}
    assert decision.verdicts["n1"].plugin == "Rank"
    assert decision.scores["n2"]["Rank"] == 300
    assert decision.totals == {"n2": 300, "n3": 0}


def test_a_pod_that_fits_nowhere_says_so_as_in_its_condition() -> None:
    """And names who refused it."""
    decision = schedule(Cluster([make_node("n1", unschedulable=True)]), make_pod(), plugins=[Rank])

    assert decision.node is None
    assert decision.code is Code.UNSCHEDULABLE
    assert decision.message == f"0/1 nodes are available: 1 {REASON}."
    assert decision.plugins == {"Rank"}


def test_the_cluster_stays_as_it_is() -> None:
    """A decision binds nothing; `bind` does."""
    here = cluster()
    pod = make_pod(cpu="4")

    assert schedule(here, pod, plugins=["NodeResourcesFit", Rank]).node == "n2"
    assert here.pods == {}
    here.bind(pod, "n2")
    assert schedule(here, make_pod(cpu="4"), plugins=["NodeResourcesFit", Rank]).node in {
        "n1",
        "n3",
    }


def test_arguments_are_given_by_plugin() -> None:
    """As a profile spells them, or as Python does."""
    nodes = Cluster([make_node("a", labels={"x": "1"}), "b"])

    for args in ({"label": "x"}, Rank.Args(label="x")):
        assert schedule(nodes, make_pod(), plugins=[Rank], args={"Rank": args}).node == "a"


def test_a_profile_decides_which_plugins_run() -> None:
    """Classes stand for the names in it, the rest is what is installed."""
    decision = schedule(cluster(), make_pod(), plugins=[Rank], profile=PROFILE)

    assert decision.reasons == {"n1": "node(s) were unschedulable"}
    assert decision.scores["n2"]["Rank"] == 0  # by the other label
    assert "NodeResourcesFit" in decision.scores["n2"]
    assert "ImageLocality" not in decision.scores["n2"]


def test_plugins_that_a_profile_does_not_name_are_added_to_it() -> None:
    """So that the default profile plus one is short."""
    decision = schedule(cluster(), make_pod(), plugins=[(Rank, 5)], profile="default")

    assert decision.scores["n2"]["Rank"] == 500
    assert "NodeResourcesFit" in decision.scores["n2"]


def test_a_profile_may_be_a_file(tmp_path: Path) -> None:
    """Whatever is wrong with it is said as the command does."""
    file = tmp_path / "c.yaml"
    file.write_text("kind: Nothing\n", encoding="utf-8")

    with pytest.raises(ConfigurationError, match=r"c\.yaml: kind: 'Nothing' is not supported"):
        schedule(cluster(), make_pod(), profile=file)


def test_one_of_several_profiles_is_picked_by_the_pod() -> None:
    """A pod that none of them serves is refused."""
    profiles = {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}]}

    assert schedule(cluster(), make_pod(scheduler_name="b"), profile=profiles).node
    with pytest.raises(ValueError, match="profiles a, b"):
        schedule(cluster(), make_pod(), profile=profiles)


@pytest.mark.parametrize(
    "profile",
    [
        {"profiles": None},
        {"profiles": [{"plugins": None, "pluginConfig": None}]},
        {"plugins": {"multiPoint": None}},
        {"plugins": {"multiPoint": {"enabled": None}, "score": None}},
        "plugins:\n",
        "\n",
    ],
    ids=str,
)
def test_null_in_a_profile_is_what_is_not_set(profile: str | dict[str, object]) -> None:
    """As in a file; plugins and arguments are added all the same."""
    args = {"NodeResourcesFit": {"ignoredResources": ["example.com/a"]}}
    decision = schedule(cluster(), make_pod(), plugins=[Rank], profile=profile, args=args)
    assert "Rank" in decision.scores["n2"]
    assert "NodeResourcesFit" in decision.scores["n2"]


@pytest.mark.parametrize(
    ("profile", "sentence"),
    [
        ({"profiles": [None]}, r"profiles\[0\]: expected a mapping, got nothing"),
        ({"plugins": []}, r"profiles\[0\]\.plugins: expected a mapping, got a list"),
        ("plugins: [\n", "not YAML"),
        ("- a\n", "must hold a mapping"),
    ],
    ids=str,
)
def test_profile_of_another_shape_is_refused(
    profile: str | dict[str, object], sentence: str
) -> None:
    """By the sentence that the host has for it."""
    with pytest.raises(ConfigurationError, match=sentence):
        schedule(cluster(), make_pod(), plugins=[Rank], profile=profile)


def test_a_pod_that_is_held_back_is_not_looked_at() -> None:
    """PreEnqueue comes first, as in the queue."""
    decision = schedule(cluster(), make_pod(labels={"held": ""}), plugins=[Gate])

    assert (decision.node, decision.message) == (None, "held back")
    assert decision.plugins == {"Gate"}


def test_a_fault_of_a_plugin_is_raised() -> None:
    """A test should not have to look for it in a message."""
    with pytest.raises(PluginError, match=r"plugin 'Guard' .* raised in filter: KeyError: 'bad'"):
        schedule(cluster(), make_pod(labels={"bad": ""}), plugins=[Guard])


async def test_it_works_within_an_event_loop() -> None:
    """Tests of asynchronous code decide, too."""
    assert schedule(cluster(), make_pod(), plugins=[Rank]).node == "n2"


def test_arguments_of_a_plugin_that_does_not_run_are_refused() -> None:
    """The test would be about the defaults, and pass."""
    with pytest.raises(ValueError, match="args has 'rank', which is none of the plugins; did you "):
        schedule(cluster(), make_pod(), plugins=[Rank], args={"rank": {}})

    with pytest.raises(ValueError, match="args has 'Zone', which is none of the plugins; there "):
        schedule(cluster(), make_pod(), plugins=[Rank], args={"Zone": {}}, profile="default")


def test_what_is_no_plugin_is_refused() -> None:
    """Such as an object in place of its class."""
    with pytest.raises(TypeError, match="plugins are classes or names of installed ones, not 3"):
        schedule(cluster(), make_pod(), plugins=[3])  # type: ignore[list-item]
