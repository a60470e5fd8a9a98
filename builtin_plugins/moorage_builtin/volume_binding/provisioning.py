"""On which nodes new volumes can be made for claims: topology of the class, and room for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage.model import (
    CSIDriver,
    CSIStorageCapacity,
    InvalidSelectorError,
    PersistentVolumeClaim,
    Selector,
    StorageClass,
    parse_value,
    selector_of,
    storage_bytes,
    volume_class,
)

__all__ = ["Provision", "check_provision"]

_BY_NOBODY = frozenset({"", "kubernetes.io/no-provisioner"})


class Provision(NamedTuple):
    """Where a volume can be made for one claim, on n nodes.

    `allowed` (n,) bool: the class makes volumes for the node; `has_room` (n,) bool, None: that is
    not known of any, and all may have it. `capacity` (n,) int64: the bytes that are said to be left,
    0 where nothing is; for scoring.
    """

    claim: PersistentVolumeClaim
    allowed: NDArray[np.bool_]
    has_room: NDArray[np.bool_] | None
    capacity: NDArray[np.int64] | None


def check_provision(
    claim: PersistentVolumeClaim, nodes: moorage.NodesView, storage: moorage.StorageStore
) -> Provision:
    """Look where a claim's class can make a volume for it."""
    found = storage.get(StorageClass, volume_class(claim))
    if found is None or found.provisioner in _BY_NOBODY:
        return Provision(claim, np.zeros(len(nodes), dtype=np.bool_), None, None)
    allowed = _allowed(found, nodes)
    needed = storage_bytes(claim.spec.resources.requests)
    driver = storage.get(CSIDriver, found.provisioner)
    if needed is None or driver is None or not driver.spec.storage_capacity:
        return Provision(claim, allowed, None, None)
    has_room = np.zeros(len(nodes), dtype=np.bool_)
    capacity = np.zeros(len(nodes), dtype=np.int64)
    said = storage.capacities_of_class(found.metadata.name)
    for one in sorted(said, key=lambda one: (one.metadata.namespace, one.metadata.name)):
        largest = one.largest_volume
        if largest is not None and largest >= needed:
            rows = _selected(one, nodes) & ~has_room
            has_room |= rows
            capacity[rows] = 0 if one.capacity is None else parse_value(one.capacity)
    return Provision(claim, allowed, has_room, capacity)


def _allowed(found: StorageClass, nodes: moorage.NodesView) -> NDArray[np.bool_]:
    """Say for which nodes a class makes volumes: no terms, all; a term with nothing in it, none."""
    if not found.allowed_topologies:
        return np.ones(len(nodes), dtype=np.bool_)
    allowed = np.zeros(len(nodes), dtype=np.bool_)
    for term in found.allowed_topologies:
        if term.match_label_expressions:
            rows = np.ones(len(nodes), dtype=np.bool_)
            for needed in term.match_label_expressions:
                rows &= nodes.labels(needed.key).isin(needed.values)
            allowed |= rows
    return allowed


def _selected(said: CSIStorageCapacity, nodes: moorage.NodesView) -> NDArray[np.bool_]:
    """Say of which nodes a statement about room is; without a topology of none."""
    try:
        selector = selector_of(said.node_topology, field="nodeTopology")
    except InvalidSelectorError:
        selector = Selector(nothing=True)
    rows = np.full(len(nodes), not selector.nothing, dtype=np.bool_)
    for needed in selector.requirements:
        rows &= nodes.labels(needed.key).meets(needed)
    return rows
