"""What the devices of a claim must have in common, or must not."""

from __future__ import annotations

from collections import Counter
from typing import Any

from moorage.model.devices import DeviceConstraint, ResourceClaim
from moorage_builtin.dynamic_resources.pools import DeviceKind

__all__ = ["Constraint", "constraints_of"]


class Constraint:
    """Counts the values of one attribute among the devices that were picked.

    `same`: there may be only one value; otherwise each only once. A device without the attribute
    cannot be picked.
    """

    def __init__(self, attribute: str, requests: tuple[str, ...], *, same: bool) -> None:
        self._attribute = attribute
        self._requests = frozenset(requests)
        self._same = same
        self._values: Counter[Any] = Counter()

    def add(self, request: str, kind: DeviceKind) -> bool:
        """Pick a device for a request (``parent/name`` of an alternative), if that is allowed."""
        if not self._concerns(request):
            return True
        value = kind.attribute(self._attribute)
        if value is None:
            return False
        if value in self._values if not self._same else self._values.keys() - {value}:
            return False
        self._values[value] += 1
        return True

    def remove(self, request: str, kind: DeviceKind) -> None:
        """Put back a device that was picked."""
        if self._concerns(request):
            value = kind.attribute(self._attribute)
            self._values[value] -= 1
            if not self._values[value]:
                del self._values[value]

    def _concerns(self, request: str) -> bool:
        names = self._requests
        return not names or request in names or request.partition("/")[0] in names


def constraints_of(claim: ResourceClaim) -> list[Constraint]:
    """Return the constraints of a claim, with nothing picked; ValueError for one of unknown type."""
    return [
        _constraint_of(one, f"claim {claim.key}, constraint #{index}")
        for index, one in enumerate(claim.spec.devices.constraints)
    ]


def _constraint_of(one: DeviceConstraint, where: str) -> Constraint:
    if one.match_attribute is not None:
        return Constraint(one.match_attribute, one.requests, same=True)
    if one.distinct_attribute is not None:
        return Constraint(one.distinct_attribute, one.requests, same=False)
    raise ValueError(f"{where}: empty constraint (unsupported constraint type?)")
