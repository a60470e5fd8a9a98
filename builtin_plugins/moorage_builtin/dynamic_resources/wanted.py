"""What a request asks for: devices of a class, by selectors, with tolerations."""

from __future__ import annotations

from collections.abc import Callable

from moorage.cache.devices import ClassStore
from moorage.model.devices import (
    DeviceClass,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaim,
)
from moorage.model.taints import KEEPS_OUT, tolerates
from moorage_builtin.dynamic_resources.expressions import ExpressionError, Expressions
from moorage_builtin.dynamic_resources.pools import DeviceKind

__all__ = ["Refused", "Wanted", "wanted_of"]


class Refused(Exception):  # noqa: N818 - a refusal by decision, no fault
    """The claims cannot be allocated on a node, for a reason that is not just a lack of devices."""


class Wanted:
    """A request, or one alternative of it, with its class; `name` as results have it."""

    def __init__(
        self,
        claim: ResourceClaim,
        name: str,
        request: ExactDeviceRequest,
        device_class: DeviceClass,
    ) -> None:
        self.claim = claim
        self.name = name
        self.request = request
        self.device_class = device_class
        self.is_admin = bool(request.admin_access)
        self.takes_all = request.allocation_mode == "All"
        self._selected: dict[DeviceKind, bool] = {}

    def selects(self, kind: DeviceKind, label: Callable[[], str], expressions: Expressions) -> bool:
        """Say whether class and request select devices of a kind; Refused where that fails.

        `label` names the device, where it is at fault itself.
        """
        found = self._selected.get(kind)
        if found is None:
            found = self._selected[kind] = self._ask(kind, label, expressions)
        return found

    @property
    def asked(self) -> tuple[tuple[DeviceSelector, ...], tuple[DeviceSelector, ...]]:
        """What decides whom it selects: the selectors of its class, and its own."""
        return self.device_class.spec.selectors, self.request.selectors

    def likeness(self, kind: DeviceKind, expressions: Expressions) -> bool | str:
        """Say whether it selects devices of a kind, or why nobody can say."""
        try:
            return self.selects(kind, lambda: "", expressions)
        except Refused as refusal:
            return str(refusal)

    def tolerates(self, kind: DeviceKind) -> bool:
        """Say whether no taint keeps devices of a kind from being had."""
        return all(
            any(tolerates(one, taint) for one in self.request.tolerations)
            for taint in kind.device.taints
            if taint.effect in KEEPS_OUT
        )

    def _ask(self, kind: DeviceKind, label: Callable[[], str], expressions: Expressions) -> bool:
        try:
            variables = kind.look.variables
        except ExpressionError as error:
            raise Refused(f"device {label()}: {error}") from error
        assert variables  # noqa: S101 - every device has a driver
        of_class = self.device_class.spec.selectors
        parts = ((f"class {self.device_class.metadata.name}", of_class),)
        own = ((f"claim {self.claim.key}, request {self.name}", self.request.selectors),)
        return all(
            _selects(where, selector, index, kind, expressions)
            for where, selectors in (*parts, *own)
            for index, selector in enumerate(selectors)
        )


def wanted_of(
    claim: ResourceClaim, request: DeviceRequest, classes: ClassStore
) -> tuple[Wanted, ...]:
    """Return what a request asks for: itself, or its alternatives.

    Refused where it is of a type that is not known, or its class is not there.
    """
    if request.exactly is not None:
        return (_wanted(claim, request.name, request.exactly, classes),)
    if not request.first_available:
        raise Refused(f"resource claim {claim.key}, request {request.name}: unknown request type")
    return tuple(
        _wanted(claim, f"{request.name}/{one.name}", one, classes)
        for one in request.first_available
    )


def _wanted(
    claim: ResourceClaim, name: str, request: ExactDeviceRequest, classes: ClassStore
) -> Wanted:
    if not request.device_class_name:
        raise Refused(f"request {name}: unsupported request type")
    device_class = classes.get(request.device_class_name)
    if device_class is None:
        raise Refused(f"request {name}: device class {request.device_class_name} does not exist")
    return Wanted(claim, name, request, device_class)


def _selects(
    where: str,
    selector: DeviceSelector,
    index: int,
    kind: DeviceKind,
    expressions: Expressions,
) -> bool:
    if selector.cel is None:
        raise Refused(
            f"{where}, selector #{index}: CEL expression empty (unsupported selector type?)"
        )
    try:
        return expressions.get(selector.cel.expression).selects(kind.look)
    except ExpressionError as error:
        raise Refused(f"{where}: selector #{index} {error}") from error
