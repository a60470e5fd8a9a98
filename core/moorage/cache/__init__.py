"""The cluster as arrays: one row a node, with its pods, assumed ones included.

In: typed records of nodes and pods (`moorage.model`). Out: views, read-only arrays over rows, and
logs of which rows changed. Not here: what a plugin makes of it (`moorage.framework`), where the
records come from (`moorage.feed`), and any I/O. May import `moorage.model` only.

`cluster.py` owns the state; `columns.py` its numbers, `labels.py` and `interning.py` its labels,
taints and features as small integers, `images.py` and `ports.py` its sparse facts, `changes.py` what
changed when; `pod_table.py` counts pods by selector, over the kinds of pods in `pod_kinds.py` and with
the help of `selector_index.py`; `namespaces.py` finds namespaces by label, `workloads.py` services and
controllers by pod; `terms.py` keeps the inter-pod affinity of pods on rows, counted in
`row_counts.py`; `view.py` and `label_view.py` are what the rest of Moorage and every plugin reads.
"""

from __future__ import annotations

from moorage.cache.changes import ChangeLog
from moorage.cache.cluster import ClusterCache
from moorage.cache.label_view import LabelColumnView
from moorage.cache.view import NodeInfo, NodesView
from moorage.cache.workloads import WorkloadStore

__all__ = ["ChangeLog", "ClusterCache", "LabelColumnView", "NodeInfo", "NodesView", "WorkloadStore"]
