"""What a pod asks of a node, in integers.

The rule is `PodRequests` of k8s.io/component-helpers: containers are summed; init containers set a
minimum, each together with the sidecars started before it (KEP-753); while a container or sidecar
is resized the largest of its desired, allocated and actual amounts counts, or of the last two where
the resize is infeasible (KEP-1287); requests of the pod as a whole, resized likewise, replace the
sum for cpu, memory and huge pages (KEP-2837); overhead is added last (KEP-688).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
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
_Pairs = tuple[tuple[str, int], ...]
_DEFAULTS = {"cpu": DEFAULT_MILLI_CPU, "memory": DEFAULT_MEMORY * 1000}
"""The same in thousandths."""
_NOTHING: Mapping[str, int] = {}


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


def pod_requests(pod: Pod) -> Requests:
    """Reckon a pod's requests; raises `InvalidQuantityError` for a text that is no quantity."""
    spec, resized = pod.spec, _resized(pod)
    return _reckoned(
        _Asked(
            tuple([_amounts(container, resized) for container in spec.containers]),
            tuple([_init_amounts(container, resized) for container in spec.init_containers]),
            () if spec.resources is None else _pod_level(pod, spec.resources.requests),
            _thousandths(spec.overhead) if spec.overhead else (),
        )
    )


def amounts_of(quantities: Mapping[str, str]) -> _Amounts:
    """Read a ResourceList: cpu in milli-CPU, all else as whole units."""
    return {
        name: parse_milli(text) if name == "cpu" else parse_value(text)
        for name, text in quantities.items()
    }


class _Asked(NamedTuple):
    """What a pod asks for in thousandths: of each container, and of each init one, if a sidecar.

    Hashable: most pods ask for what others asked for before, and are not reckoned again.
    """

    containers: tuple[_Pairs, ...]
    init_containers: tuple[tuple[_Pairs, bool], ...]
    pod_level: _Pairs
    overhead: _Pairs


@lru_cache(maxsize=16384)
def _reckoned(asked: _Asked) -> Requests:
    real = _total(asked)
    if asked.pod_level:
        nonzero = _total(asked, {name: _DEFAULTS[name] for name in _DEFAULTS.keys() - real.keys()})
        scoring = _total(asked._replace(pod_level=()), _DEFAULTS)
    else:
        nonzero = scoring = _total(asked, _DEFAULTS)
    return Requests(
        tuple(sorted(real.items())),
        nonzero.get("cpu", 0),
        nonzero.get("memory", 0),
        tuple(sorted(scoring.items())),
    )


def _total(asked: _Asked, missing: Mapping[str, int] = _NOTHING) -> _Amounts:
    """Add up, and round the sum: two halves of a byte are one byte.

    `missing` is what a container counts for that does not ask for a resource.
    """
    total = _of_containers(asked, missing)
    total.update(asked.pod_level)
    _add(total, dict(asked.overhead))
    return {
        name: min(amount if name == "cpu" else -(-amount // 1000), LARGEST_INT64)
        for name, amount in total.items()
    }


def _of_containers(asked: _Asked, missing: Mapping[str, int]) -> _Amounts:
    total: _Amounts = {}
    for own in asked.containers:
        _add(total, {**missing, **dict(own)})
    sidecars: _Amounts = {}
    minimum: _Amounts = {}
    for own, is_sidecar in asked.init_containers:
        amounts = {**missing, **dict(own)}
        if is_sidecar:
            _add(total, amounts)
            _add(sidecars, amounts)
            running = sidecars
        else:
            _add(amounts, sidecars)
            running = amounts
        minimum = _largest([minimum, running])
    return _largest([total, minimum]) if minimum else total


def _init_amounts(container: Container, resized: Mapping[str, _Pairs]) -> tuple[_Pairs, bool]:
    is_sidecar = container.restart_policy == "Always"
    # What is no sidecar has ended, or nobody resizes it: what it was given does not count.
    return _amounts(container, resized if is_sidecar else {}), is_sidecar


def _amounts(container: Container, resized: Mapping[str, _Pairs]) -> _Pairs:
    known = resized.get(container.name) if resized else None
    return _thousandths(container.resources.requests) if known is None else known


def _pod_level(pod: Pod, requests: Mapping[str, str]) -> _Pairs:
    """Return what a pod asks for as a whole, which counts instead of what its containers do."""
    status = pod.status
    wanted = {
        name: text
        for name, text in requests.items()
        if name in {"cpu", "memory"} or name.startswith("hugepages-")
    }
    if not wanted or status.resources is None:
        return _thousandths(wanted)
    actual, given = status.resources.requests, status.allocated_resources
    counts = dict(_effective(wanted, actual, given, infeasible=_resize_is_infeasible(pod)))
    return tuple((name, counts.get(name, 0)) for name in wanted)


def _resized(pod: Pod) -> Mapping[str, _Pairs]:
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
            desired.get(name, {}),
            one.resources.requests,
            one.allocated_resources,
            infeasible=infeasible,
        )
        for name, one in told.items()
        if one.resources is not None
    }


def _effective(
    desired: Mapping[str, str],
    actual: Mapping[str, str],
    given: Mapping[str, str] | None,
    *,
    infeasible: bool,
) -> _Pairs:
    """Return what counts while something is resized: of each resource the largest amount."""
    lists = [actual, given or {}] if infeasible else [desired, actual, given or {}]
    return tuple(_largest(dict(_thousandths(one)) for one in lists).items())


def _thousandths(quantities: Mapping[str, str]) -> _Pairs:
    return tuple([(name, parse_thousandths(text)) for name, text in quantities.items()])


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
