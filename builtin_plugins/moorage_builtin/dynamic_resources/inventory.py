"""Which devices a node can use: pools compiled once, and shared by the nodes that see the same.

To a pod, devices are alike that its requests select alike and its constraints find alike, whatever
else they say of themselves: views with devices that are alike, in the same order, have one profile,
and what is found out for one node holds for others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable
from weakref import WeakValueDictionary

import msgspec
import numpy as np
from numpy.typing import NDArray

import moorage
from moorage.cache.devices import PoolKey, SliceStore
from moorage.model.devices import Device
from moorage_builtin.dynamic_resources.pools import DeviceKind, Pool, PoolView

__all__ = ["Inventory"]

_MOST_NUMBERS = 500_000
_MOST_PROFILES = 64


class _Numbers:
    """Small numbers for contents: equal ones have one, and none is ever used again for another."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._next = itertools.count()

    def of(self, content: Hashable) -> int:
        number = self._numbers.get(content)
        if number is None:
            if len(self._numbers) >= _MOST_NUMBERS:
                self._numbers.clear()
            number = self._numbers[content] = next(self._next)
        return number


class _Kinds:
    """Kinds of devices by what decides about them, as long as there are such devices."""

    def __init__(self) -> None:
        self._kinds: WeakValueDictionary[bytes, DeviceKind] = WeakValueDictionary()
        self._rests = _Numbers()

    def of(self, driver: str, device: Device) -> DeviceKind:
        """Return the kind of a device; ValueError where it has a quantity that cannot be read."""
        bare = msgspec.structs.replace(
            device, name="", node_name=None, node_selector=None, all_nodes=None
        )
        content = msgspec.json.encode([driver, bare], order="sorted")
        kind = self._kinds.get(content)
        if kind is None:
            rest = msgspec.structs.replace(bare, attributes={})
            number = self._rests.of(msgspec.json.encode([driver, rest], order="sorted"))
            kind = self._kinds[content] = DeviceKind(driver, bare, number)
        return kind


class Inventory:
    """All pools of a process, compiled anew where their slices changed."""

    def __init__(self, slices: SliceStore) -> None:
        self._slices = slices
        self._version = -1
        self._compiled_at: dict[PoolKey, int] = {}
        self._pools: dict[PoolKey, Pool] = {}
        self._kinds = _Kinds()
        self._profiles = _Numbers()
        self._asked = _Numbers()
        self._of_node: dict[str, list[Pool]] = {}
        self._shared: list[Pool] = []
        self._seen: dict[str, tuple[moorage.Node, tuple[PoolView, ...]]] = {}

    def refresh(self) -> None:
        """Take in what changed of slices; O(pools) where anything did."""
        if self._version == self._slices.version:
            return
        self._version = self._slices.version
        newest = self._slices.pools
        for key in [key for key in self._pools if key not in newest]:
            del self._pools[key], self._compiled_at[key]
        for key, version in newest.items():
            if self._compiled_at.get(key) != version:
                self._pools[key] = Pool(key, self._slices.of_pool(key), self._kinds.of)
                self._compiled_at[key] = version
        self._index()

    def views(self, node: moorage.Node) -> tuple[PoolView, ...]:
        """Return what a node sees of all pools, in the order in which devices are tried."""
        name = node.metadata.name
        seen = self._seen.get(name)
        if seen is not None and seen[0] is node:
            return seen[1]
        pools = self._of_node.get(name, [])
        if self._shared:
            pools = sorted([*pools, *self._shared], key=lambda pool: pool.key)
        views = [view for pool in pools if (view := pool.view(node)) is not None]
        found = tuple(sorted(views, key=lambda view: view.needs_binding))
        self._seen[name] = (node, found)
        return found

    def positions(self, nodes: moorage.NodesView) -> NDArray[np.intp]:
        """Return which of n nodes may see devices; (k,) intp, rising. All others see none."""
        if self._shared or len(self._of_node) >= len(nodes):
            return np.arange(len(nodes))
        return nodes.positions(self._of_node)

    def way_of_asking(self, asked: Hashable) -> int:
        """Return a number for all that tells devices apart, for `profile`."""
        return self._asked.of(asked)

    def profile(self, view: PoolView, asked: int, like: Callable[[DeviceKind], Hashable]) -> int:
        """Return the profile of a view to those who ask in a way; `like` says who is alike."""
        number = view.profiles.get(asked)
        if number is None:
            if len(view.profiles) >= _MOST_PROFILES:
                view.profiles.clear()
            number = view.profiles[asked] = self._profiles.of((asked, view.content(like)))
        return number

    def _index(self) -> None:
        self._of_node, self._shared, self._seen = {}, [], {}
        for _, pool in sorted(self._pools.items()):
            names = pool.node_names
            if names is None:
                self._shared.append(pool)
            else:
                for name in names:
                    self._of_node.setdefault(name, []).append(pool)
