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
from moorage.model import parse_value
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
    served: list[Served] = []
    for resource in sorted(resources):
        device_class = classes.for_resource(resource)
        if device_class is not None:
            plan = _Plan(pod, resource, device_class.metadata.name)
            requests += plan.requests()
            served += plan.served()
    claim = claim_in_memory(pod)
    devices = DeviceClaim(requests=tuple(sorted(requests, key=lambda one: one.name)))
    made = ResourceClaim(metadata=claim.metadata, spec=ResourceClaimSpec(devices=devices))
    return made, tuple(served)


class _Plan:
    """The requests for one resource, container by container."""

    def __init__(self, pod: moorage.Pod, resource: str, class_name: str) -> None:
        inits = pod.spec.init_containers
        self._containers = [*inits, *pod.spec.containers]
        self._ends = [one.restart_policy != "Always" for one in inits]
        self._resource = resource
        self._class_name = class_name
        self._names: dict[int, list[str]] = {}
        self._replaced: dict[str, str] = {}

    def requests(self) -> list[DeviceRequest]:
        """Return what has to be asked for; of containers that end, only for the largest."""
        count = len(self._containers)
        ending = [index for index, ends in enumerate(self._ends) if ends]
        lasting = {index: self._request(index, ()) for index in range(count) if index not in ending}
        passing = [
            request
            for index in ending
            if (request := self._request(index, [lasting.get(at) for at in range(index, count)]))
        ]
        found = [request for request in lasting.values() if request is not None]
        if not passing:
            return found
        largest = max(passing, key=lambda one: one.exactly.count if one.exactly else 0)
        self._replaced = {one.name: largest.name for one in passing}
        return [largest, *found]

    def served(self) -> list[Served]:
        """Return whom each request serves, once they are made; those that end first come last."""
        return [
            Served(self._containers[index].name, self._resource, self._replaced.get(name, name))
            for index, names in self._names.items()
            for name in names
        ]

    def _request(
        self, index: int, reusable: Sequence[DeviceRequest | None]
    ) -> DeviceRequest | None:
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


def _amount(requests: Mapping[str, str], resource: str) -> int:
    text = requests.get(resource)
    return 0 if text is None else parse_value(text)
