"""The cluster as arrays: one row a node, with its pods, assumed ones included.

In: typed records of nodes and pods (`moorage.model`). Out: views, read-only arrays over rows, and
logs of which rows changed. Not here: what a plugin makes of it (`moorage.framework`), where the
records come from (`moorage.feed`), and any I/O. May import `moorage.model` only.

`cluster.py` owns the state; `columns.py` its numbers, `labels.py` and `interning.py` its labels,
taints and features as small integers, `images.py` and `ports.py` its sparse facts, `changes.py` what
changed when; `pod_table.py` counts pods by selector, over the kinds of pods in `pod_kinds.py` and with
the help of `selector_index.py`, and finds those of low priority by `pod_columns.py`; `namespaces.py`
finds namespaces by label, `workloads.py` services and controllers by pod, `budgets.py` disruption
budgets by pod, `storage.py` volumes and claims, `volume_users.py` who uses them,
`node_volumes.py` what nodes can have of them, `devices.py` devices, their classes and claims for them; `terms.py` keeps the inter-pod affinity of pods on rows, counted in `row_counts.py`;
`view.py` and `label_view.py` are what the rest of Moorage and every plugin reads, `pods_on_rows.py` and
`row_changes.py` how rows differ hypothetically from the real ones.
"""

from __future__ import annotations

from moorage.cache.budgets import BudgetStore
from moorage.cache.changes import ChangeLog
from moorage.cache.cluster import ClusterCache
from moorage.cache.devices import DeviceStore
from moorage.cache.label_view import LabelColumnView
from moorage.cache.node_info import NodeInfo
from moorage.cache.pods_on_rows import PodsOnRows
from moorage.cache.storage import StorageStore
from moorage.cache.view import NodesView
from moorage.cache.workloads import WorkloadStore

__all__ = [
    "BudgetStore",
    "ChangeLog",
    "ClusterCache",
    "DeviceStore",
    "LabelColumnView",
    "NodeInfo",
    "NodesView",
    "PodsOnRows",
    "StorageStore",
    "WorkloadStore",
]
