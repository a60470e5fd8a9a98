"""From which nodes a volume can be reached: its node affinity.

That is about labels: fields count as absent, as in kube-scheduler. A term that is empty or cannot be
read matches no node.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage.model import CSINode, NodeSelector, PersistentVolume
from moorage_builtin.node_terms import NodeTerm, readable_terms
from moorage_builtin.volumes.translation import is_migrated, older_kind_of, translated_affinity

__all__ = ["Reach", "reaches"]


class Reach:
    """Answers about the n nodes of one view; each distinct affinity is looked at once.

    What it returns is not to be written to.
    """

    def __init__(self, nodes: moorage.NodesView, storage: moorage.StorageStore) -> None:
        self._nodes = nodes
        self._storage = storage
        self._known: dict[NodeSelector, NDArray[np.bool_]] = {}
        self._migrated: dict[str, NDArray[np.bool_]] = {}

    def rows(self, volume: PersistentVolume) -> NDArray[np.bool_] | None:
        """Say from which nodes a volume can be reached: (n,) bool; None: from all."""
        plain = _required(volume)
        kind = older_kind_of(volume)
        if not kind:
            return self._selected(plain)
        translated = translated_affinity(volume)
        if translated == plain:
            return self._selected(plain)
        # Each node speaks of zones as the driver does, or in the older words.
        there, elsewhere = self._selected(translated), self._selected(plain)
        return np.where(
            self._migrated_rows(kind),
            True if there is None else there,
            True if elsewhere is None else elsewhere,
        )

    def rows_as_written(self, volume: PersistentVolume) -> NDArray[np.bool_] | None:
        """Say so, (n,) bool, by the words of the volume itself, also where its driver has others.

        By these a volume is chosen; kube-scheduler heeds the driver's once it is bound.
        """
        return self._selected(_required(volume))

    def _selected(self, required: NodeSelector | None) -> NDArray[np.bool_] | None:
        if required is None:
            return None
        rows = self._known.get(required)
        if rows is None:
            rows = np.zeros(len(self._nodes), dtype=np.bool_)
            for term in readable_terms(required.node_selector_terms):
                if all(needed.accepts(None) for needed in term.fields):
                    if term.labels:
                        rows |= NodeTerm(term.labels, ()).rows(self._nodes)
                    else:
                        rows[:] = True
            self._known[required] = rows
        return rows

    def _migrated_rows(self, kind: str) -> NDArray[np.bool_]:
        rows = self._migrated.get(kind)
        if rows is None:
            rows = np.zeros(len(self._nodes), dtype=np.bool_)
            names = (
                node.metadata.name for node in self._storage.all(CSINode) if is_migrated(node, kind)
            )
            rows[self._nodes.positions(names)] = True
            self._migrated[kind] = rows
        return rows


def reaches(volume: PersistentVolume, node: moorage.Node, storage: moorage.StorageStore) -> bool:
    """Say whether a volume can be reached from one node."""
    required = _required(volume)
    kind = older_kind_of(volume)
    if kind and is_migrated(storage.get(CSINode, node.metadata.name), kind):
        required = translated_affinity(volume)
    if required is None:
        return True
    labels = node.metadata.labels
    return any(
        all(needed.accepts(labels.get(needed.key)) for needed in term.labels)
        and all(needed.accepts(None) for needed in term.fields)
        for term in readable_terms(required.node_selector_terms)
    )


def _required(volume: PersistentVolume) -> NodeSelector | None:
    affinity = volume.spec.node_affinity
    return None if affinity is None else affinity.required
