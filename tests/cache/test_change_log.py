"""Which rows changed since a reader looked, and what is no longer known."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.objects import make_node, make_pod

from moorage.cache import ChangeLog, ClusterCache

LONGEST = 65536


def _since(log: ChangeLog, position: int) -> list[int] | None:
    rows = log.since(position)
    return None if rows is None else rows.tolist()


@given(st.lists(st.integers(0, 9), max_size=30), st.data())
def test_a_reader_hears_of_each_changed_row_once(rows: list[int], data: st.DataObject) -> None:
    """In ascending order, whatever its position."""
    log = ChangeLog()
    for row in rows:
        log.append(row)
    position = data.draw(st.integers(0, len(rows)))

    assert log.end == len(rows)
    assert _since(log, position) == sorted(set(rows[position:]))


def test_who_is_too_far_behind_is_told_to_look_at_everything() -> None:
    """Changes are kept for a while, and positions keep growing."""
    log = ChangeLog()
    for number in range(LONGEST + 1):
        log.append(number % 7)

    assert log.end == LONGEST + 1
    assert _since(log, 0) is None
    assert _since(log, log.end - 3) == sorted({n % 7 for n in range(LONGEST - 2, LONGEST + 1)})
    assert _since(log, log.end) == []


def test_nodes_and_pods_are_logged_apart() -> None:
    """An answer that depends on the node object is not asked again when pods come and go."""
    cluster = ClusterCache()
    cluster.set_node(make_node("n1"))
    nodes, pods = cluster.node_changes.end, cluster.pod_changes.end

    cluster.add_pod(make_pod("p", node="n1"))

    assert cluster.node_changes.end == nodes
    assert _since(cluster.pod_changes, pods) == [0]


def test_changed_rows_are_those_of_both_logs() -> None:
    """Rows whose pods changed are left out for who does not look at pods."""
    cluster = ClusterCache()
    for name in ("n0", "n1", "n2"):
        cluster.set_node(make_node(name))
    nodes, pods = cluster.node_changes.end, cluster.pod_changes.end
    cluster.set_node(make_node("n2", labels={"a": "b"}))
    cluster.add_pod(make_pod("p", node="n0"))

    for pods_too, expected in ((pods, [0, 2]), (None, [2])):
        rows, nodes_only = cluster.changed_rows(nodes, pods_too)
        assert rows is not None
        assert nodes_only is not None
        assert rows.tolist() == nodes_only.tolist() == expected


def test_growing_for_pods_of_unknown_nodes_changes_the_standing() -> None:
    """Whoever keeps arrays by row must know that there are more rows, though no node came."""
    cluster = ClusterCache()
    cluster.set_node(make_node("n0"))
    before = cluster.standing

    for number in range(cluster.columns.capacity):
        cluster.add_pod(make_pod(f"p{number}", node=f"unknown-{number}"))

    assert cluster.standing != before


def test_pods_do_not_change_the_standing() -> None:
    """Otherwise every plugin would be asked again after every pod."""
    cluster = ClusterCache()
    cluster.set_node(make_node("n0"))
    before = cluster.standing

    cluster.add_pod(make_pod("p", node="n0"))

    assert cluster.standing == before


def test_an_image_whose_only_holder_reports_another_size_has_that_size() -> None:
    """As in kube-scheduler the first report counts, and goes with the node that made it."""
    cluster = ClusterCache()
    cluster.set_node(make_node("n0", images={"app:1": 100}))
    cluster.set_node(make_node("n0", images={"app:1": 300}))
    assert cluster.view().image("app:1")[1:] == (300, 1)

    cluster.set_node(make_node("n1", images={"app:1": 500}))

    assert cluster.view().image("app:1")[1:] == (300, 2)


def test_sizes_of_images_are_a_fact_of_the_cluster() -> None:
    """Scores by images of all nodes depend on what one node reports."""
    cluster = ClusterCache()
    cluster.set_node(make_node("n0", images={"app:1": 100}))
    before = cluster.facts["images"]

    cluster.set_node(make_node("n0", images={"app:1": 100}, labels={"a": "b"}))
    assert cluster.facts["images"] == before

    cluster.set_node(make_node("n0", images={"app:1": 300}))
    assert cluster.facts["images"] != before
