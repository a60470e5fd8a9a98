"""Events have two forms, ``v1`` and ``events.k8s.io/v1``; the first is the one that is stored."""

from __future__ import annotations

from typing import Any

__all__ = ["from_core", "to_core"]

_CORE_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_NEW_NAMES = {core: new for new, core in _CORE_NAMES.items()}


def to_core(event: dict[str, Any]) -> dict[str, Any]:
    """Return an ``events.k8s.io/v1`` event, or a patch of one, as ``v1``."""
    renamed = {_CORE_NAMES.get(name, name): value for name, value in event.items()}
    return {**renamed, "apiVersion": "v1"} if "apiVersion" in renamed else renamed


def from_core(event: dict[str, Any]) -> dict[str, Any]:
    """Return a ``v1`` event as ``events.k8s.io/v1``, in which empty text is left out."""
    renamed = {_NEW_NAMES.get(name, name): value for name, value in event.items() if value != ""}
    return {**renamed, "apiVersion": "events.k8s.io/v1"} if "apiVersion" in renamed else renamed
