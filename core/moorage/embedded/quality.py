"""A pod's quality-of-service class, from what its containers request and are limited to."""

from __future__ import annotations

from typing import Any

__all__ = ["qos_class"]

_COMPUTE = ("cpu", "memory")


def qos_class(spec: dict[str, Any]) -> str:
    """Return Guaranteed, Burstable or BestEffort for a pod's spec whose defaults are filled in.

    Only CPU and memory count. Pod-level resources, where given, stand in for the containers'.
    """
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    holders = [spec] if spec.get("resources") else containers
    demands = [_demand(holder.get("resources") or {}) for holder in holders]
    if not any(requests or limits for requests, limits in demands):
        return "BestEffort"
    if all(set(limits) == set(_COMPUTE) and requests == limits for requests, limits in demands):
        return "Guaranteed"
    return "Burstable"


def _demand(resources: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    requests, limits = (
        {
            name: str(quantity)
            for name, quantity in (resources.get(part) or {}).items()
            if name in _COMPUTE and str(quantity) not in {"", "0"}
        }
        for part in ("requests", "limits")
    )
    return requests, limits
