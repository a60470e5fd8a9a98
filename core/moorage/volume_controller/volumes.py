"""Which volumes there are for a claim: what it names, what names it, and what would do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.model.meta import LabelSelector
from moorage.model.quantities import InvalidQuantityError, parse_value
from moorage.model.selectors import InvalidSelectorError, selector_of
from moorage.volume_controller.objects import (
    Get,
    Key,
    Object,
    class_of,
    is_for,
    key_of,
    phase_of,
    requests_of,
)

__all__ = ["Volumes"]


class Volumes:
    """The names of volumes: free ones by their class, reserved ones by the claim that they name."""

    def __init__(self, get: Get) -> None:
        self._get = get
        self._free: dict[str, dict[str, None]] = {}
        self._class_of: dict[str, str] = {}
        self._reserved: dict[Key, dict[str, None]] = {}
        self._wanted: dict[str, Key] = {}

    def put(self, volume: Object) -> None:
        """Take in a volume that is new, or a newer version of one."""
        name = volume["metadata"]["name"]
        self.drop(name)
        reference = volume["spec"].get("claimRef")
        if reference is None:
            self._class_of[name] = found = class_of(volume)
            self._free.setdefault(found, {})[name] = None
        else:
            self._wanted[name] = key = (reference.get("namespace", ""), reference["name"])
            self._reserved.setdefault(key, {})[name] = None

    def drop(self, name: str) -> None:
        """Forget a volume."""
        found = self._class_of.pop(name, None)
        if found is not None:
            del self._free[found][name]
        key = self._wanted.pop(name, None)
        if key is not None:
            del self._reserved[key][name]
            if not self._reserved[key]:
                del self._reserved[key]

    def get(self, name: str) -> Object | None:
        """Return a volume as it is now, None where there is none of that name."""
        return self._get("PersistentVolume", "", name)

    def naming(self, key: Key) -> list[Object]:
        """Return the volumes that name a claim, whatever its uid."""
        found = (self.get(name) for name in self._reserved.get(key, ()))
        return [volume for volume in found if volume is not None]

    def named_by(self, claim: Object) -> Object | None:
        """Return the volume that a claim names, None where it cannot have it."""
        volume = self.get(claim["spec"]["volumeName"])
        if volume is None:
            return None
        reference = volume["spec"].get("claimRef")
        if reference is not None:
            return volume if is_for(reference, claim) else None
        return volume if _suits(volume, claim) and class_of(volume) == class_of(claim) else None

    def reserved_for(self, claim: Object) -> Object | None:
        """Return a volume that names a claim and has what it asks for."""
        for volume in self.naming(key_of(claim)):
            if is_for(volume["spec"]["claimRef"], claim) and _suits(volume, claim):
                return volume
        return None

    def smallest_for(self, claim: Object) -> Object | None:
        """Return the smallest that fits, of those that can be used in the fewest modes."""
        found = []
        for name in self._free.get(class_of(claim), ()):
            volume = self.get(name)
            if volume is not None and _fits(volume, claim):
                modes = len(set(volume["spec"].get("accessModes") or ()))
                found.append((modes, _size(volume["spec"].get("capacity")), name, volume))
        return min(found, key=lambda one: one[:3])[3] if found else None


def _fits(volume: Object, claim: Object) -> bool:
    """Say whether a volume that nobody has reserved would do for a claim of its class."""
    selector = claim["spec"].get("selector")
    if selector is not None:
        try:
            compiled = selector_of(msgspec.convert(selector, LabelSelector))
        except (InvalidSelectorError, msgspec.ValidationError):
            return False
        if not compiled.matches(volume["metadata"].get("labels") or {}):
            return False
    return phase_of(volume) == "Available" and _suits(volume, claim)


def _suits(volume: Object, claim: Object) -> bool:
    """Say whether a volume has what a claim asks for; not, whether it is free."""
    spec, wanted = volume["spec"], claim["spec"]
    attributes = "volumeAttributesClassName"
    return (
        not volume["metadata"].get("deletionTimestamp")
        and _size(spec.get("capacity")) >= _size(requests_of(claim))
        and (spec.get("volumeMode") or "Filesystem") == (wanted.get("volumeMode") or "Filesystem")
        and (spec.get(attributes) or "") == (wanted.get(attributes) or "")
        and set(wanted.get("accessModes") or ()) <= set(spec.get("accessModes") or ())
    )


def _size(amounts: Mapping[str, Any] | None) -> int:
    try:
        return parse_value(str((amounts or {}).get("storage", "0")))
    except InvalidQuantityError:
        return 0
