"""Resources that stand for devices of a class (KEP-5004): requests of a pod, as requests of a claim.

A pod asks for ``example.com/gpu: 2`` as for any resource. Where a node has none of that resource and
a DeviceClass goes by its name, devices of the class are what the pod gets, by a claim that is made
for it once its node is known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import moorage
from moorage.cache.devices import ClassStore
from moorage.model import Container, parse_value
from moorage.model.devices import (
    ClaimMeta,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from moorage.model.meta import OwnerReference

__all__ = [
    "MARK",
    "NAME_IN_MEMORY",
    "Served",
    "asked_by_class",
    "claim_in_memory",
    "requests_for",
]

NAME_IN_MEMORY = "<extended-resources>"
"""The name of the claim until it is written; no claim in the API server can have it."""
MARK = "resource.kubernetes.io/extended-resource-claim"
"""The annotation of such claims."""


class Served(NamedTuple):
    """Which request of the claim serves a container's request for a resource."""

    container: str
    resource: str
    request: str

    def as_json(self) -> dict[str, str]:
        """Return it as a pod's status has it."""
        return {
            "containerName": self.container,
            "resourceName": self.resource,
            "requestName": self.request,
        }


def asked_by_class(info: moorage.PodInfo, classes: ClassStore) -> dict[str, int]:
    """Return how much a pod asks for of resources that stand for devices."""
    return {
        name: amount
        for name, amount in info.requests.amounts
        if amount > 0 and "/" in name and classes.for_resource(name) is not None
    }


def claim_in_memory(pod: moorage.Pod) -> ResourceClaim:
    """Return the claim for a pod's resources, which asks for nothing yet."""
    metadata = pod.metadata
    owner = OwnerReference(
        api_version="v1", kind="Pod", name=metadata.name, uid=metadata.uid, controller=True
    )
    return ResourceClaim(
        metadata=ClaimMeta(
            namespace=metadata.namespace,
            name=NAME_IN_MEMORY,
            uid=f"{metadata.uid}/{NAME_IN_MEMORY}",
            owner_references=(owner,),
            annotations={MARK: "true"},
        )
    )


def requests_for(
    pod: moorage.Pod, resources: Collection[str], classes: ClassStore
) -> tuple[ResourceClaim, tuple[Served, ...]]:
    """Return the claim for some resources of a pod, and which of its requests is for whom.

    Init containers that end use the devices of containers that start later; what they need beyond
    those is asked for once, for the one that needs most.
    """
    requests: list[DeviceRequest] = []
    mappings: list[Served] = []
    containers = [*pod.spec.init_containers, *pod.spec.containers]
    ends = [
        index < len(pod.spec.init_containers) and one.restart_policy != "Always"
        for index, one in enumerate(containers)
    ]
    for resource in sorted(resources):
        device_class = classes.for_resource(resource)
        if device_class is None:
            continue
        plan = _Plan(containers, resource, device_class.metadata.name)
        lasting = {index: plan.request(index, ()) for index, end in enumerate(ends) if not end}
        passing = {
            index: plan.request(index, [lasting.get(at) for at in range(index, len(ends))])
            for index, end in enumerate(ends)
            if end
        }
        largest = max(
            (one for one in passing.values() if one is not None),
            key=lambda one: one.exactly.count if one.exactly else 0,
            default=None,
        )
        if largest is not None:
            requests.append(largest)
        requests += [one for one in lasting.values() if one is not None]
        mappings += plan.mappings(
            {one.name: largest.name for one in passing.values() if one and largest}
        )
    claim = claim_in_memory(pod)
    devices = DeviceClaim(requests=tuple(sorted(requests, key=lambda one: one.name)))
    made = ResourceClaim(metadata=claim.metadata, spec=ResourceClaimSpec(devices=devices))
    return made, tuple(mappings)


class _Plan:
    """The requests for one resource, container by container."""

    def __init__(self, containers: Sequence[Container], resource: str, class_name: str) -> None:
        self._containers = containers
        self._resource = resource
        self._class_name = class_name
        self._names: dict[int, list[str]] = {}

    def request(self, index: int, reusable: Sequence[DeviceRequest | None]) -> DeviceRequest | None:
        """Return what a container has to ask for, beyond what it can use of others."""
        container = self._containers[index]
        count = _amount(container.resources.requests, self._resource)
        if not count:
            return None
        served = self._names.setdefault(index, [])
        for other in reusable:
            if other is not None and other.exactly is not None:
                served.append(other.name)
                count -= other.exactly.count
                if count <= 0:
                    return None
        place = sorted(container.resources.requests).index(self._resource)
        name = f"container-{index}-request-{place}"
        served.append(name)
        exactly = ExactDeviceRequest(device_class_name=self._class_name, count=count)
        return DeviceRequest(name=name, exactly=exactly)

    def mappings(self, replaced: Mapping[str, str]) -> list[Served]:
        """Return whom each request serves; those that end first come last."""
        return [
            Served(self._containers[index].name, self._resource, replaced.get(name, name))
            for index, names in self._names.items()
            for name in names
        ]


def _amount(requests: Mapping[str, str], resource: str) -> int:
    text = requests.get(resource)
    return 0 if text is None else parse_value(text)
