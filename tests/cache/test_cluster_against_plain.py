"""The cluster cache against two dictionaries, from which everything is recounted."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from numpy.testing import assert_array_equal
from numpy.typing import NDArray
from tests import strategies as draw
from tests.cache.plain_cluster import PlainCluster, PlainRow
from tests.objects import make_node, make_pod, port

from moorage.cache import ClusterCache, NodeInfo, NodesView
from moorage.model import HostPort, Node, PodInfo, Requirement

UIDS = tuple(f"p{number}" for number in range(10))
RESOURCES = ("pods", "cpu", "memory", "ephemeral-storage", *draw.EXTENDED, "example.com/unheard-of")
PORTS = (
    (HostPort("0.0.0.0", "TCP", 80),),  # noqa: S104 - every address
    (HostPort("10.1.1.1", "TCP", 80), HostPort("10.1.1.2", "UDP", 81)),
)
names = st.sampled_from(draw.NODE_NAMES)


class ClusterAgainstPlain(RuleBasedStateMachine):
    """Do the same to both, in any order, and compare all that a view can be asked."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = ClusterCache()
        self.plain = PlainCluster()
        self.before: dict[str, Any] | None = None

    # Nodes

    @rule(node=draw.nodes())
    def set_node(self, node: Node) -> None:
        """Add or change a node."""
        self.cluster.set_node(node)
        self.plain.nodes[node.metadata.name] = node

    @rule(name=names)
    def remove_node(self, name: str) -> None:
        """Remove a node; its pods stay until they go, and are back with it."""
        self.cluster.remove_node(name)
        self.plain.nodes.pop(name, None)

    @rule(resources=st.lists(st.integers(0, 9), min_size=5, unique=True))
    def set_node_with_many_resources(self, resources: list[int]) -> None:
        """Have more resources than there was room for."""
        amounts = {f"example.com/r{number}": str(number + 1) for number in resources}
        self.set_node(make_node("rich", allocatable=amounts))

    @rule()
    @precondition(lambda self: len(self.plain.nodes) < 60)
    def add_many_nodes(self) -> None:
        """Have more nodes than there was room for."""
        for number in range(70):
            self.set_node(make_node(f"many-{number}", labels={"zone": f"z{number}"}))

    @rule()
    def remove_many_nodes(self) -> None:
        """Free their rows for others."""
        for number in range(70):
            self.remove_node(f"many-{number}")

    # Pods

    @rule(pod=draw.pods(st.sampled_from(UIDS), node_name=names))
    @precondition(lambda self: self.before is None)
    def add_pod(self, pod: PodInfo) -> None:
        """See a bound pod: new, changed, moved, or assumed until now; its node may be unknown."""
        self.cluster.add_pod(pod)
        self.plain.put(pod, pod.pod.spec.node_name, assumed=False)

    @rule(uid=st.sampled_from(UIDS))
    @precondition(lambda self: self.before is None)
    def remove_pod(self, uid: str) -> None:
        """See a pod go, assumed or not."""
        self.cluster.remove_pod(uid)
        self.plain.drop(uid)

    @rule(pod=draw.pods(st.sampled_from(UIDS)), name=names)
    def assume(self, pod: PodInfo, name: str) -> None:
        """Count a pod on a node before the API says so."""
        row = self.cluster.row(name)
        if row is not None and pod.uid not in self.plain.pods:
            placed = pod.on_node(name)
            self.cluster.assume(placed, row)
            self.plain.put(placed, name, assumed=True)

    @rule(uid=st.sampled_from(UIDS))
    def forget(self, uid: str) -> None:
        """Take back an assumed pod; a bound one stays."""
        forgotten = self.cluster.forget(uid)
        assert (forgotten is not None) == (uid in self.plain.assumed)
        if uid in self.plain.assumed:
            self.plain.drop(uid)

    @rule(name=names)
    def confirm_elsewhere(self, name: str) -> None:
        """See an assumed pod bound, where it was assumed or elsewhere."""
        for uid in sorted(self.plain.assumed)[:1]:
            self.before = None
            self.cluster.commit()
            self.add_pod(self.plain.pods[uid].on_node(name))

    # Taking back

    @rule()
    @precondition(lambda self: self.before is None)
    def begin(self) -> None:
        """Start a journal."""
        self.cluster.begin()
        self.before = dict(self.plain.copy())

    @rule()
    @precondition(lambda self: self.before is not None)
    def commit(self) -> None:
        """Keep all."""
        self.cluster.commit()
        self.before = None

    @rule()
    @precondition(lambda self: self.before is not None)
    def rollback(self) -> None:
        """Take all back; every row that it touches counts as changed."""
        assert self.before is not None
        end = self.cluster.pod_changes.end
        touched = {
            place
            for uid, place in {**self.before["place"], **self.plain.place}.items()
            if self.before["place"].get(uid) != self.plain.place.get(uid)
        }
        self.cluster.rollback()
        vars(self.plain).update(self.before)
        self.before = None
        changed = self.cluster.pod_changes.since(end)
        assert changed is not None
        rows = set(changed.tolist())
        assert all(row in rows for name in touched if (row := self.cluster.row(name)) is not None)

    # Comparison

    @invariant()
    def is_sound(self) -> None:
        """Recount inside."""
        self.cluster.check_invariants()

    @invariant()
    def counts_agree(self) -> None:
        """Compare what the cache says of itself."""
        cluster, plain = self.cluster, self.plain
        assert cluster.node_count == len(plain.nodes)
        assert cluster.pod_count == len(plain.pods)
        assert cluster.assumed_count == len(plain.assumed)
        assert {info.uid for info in cluster.pods()} == plain.pods.keys()
        assert {uid: cluster.node_of(uid) for uid in plain.pods} == plain.place
        assert all(cluster.is_assumed(uid) == (uid in plain.assumed) for uid in UIDS)
        assert {node.metadata.name: node for node in cluster.nodes()} == plain.nodes

    @rule()
    def full_view_agrees(self) -> None:
        """Compare the view of all nodes, whole or with gaps."""
        nodes = self.cluster.view()
        assert set(nodes.names()) == self.plain.nodes.keys()
        check_view(nodes, self.plain.rows(nodes.names()), self.plain)

    @rule(data=st.data())
    @precondition(lambda self: self.plain.nodes)
    def some_rows_agree(self, data: st.DataObject) -> None:
        """Compare some rows, out of order and twice, with pods added and removed."""
        full = self.cluster.view()
        places = data.draw(st.lists(st.integers(0, len(full) - 1), min_size=1, max_size=6))
        nodes = full.take(np.array(places, dtype=np.intp))
        rows = self.plain.rows(nodes.names())
        for turn in range(data.draw(st.integers(0, 2))):
            nodes, rows = self.changed(data, nodes, rows, turn)
            check_view(nodes, rows, self.plain)
        again = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=6))
        check_view(
            nodes.take(np.array(again, dtype=np.intp)), [rows[place] for place in again], self.plain
        )

    def changed(
        self, data: st.DataObject, nodes: NodesView, rows: list[PlainRow], turn: int
    ) -> tuple[NodesView, list[PlainRow]]:
        """Add and remove pods, hypothetically, to both."""
        added: list[tuple[int, PodInfo]] = []
        removed: list[tuple[int, PodInfo]] = []
        for position, row in enumerate(rows):
            takes, gives = data.draw(st.tuples(st.booleans(), st.booleans()))
            if takes and row.pods:
                removed.append((position, row.pods[self.one_of(data, row)]))
            if gives:
                uid = f"new-{turn}"
                added.append((position, data.draw(draw.pods(st.just(uid)))))
        changed = [
            row.changed(
                added=[info for where, info in added if where == position],
                removed=[info.uid for where, info in removed if where == position],
            )
            for position, row in enumerate(rows)
        ]
        return nodes.overlay(added=added, removed=removed), changed

    @staticmethod
    def one_of(data: st.DataObject, row: PlainRow) -> str:
        """Choose a pod of a row."""
        uid: str = data.draw(st.sampled_from(sorted(row.pods)))
        return uid


