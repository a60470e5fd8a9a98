"""What a pod asks of a node, in integers.

The rule is `PodRequests` of k8s.io/component-helpers: containers are summed; init containers set a
minimum, each together with the sidecars started before it (KEP-753); while a pod is resized the
largest of desired, allocated and actual counts, or of the last two where the resize is infeasible
(KEP-1287); requests of the pod as a whole replace the sum for cpu, memory and huge pages
(KEP-2837); overhead is added last (KEP-688).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from moorage.model.pods import Container, ContainerStatus, Pod
from moorage.model.quantities import parse_milli, parse_value

__all__ = [
    "DEFAULT_MEMORY",
    "DEFAULT_MILLI_CPU",
    "Requests",
    "amounts_of",
    "pod_requests",
]

DEFAULT_MILLI_CPU = 100
"""Milli-CPU that scoring reckons for a container without a cpu request."""
DEFAULT_MEMORY = 200 * 1024 * 1024
"""Bytes that scoring reckons for a container without a memory request."""

_Amounts = dict[str, int]
_Reader = Callable[[Container, ContainerStatus | None], Mapping[str, str]]
_DEFAULTS = {"cpu": DEFAULT_MILLI_CPU, "memory": DEFAULT_MEMORY}


class Requests(NamedTuple):
    """A pod's requests: hashable, shared by all pods that ask for the same.

    `amounts` are (resource, integer) pairs sorted by name, cpu in milli-CPU, all else in its
    unit; `nonzero_cpu` (milli-CPU) and `nonzero_memory` (bytes) are what a pod counts for on its
    node in scoring, where a container without a request counts with a default. `scoring` are the
    pairs of the pod to be placed in scoring: as kube-scheduler 1.36 has it, with those defaults
    and without the requests of the pod as a whole.
    """

    amounts: tuple[tuple[str, int], ...]
    nonzero_cpu: int
    nonzero_memory: int
    scoring: tuple[tuple[str, int], ...] = ()

    def get(self, resource: str) -> int:
        """Return the amount of one resource, 0 where none is asked for."""
        return dict(self.amounts).get(resource, 0)


_interned: dict[Requests, Requests] = {}
_MOST_INTERNED = 65536


def pod_requests(pod: Pod) -> Requests:
    """Reckon a pod's requests; raises `InvalidQuantityError` for a text that is no quantity."""
    real = _total(pod, {})
    missing = _DEFAULTS
    if _has_pod_level_requests(pod):
        missing = {name: amount for name, amount in _DEFAULTS.items() if name not in real}
    reckoned = _total(pod, missing) if missing else real
    scoring = reckoned
    if _has_pod_level_requests(pod):
        scoring = _total(pod, _DEFAULTS, pod_level=False)
    found = Requests(
        tuple(sorted(real.items())),
        reckoned.get("cpu", 0),
        reckoned.get("memory", 0),
        tuple(sorted(scoring.items())),
    )
    if len(_interned) >= _MOST_INTERNED:
        _interned.clear()
    return _interned.setdefault(found, found)


def amounts_of(quantities: Mapping[str, str]) -> _Amounts:
    """Read a ResourceList: cpu in milli-CPU, all else as whole units."""
    return {
        name: parse_milli(text) if name == "cpu" else parse_value(text)
        for name, text in quantities.items()
    }


def _total(pod: Pod, missing: Mapping[str, int], *, pod_level: bool = True) -> _Amounts:
    spec, status = pod.spec, pod.status
    total = _containers(pod, missing)
    if pod_level and spec.resources is not None and _has_pod_level_requests(pod):
        wanted = [amounts_of(spec.resources.requests)]
        if status.resources is not None or status.allocated_resources is not None:
            overhead = amounts_of(spec.overhead)
            if _resize_is_infeasible(pod):
                wanted = []
            if status.resources is not None:
                wanted.append(_less(amounts_of(status.resources.requests), overhead))
            if status.allocated_resources is not None:
                wanted.append(_less(amounts_of(status.allocated_resources), overhead))
        total.update(
            {name: amount for name, amount in _largest(wanted).items() if _is_pod_level(name)}
        )
    for name, amount in amounts_of(spec.overhead).items():
        total[name] = total.get(name, 0) + amount
    return total


def _containers(pod: Pod, missing: Mapping[str, int]) -> _Amounts:
    desired = _aggregate(pod, _desired, missing, {})
    if not pod.status.container_statuses and not pod.status.init_container_statuses:
        return desired
    statuses = {
        status.name: status
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
        if status.allocated_resources is not None or status.resources is not None
    }
    if not statuses:
        return desired
    infeasible = _resize_is_infeasible(pod)
    given = _aggregate(pod, _allocated(infeasible=infeasible), missing, statuses)
    used = _aggregate(pod, _actual(infeasible=infeasible), missing, statuses)
    return _largest([given, used] if infeasible else [desired, given, used])


def _aggregate(
    pod: Pod,
    read: _Reader,
    missing: Mapping[str, int],
    statuses: Mapping[str, ContainerStatus],
) -> _Amounts:
    total: _Amounts = {}
    for container in pod.spec.containers:
        _add(total, _one(container, read, missing, statuses))
    sidecars: _Amounts = {}
    minimum: _Amounts = {}
    for container in pod.spec.init_containers:
        amounts = _one(container, read, missing, statuses)
        if container.restart_policy == "Always":
            _add(total, amounts)
            _add(sidecars, amounts)
            running: Mapping[str, int] = sidecars
        else:
            _add(amounts, sidecars)
            running = amounts
        minimum = _largest([minimum, running])
    return _largest([total, minimum]) if minimum else total


def _one(
    container: Container,
    read: _Reader,
    missing: Mapping[str, int],
    statuses: Mapping[str, ContainerStatus],
) -> _Amounts:
    amounts = amounts_of(read(container, statuses.get(container.name)))
    for name, amount in missing.items():
        amounts.setdefault(name, amount)
    return amounts


def _desired(container: Container, _: ContainerStatus | None) -> Mapping[str, str]:
    return container.resources.requests


def _allocated(*, infeasible: bool) -> _Reader:
    def read(container: Container, status: ContainerStatus | None) -> Mapping[str, str]:
        if status is not None and status.allocated_resources is not None:
            return status.allocated_resources
        return {} if infeasible else container.resources.requests

    return read


def _actual(*, infeasible: bool) -> _Reader:
    allocated = _allocated(infeasible=infeasible)

    def read(container: Container, status: ContainerStatus | None) -> Mapping[str, str]:
        if status is not None and status.resources is not None:
            return status.resources.requests
        return allocated(container, status)

    return read


def _has_pod_level_requests(pod: Pod) -> bool:
    resources = pod.spec.resources
    return resources is not None and any(map(_is_pod_level, resources.requests))


def _is_pod_level(resource: str) -> bool:
    return resource in {"cpu", "memory"} or resource.startswith("hugepages-")


def _resize_is_infeasible(pod: Pod) -> bool:
    return any(
        condition.type == "PodResizePending" and condition.reason == "Infeasible"
        for condition in pod.status.conditions
    )


def _add(total: _Amounts, amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def _less(amounts: _Amounts, subtracted: Mapping[str, int]) -> _Amounts:
    return {name: amount - subtracted.get(name, 0) for name, amount in amounts.items()}


def _largest(lists: Iterable[Mapping[str, int]]) -> _Amounts:
    largest: _Amounts = {}
    for amounts in lists:
        for name, amount in amounts.items():
            largest[name] = max(largest.get(name, amount), amount)
    return largest
