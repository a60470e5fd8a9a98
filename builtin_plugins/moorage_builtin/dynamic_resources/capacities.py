"""Capacities of devices that several claims share (KEP-5075): what a request takes, and whether it fits."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from moorage.model import parse_quantity, parse_value
from moorage.model.devices import CapacityRequestPolicy, CapacityRequirements, Device

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


def taken_of(device: Device, asked: CapacityRequirements | None) -> Taken | None:
    """Return what a request takes of a device; None: the device cannot serve it.

    A capacity that is not asked for is taken by its default, or else as a whole. Raises ValueError
    for a quantity that cannot be read.
    """
    requests = asked.requests if asked is not None else {}
    if requests.keys() - device.capacity.keys():
        return None
    texts: dict[str, str] = {}
    for name, capacity in device.capacity.items():
        policy = capacity.request_policy
        text = requests.get(name)
        if text is None:
            default = policy.default if policy is not None else None
            text = default or capacity.value
        elif policy is not None:
            text = _rounded(text, policy)
        if policy is not None and not _is_allowed(text, policy):
            return None
        texts[name] = text
    return Taken({name: parse_quantity(text) for name, text in texts.items()}, texts)


def _rounded(text: str, policy: CapacityRequestPolicy) -> str:
    """Round a request up to the next amount that can be had."""
    span = policy.valid_range
    if span is not None and span.min is not None:
        if parse_quantity(text) < parse_quantity(span.min):
            return span.min
        if span.step is None:
            return text
        # With steps, only whole numbers count.
        low, step = parse_value(span.min), parse_value(span.step)
        steps = -((low - parse_value(text)) // step) if step else 0
        return _written(low + steps * step)
    asked = parse_quantity(text)
    return next((one for one in policy.valid_values if parse_quantity(one) >= asked), text)


def _is_allowed(text: str, policy: CapacityRequestPolicy) -> bool:
    amount = parse_quantity(text)
    if policy.default is not None and amount == parse_quantity(policy.default):
        return True
    span = policy.valid_range
    if span is not None:
        if span.max is not None and amount > parse_quantity(span.max):
            return False
        step = parse_value(span.step or "0")
        return not step or (parse_value(text) - parse_value(span.min or "0")) % step == 0
    return not policy.valid_values or any(
        amount == parse_quantity(one) for one in policy.valid_values
    )


def _written(amount: int) -> str:
    """Write an amount as the API does those that count in powers of two: 2048 as ``2Ki``."""
    if amount == 1000:  # noqa: PLR2004 - below 1024, the API counts in powers of ten
        return "1k"
    suffix = ""
    for unit in _BINARY:
        if not amount or amount % 1024:
            break
        amount, suffix = amount // 1024, unit
    return f"{amount}{suffix}"
