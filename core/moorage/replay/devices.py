"""Devices in recordings: put into the cluster, allocated as recorded, and compared.

Two devices are interchangeable where they are equal in all that a class, a claim or a driver's
taints could look at in the scenario: any of them is right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, runtime_checkable

import msgspec

from moorage.cache import DeviceStore
from moorage.cycle import Decision
from moorage.model.devices import (
    AllocationResult,
    ConsumerReference,
    Device,
    DeviceAllocationResult,
    DeviceClass,
    DeviceResult,
    ResourceClaim,
    ResourceSlice,
)
from moorage.model.pods import Pod
from moorage.replay.comparing import Difference
from moorage.replay.recording import Objects, RecordedStep

__all__ = ["allocate", "compare_devices", "fill_devices"]

DeviceId = tuple[str, str, str]


@runtime_checkable
class _Devices(Protocol):
    """A plugin's note on a pod that knows which devices claims get on a node."""

    def devices_on(self, node_name: str) -> Mapping[str, Iterable[DeviceId]]:
        """Return the devices by the claim's name."""


def fill_devices(devices: DeviceStore, objects: Objects) -> None:
    """Put in devices, their classes and claims; a claim's key is its uid, as a pod's is."""
    for item in objects.resourceslices:
        devices.slices.put(item)
    for device_class in objects.deviceclasses:
        devices.classes.put(device_class)
    for claim in objects.resourceclaims:
        metadata = msgspec.structs.replace(claim.metadata, uid=claim.key)
        devices.claims.put(msgspec.structs.replace(claim, metadata=metadata))


def allocate(devices: DeviceStore, step: RecordedStep, pod: Pod) -> None:
    """Have the claims of a pod that was bound allocated as recorded, and reserved for the pod."""
    for name, recorded in _recorded(step).items():
        claim = devices.claims.get(pod.metadata.namespace, name)
        if claim is None:
            continue
        user = ConsumerReference(resource="pods", name=pod.metadata.name, uid=pod.metadata.uid)
        allocation = claim.status.allocation
        if allocation is None:
            results = tuple(
                DeviceResult(driver=driver, pool=pool, device=device)
                for driver, pool, device in recorded
            )
            allocation = AllocationResult(devices=DeviceAllocationResult(results=results))
        status = msgspec.structs.replace(
            claim.status, allocation=allocation, reserved_for=(*claim.status.reserved_for, user)
        )
        devices.claims.put(msgspec.structs.replace(claim, status=status))


def compare_devices(
    recorded: RecordedStep, decision: Decision, objects: Objects
) -> Iterator[Difference]:
    """Compare what the pod's claims got with what they would get here, on the recorded node."""
    node = recorded.node
    notes = [
        note
        for state in decision.states.values()
        for note in state.values()
        if isinstance(note, _Devices)
    ]
    if node is None or not notes:
        return
    found = notes[0].devices_on(node)
    likeness = _Likeness(objects)
    for name, expected in _recorded(recorded).items():
        got = list(found.get(name, ()))
        if likeness.of(expected) != likeness.of(got):
            yield Difference("devices", _written(expected), _written(got), node=node)


class _Likeness:
    """Tells devices apart by all that anything in a scenario looks at."""

    def __init__(self, objects: Objects) -> None:
        self._devices = dict(_devices(objects.resourceslices))
        self._asked = _names_in([*objects.deviceclasses, *objects.resourceclaims])

    def of(self, ids: Iterable[DeviceId]) -> Counter[bytes]:
        """Count devices that are alike."""
        return Counter(self._look(one) for one in ids)

    def _look(self, one: DeviceId) -> bytes:
        device = self._devices.get(one)
        if device is None:
            return msgspec.json.encode(one)
        attributes = {
            name: value
            for name, value in device.attributes.items()
            if name.rpartition("/")[2] in self._asked
        }
        bare = msgspec.structs.replace(device, name="", attributes=attributes)
        return msgspec.json.encode([*one[:2], bare], order="sorted")


def _devices(slices: Iterable[ResourceSlice]) -> Iterator[tuple[DeviceId, Device]]:
    for item in slices:
        for device in item.spec.devices:
            yield (item.spec.driver, item.spec.pool.name, device.name), device


def _names_in(items: Iterable[DeviceClass | ResourceClaim]) -> frozenset[str]:
    """Return all words in what classes and claims ask for."""
    return frozenset(
        word.decode()
        for item in items
        for word in re.findall(rb"\w+", msgspec.json.encode(item.spec))
    )


def _recorded(step: RecordedStep) -> dict[str, list[DeviceId]]:
    """Return the recorded devices by the claim's name, which the pod may call otherwise."""
    names = {one.name: one.resource_claim_name for one in step.pod.spec.resource_claims}
    names |= {one.name: one.resource_claim_name for one in step.pod.status.resource_claim_statuses}
    return {
        names.get(own) or own: [_id_of(text) for text in devices]
        for own, devices in (step.devices or {}).items()
    }


def _id_of(text: str) -> DeviceId:
    """Read ``driver/pool/device``; a pool may have slashes in its name."""
    driver, _, rest = text.partition("/")
    pool, _, device = rest.rpartition("/")
    return driver, pool, device


def _written(ids: Iterable[DeviceId]) -> list[str]:
    return sorted("/".join(one) for one in ids)
