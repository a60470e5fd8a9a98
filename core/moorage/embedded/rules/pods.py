"""The rules that a pod's spec has to keep, with the sentences of a real API server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.embedded.rules.affinity import check_affinity, check_spread
from moorage.embedded.rules.amounts import check_amounts, check_demand
from moorage.embedded.rules.names import (
    check_labels,
    check_name,
    check_qualified,
    check_supported,
    invalid_value,
    required,
)
from moorage.embedded.status import Cause

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["check_pod", "check_pod_spec", "duplicates"]

_LARGEST_PORT = 65535
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def check_pod(pod: dict[str, Any]) -> list[Cause]:
    """Return what is wrong with a pod whose defaults are filled in and whose types are right."""
    return check_pod_spec(pod["spec"], "spec")


def check_pod_spec(spec: dict[str, Any], field: str) -> list[Cause]:
    """Return what is wrong with a pod's spec that stands at `field` of its object."""
    causes = _check_containers(spec, field)
    causes += check_supported(f"{field}.restartPolicy", spec["restartPolicy"], _RESTART_POLICIES)
    causes += check_supported(
        f"{field}.dnsPolicy",
        spec["dnsPolicy"],
        ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
    )
    if spec["terminationGracePeriodSeconds"] < 0:
        causes.append(
            invalid_value(
                f"{field}.terminationGracePeriodSeconds",
                spec["terminationGracePeriodSeconds"],
                "must be greater than or equal to 0",
            )
        )
    if spec.get("preemptionPolicy") is not None:
        causes += check_supported(
            f"{field}.preemptionPolicy",
            spec["preemptionPolicy"],
            ("Never", "PreemptLowerPriority"),
        )
    if spec.get("nodeName"):
        causes += check_name(f"{field}.nodeName", spec["nodeName"])
    causes += check_labels(f"{field}.nodeSelector", spec.get("nodeSelector") or {})
    causes += _check_tolerations(f"{field}.tolerations", spec.get("tolerations") or ())
    causes += check_affinity(f"{field}.affinity", spec.get("affinity") or {})
    causes += check_spread(
        f"{field}.topologySpreadConstraints", spec.get("topologySpreadConstraints") or ()
    )
    causes += _check_gates(spec, field)
    causes += check_amounts(f"{field}.overhead", spec.get("overhead") or {})
    return causes + check_demand(f"{field}.resources", spec.get("resources"))


def _check_containers(spec: dict[str, Any], field: str) -> list[Cause]:
    if not spec.get("containers"):
        return [required(f"{field}.containers")]
    volumes = {volume.get("name") for volume in spec.get("volumes") or ()}
    causes = [
        cause
        for index, volume in enumerate(spec.get("volumes") or ())
        for cause in _check_named(f"{field}.volumes[{index}].name", volume.get("name"))
    ]
    causes += duplicates(f"{field}.volumes", spec.get("volumes") or (), "name")
    seen: set[str] = set()
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(kind) or ()):
            where = f"{field}.{kind}[{index}]"
            causes += _check_container(where, container, volumes)
            name = container.get("name")
            if name in seen:
                causes.append(_duplicate(f"{where}.name", name))
            seen.add(name)
    return causes


def _check_container(field: str, container: dict[str, Any], volumes: set[Any]) -> list[Cause]:
    causes = _check_named(f"{field}.name", container.get("name"))
    if not container.get("image"):
        causes.append(required(f"{field}.image"))
    for index, port in enumerate(container.get("ports") or ()):
        causes += _check_port(f"{field}.ports[{index}]", port)
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        if mount.get("name") not in volumes:
            message = f'Not found: "{mount.get("name")}"'
            where = f"{field}.volumeMounts[{index}].name"
            causes.append(Cause("FieldValueNotFound", message, where))
    if container.get("restartPolicy"):
        causes += check_supported(
            f"{field}.restartPolicy", container["restartPolicy"], _RESTART_POLICIES
        )
    return causes + check_demand(f"{field}.resources", container.get("resources"))


def _check_named(field: str, name: str | None) -> list[Cause]:
    return check_name(field, name, "label") if name else [required(field)]


def _check_port(field: str, port: dict[str, Any]) -> list[Cause]:
    causes: list[Cause] = []
    if not port.get("containerPort"):
        causes.append(required(f"{field}.containerPort"))
    for name in ("containerPort", "hostPort"):
        number = port.get(name)
        if number and not 0 < number <= _LARGEST_PORT:
            causes.append(
                invalid_value(f"{field}.{name}", number, "must be between 1 and 65535, inclusive")
            )
    return causes + check_supported(f"{field}.protocol", port.get("protocol"), _PROTOCOLS)


def _check_tolerations(field: str, tolerations: Iterable[dict[str, Any]]) -> list[Cause]:
    causes: list[Cause] = []
    for index, toleration in enumerate(tolerations):
        where, operator = f"{field}[{index}]", toleration.get("operator") or "Equal"
        if toleration.get("key"):
            causes += check_qualified(f"{where}.key", toleration["key"])
        elif operator != "Exists":
            why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            causes.append(invalid_value(f"{where}.operator", operator, why))
        if operator == "Exists" and toleration.get("value"):
            why = "value must be empty when `operator` is 'Exists'"
            causes.append(invalid_value(f"{where}.operator", toleration["value"], why))
        causes += check_supported(f"{where}.operator", operator, ("Equal", "Exists", "Lt", "Gt"))
        if toleration.get("effect"):
            causes += check_supported(f"{where}.effect", toleration["effect"], _EFFECTS)
        if (
            toleration.get("tolerationSeconds") is not None
            and toleration.get("effect") != "NoExecute"
        ):
            why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            causes.append(invalid_value(f"{where}.effect", toleration.get("effect", ""), why))
    return causes


def _check_gates(spec: dict[str, Any], field: str) -> list[Cause]:
    gates = spec.get("schedulingGates") or ()
    causes = [
        cause
        for index, gate in enumerate(gates)
        for cause in check_qualified(f"{field}.schedulingGates[{index}]", gate.get("name") or "")
    ]
    causes += duplicates(f"{field}.schedulingGates", gates, "name")
    if gates and spec.get("nodeName"):
        message = "Forbidden: cannot be set until all schedulingGates have been cleared"
        causes.append(Cause("FieldValueForbidden", message, f"{field}.nodeName"))
    return causes


def duplicates(field: str, items: Iterable[dict[str, Any]], name: str) -> list[Cause]:
    """Return a cause for each item whose value of `name` an earlier one has."""
    seen: set[Any] = set()
    causes = []
    for index, item in enumerate(items):
        if item.get(name) in seen:
            causes.append(_duplicate(f"{field}[{index}].{name}", item.get(name)))
        seen.add(item.get(name))
    return causes


def _duplicate(field: str, value: object) -> Cause:
    return Cause("FieldValueDuplicate", f'Duplicate value: "{value}"', field)
