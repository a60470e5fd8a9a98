"""Capacities of devices that several claims share (KEP-5075): what a request takes, and whether it fits."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from moorage.model import parse_quantity
from moorage.model.devices import (
    CapacityRequestPolicy,
    CapacityRequirements,
    Device,
    DeviceCapacity,
)

__all__ = ["Taken", "taken_of"]

_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


class Taken(NamedTuple):
    """What one request takes of a device: amounts, and as the API writes them; by capacity."""

    amounts: Mapping[str, Fraction]
    texts: Mapping[str, str]

    def fits(self, device: Device, others: Mapping[str, Fraction]) -> bool:
        """Say whether it fits beside what others have taken."""
        return all(
            amount + others.get(name, 0) <= parse_quantity(device.capacity[name].value)
            for name, amount in self.amounts.items()
        )


def taken_of(device: Device, driver: str, asked: CapacityRequirements | None) -> Taken | None:
    """Return what a request takes of a device; None: the device cannot serve it.

    A capacity that is not asked for is taken by its default, or else as a whole. Raises ValueError
    for a quantity that cannot be read.
    """
    texts: dict[str, str] = {}
    for name, text in (asked.requests if asked is not None else {}).items():
        known = _own_name(name, driver, device.capacity)
        if known is None or known in texts:
            return None
        texts[known] = text
    for name, capacity in device.capacity.items():
        policy = capacity.request_policy
        if name not in texts:
            default = policy.default if policy is not None else None
            text = default or capacity.value
        else:
            text = texts[name] if policy is None else _rounded(texts[name], policy)
        if policy is not None and not _is_allowed(parse_quantity(text), policy):
            return None
        texts[name] = text
    return Taken({name: parse_quantity(text) for name, text in texts.items()}, texts)


def _own_name(name: str, driver: str, capacity: Mapping[str, DeviceCapacity]) -> str | None:
    """Find a capacity by its name, with or without the driver as domain."""
    if name in capacity:
        return name
    domain, slash, identifier = name.partition("/")
    if not slash:
        other = f"{driver}/{name}"
    elif domain == driver:
        other = identifier
    else:
        return None
    return other if other in capacity else None


def _rounded(text: str, policy: CapacityRequestPolicy) -> str:
    """Round a request up to the next amount that can be had."""
    asked = parse_quantity(text)
    if policy.valid_range is not None and policy.valid_range.min is not None:
        low = parse_quantity(policy.valid_range.min)
        if asked < low:
            return policy.valid_range.min
        if policy.valid_range.step is None:
            return text
        step = parse_quantity(policy.valid_range.step)
        steps = -((low - asked) // step) if step > 0 else 0
        rounded = low + steps * step
        return text if rounded == asked else _written(rounded, like=policy.valid_range.step)
    return next((one for one in policy.valid_values if parse_quantity(one) >= asked), text)


def _is_allowed(amount: Fraction, policy: CapacityRequestPolicy) -> bool:
    if policy.default is not None and amount == parse_quantity(policy.default):
        return True
    if policy.valid_range is not None:
        low = parse_quantity(policy.valid_range.min or "0")
        if policy.valid_range.max is not None and amount > parse_quantity(policy.valid_range.max):
            return False
        step = policy.valid_range.step
        return step is None or (amount - low) % parse_quantity(step) == 0
    return not policy.valid_values or any(
        amount == parse_quantity(one) for one in policy.valid_values
    )


def _written(amount: Fraction, *, like: str) -> str:
    """Write an amount with a binary suffix where `like` has one and that loses nothing."""
    if amount.denominator != 1:
        return f"{int(amount * 1000)}m"
    whole, suffix = int(amount), ""
    if like.endswith("i"):
        for unit in _BINARY:
            if not whole or whole % 1024:
                break
            whole, suffix = whole // 1024, unit
    return f"{whole}{suffix}"
