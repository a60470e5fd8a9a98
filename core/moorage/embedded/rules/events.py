"""The rules of events; those of ``events.k8s.io/v1`` are the stricter ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.embedded.rules.names import check_qualified, invalid_value, required

if TYPE_CHECKING:
    from moorage.embedded.status import Cause

__all__ = ["check_core_event", "check_new_event"]

_LONGEST_NAME = 128
_LONGEST_NOTE = 1024


def check_core_event(event: dict[str, Any]) -> list[Cause]:
    """Ask that an event lies in its object's namespace, one about a cluster-wide object in ``default``."""
    own, about = event["metadata"].get("namespace"), event["involvedObject"].get("namespace")
    if about == own or (not about and own == "default") or not event["involvedObject"]:
        return []
    return [
        invalid_value("involvedObject.namespace", about or "", "does not match event.namespace")
    ]


def check_new_event(event: dict[str, Any]) -> list[Cause]:
    """Return what is wrong with an event, in the stored form, that came as ``events.k8s.io/v1``."""
    causes: list[Cause] = []
    if event.get("eventTime") is None:
        causes.append(required("eventTime"))
    if not event.get("reportingComponent"):
        causes.append(required("reportingController"))
    else:
        causes += check_qualified("reportingController", event["reportingComponent"])
    for name in ("reportingInstance", "action", "reason"):
        text = event.get(name) or ""
        if not text:
            causes.append(required(name))
        elif len(text) > _LONGEST_NAME:
            why = f"can have at most {_LONGEST_NAME} characters"
            causes.append(invalid_value(name, "", why))
    if len(event.get("message") or "") > _LONGEST_NOTE:
        causes.append(invalid_value("note", "", f"can have at most {_LONGEST_NOTE} characters"))
    if event.get("type") not in {"Normal", "Warning"}:
        causes.append(invalid_value("type", event.get("type") or "", "has invalid value"))
    return causes + check_core_event(event)
