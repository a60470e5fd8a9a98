"""Cluster: what is there, and what changes."""

from __future__ import annotations

import pytest

from moorage.testing import Cluster, make_namespace, make_node, make_pod


def test_nodes_may_be_given_by_name_only() -> None:
    """They are of the usual size."""
    cluster = Cluster(["n1", make_node("n2", cpu="1")])

    assert list(cluster.nodes) == ["n1", "n2"]
    assert cluster.view().allocatable("cpu").tolist() == [4000, 1000]


def test_pods_are_seen_on_their_nodes() -> None:
    """Until they are removed."""
    pod = make_pod("a", node="n1", cpu="1")
    cluster = Cluster(["n1"], [pod])

    assert cluster.pods_on("n1") == [pod]
    assert cluster.view().requested("cpu").tolist() == [1000]
    cluster.remove_pod(pod)
    assert cluster.pods == {}


def test_a_pod_on_no_node_is_refused() -> None:
    """It would be lost without a word."""
    with pytest.raises(ValueError, match="pod 'a' is on no node"):
        Cluster(["n1"]).add(make_pod("a"))


def test_a_node_that_is_not_there_is_refused() -> None:
    """By name."""
    with pytest.raises(KeyError, match="n9"):
        Cluster(["n1"]).bind(make_pod(), "n9")


def test_a_view_has_the_rows_that_are_asked_for() -> None:
    """In that order."""
    cluster = Cluster(["n1", "n2", "n3"])

    assert cluster.view(["n3", "n1"]).names() == ["n3", "n1"]


def test_namespaces_can_be_selected() -> None:
    """The default one is there from the start."""
    cluster = Cluster()
    cluster.add(make_namespace("other", labels={"team": "a"}))

    assert cluster.view().namespace_labels("default") is not None
    assert (cluster.view().namespace_labels("other") or {})["team"] == "a"


def test_it_shows_what_is_in_it() -> None:
    """Hypothesis prints it as the counterexample."""
    cluster = Cluster(["n1"], [make_pod("a", node="n1")])

    assert repr(cluster) == "Cluster(nodes=['n1'], pods={'default/a': 'n1'})"