def check_view(nodes: NodesView, rows: list[PlainRow], plain: PlainCluster) -> None:
    """Compare every array and record of a view with rows recounted."""
    assert len(nodes) == len(rows)
    assert nodes.names() == [row.node.metadata.name for row in rows]
    assert nodes.cluster_size == len(plain.nodes)
    _check_resources(nodes, rows)
    same(nodes.unschedulable, [row.node.spec.unschedulable for row in rows])
    _check_labels(nodes, rows)
    taints = nodes.taints
    same(taints.map(len, np.int64), [len(row.node.spec.taints) for row in rows])
    features = nodes.declared_features
    assert [features.values[code] for code in features.codes.tolist()] == [
        frozenset(row.node.status.declared_features) for row in rows
    ]
    for image in draw.IMAGES:
        positions, size, count = nodes.image(image)
        assert positions.tolist() == [i for i, row in enumerate(rows) if row.has_image(image)]
        holders = [node for node in plain.nodes.values() if PlainRow(node, ()).has_image(image)]
        assert count == len(holders)
        assert size in {one.size_bytes for node in holders for one in node.status.images} or (
            not holders and size == 0
        )
    for ports in PORTS:
        same(nodes.port_conflicts(ports), [row.port_conflict(ports) for row in rows])
    asked = ("n1", "n3", "n1", "nobody")
    assert nodes.positions(asked).tolist() == [
        index for index, row in enumerate(rows) if row.node.metadata.name in asked
    ]
    for position, row in enumerate(rows[:8]):
        assert {info.uid: info for info in nodes.pod_infos(position)} == row.pods
        _check_node_info(NodeInfo(nodes, position), row)


