"""The node-level built-in plugins as one would explain them: one pod, one node, plain integers.

Slow and obvious, and nothing else: what the array forms must equal. The rules are kube-scheduler
1.36's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from tests.cache.plain_cluster import PlainRow

from moorage import Verdict
from moorage.model import (
    Container,
    Node,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    Taint,
    Toleration,
    parse_quantity,
)
from moorage.model import NodeAffinity as NodeAffinityRecord
from moorage.model.pods import ContainerStatus, PodStatus, ResourceRequirements

# Requests


def amount(quantities: Mapping[str, str], resource: str) -> Fraction:
    """Read one quantity of a ResourceList, to a thousandth of its unit."""
    return Fraction(math.ceil(parse_quantity(quantities.get(resource, "0")) * 1000), 1000)


def request(pod: Pod, resource: str) -> int:
    """Return what a pod counts for on its node."""
    return _total(pod, resource, default=0, pod_level=True)


def request_with_default(pod: Pod, resource: str) -> int:
    """Return what a pod on a node counts for in scoring: containers without a request have one."""
    default = {"cpu": 100, "memory": 200 * 1024 * 1024}.get(resource, 0)
    if _has_pod_level(pod) and _is_mentioned(pod, resource):
        default = 0
    return _total(pod, resource, default=default, pod_level=True)


def request_to_place(pod: Pod, resource: str) -> int:
    """Return what a pod that is to be placed counts for in scoring: its containers' requests."""
    default = {"cpu": 100, "memory": 200 * 1024 * 1024}.get(resource, 0)
    return _total(pod, resource, default=default, pod_level=False)


def _total(pod: Pod, resource: str, *, default: int, pod_level: bool) -> int:
    milli = resource == "cpu"
    total = _run(pod, resource, Fraction(default, 1000) if milli else Fraction(default))
    if pod_level and _has_pod_level(pod) and _may_be_pod_level(resource):
        assert pod.spec.resources is not None
        if resource in pod.spec.resources.requests:
            lists = _lists(pod, pod.spec.resources, pod.status)
            total = max(amount(quantities, resource) for quantities in lists)
    total += amount(pod.spec.overhead, resource)
    return min(math.ceil(total * 1000 if milli else total), 2**63 - 1)


def _run(pod: Pod, resource: str, default: Fraction) -> Fraction:
    """Follow a pod's life: the most that runs at once."""

    def needs(container: Container) -> Fraction:
        lists = _lists_of(pod, container)
        return max((amount(one, resource) for one in lists if resource in one), default=default)

    sidecars = highest = Fraction(0)
    for init in pod.spec.init_containers:
        if init.restart_policy == "Always":
            sidecars += needs(init)
            highest = max(highest, sidecars)
        else:
            highest = max(highest, sidecars + needs(init))
    return max(highest, sidecars + sum(map(needs, pod.spec.containers)))


def _lists_of(pod: Pod, container: Container) -> list[Mapping[str, str]]:
    """Return the same as `_lists` of a container; one that is to end is never resized."""
    if container in pod.spec.init_containers and container.restart_policy != "Always":
        return [container.resources.requests]
    statuses = {one.name: one for one in pod.status.container_statuses}
    statuses |= {one.name: one for one in pod.status.init_container_statuses}
    return _lists(pod, container.resources, statuses.get(container.name))


def _lists(
    pod: Pod, desired: ResourceRequirements, status: ContainerStatus | PodStatus | None
) -> list[Mapping[str, str]]:
    """Return the lists of which, for each resource, the largest amount counts."""
    if status is None or status.resources is None:
        return [desired.requests]
    resized: list[Mapping[str, str]] = [
        status.resources.requests,
        status.allocated_resources or {},
    ]
    return resized if _is_infeasible(pod) else [desired.requests, *resized]


def _is_infeasible(pod: Pod) -> bool:
    return any(
        condition.type == "PodResizePending" and condition.reason == "Infeasible"
        for condition in pod.status.conditions
    )


def _may_be_pod_level(resource: str) -> bool:
    return resource in {"cpu", "memory"} or resource.startswith("hugepages-")


def _has_pod_level(pod: Pod) -> bool:
    resources = pod.spec.resources
    return resources is not None and any(map(_may_be_pod_level, resources.requests))


def _is_mentioned(pod: Pod, resource: str) -> bool:
    """Say whether anything that counts names a resource, if only to ask for 0 of it."""
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    in_containers = any(resource in known for one in containers for known in _lists_of(pod, one))
    at_pod_level = (
        _may_be_pod_level(resource)
        and pod.spec.resources is not None
        and resource in pod.spec.resources.requests
    )
    return in_containers or at_pod_level or resource in pod.spec.overhead


# Filters: the refusal of a node, None where it passes


def node_unschedulable(pod: Pod, row: PlainRow) -> Verdict | None:
    """Refuse cordoned nodes."""
    cordon = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
    if row.node.spec.unschedulable and not _is_tolerated(cordon, pod.spec.tolerations):
        return Verdict.unresolvable("node(s) were unschedulable")
    return None


