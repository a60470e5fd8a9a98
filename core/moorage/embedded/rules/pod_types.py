"""The JSON types of a pod's fields, as far as scheduling and its defaults read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from moorage.embedded.status import bad_request
from moorage.model.quantities import InvalidQuantityError, parse_milli

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "ConditionTypes",
    "LabelSelectorTypes",
    "Quantity",
    "SpecTypes",
    "Types",
    "check_pod_types",
    "check_quantity",
    "check_quantity_types",
    "check_types",
    "quantities_of",
]

Quantity = str | int | float
QUANTITY_RULE = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


class Types(msgspec.Struct, rename="camel"):
    """Fields are optional and may be null, as in the API; fields not listed may have any type."""


class ResourcesTypes(Types):
    """Requests and limits."""

    requests: dict[str, Quantity] | None = None
    limits: dict[str, Quantity] | None = None
    claims: list[dict[str, str]] | None = None


class PortTypes(Types):
    """A container's port."""

    container_port: int | None = None
    host_port: int | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")
    protocol: str | None = None
    name: str | None = None


class ContainerTypes(Types):
    """A container of any kind."""

    name: str | None = None
    image: str | None = None
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[dict[str, Any]] | None = None
    ports: list[PortTypes] | None = None
    resources: ResourcesTypes | None = None
    restart_policy: str | None = None
    volume_mounts: list[dict[str, Any]] | None = None


class TolerationTypes(Types):
    """A toleration."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: int | None = None


class RequirementTypes(Types):
    """A requirement of a selector."""

    key: str | None = None
    operator: str | None = None
    values: list[str] | None = None


class LabelSelectorTypes(Types):
    """A label selector."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[RequirementTypes] | None = None


class NodeTermTypes(Types):
    """A node selector's term."""

    match_expressions: list[RequirementTypes] | None = None
    match_fields: list[RequirementTypes] | None = None


class PreferredNodeTypes(Types):
    """A preferred node selector's term."""

    weight: int | None = None
    preference: NodeTermTypes | None = None


class NodeSelectorTypes(Types):
    """A required node selector."""

    node_selector_terms: list[NodeTermTypes] | None = None


class NodeAffinityTypes(Types):
    """Affinity to nodes."""

    required: NodeSelectorTypes | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: list[PreferredNodeTypes] | None = msgspec.field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodTermTypes(Types):
    """A term of affinity to pods."""

    label_selector: LabelSelectorTypes | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelectorTypes | None = None
    topology_key: str | None = None


class PreferredPodTypes(Types):
    """A preferred term of affinity to pods."""

    weight: int | None = None
    pod_affinity_term: PodTermTypes | None = None


class PodAffinityTypes(Types):
    """Affinity or anti-affinity to pods."""

    required: list[PodTermTypes] | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: list[PreferredPodTypes] | None = msgspec.field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class AffinityTypes(Types):
    """Affinity of all three kinds."""

    node_affinity: NodeAffinityTypes | None = None
    pod_affinity: PodAffinityTypes | None = None
    pod_anti_affinity: PodAffinityTypes | None = None


class SpreadTypes(Types):
    """A topology spread constraint."""

    max_skew: int | None = None
    topology_key: str | None = None
    when_unsatisfiable: str | None = None
    label_selector: LabelSelectorTypes | None = None
    min_domains: int | None = None


class NamedTypes(Types):
    """Anything that has a name."""

    name: str | None = None


class SpecTypes(Types):
    """A pod's spec."""

    containers: list[ContainerTypes] | None = None
    init_containers: list[ContainerTypes] | None = None
    ephemeral_containers: list[ContainerTypes] | None = None
    restart_policy: str | None = None
    dns_policy: str | None = None
    node_name: str | None = None
    node_selector: dict[str, str] | None = None
    scheduler_name: str | None = None
    host_network: bool | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    overhead: dict[str, Quantity] | None = None
    resources: ResourcesTypes | None = None
    tolerations: list[TolerationTypes] | None = None
    affinity: AffinityTypes | None = None
    topology_spread_constraints: list[SpreadTypes] | None = None
    scheduling_gates: list[NamedTypes] | None = None
    volumes: list[NamedTypes] | None = None
    resource_claims: list[NamedTypes] | None = None
    image_pull_secrets: list[NamedTypes] | None = None


class ConditionTypes(Types):
    """A condition in a status."""

    type: str
    status: str
    reason: str | None = None
    message: str | None = None


class StatusTypes(Types):
    """A pod's status."""

    phase: str | None = None
    nominated_node_name: str | None = None
    conditions: list[ConditionTypes] | None = None


class PodTypes(Types):
    """A pod; its metadata is checked apart."""

    spec: SpecTypes
    status: StatusTypes | None = None


def check_pod_types(pod: dict[str, Any]) -> None:
    """Raise a 400 that names the field if one has the wrong JSON type or is no quantity."""
    pod.setdefault("spec", {})
    check_types("Pod", pod, PodTypes)
    check_quantity_types("Pod", quantities_of(pod["spec"]))


def check_types(kind: str, item: dict[str, Any], types: type[msgspec.Struct]) -> None:
    """Raise a 400 that names the field if one has another JSON type than `types` declares."""
    try:
        msgspec.convert(item, types)
    except msgspec.ValidationError as error:
        raise bad_request(
            f'{kind} in version "v1" cannot be handled as a {kind}: {str(error).replace("$.", "")}'
        ) from error


def check_quantity_types(kind: str, quantities: Iterator[tuple[str, object]]) -> None:
    """Raise a 400 for the first of (field, quantity) that is no quantity."""
    for field, quantity in quantities:
        if not check_quantity(quantity):
            raise bad_request(
                f'{kind} in version "v1" cannot be handled as a {kind}: {QUANTITY_RULE} - at '
                f"`{field}`, which is {quantity!r}"
            )


def check_quantity(quantity: object) -> bool:
    """Tell whether a JSON value can be read as a quantity."""
    try:
        parse_milli(str(quantity))
    except InvalidQuantityError:
        return False
    return True


def quantities_of(spec: dict[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield (field, quantity) for every quantity in a pod's spec."""
    for name in ("containers", "initContainers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(name) or ()):
            yield from _demands(f"spec.{name}[{index}].resources", container.get("resources"))
    yield from _demands("spec.resources", spec.get("resources"))
    for resource, quantity in (spec.get("overhead") or {}).items():
        yield f"spec.overhead[{resource}]", quantity


def _demands(field: str, resources: dict[str, Any] | None) -> Iterator[tuple[str, object]]:
    for part in ("requests", "limits"):
        for resource, quantity in ((resources or {}).get(part) or {}).items():
            yield f"{field}.{part}[{resource}]", quantity
