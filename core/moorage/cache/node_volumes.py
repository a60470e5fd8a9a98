"""What CSI drivers and attachments say of nodes, by row; made anew when somebody asks after a change."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from moorage.cache.storage import StorageStore
from moorage.model.storage import CSINode

__all__ = ["NO_LIMIT", "NodeVolumes"]

NO_LIMIT: int = np.iinfo(np.int64).max
"""The limit of a driver on a node that says none."""


class NodeVolumes:
    """Limits by driver and attachments by row; `facts` tell when what is kept no longer holds."""

    def __init__(self, storage: StorageStore, facts: Mapping[str, int]) -> None:
        self._storage = storage
        self._facts = facts
        self._limits: dict[str, NDArray[np.int64]] = {}
        self._limits_at = (-1, -1)
        self._attachments: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._attachments_at = (-1, -1)

    def limits(
        self, driver: str, rows: Mapping[str, int], capacity: int
    ) -> NDArray[np.int64] | None:
        """Return how many volumes of a driver nodes can have: (capacity,) int64 by row.

        `NO_LIMIT` where none is said; None: no node says one. `rows` finds nodes by name.
        """
        now = (self._facts["csi_nodes"], self._facts["nodes"])
        if now != self._limits_at:
            self._limits_at = now
            self._limits = {}
            for node in self._storage.all(CSINode):
                row = rows.get(node.metadata.name)
                if row is not None:
                    self._note(node, row, capacity)
        found = self._limits.get(driver)
        return None if found is None else _with_room(found, capacity, NO_LIMIT)

    def attachments(self, rows: Mapping[str, int], capacity: int) -> NDArray[np.int64]:
        """Return how many volumes are attached to nodes, of all drivers: (capacity,) int64."""
        now = (self._facts["volume_attachments"], self._facts["nodes"])
        if now != self._attachments_at:
            self._attachments_at = now
            self._attachments = np.zeros(capacity, dtype=np.int64)
            for name, count in self._storage.nodes_with_attachments.items():
                row = rows.get(name)
                if row is not None:
                    self._attachments[row] = count
        return _with_room(self._attachments, capacity, 0)

    def _note(self, node: CSINode, row: int, capacity: int) -> None:
        for driver in node.spec.drivers:
            count = None if driver.allocatable is None else driver.allocatable.count
            if count is None:
                continue
            limits = self._limits.get(driver.name)
            if limits is None:
                limits = np.full(capacity, NO_LIMIT, dtype=np.int64)
                self._limits[driver.name] = limits
            limits[row] = count


def _with_room(column: NDArray[np.int64], capacity: int, fill: int) -> NDArray[np.int64]:
    missing = capacity - len(column)
    return column if missing <= 0 else np.pad(column, (0, missing), constant_values=fill)
