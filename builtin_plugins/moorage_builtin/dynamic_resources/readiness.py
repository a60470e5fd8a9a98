"""Whether the devices of a claim are ready to be used: conditions that their drivers report (KEP-5007)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from moorage.model.devices import DeviceCondition, DeviceResult, ResourceClaim

__all__ = ["BindingFailedError", "has_conditions", "is_overdue", "is_ready"]


class BindingFailedError(Exception):
    """A driver reports that a device will not become ready."""


def has_conditions(claim: ResourceClaim) -> bool:
    """Say whether a claim has devices that must be made ready."""
    return any(result.binding_conditions for result in claim.results)


def is_ready(claim: ResourceClaim) -> bool:
    """Say whether all devices of a claim are ready; BindingFailedError where one never will be."""
    if claim.status.allocation is None:
        return False
    # All are looked at: one that failed counts, also behind one that is merely not ready yet.
    ready = [_is_ready(claim, one) for one in claim.results if one.binding_conditions]
    return all(ready)


def is_overdue(claim: ResourceClaim, timeout: float, now: datetime) -> bool:
    """Say whether a claim has waited for its devices for longer than `timeout` seconds."""
    allocation = claim.status.allocation
    if allocation is None or allocation.allocation_timestamp is None or not has_conditions(claim):
        return False
    return allocation.allocation_timestamp + timedelta(seconds=timeout) < now


def _is_ready(claim: ResourceClaim, result: DeviceResult) -> bool:
    reported = next(
        (one for one in claim.status.devices if (one.driver, one.pool, one.device) == result.id),
        None,
    )
    if reported is None:
        return False
    failed = _true(reported.conditions, result.binding_failure_conditions)
    if failed:
        raise BindingFailedError(
            f"device binding failed: claim={claim.metadata.name}, reason={failed[0].reason}, "
            f'message="{failed[0].message}"'
        )
    ready = {one.type for one in _true(reported.conditions, result.binding_conditions)}
    return ready >= set(result.binding_conditions)


def _true(conditions: Iterable[DeviceCondition], names: Iterable[str]) -> list[DeviceCondition]:
    wanted = frozenset(names)
    return [one for one in conditions if one.type in wanted and one.status == "True"]