def node_name(pod: Pod, row: PlainRow) -> Verdict | None:
    """Refuse all nodes but the named one."""
    if pod.spec.node_name and pod.spec.node_name != row.node.metadata.name:
        return Verdict.unresolvable("node(s) didn't match the requested node name")
    return None


def taint_toleration(pod: Pod, row: PlainRow) -> Verdict | None:
    """Refuse nodes with a taint that is not tolerated."""
    for taint in row.node.spec.taints:
        keeps_out = taint.effect in {"NoSchedule", "NoExecute"}
        if keeps_out and not _is_tolerated(taint, pod.spec.tolerations):
            return Verdict.unresolvable("node(s) had untolerated taint(s)")
    return None


def _is_tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    for one in tolerations:
        effect_fits = one.effect in {"", taint.effect}
        key_fits = one.key in {"", taint.key}
        value_fits = one.operator == "Exists" or (
            one.operator in {"", "Equal"} and one.value == taint.value
        )
        if effect_fits and key_fits and value_fits:
            return True
    return False


def node_affinity(
    pod: Pod, row: PlainRow, added: NodeAffinityRecord | None = None
) -> Verdict | None:
    """Refuse nodes that the configuration's or the pod's own affinity does not match."""
    if not _meets(added, row.node):
        return Verdict.unresolvable("node(s) didn't match scheduler-enforced node affinity")
    own = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    labels = row.node.metadata.labels
    selected = all(labels.get(key) == value for key, value in pod.spec.node_selector.items())
    if not selected or not _meets(own, row.node):
        return Verdict.unresolvable("node(s) didn't match Pod's node affinity/selector")
    return None


def _meets(affinity: NodeAffinityRecord | None, node: Node) -> bool:
    if affinity is None:
        return True
    required = affinity.required_during_scheduling_ignored_during_execution
    return required is None or any(matches(one, node) for one in required.node_selector_terms)


def matches(term: NodeSelectorTerm, node: Node) -> bool:
    """Say whether a term selects a node."""
    if not term.match_expressions and not term.match_fields:
        return False
    return all(
        _holds(needed, node.metadata.labels.get(needed.key)) for needed in term.match_expressions
    ) and all(_holds(needed, node.metadata.name) for needed in term.match_fields)


def _holds(needed: NodeSelectorRequirement, value: str | None) -> bool:
    if needed.operator in {"In", "NotIn"}:
        return (value in needed.values) == (needed.operator == "In")
    if needed.operator in {"Exists", "DoesNotExist"}:
        return (value is not None) == (needed.operator == "Exists")
    if value is None:
        return False
    try:
        number, bound = int(value), int(needed.values[0])
    except ValueError:
        return False
    return number > bound if needed.operator == "Gt" else number < bound


def node_declared_features(pod: Pod, row: PlainRow) -> Verdict | None:
    """Refuse nodes whose kubelet lacks what the pod needs."""
    declared = row.node.status.declared_features
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    restarts = any(
        rule.action == "RestartAllContainers"
        for container in containers
        for rule in container.restart_policy_rules
    )
    lacks_restarts = restarts and "RestartAllContainersOnContainerExits" not in declared
    in_own_namespace = pod.spec.host_network and pod.spec.host_users is False
    lacks_users = in_own_namespace and "UserNamespacesHostNetworkSupport" not in declared
    if lacks_restarts or lacks_users:
        return Verdict.unresolvable("node(s) didn't match Pod's required features")
    return None


def node_resources_fit(
    pod: Pod, row: PlainRow, *, ignored: Sequence[str] = (), groups: Sequence[str] = ()
) -> Verdict | None:
    """Refuse nodes with too little left; reasons in any order."""
    reasons = []
    never = False
    if len(row.pods) + 1 > row.allocatable("pods"):
        reasons.append("Too many pods")
    for resource in resources_of(pod):
        extended = "/" in resource and "kubernetes.io/" not in resource
        if extended and (resource in ignored or resource.split("/")[0] in groups):
            continue
        wanted = request(pod, resource)
        used = sum(request(info.pod, resource) for info in row.pods.values())
        if wanted > 0 and wanted > row.allocatable(resource) - used:
            reasons.append(f"Insufficient {resource}")
            never = never or wanted > row.allocatable(resource)
    if not reasons:
        return None
    return Verdict.unresolvable(*reasons) if never else Verdict.unschedulable(*reasons)


def resources_of(pod: Pod) -> list[str]:
    """List every resource that a pod names anywhere."""
    lists: list[Mapping[str, str]] = [pod.spec.overhead]
    if pod.spec.resources is not None:
        lists.append(pod.spec.resources.requests)
    lists += [one.resources.requests for one in (*pod.spec.containers, *pod.spec.init_containers)]
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        lists.append(status.allocated_resources or {})
        lists.append(status.resources.requests if status.resources is not None else {})
    lists.append(pod.status.allocated_resources or {})
    lists.append(pod.status.resources.requests if pod.status.resources is not None else {})
    return sorted({name for quantities in lists for name in quantities})


# Scores, before they are normalised


