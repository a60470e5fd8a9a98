"""Which devices a node can use: pools compiled once, and shared by the nodes that see the same.

A pool is what one driver publishes under one name, in slices; only those of its newest generation
count. A `PoolView` is what one or more nodes see of a pool. To a pod, devices are alike that its
requests select alike and its constraints find alike, whatever else they say of themselves: views
with devices that are alike, in the same order, have one profile, and what is found out for one node
holds for others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import msgspec

import moorage
from moorage.cache.devices import PoolKey, SliceStore
from moorage.model import InvalidSelectorError, NodeSelector, parse_quantity
from moorage.model.devices import CounterConsumption, Device, ResourceSlice
from moorage_builtin.dynamic_resources.expressions import DeviceLook
from moorage_builtin.node_terms import NodeTerm, compile_term

__all__ = ["Counters", "DeviceKind", "Inventory", "PoolView", "SeenDevice"]

_MOST_NUMBERS = 500_000
_MOST_PROFILES = 64

Counters = dict[tuple[str, str], Fraction]
"""Amounts by counter set and counter."""


class DeviceKind:
    """What decides about a device, but for its name: equal devices share one of these.

    `look` is what expressions see, `consumes` what it takes from the counters of its pool. Kinds
    that differ in nothing but attributes have one `rest`.
    """

    def __init__(self, driver: str, device: Device, rest: int) -> None:
        self.rest = rest
        self.driver = driver
        self.device = device
        self.look = DeviceLook(driver, device)
        self.consumes: Counters = {}
        _add(self.consumes, device.consumes_counters)

    def attribute(self, name: str) -> tuple[str, Any] | None:
        """Return type and value of an attribute by its qualified name, None where it has none."""
        attributes = self.device.attributes
        found = attributes.get(name)
        if found is None:
            domain, _, identifier = name.partition("/")
            found = attributes.get(identifier) if domain == self.driver else None
        if found is None:
            return None
        for kind in ("string", "integer", "boolean", "version"):
            value = getattr(found, kind)
            if value is not None:
                return kind, value
        return None


class SeenDevice(NamedTuple):
    """One device of a pool, its kind, and the slice that it is from."""

    name: str
    kind: DeviceKind
    device: Device
    slice: ResourceSlice


class PoolView:
    """What some nodes see of a pool.

    `problem` says why nothing can be had of it (empty: nothing is wrong), `is_incomplete` that
    slices are missing. `counters` are those of the pool, from which all its `consumers` take, seen
    by these nodes or not.
    """

    def __init__(
        self,
        key: PoolKey,
        devices: tuple[SeenDevice, ...],
        *,
        is_incomplete: bool = False,
        problem: str = "",
        counters: Mapping[tuple[str, str], Fraction] = {},
        consumers: Mapping[str, DeviceKind] = {},
    ) -> None:
        self.key = key
        self.devices = devices
        self.is_incomplete = is_incomplete
        self.problem = problem
        self.counters = counters
        self.consumers = consumers
        self.places = {seen.name: place for place, seen in enumerate(devices)}
        self.profiles: dict[Any, int] = {}
        """Its profile to those who ask for devices in the same way."""
        self.state: tuple[int, Any] | None = None
        """What of it was in use when that was last asked; for the ledger."""

    @property
    def is_usable(self) -> bool:
        """Whether devices can be had of it."""
        return not self.is_incomplete and not self.problem

    @property
    def label(self) -> str:
        """The pool as people name it: ``driver/pool``."""
        return "/".join(self.key)

    def content(self, like: Callable[[DeviceKind], Hashable]) -> Hashable:
        """Return what views of one profile have in common, where `like` says who is alike."""
        return (
            self.key[0],
            self.is_incomplete,
            self.problem,
            tuple((seen.kind.rest, like(seen.kind)) for seen in self.devices),
            tuple(sorted(self.counters.items())),
        )


class _Target:
    """The nodes that a slice or a device is for."""

    def __init__(
        self, node_name: str | None, selector: NodeSelector | None, *, all_nodes: bool | None
    ) -> None:
        self.node_name = node_name or ""
        self._all = bool(all_nodes)
        self._terms: tuple[NodeTerm, ...] = ()
        if selector is not None and not self._all and not self.node_name:
            self._terms = _terms(selector)

    def accepts(self, node: moorage.Node) -> bool:
        if self.node_name:
            return node.metadata.name == self.node_name
        return self._all or any(term.accepts(node) for term in self._terms)


class _Pool:
    """A pool of one generation, before it is known which node asks."""

    def __init__(self, key: PoolKey, slices: Sequence[ResourceSlice], kinds: _Kinds) -> None:
        newest = max(one.spec.pool.generation for one in slices)
        current = [one for one in slices if one.spec.pool.generation == newest]
        self.key = key
        self._is_incomplete = len(current) != current[0].spec.pool.resource_slice_count
        self._problem = ""
        self._counters: Counters = {}
        self._devices: list[tuple[_Target, list[SeenDevice]]] = []
        self._consumers: dict[str, DeviceKind] = {}
        for item in current:
            self._take(item, kinds)
        self._check_counters()
        self._views: dict[tuple[int, ...], PoolView] = {}

    @property
    def node_names(self) -> frozenset[str] | None:
        """The nodes that it is for by name; None: others may see it as well."""
        names = {target.node_name for target, _ in self._devices}
        return None if "" in names else frozenset(names)

    @property
    def needs_binding(self) -> bool:
        """Whether some device must be made ready before a pod is bound: others are better."""
        return any(seen.device.binding_conditions for _, group in self._devices for seen in group)

    def view(self, node: moorage.Node) -> PoolView | None:
        """Return what a node sees, None where it sees nothing."""
        chosen = tuple(
            index for index, (target, _) in enumerate(self._devices) if target.accepts(node)
        )
        if not chosen:
            return None
        view = self._views.get(chosen)
        if view is None:
            view = self._views[chosen] = self._see(chosen)
        return view

    def _see(self, chosen: tuple[int, ...]) -> PoolView:
        devices = tuple(seen for index in chosen for seen in self._devices[index][1])
        problem = self._problem
        names = [seen.name for seen in devices]
        twice = next((name for name in names if names.count(name) > 1), "") if names else ""
        if twice:
            problem = f"duplicate device name {twice}"
        return PoolView(
            self.key,
            devices,
            is_incomplete=self._is_incomplete,
            problem=problem,
            counters=self._counters,
            consumers=self._consumers,
        )

    def _take(self, item: ResourceSlice, kinds: _Kinds) -> None:
        spec = item.spec
        try:
            self._take_counters(item)
            group = [
                SeenDevice(device.name, kinds.of(spec.driver, device), device, item)
                for device in spec.devices
            ]
            if spec.per_device_node_selection:
                for seen in group:
                    one = seen.device
                    target = _Target(one.node_name, one.node_selector, all_nodes=one.all_nodes)
                    self._devices.append((target, [seen]))
            elif group or spec.node_name:
                whole = _Target(spec.node_name, spec.node_selector, all_nodes=spec.all_nodes)
                self._devices.append((whole, group))
        except ValueError as error:
            self._problem = f"slice {item.metadata.name} cannot be read: {error}"
            return
        self._consumers.update({seen.name: seen.kind for seen in group if seen.kind.consumes})

    def _take_counters(self, item: ResourceSlice) -> None:
        for counters in item.spec.shared_counters:
            if any(known == counters.name for known, _ in self._counters):
                self._problem = f"duplicate counter set name {counters.name}"
            for name, counter in counters.counters.items():
                self._counters[counters.name, name] = parse_quantity(counter.value)

    def _check_counters(self) -> None:
        """Find devices that take from counters which are not there; none while slices are missing."""
        for kind in self._consumers.values():
            for counter_set, name in kind.consumes:
                if (counter_set, name) not in self._counters and not self._problem:
                    self._problem = f"counter {name} not found in counter set {counter_set}"


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
        self._pools: dict[PoolKey, _Pool] = {}
        self._kinds = _Kinds()
        self._profiles = _Numbers()
        self._asked = _Numbers()
        self._of_node: dict[str, list[_Pool]] = {}
        self._shared: list[_Pool] = []
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
                self._pools[key] = _Pool(key, self._slices.of_pool(key), self._kinds)
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
            pools = sorted([*pools, *self._shared], key=_order)
        views = [pool.view(node) for pool in pools]
        found = tuple(view for view in views if view is not None)
        self._seen[name] = (node, found)
        return found

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
        for pool in sorted(self._pools.values(), key=_order):
            names = pool.node_names
            if names is None:
                self._shared.append(pool)
            else:
                for name in names:
                    self._of_node.setdefault(name, []).append(pool)


def _order(pool: _Pool) -> tuple[bool, PoolKey]:
    return pool.needs_binding, pool.key


def _terms(selector: NodeSelector) -> tuple[NodeTerm, ...]:
    try:
        return tuple(
            compile_term(term, field=f"nodeSelector.nodeSelectorTerms[{index}]")
            for index, term in enumerate(selector.node_selector_terms)
        )
    except InvalidSelectorError as error:
        raise ValueError(str(error)) from error


def _add(counters: Counters, consumed: Iterable[CounterConsumption]) -> None:
    for one in consumed:
        for name, counter in one.counters.items():
            key = (one.counter_set, name)
            counters[key] = counters.get(key, Fraction(0)) + parse_quantity(counter.value)
