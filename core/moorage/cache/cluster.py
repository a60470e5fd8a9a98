"""The state of the cluster, and every way in which it changes.

A pod's states (the API's view of it in brackets):

    add_pod ----------------------------> on a row [bound]
    assume -> assumed [not yet bound] --> add_pod -> on a row [bound]
                      '-> forget ------> gone

A pod may be on a row before its node is known; such a row is not `valid` and is in no view.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from moorage.cache.budgets import BudgetStore
from moorage.cache.changes import ChangedRows, ChangeLog
from moorage.cache.columns import NodeColumns
from moorage.cache.devices import DeviceStore
from moorage.cache.facts import Facts
from moorage.cache.images import ImageIndex
from moorage.cache.interning import InternedColumn
from moorage.cache.labels import LabelColumns
from moorage.cache.namespaces import NamespaceTable
from moorage.cache.node_volumes import NodeVolumes
from moorage.cache.pod_table import PodTable
from moorage.cache.ports import HostPortIndex
from moorage.cache.rows import RowNames
from moorage.cache.sealing import sealed
from moorage.cache.storage import FACT_OF_STORAGE, StorageStore
from moorage.cache.terms import FACT_OF_KIND, TermColumns
from moorage.cache.view import NodesView
from moorage.cache.volume_users import VolumeUsers
from moorage.cache.workloads import WorkloadIdentity, WorkloadStore
from moorage.model.meta import Namespace
from moorage.model.nodes import Node, Taint
from moorage.model.pod_info import PodInfo
from moorage.model.requests import amounts_of
from moorage.model.workloads import Workload

__all__ = ["ClusterCache"]

_FIRST_CAPACITY = 64


class ClusterCache:
    """Nodes as rows of arrays, with their pods; the one owner of this state.

    `node_changes` and `pod_changes` log the rows whose node object or whose pods changed;
    `facts` counts changes of named facts of the whole cluster: ``nodes`` (which nodes there are),
    ``images`` (sizes of images, and how many nodes have them), ``namespaces`` (which there are, and
    their labels), ``workloads`` (which there are, and what they select), and those of
    `FACT_OF_KIND` and `FACT_OF_STORAGE`. `pod_table` holds the pods once more, for counting by
    selector, `terms` their inter-pod affinity, `volume_users` those that use volumes; `namespaces`,
    `workloads`, `storage` and disruption `budgets` are kept by name. Adding,
    removing and assuming cost O(1) in the number of nodes and pods. Single-threaded.
    """

    def __init__(self) -> None:
        self.columns = NodeColumns(_FIRST_CAPACITY)
        self.labels = LabelColumns(_FIRST_CAPACITY)
        self.taints: InternedColumn[tuple[Taint, ...]] = InternedColumn(_FIRST_CAPACITY)
        self.features: InternedColumn[frozenset[str]] = InternedColumn(_FIRST_CAPACITY)
        self.images = ImageIndex()
        self.ports = HostPortIndex()
        self.node_changes = ChangeLog()
        self.pod_changes = ChangeLog()
        self.pod_table = PodTable(_FIRST_CAPACITY)
        self.namespaces = NamespaceTable()
        self.workloads = WorkloadStore()
        self.budgets = BudgetStore()
        self.facts = Facts(
            (
                "nodes",
                "images",
                "namespaces",
                "workloads",
                *FACT_OF_KIND.values(),
                *FACT_OF_STORAGE.values(),
            )
        )
        self.storage = StorageStore(self.facts)
        self.volume_users = VolumeUsers(_FIRST_CAPACITY)
        self._node_volumes = NodeVolumes(self.storage, self.facts)
        self.devices = DeviceStore()
        self.terms = TermColumns(self.facts)
        self._rows = RowNames()
        self._nodes: list[Node | None] = []
        self._pods_on: list[dict[str, PodInfo]] = []
        self._row_of_pod: dict[str, int] = {}
        self._assumed: set[str] = set()
        self._valid_rows: NDArray[np.intp] | None = None
        self._full: NodesView | None = None
        self._changed = ChangedRows(self.node_changes, self.pod_changes)
        self._journal: list[tuple[bool, PodInfo, str]] | None = None

    # Reading

    @property
    def node_count(self) -> int:
        """How many nodes there are."""
        return len(self.valid_rows)

    @property
    def pod_count(self) -> int:
        """How many pods are on rows, assumed ones included."""
        return len(self._row_of_pod)

    @property
    def assumed_count(self) -> int:
        """How many pods are assumed."""
        return len(self._assumed)

    @property
    def standing(self) -> tuple[int, int]:
        """Changes whenever a node, a fact of the cluster or the capacity does.

        Pods do not change it, but for those whose unknown nodes need more room than there is.
        """
        return self.node_changes.end, self.facts.version + self.columns.capacity

    @property
    def row_count(self) -> int:
        """One more than the highest row that was ever in use."""
        return len(self._rows)

    @property
    def valid_rows(self) -> NDArray[np.intp]:
        """The rows that are nodes, ascending; (n,) intp, read-only."""
        if self._valid_rows is None:
            self._valid_rows = sealed(np.flatnonzero(self.columns.valid[: self.row_count]))
        return self._valid_rows

    def view(self) -> NodesView:
        """Return a view of all nodes; the same one until nodes come or go."""
        if self._full is None:
            self._full = NodesView(self, self.valid_rows)
        return self._full

    def view_of(self, rows: NDArray[np.intp]) -> NodesView:
        """Return a view of some rows, which must be valid."""
        return NodesView(self, rows)

    def changed_rows(
        self, nodes: int, pods: int | None
    ) -> tuple[NDArray[np.intp] | None, NDArray[np.intp] | None]:
        """Return the rows that changed since positions of the logs, and those of them that are nodes.

        None: too many to say. `pods` None leaves changes of pods out. Readers that ask the same
        share one answer.
        """
        return self._changed.since(nodes, pods, self.columns.valid)

    def volume_limits(self, driver: str) -> NDArray[np.int64] | None:
        """Return how many volumes of a driver nodes can have: by row, see `NodeVolumes`."""
        return self._node_volumes.limits(driver, self._rows.rows, self.columns.capacity)

    def volume_attachments(self) -> NDArray[np.int64]:
        """Return how many volumes are attached to nodes, by row, see `NodeVolumes`."""
        return self._node_volumes.attachments(self._rows.rows, self.columns.capacity)

    def row(self, name: str) -> int | None:
        """Return the row of a node by name, None where it is not known."""
        row = self._rows.rows.get(name)
        return row if row is not None and self.columns.valid[row] else None

    def name(self, row: int) -> str:
        """Return the name of the node of a row."""
        return self._rows.names[row]

    def node(self, row: int) -> Node:
        """Return the node of a valid row."""
        node = self._nodes[row]
        if node is None:
            raise KeyError(f"row {row} is not a node")
        return node

    def nodes(self) -> Iterable[Node]:
        """Iterate over all nodes."""
        return (node for node in self._nodes if node is not None)

    def pods_on(self, row: int) -> Iterable[PodInfo]:
        """Iterate over the pods of a row, assumed ones included."""
        return self._pods_on[row].values()

    def pods(self) -> Iterable[PodInfo]:
        """Iterate over all pods on rows, assumed ones included."""
        return (info for pods in self._pods_on for info in pods.values())

    def pod(self, uid: str) -> PodInfo | None:
        """Return a pod on a row by uid."""
        row = self._row_of_pod.get(uid)
        return None if row is None else self._pods_on[row][uid]

    def is_assumed(self, uid: str) -> bool:
        """Say whether a pod is assumed, and not yet seen bound."""
        return uid in self._assumed

    # Nodes

    def set_node(self, node: Node) -> None:
        """Add a node, or replace it by its newer version.

        Raises `InvalidQuantityError` for an allocatable quantity that is none, with nothing
        changed.
        """
        allocatable = amounts_of(node.status.allocatable)
        row = self._row_for(node.metadata.name)
        before = self._nodes[row]
        resources = {self.columns.resource(name): amount for name, amount in allocatable.items()}
        self._nodes[row] = node
        columns = self.columns
        columns.allocatable[:, row] = 0
        for resource, amount in resources.items():
            columns.allocatable[resource, row] = amount
        columns.unschedulable[row] = node.spec.unschedulable
        self.labels.set(row, before.metadata.labels if before else {}, node.metadata.labels)
        if before is None or before.metadata.labels != node.metadata.labels:
            self.terms.node_changed(row)
        self.taints.set(row, node.spec.taints)
        self.features.set(row, frozenset(node.status.declared_features))
        if self.images.set(row, before, node):
            self.facts["images"] += 1
        if before is None:
            columns.valid[row] = True
            self._nodes_came_or_went()
        self.node_changes.append(row)

    def remove_node(self, name: str) -> None:
        """Forget a node; its pods stay, on a row that is no longer valid, until they go."""
        row = self.row(name)
        if row is None:
            return
        before = self.node(row)
        self.labels.set(row, before.metadata.labels, {})
        self.terms.node_changed(row)
        self.taints.set(row, None)
        self.features.set(row, None)
        if self.images.set(row, before, None):
            self.facts["images"] += 1
        self._nodes[row] = None
        columns = self.columns
        columns.allocatable[:, row] = 0
        columns.unschedulable[row] = False
        columns.valid[row] = False
        self._nodes_came_or_went()
        self.node_changes.append(row)
        self._release_if_unused(row)

    # Namespaces and workloads

    def set_namespace(self, namespace: Namespace) -> None:
        """Add a namespace, or replace it by its newer version."""
        if self.namespaces.put(namespace):
            self.facts["namespaces"] += 1

    def remove_namespace(self, name: str) -> None:
        """Forget a namespace; its pods stay until they go."""
        if self.namespaces.drop(name):
            self.facts["namespaces"] += 1

    def set_workload(self, workload: Workload) -> None:
        """Add a service or a controller of pods, or replace it by its newer version."""
        if self.workloads.put(workload):
            self.facts["workloads"] += 1

    def remove_workload(self, identity: WorkloadIdentity) -> None:
        """Forget a service or a controller of pods."""
        if self.workloads.drop(identity):
            self.facts["workloads"] += 1

    # Pods

    def add_pod(self, info: PodInfo) -> None:
        """Put a bound pod on its node's row, or replace it by its newer version.

        An assumed pod becomes a bound one, also where it was bound elsewhere than assumed.
        """
        uid = info.uid
        self._assumed.discard(uid)
        row = self._row_of_pod.get(uid)
        if row is not None:
            if self._rows.names[row] == info.pod.spec.node_name:
                before = self._pods_on[row][uid]
                if before.requests == info.requests and before.host_ports == info.host_ports:
                    self._pods_on[row][uid] = info
                    self.volume_users.remove(before, row)
                    self.volume_users.add(info, row)
                    self.pod_table.replace(before, info)
                    self.terms.replace(before, info, row)
                    self.pod_changes.append(row)
                    return
            self._take_off(uid)
        self._put_on(info, self._row_for(info.pod.spec.node_name))

    def remove_pod(self, uid: str) -> PodInfo | None:
        """Take a pod off its row; returns it, None where it was on none."""
        self._assumed.discard(uid)
        return self._take_off(uid) if uid in self._row_of_pod else None

    def assume(self, info: PodInfo, row: int) -> None:
        """Count a pod on a row before the API says so.

        Raises ValueError where the pod is on a row already.
        """
        if info.uid in self._row_of_pod:
            raise ValueError(f"pod {info.key} is on node {self.node_of(info.uid)} already")
        self._assumed.add(info.uid)
        self._put_on(info, row)
        if self._journal is not None:
            self._journal.append((True, info, self._rows.names[row]))

    def forget(self, uid: str) -> PodInfo | None:
        """Take an assumed pod back; does nothing for a pod that is bound by now."""
        if uid not in self._assumed:
            return None
        name = self.node_of(uid)
        self._assumed.discard(uid)
        info = self._take_off(uid)
        if self._journal is not None:
            # By name: the row may be another node's by the time this is taken back.
            self._journal.append((False, info, name))
        return info

    def node_of(self, uid: str) -> str:
        """Return the name of the node a pod is on; KeyError where it is on none."""
        return self._rows.names[self._row_of_pod[uid]]

    def begin(self) -> None:
        """Start to note what is assumed and forgotten, so that it can be taken back."""
        if self._journal is not None:
            raise ValueError("a journal is open already")
        self._journal = []

    def commit(self) -> None:
        """Keep what was done since `begin`."""
        self._journal = None

    def rollback(self) -> None:
        """Take back what was assumed and forgotten since `begin`; rows count as changed again.

        What the API said of a pod since then stays.
        """
        journal, self._journal = self._journal or [], None
        for assumed, info, name in reversed(journal):
            if assumed:
                self.forget(info.uid)
            elif info.uid not in self._row_of_pod:
                self.assume(info, self._row_for(name))

    # Inside

    def _row_for(self, name: str) -> int:
        row = self._rows.rows.get(name)
        if row is not None:
            return row
        row = self._rows.take(name)
        if row == len(self._nodes):
            self._nodes.append(None)
            self._pods_on.append({})
            if row >= self.columns.capacity:
                # By a quarter: answers are kept by capacity, and doubling would waste half of them.
                self._grow(self.columns.capacity * 5 // 4)
        return row

    def _grow(self, capacity: int) -> None:
        self.columns.grow(capacity)
        self.labels.grow(capacity)
        self.taints.grow(capacity)
        self.features.grow(capacity)
        self.pod_table.grow(capacity)
        self.volume_users.grow(capacity)

    def _nodes_came_or_went(self) -> None:
        self.facts["nodes"] += 1
        self._valid_rows = self._full = None

    def _release_if_unused(self, row: int) -> None:
        if self._nodes[row] is None and not self._pods_on[row]:
            self._rows.let_go(row)

    def _put_on(self, info: PodInfo, row: int) -> None:
        self._pods_on[row][info.uid] = info
        self._row_of_pod[info.uid] = row
        self.pod_table.add(info, row)
        self.volume_users.add(info, row)
        self.terms.add(info, row)
        columns = self.columns
        resources, amounts = columns.vector(info.requests)
        columns.requested[resources, row] += amounts
        columns.nonzero_requested[0, row] += info.requests.nonzero_cpu
        columns.nonzero_requested[1, row] += info.requests.nonzero_memory
        if info.host_ports:
            self.ports.add(row, info.host_ports)
        self.pod_changes.append(row)

    def _take_off(self, uid: str) -> PodInfo:
        row = self._row_of_pod.pop(uid)
        info = self._pods_on[row].pop(uid)
        self.pod_table.remove(uid)
        self.volume_users.remove(info, row)
        self.terms.remove(uid, row)
        columns = self.columns
        resources, amounts = columns.vector(info.requests)
        columns.requested[resources, row] -= amounts
        columns.nonzero_requested[0, row] -= info.requests.nonzero_cpu
        columns.nonzero_requested[1, row] -= info.requests.nonzero_memory
        if info.host_ports:
            self.ports.remove(row, info.host_ports)
        self.pod_changes.append(row)
        self._release_if_unused(row)
        return info

    def fill_labels(self, key: str, column: InternedColumn[str]) -> None:
        """Set all rows of a label column that is made late; O(nodes), once a key."""
        for row, node in enumerate(self._nodes):
            if node is not None:
                column.set(row, node.metadata.labels.get(key))

    def check_invariants(self) -> None:
        """Raise AssertionError where anything differs from a recount; O(nodes + pods)."""
        nodes = {row: node for row, node in enumerate(self._nodes) if node is not None}
        pods: Mapping[int, Iterable[PodInfo]] = {
            row: list(on.values()) for row, on in enumerate(self._pods_on)
        }
        self.labels.check_invariants({row: node.metadata.labels for row, node in nodes.items()})
        self.images.check_invariants(nodes)
        self.ports.check_invariants(pods)
        self.pod_table.check_invariants(pods)
        self.storage.check_invariants()
        self.volume_users.check_invariants(pods)
        self.terms.check_invariants(pods)
        self.namespaces.check_invariants()
        self.workloads.check_invariants()
        self.taints.check_invariants()
        self.features.check_invariants()
        assert self._assumed <= self._row_of_pod.keys()
        self._rows.check_invariants()
        for row, name in enumerate(self._rows.names):
            self._check_row(row, name, nodes.get(row), list(pods[row]))

    def _check_row(self, row: int, name: str, node: Node | None, pods: list[PodInfo]) -> None:
        columns = self.columns
        assert bool(columns.valid[row]) == (node is not None), name
        assert bool(name) == (node is not None or bool(pods)), name
        for info in pods:
            assert self._row_of_pod[info.uid] == row, info
        allocatable = {} if node is None else amounts_of(node.status.allocatable)
        columns.check_row(row, allocatable, [info.requests for info in pods])
        if node is not None:
            assert self.taints.get(row) == node.spec.taints, name
            assert self.features.get(row) == frozenset(node.status.declared_features), name
