"""Rules of requests and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.embedded.rules.names import check_qualified, invalid_value, required
from moorage.model.quantities import parse_milli

if TYPE_CHECKING:
    from moorage.embedded.status import Cause

__all__ = ["check_amounts", "check_demand", "overcommits"]

_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})
_MILLI = 1000


def overcommits(resource: str) -> bool:
    """Tell whether requests of a resource may be lower than its limits: only the standard ones."""
    return resource in _STANDARD


def check_amounts(field: str, amounts: dict[str, Any]) -> list[Cause]:
    """Check resource names and quantities: not negative, whole where only whole ones make sense."""
    causes: list[Cause] = []
    for resource, quantity in amounts.items():
        where = f"{field}[{resource}]"
        milli = parse_milli(str(quantity))
        if milli < 0:
            causes.append(invalid_value(where, str(quantity), "must be greater than or equal to 0"))
        elif "/" in resource and milli % _MILLI:
            causes.append(invalid_value(where, str(quantity), "must be an integer"))
        causes += check_qualified(where, resource)
    return causes


def check_demand(field: str, resources: dict[str, Any] | None) -> list[Cause]:
    """Check a container's resources: names, amounts, and requests against limits."""
    resources = resources or {}
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    causes = [
        *check_amounts(f"{field}.limits", limits),
        *check_amounts(f"{field}.requests", requests),
    ]
    for resource in {**limits, **requests}:
        if not (resource in _STANDARD or "/" in resource or resource.startswith("hugepages-")):
            where = f"{field}.{'requests' if resource in requests else 'limits'}[{resource}]"
            why = "must be a standard resource for containers"
            causes += [invalid_value(where, resource, why)]
    for resource, request in requests.items():
        causes += _check_pair(field, resource, request, limits.get(resource))
    return causes


def _check_pair(field: str, resource: str, request: object, limit: object) -> list[Cause]:
    if limit is None:
        if overcommits(resource):
            return []
        where = f"{field}.limits"
        return [required(where, "Limit must be set for non overcommitable resources")]
    asked, most = parse_milli(str(request)), parse_milli(str(limit))
    if asked > most:
        why = f"must be less than or equal to {resource} limit of {limit}"
    elif asked < most and not overcommits(resource):
        why = f"must be equal to {resource} limit of {limit}"
    else:
        return []
    return [invalid_value(f"{field}.requests", str(request), why)]
