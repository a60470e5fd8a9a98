"""Rules of affinity, label selectors and topology spread constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.embedded.rules.names import (
    check_label_value,
    check_labels,
    check_qualified,
    check_supported,
    invalid_value,
    required,
)
from moorage.embedded.status import Cause

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["check_affinity", "check_label_selector", "check_spread"]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_LARGEST_WEIGHT = 100


def check_affinity(field: str, affinity: dict[str, Any]) -> list[Cause]:
    """Return what is wrong with a pod's affinity."""
    causes = _check_node_affinity(f"{field}.nodeAffinity", affinity.get("nodeAffinity") or {})
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        for index, term in enumerate(terms.get(_REQUIRED) or ()):
            causes += _check_pod_term(f"{field}.{kind}.{_REQUIRED}[{index}]", term)
        for index, weighted in enumerate(terms.get(_PREFERRED) or ()):
            where = f"{field}.{kind}.{_PREFERRED}[{index}]"
            causes += _check_weight(where, weighted)
            causes += _check_pod_term(
                f"{where}.podAffinityTerm", weighted.get("podAffinityTerm") or {}
            )
    return causes


def _check_node_affinity(field: str, affinity: dict[str, Any]) -> list[Cause]:
    causes: list[Cause] = []
    required_terms = affinity.get(_REQUIRED)
    if required_terms is not None:
        where = f"{field}.{_REQUIRED}.nodeSelectorTerms"
        terms = required_terms.get("nodeSelectorTerms") or ()
        if not terms:
            causes.append(required(where, "must have at least one node selector term"))
        for index, term in enumerate(terms):
            causes += _check_node_term(f"{where}[{index}]", term)
    for index, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        where = f"{field}.{_PREFERRED}[{index}]"
        causes += _check_weight(where, weighted)
        causes += _check_node_term(f"{where}.preference", weighted.get("preference") or {})
    return causes


def _check_weight(field: str, weighted: dict[str, Any]) -> list[Cause]:
    weight = weighted.get("weight") or 0
    if 1 <= weight <= _LARGEST_WEIGHT:
        return []
    return [invalid_value(f"{field}.weight", weight, "must be in the range 1-100")]


def _check_node_term(field: str, term: dict[str, Any]) -> list[Cause]:
    causes: list[Cause] = []
    for kind in ("matchExpressions", "matchFields"):
        for index, needed in enumerate(term.get(kind) or ()):
            where = f"{field}.{kind}[{index}]"
            causes += _check_node_requirement(where, needed, fields=kind == "matchFields")
    return causes


def _check_node_requirement(field: str, needed: dict[str, Any], *, fields: bool) -> list[Cause]:
    operator, values = needed.get("operator"), needed.get("values") or []
    known = ("In", "NotIn") if fields else ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
    if operator not in known:
        return [invalid_value(f"{field}.operator", operator or "", "not a valid selector operator")]
    if fields:
        causes = (
            []
            if len(values) == 1
            else [
                required(
                    f"{field}.values",
                    "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
                )
            ]
        )
        if needed.get("key") != "metadata.name":
            why = "not a valid field selector key"
            causes.append(invalid_value(f"{field}.key", needed.get("key") or "", why))
        return causes
    causes = _check_values(field, operator, values)
    if operator in {"Gt", "Lt"} and len(values) != 1:
        why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        causes.append(required(f"{field}.values", why))
    return causes + check_qualified(f"{field}.key", needed.get("key") or "")


def _check_values(field: str, operator: str | None, values: list[str]) -> list[Cause]:
    if operator in {"In", "NotIn"} and not values:
        why = "must be specified when `operator` is 'In' or 'NotIn'"
        return [required(f"{field}.values", why)]
    if operator in {"Exists", "DoesNotExist"} and values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [Cause("FieldValueForbidden", f"Forbidden: {why}", f"{field}.values")]
    return []


def _check_pod_term(field: str, term: dict[str, Any]) -> list[Cause]:
    causes = check_label_selector(f"{field}.labelSelector", term.get("labelSelector") or {})
    causes += check_label_selector(
        f"{field}.namespaceSelector", term.get("namespaceSelector") or {}
    )
    if not term.get("topologyKey"):
        return [*causes, required(f"{field}.topologyKey", "can not be empty")]
    return causes + check_qualified(f"{field}.topologyKey", term["topologyKey"])


def check_label_selector(field: str, selector: dict[str, Any]) -> list[Cause]:
    """Return what is wrong with a label selector that stands at `field`."""
    causes = check_labels(f"{field}.matchLabels", selector.get("matchLabels") or {})
    for index, needed in enumerate(selector.get("matchExpressions") or ()):
        where, operator = f"{field}.matchExpressions[{index}]", needed.get("operator")
        if operator not in {"In", "NotIn", "Exists", "DoesNotExist"}:
            why = "not a valid selector operator"
            causes.append(invalid_value(f"{where}.operator", operator or "", why))
            continue
        causes += _check_values(where, operator, needed.get("values") or [])
        causes += check_qualified(f"{where}.key", needed.get("key") or "")
        for position, value in enumerate(needed.get("values") or ()):
            causes += check_label_value(f"{where}.values[{position}]", value)
    return causes


def check_spread(field: str, constraints: Iterable[dict[str, Any]]) -> list[Cause]:
    """Return what is wrong with a pod's topology spread constraints."""
    causes: list[Cause] = []
    for index, constraint in enumerate(constraints):
        where = f"{field}[{index}]"
        skew = constraint.get("maxSkew") or 0
        if skew <= 0:
            causes.append(invalid_value(f"{where}.maxSkew", skew, "must be greater than zero"))
        if not constraint.get("topologyKey"):
            causes.append(required(f"{where}.topologyKey", "can not be empty"))
        causes += check_supported(
            f"{where}.whenUnsatisfiable",
            constraint.get("whenUnsatisfiable") or "",
            ("DoNotSchedule", "ScheduleAnyway"),
        )
        causes += check_label_selector(
            f"{where}.labelSelector", constraint.get("labelSelector") or {}
        )
    return causes