def _check_resources(nodes: NodesView, rows: list[PlainRow]) -> None:
    resources = (*RESOURCES, *(f"example.com/r{number}" for number in range(10)))
    for resource in resources:
        same(nodes.allocatable(resource), [row.allocatable(resource) for row in rows])
        same(nodes.requested(resource), [row.requested(resource) for row in rows])
    for some in (("memory", "cpu"), ("cpu", "memory"), (), resources):
        assert nodes.allocatable_of(some).shape == (len(some), len(rows))
        for index, resource in enumerate(some):
            same(nodes.allocatable_of(some)[index], [row.allocatable(resource) for row in rows])
            same(nodes.requested_of(some)[index], [row.requested(resource) for row in rows])
    same(nodes.pod_count, [len(row.pods) for row in rows])
    same(nodes.nonzero_requested[0], [row.nonzero()[0] for row in rows])
    same(nodes.nonzero_requested[1], [row.nonzero()[1] for row in rows])


def _check_labels(nodes: NodesView, rows: list[PlainRow]) -> None:
    cost = {"a": 2.5, "b": -1.0}
    for key in (*draw.KEYS, "nobody-has-it"):
        labels = nodes.labels(key)
        values = [row.node.metadata.labels.get(key) for row in rows]
        read = [None if code < 0 else labels.values[code] for code in labels.codes.tolist()]
        assert read == values
        same(labels.present, [value is not None for value in values])
        same(labels.equals("a"), [value == "a" for value in values])
        same(labels.isin(["a"]), [value == "a" for value in values])
        same(labels.isin(["a", "7", "?"]), [value in {"a", "7"} for value in values])
        same(labels.map(len, np.int64, 9), [9 if value is None else len(value) for value in values])
        needed = Requirement(key, "Gt", frozenset({"1"}))
        same(labels.meets(needed), [needed.accepts(value) for value in values])
        expected = [cost.get(value or "", 7.0) for value in values]
        same(nodes.map_label(key, cost, default=7.0), expected)
        same(nodes.map_label(key, lambda value: cost.get(value, 7.0), default=7.0), expected)


def _check_node_info(info: NodeInfo, row: PlainRow) -> None:
    assert info.node == row.node
    assert info.name == row.node.metadata.name
    assert info.labels == row.node.metadata.labels
    assert sorted(pod.metadata.uid for pod in info.pods) == sorted(row.pods)
    assert info.allocatable("cpu") == row.allocatable("cpu")
    assert info.requested("memory") == row.requested("memory")


def same(array: NDArray[Any], expected: list[Any]) -> None:
    """Compare an array with a list; what plugins get they cannot change."""
    assert_array_equal(array, np.array(expected, dtype=array.dtype), strict=True)


ClusterAgainstPlain.TestCase.settings = settings(max_examples=15, stateful_step_count=25)
TestClusterAgainstPlain = ClusterAgainstPlain.TestCase


def test_a_rolled_back_pod_is_back_on_a_node_that_went_meanwhile() -> None:
    """Its row may be another node's by then."""
    cluster = ClusterCache()
    cluster.set_node(make_node("goes"))
    pod = make_pod("p", ports=[port(80)])
    row = cluster.row("goes")
    assert row is not None
    cluster.assume(pod.on_node("goes"), row)
    cluster.begin()
    cluster.forget(pod.uid)
    cluster.remove_node("goes")
    cluster.set_node(make_node("comes"))

    cluster.rollback()

    assert cluster.node_of(pod.uid) == "goes"
    cluster.check_invariants()
    assert cluster.view().pod_count.tolist() == [0]


def test_what_the_api_said_meanwhile_survives_a_rollback() -> None:
    """A pod that was seen bound is bound, whatever was assumed before."""
    cluster = ClusterCache()
    cluster.set_node(make_node("n1"))
    cluster.set_node(make_node("n2"))
    pod = make_pod("p")
    cluster.begin()
    cluster.assume(pod.on_node("n1"), 0)
    cluster.forget(pod.uid)
    cluster.add_pod(pod.on_node("n2"))

    cluster.rollback()

    assert cluster.node_of(pod.uid) == "n2"
    assert not cluster.is_assumed(pod.uid)
    cluster.check_invariants()
