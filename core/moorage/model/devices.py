"""Devices, who asks for them and who has them: resource.k8s.io/v1, as far as a scheduler reads it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from moorage.model.affinity import NodeSelector
from moorage.model.meta import ObjectMeta
from moorage.model.record import Record

__all__ = [
    "IMPLICIT_RESOURCE",
    "AllocatedDeviceStatus",
    "AllocationResult",
    "CELDeviceSelector",
    "CapacityRange",
    "CapacityRequestPolicy",
    "CapacityRequirements",
    "ClaimMeta",
    "ConsumerReference",
    "Counter",
    "CounterConsumption",
    "CounterSet",
    "Device",
    "DeviceAllocationResult",
    "DeviceAttribute",
    "DeviceCapacity",
    "DeviceClaim",
    "DeviceClass",
    "DeviceClassSpec",
    "DeviceCondition",
    "DeviceConfiguration",
    "DeviceConstraint",
    "DeviceObject",
    "DeviceRequest",
    "DeviceResult",
    "DeviceSelector",
    "DeviceTaint",
    "DeviceToleration",
    "ExactDeviceRequest",
    "ResourceClaim",
    "ResourceClaimSpec",
    "ResourceClaimStatus",
    "ResourcePool",
    "ResourceSlice",
    "ResourceSliceSpec",
]


class ClaimMeta(ObjectMeta, frozen=True):
    """Metadata of claims: their allocation is guarded by a finalizer and marked by annotations."""

    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    finalizers: tuple[str, ...] = ()


# What there is


class DeviceAttribute(Record, frozen=True):
    """One value of one type; `version` is a semantic version."""

    integer: int | None = msgspec.field(default=None, name="int")
    boolean: bool | None = msgspec.field(default=None, name="bool")
    string: str | None = None
    version: str | None = None


class CapacityRange(Record, frozen=True):
    """Amounts from `min` to `max`, in steps where there are any; quantities."""

    min: str | None = None
    max: str | None = None
    step: str | None = None


class CapacityRequestPolicy(Record, frozen=True):
    """How much of a capacity can be had: by default, and at all (KEP-5075)."""

    default: str | None = None
    valid_values: tuple[str, ...] = ()
    valid_range: CapacityRange | None = None


class DeviceCapacity(Record, frozen=True):
    """A quantity, and how it may be shared where the device is for several claims."""

    value: str = "0"
    request_policy: CapacityRequestPolicy | None = None


class Counter(Record, frozen=True):
    """A quantity that devices of a pool take from together."""

    value: str = "0"


class CounterSet(Record, frozen=True):
    """Counters by name (KEP-4815)."""

    name: str = ""
    counters: dict[str, Counter] = msgspec.field(default_factory=dict)


class CounterConsumption(Record, frozen=True):
    """What a device takes from a set of counters while it is allocated."""

    counter_set: str = ""
    counters: dict[str, Counter] = msgspec.field(default_factory=dict)


class DeviceTaint(Record, frozen=True):
    """A taint of a device; NoSchedule and NoExecute keep it from being allocated (KEP-5055)."""

    key: str = ""
    value: str = ""
    effect: str = ""


class Device(Record, frozen=True):
    """A device; attributes and capacities without a domain are its driver's own."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] = msgspec.field(default_factory=dict)
    capacity: dict[str, DeviceCapacity] = msgspec.field(default_factory=dict)
    consumes_counters: tuple[CounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool = False


class ResourcePool(Record, frozen=True):
    """The pool that a slice belongs to; only slices of the newest generation count."""

    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class ResourceSliceSpec(Record, frozen=True):
    """Devices of one driver and pool, and the nodes that can use them."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(Record, frozen=True):
    """A part of a pool of devices, as a driver publishes it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceSliceSpec = ResourceSliceSpec()


# What is asked for


class CELDeviceSelector(Record, frozen=True):
    """An expression over one device, true where it is selected."""

    expression: str = ""


class DeviceSelector(Record, frozen=True):
    """A condition on a device; None: a kind of condition that is not known here."""

    cel: CELDeviceSelector | None = None


class DeviceToleration(Record, frozen=True):
    """Tolerates taints of devices, as pods tolerate those of nodes."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class CapacityRequirements(Record, frozen=True):
    """How much of a device's capacities is asked for, by name; quantities."""

    requests: dict[str, str] = msgspec.field(default_factory=dict)


class ExactDeviceRequest(Record, frozen=True):
    """Devices of a class; also one of several alternatives, which then has a `name`."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = "ExactCount"
    count: int = 1
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceRequest(Record, frozen=True):
    """Devices of one class (`exactly`), or those of the first alternative that can be had."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[ExactDeviceRequest, ...] = ()


class DeviceConstraint(Record, frozen=True):
    """What the devices of some requests (none named: of all) must have in common, or not."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceConfiguration(Record, frozen=True):
    """What a driver is to be told about the devices of some requests; carried along as it is."""

    requests: tuple[str, ...] = ()
    opaque: dict[str, Any] | None = None


class DeviceClaim(Record, frozen=True):
    """The requests of a claim, all of which must be met."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceConfiguration, ...] = ()


IMPLICIT_RESOURCE = "deviceclass.resource.kubernetes.io/"
"""With the name of a class behind it, a resource by which pods can ask for devices of the class."""


class DeviceClassSpec(Record, frozen=True):
    """What all devices of a class are, and the resource (if any) that pods can ask for it by."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceConfiguration, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(Record, frozen=True):
    """A kind of devices that claims ask for by name."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceClassSpec = DeviceClassSpec()


# What is allocated


class DeviceResult(Record, frozen=True):
    """One device that a request of a claim got; `request` of an alternative is ``parent/name``.

    `share_id` and `consumed_capacity` (quantities) belong to devices for several claims.
    """

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def id(self) -> tuple[str, str, str]:
        """The device: driver, pool and name."""
        return self.driver, self.pool, self.device


class DeviceAllocationResult(Record, frozen=True):
    """The devices of a claim; configurations are in the API's own form."""

    results: tuple[DeviceResult, ...] = ()
    config: tuple[dict[str, Any], ...] = ()


class AllocationResult(Record, frozen=True):
    """What a claim got, and the nodes on which that can be used (None: all)."""

    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: datetime | None = None


class ConsumerReference(Record, frozen=True):
    """Who may use a claim; for the pods of a namespace, `resource` is ``pods``."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class DeviceCondition(Record, frozen=True):
    """A condition that a driver reports of an allocated device."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class AllocatedDeviceStatus(Record, frozen=True):
    """What a driver reports of a device that a claim has."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    conditions: tuple[DeviceCondition, ...] = ()


class ResourceClaimStatus(Record, frozen=True):
    """What a claim has, for whom, and what its drivers say; `allocation` None: nothing yet."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaimSpec(Record, frozen=True):
    """What a claim asks for."""

    devices: DeviceClaim = DeviceClaim()


class ResourceClaim(Record, frozen=True):
    """Devices that one or more pods of a namespace use."""

    metadata: ClaimMeta = ClaimMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()

    @property
    def key(self) -> str:
        """The claim's ``namespace/name``."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def results(self) -> Iterator[DeviceResult]:
        """The devices that are allocated to the claim."""
        if self.status.allocation is not None:
            yield from self.status.allocation.devices.results


DeviceObject: TypeAlias = ResourceClaim | ResourceSlice | DeviceClass
"""Any API object of this module."""
