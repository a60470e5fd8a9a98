"""NodeMetadata: that the host sees it, and how it ranks nodes."""

from __future__ import annotations

import pytest
from moorage_node_metadata import NodeMetadata

from moorage import PluginError, Registry
from moorage.testing import Cluster, SinglePlugin, check_row_local, make_node, make_pod, schedule

LABEL = "example.com/rank"


def scores(values: dict[str, str], **args: str) -> dict[str, int]:
    """Return what nodes with these values score."""
    cluster = Cluster([make_node(name, labels={LABEL: value}) for name, value in values.items()])
    cluster.add(make_node("without"))
    single = SinglePlugin(NodeMetadata, cluster, args={"label": LABEL, **args})
    return single.scores(make_pod())


def test_the_host_sees_it(moorage_host: Registry) -> None:
    """It is installed, can be imported, and comes from this package."""
    assert moorage_host.load("NodeMetadata") is NodeMetadata
    assert moorage_host.source("NodeMetadata").distribution == "moorage-node-metadata"


def test_a_pod_goes_to_the_node_of_the_highest_number() -> None:
    """As numbers, not as texts: 10 is more than 9."""
    nodes = [make_node("n9", labels={LABEL: "9"}), make_node("n10", labels={LABEL: "10"})]

    decision = schedule(
        Cluster(nodes), make_pod(), plugins=[NodeMetadata], args={"NodeMetadata": {"label": LABEL}}
    )

    assert decision.node == "n10"
    assert decision.scores["n9"]["NodeMetadata"] == 1


def test_numbers_are_spread_over_the_range() -> None:
    """Nodes that cannot be ranked come behind all others."""
    ranked = scores({"a": "0", "b": "50", "c": "100", "d": "many", "e": "inf"})

    assert ranked == {"a": 1, "b": 50, "c": 100, "d": 0, "e": 0, "without": 0}


def test_the_lowest_can_be_best() -> None:
    """Costs, for instance."""
    assert scores({"a": "-1", "b": "3"}, best="Lowest") == {"a": 100, "b": 1, "without": 0}


def test_times_are_ranked_by_age() -> None:
    """As a label can hold them: without colons, or as seconds."""
    newest = scores({"a": "2026-01-31T12.00.00Z", "b": "2026-02-01", "c": "0"}, type="Timestamp")
    oldest = scores({"a": "2026-01-31", "b": "2026-02-01"}, type="Timestamp", best="Lowest")

    assert newest["b"] == 100
    assert newest["c"] == 1
    assert oldest == {"a": 100, "b": 1, "without": 0}


def test_nodes_of_one_value_are_equal() -> None:
    """There is nothing to spread."""
    assert scores({"a": "5", "b": "5"}) == {"a": 100, "b": 100, "without": 0}


def test_the_label_must_be_given() -> None:
    """There is no label that everybody has."""
    with pytest.raises(PluginError, match="label"):
        SinglePlugin(NodeMetadata, Cluster())


def test_what_it_declares_is_true() -> None:
    """Answers that are shared among pods, and kept while other nodes change, stay right."""
    check_row_local(NodeMetadata, args={"label": "rank"}, examples=30)
