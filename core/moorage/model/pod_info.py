"""A pod with what is reckoned from it once and read often."""

from __future__ import annotations

from copy import copy
from typing import NamedTuple, Self

import msgspec

from moorage.model.affinity_terms import AffinityTerms, affinity_terms
from moorage.model.pods import Pod, pod_key
from moorage.model.requests import Requests, pod_requests

__all__ = ["HostPort", "PodInfo"]


class HostPort(NamedTuple):
    """A port on the host that a pod wants; an `ip` of ``0.0.0.0`` means every address."""

    ip: str
    protocol: str
    port: int


class PodInfo:
    """A pod, its key ``namespace/name``, its requests and its host ports; read-only, shared.

    `storage_volumes`: how many of its volumes are claims or disks, which others may have a say in.
    """

    __slots__ = ("_affinity_terms", "host_ports", "key", "pod", "requests", "storage_volumes")

    def __init__(self, pod: Pod) -> None:
        """Reckon a pod; raises `InvalidQuantityError` for a text that is no quantity."""
        self.pod = pod
        self.key = pod_key(pod)
        self.requests: Requests = pod_requests(pod)
        self.host_ports = _host_ports(pod)
        self.storage_volumes = sum(volume.is_storage for volume in pod.spec.volumes)
        self._affinity_terms: AffinityTerms | None = None

    @property
    def affinity_terms(self) -> AffinityTerms:
        """The pod's inter-pod affinity terms, compiled when first asked for."""
        if self._affinity_terms is None:
            self._affinity_terms = affinity_terms(self.pod)
        return self._affinity_terms

    @property
    def uid(self) -> str:
        """The pod's uid; a pod of the same name made anew has another."""
        return self.pod.metadata.uid

    @property
    def priority(self) -> int:
        """The pod's priority, 0 where it has none."""
        return self.pod.spec.priority or 0

    def on_node(self, name: str) -> Self:
        """Return the same pod as if it were on a node, without reckoning anything anew."""
        placed = copy(self)
        spec = msgspec.structs.replace(self.pod.spec, node_name=name)
        placed.pod = msgspec.structs.replace(self.pod, spec=spec)
        return placed

    def __repr__(self) -> str:
        return f"PodInfo({self.key})"


def _host_ports(pod: Pod) -> tuple[HostPort, ...]:
    containers = (
        *(init for init in pod.spec.init_containers if init.restart_policy == "Always"),
        *pod.spec.containers,
    )
    if not any(container.ports for container in containers):
        return ()
    return tuple(
        HostPort(port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)  # noqa: S104 - the API's word for every address
        for container in containers
        for port in container.ports
        if port.host_port > 0
    )
