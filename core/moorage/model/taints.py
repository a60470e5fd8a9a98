"""Taints and tolerations, of nodes and devices: which tolerates which.

Rule: a toleration tolerates a taint whose effect (if it names one), key (if it names one) and
value (unless its operator is Exists) are its own. The operators Lt and Gt (KEP-5471) are alpha in
1.36, off by default, and so tolerate nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from moorage.model.devices import DeviceTaint, DeviceToleration
from moorage.model.nodes import Taint
from moorage.model.pods import Toleration

__all__ = ["KEEPS_OUT", "tolerates", "untolerated"]

KEEPS_OUT = frozenset({"NoSchedule", "NoExecute"})
"""The effects that keep a pod off a node, or a device from being had; PreferNoSchedule only scores."""


def tolerates(toleration: Toleration | DeviceToleration, taint: Taint | DeviceTaint) -> bool:
    """Say whether one toleration tolerates one taint, of a node or of a device."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in {"", "Equal"} and toleration.value == taint.value


def untolerated(
    taints: Iterable[Taint], tolerations: Iterable[Toleration], effects: frozenset[str]
) -> list[Taint]:
    """Return the taints with one of these effects that no toleration tolerates."""
    tolerations = tuple(tolerations)
    return [
        taint
        for taint in taints
        if taint.effect in effects
        and not any(tolerates(toleration, taint) for toleration in tolerations)
    ]
