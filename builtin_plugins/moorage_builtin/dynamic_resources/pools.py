"""Pools of devices, and what a node sees of them.

A pool is what one driver publishes under one name, in slices. A `PoolView` is what one or more nodes
see of it: the devices of the slices that are for them, of the newest generation among those. Where
slices for other nodes are missing or newer, nothing can be had of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import moorage
from moorage.cache.devices import PoolKey
from moorage.model import InvalidSelectorError, NodeSelector, parse_quantity
from moorage.model.devices import CounterConsumption, Device, ResourceSlice
from moorage_builtin.dynamic_resources.expressions import DeviceLook
from moorage_builtin.node_terms import NodeTerm, compile_term

__all__ = ["Counters", "DeviceKind", "Pool", "PoolView", "SeenDevice"]

_logger = logging.getLogger(__name__)

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
    slices are missing. `counters` are those of the pool, from which all its `consumers` (by name)
    take, seen by these nodes or not. `needs_binding`: some device must be made ready before a pod
    is bound, so that other pools are better.
    """

    def __init__(
        self,
        key: PoolKey,
        devices: tuple[SeenDevice, ...],
        *,
        is_incomplete: bool = False,
        problem: str = "",
        counters: Mapping[tuple[str, str], Fraction] = {},
        consumers: Sequence[tuple[str, DeviceKind]] = (),
        needs_binding: bool = False,
    ) -> None:
        self.key = key
        self.devices = devices
        self.is_incomplete = is_incomplete
        self.problem = problem
        self.counters = counters
        self.consumers = consumers
        self.needs_binding = needs_binding
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


class Pool:
    """The slices of a pool, of all generations, by name; which of them count depends on the node."""

    def __init__(
        self,
        key: PoolKey,
        slices: Sequence[ResourceSlice],
        kind_of: Callable[[str, Device], DeviceKind],
    ) -> None:
        """`kind_of` returns the kind of a driver's device; ValueError where it cannot be read."""
        self.key = key
        self._slices = [_Slice(one, kind_of) for one in slices]
        self._views: dict[tuple[_Share, ...], PoolView | None] = {}

    @property
    def node_names(self) -> frozenset[str] | None:
        """The nodes that it is for by name; None: others may see it as well."""
        names = {target.node_name for one in self._slices for target in one.targets}
        # Shared counters are part of what every node sees: nothing to it, unless something is wrong.
        counters = tuple((place, ()) for place, one in enumerate(self._slices) if one.counter_sets)
        is_harmless = not counters or self._cached_view(counters) is None
        return frozenset(names) if "" not in names and is_harmless else None

    def view(self, node: moorage.Node) -> PoolView | None:
        """Return what a node sees, None where it sees nothing."""
        shares = [(place, one.places(node)) for place, one in enumerate(self._slices)]
        return self._cached_view(
            tuple((place, devices) for place, devices in shares if devices is not None)
        )

    def _cached_view(self, shares: tuple[_Share, ...]) -> PoolView | None:
        if shares not in self._views:
            self._views[shares] = self._see(shares) if shares else None
        return self._views[shares]

    def _see(self, shares: tuple[_Share, ...]) -> PoolView | None:
        newest = max(self._slices[place].generation for place, _ in shares)
        shares = tuple(one for one in shares if self._slices[one[0]].generation == newest)
        seen = [self._slices[place] for place, _ in shares]
        unseen: list[_Slice] = []
        if len(seen) != seen[0].count:
            if any(one.generation > newest for one in self._slices):
                return None
            unseen = [one for one in self._slices if one.generation == newest and one not in seen]
            if len(seen) + len(unseen) != seen[0].count:
                return PoolView(self.key, (), is_incomplete=True)
        problem = _problem(seen, unseen)
        devices = tuple(
            self._slices[place].devices[device] for place, places in shares for device in places
        )
        if problem:
            _logger.warning("Nothing can be had of resource pool %s/%s: %s", *self.key, problem)
            return PoolView(self.key, (), problem=problem)
        if not devices:
            return None
        return PoolView(
            self.key,
            devices,
            counters={key: amount for one in seen for key, amount in one.counters.items()},
            consumers=[
                (device.name, device.kind)
                for one in (*seen, *unseen)
                for device in one.devices
                if device.kind.consumes
            ],
            needs_binding=any(
                device.device.binding_conditions for one in seen for device in one.devices
            ),
        )


_Share = tuple[int, tuple[int, ...]]
"""The place of a slice in its pool, and the places in it of the devices that a node can use."""


class _Slice:
    """A slice, compiled; `problem` says why it cannot be read, `targets` whom it is for."""

    def __init__(self, item: ResourceSlice, kind_of: Callable[[str, Device], DeviceKind]) -> None:
        spec = item.spec
        self.generation = spec.pool.generation
        self.count = spec.pool.resource_slice_count
        self.counter_sets = [one.name for one in spec.shared_counters]
        self.counters: Counters = {}
        self.devices: list[SeenDevice] = []
        self.targets: list[_Target] = []
        self.problem = ""
        self._is_per_device = bool(spec.per_device_node_selection)
        self._all: tuple[int, ...] = ()
        try:
            self._read(item, kind_of)
        except ValueError as error:
            self.problem = f"slice {item.metadata.name} cannot be read: {error}"

    def places(self, node: moorage.Node) -> tuple[int, ...] | None:
        """Return which of its devices a node can use, None where it is not for that node."""
        if self.counter_sets:
            return ()
        if not self._is_per_device:
            is_for = bool(self.targets) and self.targets[0].accepts(node)
            return self._all if is_for else None
        found = tuple(place for place, target in enumerate(self.targets) if target.accepts(node))
        return found or None

    def _read(self, item: ResourceSlice, kind_of: Callable[[str, Device], DeviceKind]) -> None:
        spec = item.spec
        for counters in spec.shared_counters:
            for name, counter in counters.counters.items():
                self.counters[counters.name, name] = parse_quantity(counter.value)
        self.devices = [
            SeenDevice(one.name, kind_of(spec.driver, one), one, item) for one in spec.devices
        ]
        self._all = tuple(range(len(self.devices)))
        places = spec.devices if self._is_per_device else (spec,)
        self.targets = [
            _Target(one.node_name, one.node_selector, all_nodes=one.all_nodes) for one in places
        ]


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


def _problem(seen: Sequence[_Slice], unseen: Sequence[_Slice]) -> str:
    """Say what is wrong with a pool of which a node sees some slices; an empty text: nothing."""
    unreadable = next((one.problem for one in (*seen, *unseen) if one.problem), "")
    if unreadable:
        return unreadable
    names = [device.name for one in seen if not one.counter_sets for device in one.devices]
    if twice := _twice(names):
        return f"duplicate device name {twice}"
    counter_sets = [name for one in seen for name in one.counter_sets]
    if twice := _twice(counter_sets):
        return f"duplicate counter set name {twice}"
    counters = {key for one in seen for key in one.counters}
    for device in (device for one in (*seen, *unseen) for device in one.devices):
        for consumption in device.device.consumes_counters:
            if consumption.counter_set not in counter_sets:
                return f"counter set {consumption.counter_set} not found"
            for name in consumption.counters:
                if (consumption.counter_set, name) not in counters:
                    return f"counter {name} not found in counter set {consumption.counter_set}"
    return ""


def _twice(names: Iterable[str]) -> str:
    """Return the first name that comes a second time."""
    known: set[str] = set()
    for name in names:
        if name in known:
            return name
        known.add(name)
    return ""


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
