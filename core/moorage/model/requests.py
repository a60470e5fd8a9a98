"""What a pod asks of a node, in integers.

The rule is `PodRequests` of k8s.io/component-helpers: containers are summed; init containers set a
minimum, each together with the sidecars started before it (KEP-753); while a container or sidecar
is resized the largest of its desired, allocated and actual amounts counts, or of the last two where
the resize is infeasible (KEP-1287); requests of the pod as a whole, resized likewise, replace the
sum for cpu, memory and huge pages (KEP-2837); overhead is added last (KEP-688).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from moorage.model.pods import Container, Pod
from moorage.model.quantities import LARGEST_INT64, parse_milli, parse_thousandths, parse_value

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
_DEFAULTS = {"cpu": DEFAULT_MILLI_CPU, "memory": DEFAULT_MEMORY * 1000}
"""The same in thousandths."""


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
    """Reckon in thousandths, and round the sum: two halves of a byte are one byte."""
    spec, status = pod.spec, pod.status
    total = _containers(pod, missing)
    if pod_level and spec.resources is not None and _has_pod_level_requests(pod):
        wanted = _thousandths(spec.resources.requests)
        counts = wanted
        if status.resources is not None:
            actual, given = status.resources.requests, status.allocated_resources
            counts = _effective(wanted, actual, given, infeasible=_resize_is_infeasible(pod))
        total.update({name: counts.get(name, 0) for name in wanted if _is_pod_level(name)})
    if spec.overhead:
        _add(total, _thousandths(spec.overhead))
    return {
        name: min(amount if name == "cpu" else -(-amount // 1000), LARGEST_INT64)
        for name, amount in total.items()
    }


def _containers(pod: Pod, missing: Mapping[str, int]) -> _Amounts:
    resized = _resized(pod)
    total: _Amounts = {}
    for container in pod.spec.containers:
        _add(total, {**missing, **_one(container, resized)})
    if not pod.spec.init_containers:
        return total
    sidecars: _Amounts = {}
    minimum: _Amounts = {}
    for container in pod.spec.init_containers:
        if container.restart_policy == "Always":
            amounts = {**missing, **_one(container, resized)}
            _add(total, amounts)
            _add(sidecars, amounts)
            running = sidecars
        else:
            # It has ended, or nobody resizes it: what it was given does not count.
            running = {**missing, **_one(container, {})}
            _add(running, sidecars)
        minimum = _largest([minimum, running])
    return _largest([total, minimum])


def _one(container: Container, resized: Mapping[str, _Amounts]) -> _Amounts:
    known = resized.get(container.name)
    return _thousandths(container.resources.requests) if known is None else known


def _resized(pod: Pod) -> dict[str, _Amounts]:
    """Return what counts of the containers of which it is known what they use, by name."""
    status = pod.status
    if not status.container_statuses and not status.init_container_statuses:
        return {}
    infeasible = _resize_is_infeasible(pod)
    desired = {
        container.name: container.resources.requests
        for container in (*pod.spec.init_containers, *pod.spec.containers)
    }
    told = {one.name: one for one in (*status.container_statuses, *status.init_container_statuses)}
    return {
        name: _effective(
            _thousandths(desired.get(name, {})),
            one.resources.requests,
            one.allocated_resources,
            infeasible=infeasible,
        )
        for name, one in told.items()
        if one.resources is not None
    }


def _effective(
    desired: _Amounts,
    actual: Mapping[str, str],
    given: Mapping[str, str] | None,
    *,
    infeasible: bool,
) -> _Amounts:
    """Return what counts while something is resized: of each resource the largest amount."""
    lists = [_thousandths(actual), _thousandths(given or {})]
    return _largest(lists if infeasible else [desired, *lists])


def _thousandths(quantities: Mapping[str, str]) -> _Amounts:
    return {name: parse_thousandths(text) for name, text in quantities.items()}


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


def _largest(lists: Iterable[Mapping[str, int]]) -> _Amounts:
    largest: _Amounts = {}
    for amounts in lists:
        for name, amount in amounts.items():
            largest[name] = max(largest.get(name, amount), amount)
    return largest
