"""What plugins are shown of the cluster is not theirs to change."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.objects import make_node

from moorage.cache import ClusterCache, NodesView

SHOWN: dict[str, Callable[[NodesView], NDArray[np.generic]]] = {
    "allocatable": lambda view: view.allocatable("cpu"),
    "requested": lambda view: view.requested("memory"),
    "several resources": lambda view: view.requested_of(("pods", "cpu")),
    "requests with defaults": lambda view: view.nonzero_requested,
    "unschedulable": lambda view: view.unschedulable,
    "labels": lambda view: view.labels("zone").codes,
    "taints": lambda view: view.taints.codes,
    "volumes": lambda view: view.volume_counts,
    "rows": lambda view: view.rows,
}


def cluster() -> ClusterCache:
    """Make three nodes."""
    made = ClusterCache()
    for number in range(3):
        made.set_node(make_node(f"n{number}", labels={"zone": "a"}))
    return made


def changed(nodes: ClusterCache) -> NodesView:
    """View the node that changed last."""
    nodes.set_node(make_node("n1", labels={"zone": "b"}))
    rows, _ = nodes.changed_rows(nodes.node_changes.end - 1, None)
    assert rows is not None
    return nodes.view_of(rows)


@pytest.mark.parametrize("what", SHOWN)
@pytest.mark.parametrize("viewed", [ClusterCache.view, changed], ids=["all", "one"])
def test_no_array_of_a_view_can_be_made_writeable(
    what: str, viewed: Callable[[ClusterCache], NodesView]
) -> None:
    """Also not by its flag, where it shows the memory of the cluster itself."""
    array = SHOWN[what](viewed(cluster()))

    assert not array.flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.flags.writeable = True
