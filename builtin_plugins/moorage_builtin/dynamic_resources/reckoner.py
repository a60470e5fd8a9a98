"""What all pods of a process are reckoned with: claims, devices, and who has which."""

from __future__ import annotations

import moorage
from moorage_builtin.dynamic_resources.expressions import Expressions
from moorage_builtin.dynamic_resources.inventory import Inventory
from moorage_builtin.dynamic_resources.ledger import Ledger

__all__ = ["Reckoner", "reckoner_of"]


class Reckoner:
    """One for all profiles of a process: no two of them may give away one device."""

    def __init__(self, devices: moorage.DeviceStore) -> None:
        self.classes = devices.classes
        self.claims = devices.claims
        self.ledger = Ledger(devices.claims)
        self.inventory = Inventory(devices.slices)
        self.expressions = Expressions()


def reckoner_of(handle: moorage.Handle) -> Reckoner:
    """Return the process's own, made when it is first asked for."""
    return handle.shared("DynamicResources", lambda: Reckoner(handle.devices))