def taint_score(pod: Pod, row: PlainRow) -> int:
    """Count the taints that would rather keep the pod away."""
    able = [one for one in pod.spec.tolerations if one.effect in {"", "PreferNoSchedule"}]
    return sum(
        taint.effect == "PreferNoSchedule" and not _is_tolerated(taint, able)
        for taint in row.node.spec.taints
    )


def affinity_score(pod: Pod, row: PlainRow, added: NodeAffinityRecord | None = None) -> int:
    """Sum the weights of the preferences that match."""
    own = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    return sum(
        preferred.weight
        for affinity in (own, added)
        if affinity is not None
        for preferred in affinity.preferred_during_scheduling_ignored_during_execution
        if matches(preferred.preference, row.node)
    )


def image_score(pod: Pod, row: PlainRow, sizes: Mapping[str, int], nodes: Sequence[Node]) -> int:
    """Score the bytes that need not be pulled; `sizes` are the bytes of images by name."""
    images = [one.image for one in (*pod.spec.init_containers, *pod.spec.containers)]
    images += [volume.image.reference for volume in pod.spec.volumes if volume.image is not None]
    there = 0
    for image in images:
        name = image if ":" in image.rsplit("/", 1)[-1] else f"{image}:latest"
        if row.has_image(name):
            holders = sum(PlainRow(node, ()).has_image(name) for node in nodes)
            there += int(float(sizes[name]) * (float(holders) / float(len(nodes))))
    lowest, highest = 23 * 1024 * 1024, 1000 * 1024 * 1024 * len(images)
    there = min(max(there, lowest), highest)
    return 100 * (there - lowest) // (highest - lowest)


def fit_score(
    pod: Pod,
    row: PlainRow,
    weights: Mapping[str, int],
    rate: Callable[[int, int], int],
    *,
    rounds: bool = False,
) -> int:
    """Return the weighted mean of a rating of (requested, allocatable) by resource.

    With `rounds` a rating of 0 does not count, and the mean is rounded instead of cut.
    """
    total = weight_sum = 0
    for resource, weight in weights.items():
        own = request_to_place(pod, resource)
        if (own == 0 and resource not in _NATIVE) or row.allocatable(resource) == 0:
            continue
        used = [info.pod for info in row.pods.values()]
        requested = own + sum(
            request_with_default(other, resource)
            if resource in {"cpu", "memory"}
            else request(other, resource)
            for other in used
        )
        rating = rate(requested, row.allocatable(resource))
        if rating or not rounds:
            total += rating * weight
            weight_sum += weight
    if not weight_sum:
        return 0
    return math.floor(total / weight_sum + 0.5) if rounds else total // weight_sum


_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage"})


def least(requested: int, capacity: int) -> int:
    """Rate what is free."""
    return 0 if requested > capacity else (capacity - requested) * 100 // capacity


def most(requested: int, capacity: int) -> int:
    """Rate what is taken."""
    return min(requested, capacity) * 100 // capacity


def by_shape(points: Sequence[tuple[int, int]]) -> Callable[[int, int], int]:
    """Rate by a broken line through (percent, score of 0 to 10)."""

    def rate(requested: int, capacity: int) -> int:
        percent = 100 if requested > capacity else requested * 100 // capacity
        for index, (x, y) in enumerate(points):
            if percent <= x:
                if index == 0:
                    return y * 10
                x0, y0 = points[index - 1]
                return y0 * 10 + math.trunc((y - y0) * 10 * (percent - x0) / (x - x0))
        return points[-1][1] * 10

    return rate


def balance_score(pod: Pod, row: PlainRow, resources: Sequence[str]) -> int | None:
    """Score how the pod changes the balance of a node; None where it asks for none of them."""
    own = {resource: request(pod, resource) for resource in resources}
    if not any(own.values()):
        return None
    with_pod, without = [], []
    for resource in resources:
        capacity = row.allocatable(resource)
        if capacity == 0 or (own[resource] == 0 and resource not in _NATIVE):
            continue
        used = sum(request(info.pod, resource) for info in row.pods.values())
        with_pod.append(min((used + own[resource]) / capacity, 1.0))
        without.append(min(used / capacity, 1.0))
    return (75 * 2 + _balance(with_pod) - _balance(without)) // 2


def _balance(fractions: Sequence[float]) -> int:
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        mean = _sum(fractions) / len(fractions)
        squares = _sum([(one - mean) * (one - mean) for one in fractions])
        deviation = math.sqrt(squares / len(fractions))
    else:
        deviation = 0.0
    return int((1 - deviation) * 100)


def _sum(numbers: Sequence[float]) -> float:
    """Add in order: Python 3.12 sums floats more exactly than Go does."""
    total = 0.0
    for number in numbers:
        total += number
    return total


# Normalising


def share_of_highest(scores: Sequence[int], *, reverse: bool = False) -> list[int]:
    """Give 100 to the highest score, or 0 with `reverse`."""
    highest = max(scores, default=0)
    scaled = [score * 100 // highest if highest else 0 for score in scores]
    return [100 - score for score in scaled] if reverse else scaled
