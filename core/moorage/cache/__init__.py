"""The cluster as arrays: one row a node, with its pods, assumed ones included.

In: typed records of nodes and pods (`moorage.model`). Out: views, read-only arrays over rows, and
logs of which rows changed. Not here: what a plugin makes of it (`moorage.framework`), where the
records come from (`moorage.feed`), and any I/O. May import `moorage.model` only.

`cluster.py` owns the state; `columns.py` its numbers, `labels.py` and `interning.py` its labels,
taints and features as small integers, `images.py` and `ports.py` its sparse facts, `changes.py` what
changed when; `view.py` is what the rest of Moorage and every plugin reads.
"""

from __future__ import annotations

from moorage.cache.changes import ChangeLog
from moorage.cache.cluster import ClusterCache
from moorage.cache.view import LabelColumnView, NodeInfo, NodesView

__all__ = ["ChangeLog", "ClusterCache", "LabelColumnView", "NodeInfo", "NodesView"]
