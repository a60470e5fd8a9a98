"""How many devices nodes have behind a resource, for those who score by it (KEP-5004).

To a score, devices of a class count like a resource that the nodes have themselves: so many there
are, so many are allocated. What keeps a pod from getting them is looked at in the filter alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage.model.devices import DeviceClass
from moorage_builtin.dynamic_resources.expressions import ExpressionError, Expressions
from moorage_builtin.dynamic_resources.pools import DeviceKind, PoolView
from moorage_builtin.dynamic_resources.reckoner import Reckoner, reckoner_of
from moorage_builtin.resources import Asked

__all__ = ["DeviceCounts"]


class DeviceCounts:
    """Counts devices by the resources that stand for them, from what all profiles know."""

    def __init__(self, handle: moorage.Handle) -> None:
        self._handle = handle
        self._classes = handle.devices.classes
        self._selections: dict[str, _Selection] = {}

    def behind(self, resources: Iterable[str]) -> dict[str, DeviceClass]:
        """Return those of some resources that stand for devices, with the class of each."""
        if not len(self._classes):
            return {}
        classes = ((name, self._classes.for_resource(name)) for name in resources)
        return {name: one for name, one in classes if one is not None}

    def amounts(
        self, asked: Asked, nodes: moorage.NodesView
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return what n nodes have and what is requested of the k resources; (k, n) int64 each.

        Where devices are behind a resource and a node has none of it itself, they are counted: what
        the pods there request of it is in what is allocated of the devices.
        """
        allocatable, requested = nodes.allocatable_of(asked.names), asked.requested(nodes)
        behind = self.behind(asked.names)
        if not behind:
            return allocatable, requested
        allocatable, requested = allocatable.copy(), requested.copy()
        reckoner = reckoner_of(self._handle)
        reckoner.inventory.refresh()
        for row, name in enumerate(asked.names):
            if name not in behind:
                continue
            selection = self._selection(behind[name], reckoner.expressions)
            # Few nodes: those that have none of it and no devices for the pod have been filtered.
            for position in np.flatnonzero(allocatable[row] == 0).tolist():
                capacity, taken = _count(reckoner, selection, nodes.node(position))
                allocatable[row, position], requested[row, position] = capacity, taken
        return allocatable, requested

    def _selection(self, device_class: DeviceClass, expressions: Expressions) -> _Selection:
        name = device_class.metadata.name
        selection = self._selections.get(name)
        if selection is None or selection.device_class is not device_class:
            selection = self._selections[name] = _Selection(device_class, expressions)
        return selection


def _count(reckoner: Reckoner, selection: _Selection, node: moorage.Node) -> tuple[int, int]:
    """Return how many selected devices a node has, and how many of them are allocated.

    None, where of one of its devices nobody can say whether it is of the class.
    """
    capacity = taken = 0
    for view in reckoner.inventory.views(node):
        places = selection.places(view)
        if places is None:
            return 0, 0
        state = reckoner.ledger.state(view)
        capacity += len(places)
        taken += len(places & state.used)
        if state.shared:
            taken += len(places & (state.shared.keys() - state.used))
    return capacity, taken


class _Selection:
    """Which devices are of a class; each view of a pool is looked at once."""

    def __init__(self, device_class: DeviceClass, expressions: Expressions) -> None:
        self.device_class = device_class
        self._expressions = expressions
        self._places: WeakKeyDictionary[PoolView, frozenset[int] | None] = WeakKeyDictionary()

    def places(self, view: PoolView) -> frozenset[int] | None:
        """Return the places of a view's devices that are of the class, None where it fails."""
        try:
            return self._places[view]
        except KeyError:
            places = self._places[view] = self._select(view)
            return places

    def _select(self, view: PoolView) -> frozenset[int] | None:
        try:
            return frozenset(
                place for place, seen in enumerate(view.devices) if self._selects(seen.kind)
            )
        except ExpressionError:
            return None

    def _selects(self, kind: DeviceKind) -> bool:
        return all(
            self._expressions.get(selector.cel.expression).selects(kind.look)
            for selector in self.device_class.spec.selectors
            if selector.cel is not None
        )
