"""Quantities that were written as JSON numbers, such as ``cpu: 1``, become text as on a real server."""

from __future__ import annotations

import math
from typing import Any, Final

from moorage.model.quantities import write_number

__all__ = ["write_numbers"]

_AMOUNTS: Final = frozenset(
    {"allocatable", "allocatedResources", "capacity", "limits", "overhead", "requests"}
)
_OF_PODS: Final = _AMOUNTS | {"divisor", "sizeLimit"}
_QUANTITIES: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(
        (
            "CronJob",
            "DaemonSet",
            "Deployment",
            "Job",
            "Pod",
            "PodTemplate",
            "ReplicaSet",
            "ReplicationController",
            "StatefulSet",
        ),
        _OF_PODS,
    ),
    **dict.fromkeys(
        (
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "ResourceClaim",
            "ResourceClaimTemplate",
        ),
        _AMOUNTS,
    ),
    "CSIStorageCapacity": frozenset({"capacity", "maximumVolumeSize"}),
    "LimitRange": frozenset({"default", "defaultRequest", "max", "maxLimitRequestRatio", "min"}),
    "ResourceQuota": frozenset({"hard", "used"}),
    "ResourceSlice": frozenset({"default", "max", "min", "step", "validValues", "value"}),
}
"""By kind, the fields that hold a quantity, a list or a map of quantities. Kinds that have none,
or whose fields of these names hold numbers (``allocatable.count`` of a CSINode), are left out."""


def write_numbers(item: dict[str, Any]) -> None:
    """Turn the numbers that stand for quantities in an object into canonical text, in place.

    Quantities that are text already stay as they were written; values of other types too, for the
    checks that come after this.
    """
    names = _QUANTITIES.get(str(item.get("kind")))
    if names is not None:
        for part in ("spec", "status", "template"):
            _write_below(item.get(part), names)
        for name in names & item.keys():
            item[name] = _written(item[name])


def _write_below(value: object, names: frozenset[str]) -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in names:
                value[name] = _written(inner)
            _write_below(inner, names)
    elif isinstance(value, list):
        for inner in value:
            _write_below(inner, names)


def _written(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a number as text; write the numbers directly in a list or map as text, in place."""
    if isinstance(value, dict):
        value.update({name: _as_text(inner) for name, inner in value.items()})
    elif isinstance(value, list):
        value[:] = [_as_text(inner) for inner in value]
    return _as_text(value)


def _as_text(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return value
    return write_number(value)
