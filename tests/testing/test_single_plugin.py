"""SinglePlugin: the hooks of one plugin, asked as the host asks them."""

from __future__ import annotations

import pytest
from tests.testing.sample_plugins import REASON, Gate, Guard, Rank

from moorage import SUCCESS, Plugin, PluginError, Verdict, hookimpl
from moorage.testing import Cluster, SinglePlugin, make_node, make_pod


def ranked() -> Cluster:
    """Make nodes with and without a rank, one closed."""
    labels = {"n1": "1", "n2": "4"}
    nodes = [make_node(name, labels={"rank": value}) for name, value in labels.items()]
    return Cluster([*nodes, make_node("n3", unschedulable=True)])


def test_filters_are_verdicts_by_node() -> None:
    """Success where the node passes."""
    single = SinglePlugin(Rank, ranked())

    assert single.filter(make_pod()) == {
        "n1": SUCCESS,
        "n2": SUCCESS,
        "n3": Verdict.unschedulable(REASON).of("Rank"),
    }


def test_scores_are_raw_or_normalised() -> None:
    """Over all nodes, or those that passed."""
    single = SinglePlugin(Rank, ranked())

    assert single.raw_scores(make_pod()) == {"n1": 1.0, "n2": 4.0, "n3": 0.0}
    assert single.scores(make_pod()) == {"n1": 25, "n2": 100, "n3": 0}
    assert single.scores(make_pod(), nodes=["n1", "n3"]) == {"n1": 100, "n3": 0}
    assert single.normalize({"n1": 2.0, "n2": 8.0}) == {"n1": 0, "n2": 100}


def test_an_installed_plugin_goes_by_its_name() -> None:
    """Built-in ones come by the same door."""
    single = SinglePlugin("NodeUnschedulable", ranked())

    assert single.filter(make_pod())["n3"].message == "node(s) were unschedulable"


def test_notes_are_kept_between_the_hooks_of_one_pod() -> None:
    """Until its next attempt begins."""
    single = SinglePlugin(Gate, Cluster(["n1"]))
    pod = make_pod()

    assert single.reserve(pod, "n1").is_success
    assert single.state(pod) == {"node": "n1"}
    assert single.pre_bind(pod, "n1").is_success
    single.unreserve(pod, "n1")
    assert single.pre_bind(pod, "n1").message == "nothing was reserved"
    single.forget(pod)
    assert single.state(pod) == {}


def test_permit_says_how_long_a_pod_waits() -> None:
    """In seconds."""
    single = SinglePlugin(Gate, Cluster(["n1"]))

    assert single.permit(make_pod(labels={"waits": ""}), "n1").timeout == 30
    assert single.permit(make_pod(), "n1").is_success


def test_events_are_collected() -> None:
    """Who said what about which pod."""
    cluster = Cluster(["n1"])

    SinglePlugin(Gate, cluster).post_bind(make_pod("a"), "n1")

    (event,) = cluster.events
    assert (event.pod, event.reason, event.note) == ("default/a", "Told", "n1")


def test_a_hook_that_is_not_there_is_said_with_its_arguments() -> None:
    """What the author is about to write."""
    single = SinglePlugin(Rank, Cluster(["n1"]))

    with pytest.raises(PluginError, match=r"'Rank' does not implement reserve\(state, pod, node_"):
        single.reserve(make_pod(), "n1")
    with pytest.raises(PluginError, match="'Gate' does not score"):
        SinglePlugin(Gate, Cluster(["n1"])).scores(make_pod())


def test_faults_name_plugin_and_hook() -> None:
    """As the host words them."""
    with pytest.raises(PluginError, match="raised in filter: KeyError"):
        SinglePlugin(Guard, Cluster(["n1"])).filter(make_pod(labels={"bad": ""}))


def test_a_plugin_without_marked_hooks_is_refused() -> None:
    """It could be enabled nowhere, and asked nothing."""

    class Empty(Plugin):
        """Marks nothing."""

    with pytest.raises(PluginError, match=r"mark its hooks with @moorage\.hookimpl"):
        SinglePlugin(Empty, Cluster())


def test_start_and_close_are_called() -> None:
    """Once each."""
    calls = []

    class Lives(Plugin):
        """Notes when it is called."""

        @hookimpl
        async def start(self) -> None:
            """Note."""
            calls.append("start")

        @hookimpl
        def close(self) -> None:
            """Note."""
            calls.append("close")

        @hookimpl
        def filter(self) -> None:
            """Let everything pass."""

    single = SinglePlugin(Lives, Cluster())
    single.close()

    assert calls == ["start", "close"]
