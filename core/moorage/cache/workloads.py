"""Services and the controllers of pods: who says which pods belong together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from moorage.cache.selector_index import SelectorIndex
from moorage.model.meta import OwnerReference
from moorage.model.pods import Pod
from moorage.model.selectors import Requirement, Selector
from moorage.model.workloads import (
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    Workload,
)

__all__ = ["Controller", "WorkloadIdentity", "WorkloadStore", "identity_of"]

Controller: TypeAlias = ReplicationController | ReplicaSet | StatefulSet

WorkloadIdentity: TypeAlias = tuple[type[Workload], str, str]
"""What stays the same in all versions of a workload: its kind, namespace and name."""

_CONTROLLERS: dict[tuple[str, str], type[Controller]] = {
    ("v1", "ReplicationController"): ReplicationController,
    ("apps/v1", "ReplicaSet"): ReplicaSet,
    ("apps/v1", "StatefulSet"): StatefulSet,
}


def identity_of(workload: Workload) -> WorkloadIdentity:
    """Return the identity of a workload."""
    return type(workload), workload.metadata.namespace, workload.metadata.name


class WorkloadStore:
    """Workloads by kind, namespace and name; services also by what they select."""

    def __init__(self) -> None:
        self._workloads: dict[WorkloadIdentity, Workload] = {}
        self._services: SelectorIndex[str] = SelectorIndex()

    def __iter__(self) -> Iterator[Workload]:
        return iter(tuple(self._workloads.values()))

    def __len__(self) -> int:
        return len(self._workloads)

    def get(self, identity: WorkloadIdentity) -> Workload | None:
        """Return a workload, None where there is none of that name."""
        return self._workloads.get(identity)

    def put(self, workload: Workload) -> bool:
        """Store a workload; say whether it is new or selects other pods than before."""
        identity = identity_of(workload)
        before = self._workloads.get(identity)
        self._workloads[identity] = workload
        if before is not None and before.spec == workload.spec:
            return False
        if isinstance(before, Service):
            self._leave_index(before)
        if isinstance(workload, Service):
            self._services.add(
                workload.metadata.name,
                _service_selector(workload),
                namespace=workload.metadata.namespace,
            )
        return True

    def drop(self, identity: WorkloadIdentity) -> bool:
        """Forget a workload; say whether there was one."""
        before = self._workloads.pop(identity, None)
        if isinstance(before, Service):
            self._leave_index(before)
        return before is not None

    def services_of(self, pod: Pod) -> list[Service]:
        """Return the services that select a pod, by name."""
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        candidates = set(self._services.candidates(labels, namespace=namespace))
        if not candidates:
            return []
        found = []
        for name in sorted(candidates):
            service = self._workloads[Service, namespace, name]
            assert isinstance(service, Service)
            if _service_selector(service).matches(labels):
                found.append(service)
        return found

    def controller_of(self, pod: Pod) -> Controller | None:
        """Return what controls a pod, where it is a kind kept here and is there."""
        owner = _controlling_reference(pod)
        kind = None if owner is None else _CONTROLLERS.get((owner.api_version, owner.kind))
        if owner is None or kind is None:
            return None
        controller = self._workloads.get((kind, pod.metadata.namespace, owner.name))
        return None if isinstance(controller, Service) else controller

    def check_invariants(self) -> None:
        """Raise AssertionError where the index of services differs from the services."""
        for identity, workload in self._workloads.items():
            assert identity == identity_of(workload)
        self._services.check_invariants(
            (one.metadata.name, _service_selector(one), one.metadata.namespace)
            for one in self._workloads.values()
            if isinstance(one, Service)
        )

    def _leave_index(self, service: Service) -> None:
        self._services.remove(
            service.metadata.name,
            _service_selector(service),
            namespace=service.metadata.namespace,
        )


def _service_selector(service: Service) -> Selector:
    """Compile what a service selects; one without a selector selects nothing."""
    if service.spec.selector is None:
        return Selector(nothing=True)
    return Selector(
        tuple(
            Requirement(key, "In", frozenset((value,)))
            for key, value in sorted(service.spec.selector.items())
        )
    )


def _controlling_reference(pod: Pod) -> OwnerReference | None:
    return next((owner for owner in pod.metadata.owner_references if owner.controller), None)
