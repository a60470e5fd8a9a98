"""NodePower: that the host sees it, and what readings do to nodes and pods."""

from __future__ import annotations

from typing import Any

from moorage_node_power import NodePower

from moorage import Registry
from moorage.testing import Cluster, Scheduler, make_pod, schedule

KIND = ("power.example.com", "v1", "nodepowers")
ARGS = {"NodePower": {"mostWatts": 500}}


def reading(node: str, watts: float) -> dict[str, Any]:
    """Make what is measured of a node."""
    return {
        "apiVersion": "power.example.com/v1",
        "kind": "NodePower",
        "metadata": {"name": node},
        "status": {"watts": watts},
    }


def measured(**watts: float) -> Cluster:
    """Make a cluster of nodes that draw so much, and one of which nobody knows."""
    cluster = Cluster([*watts, "unknown"])
    for node, value in watts.items():
        cluster.put_custom(*KIND, reading(node, value))
    return cluster


def test_the_host_sees_it(moorage_host: Registry) -> None:
    """It is installed, can be imported, and comes from this package."""
    assert moorage_host.load("NodePower") is NodePower
    assert moorage_host.source("NodePower").distribution == "moorage-node-power"


def test_nodes_that_draw_too_much_are_left_out() -> None:
    """Those without a reading are not, unless it is asked for."""
    cluster = measured(cool=499, hot=500)

    lenient = schedule(cluster, make_pod(), plugins=[NodePower], args=ARGS)
    strict = schedule(
        cluster,
        make_pod(),
        plugins=[NodePower],
        args={"NodePower": {"mostWatts": 500, "requireReading": True}},
    )

    assert lenient.reasons == {"hot": "node(s) drew 500 W or more"}
    assert strict.reasons["unknown"] == "node(s) had no power reading"
    assert strict.node == "cool"


def test_the_node_that_draws_least_is_preferred() -> None:
    """Nodes of which nobody knows come last."""
    decision = schedule(measured(a=100, b=300), make_pod(), plugins=[NodePower], args=ARGS)

    assert decision.totals == {"a": 100, "b": 50, "unknown": 0}


def test_a_pending_pod_is_tried_again_when_a_node_has_cooled_down() -> None:
    """And not when it gets hotter still."""
    cluster = Cluster(["n1"])
    cluster.put_custom(*KIND, reading("n1", 900))
    with Scheduler(cluster, plugins=[NodePower], args=ARGS) as scheduler:
        assert scheduler.submit(make_pod("a")) == {}
        assert scheduler.messages == {
            "default/a": "0/1 nodes are available: 1 node(s) drew 500 W or more."
        }
        scheduler.put_custom(*KIND, reading("n1", 950))
        assert scheduler.advance(10) == {}

        scheduler.put_custom(*KIND, reading("n1", 300))

        assert scheduler.advance(10) == {"default/a": "n1"}
