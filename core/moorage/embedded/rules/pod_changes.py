"""What may change in a pod that exists."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Any

from moorage.embedded.status import Cause

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["check_pod_change"]

_RULE = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions "
    "to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
    "was previously negative)"
)
# Besides these, a pod that is still gated may have its node selector and affinity narrowed.
_FREE = ("activeDeadlineSeconds", "tolerations", "schedulingGates", "ephemeralContainers")
_FREE_WHILE_GATED = ("nodeSelector", "affinity")
_LINES_AROUND = 3


def check_pod_change(new: dict[str, Any], old: dict[str, Any]) -> list[Cause]:
    """Return what an update may not change: new and old are whole pods, defaults filled in."""
    spec, present = new["spec"], old["spec"]
    causes = _check_gates(spec, present) + _check_tolerations(spec, present)
    gated = bool(present.get("schedulingGates"))
    before, after = _fixed(present, gated=gated), _fixed(spec, gated=gated)
    if before != after:
        message = f"Forbidden: {_RULE}\n{_difference(before, after)}"
        causes.append(Cause("FieldValueForbidden", message, "spec"))
    return causes


def _check_gates(spec: dict[str, Any], present: dict[str, Any]) -> list[Cause]:
    known = {gate["name"] for gate in present.get("schedulingGates") or ()}
    return [
        Cause(
            "FieldValueForbidden",
            f"Forbidden: only deletion is allowed, but found new scheduling gate '{gate['name']}'",
            f"spec.schedulingGates[{index}]",
        )
        for index, gate in enumerate(spec.get("schedulingGates") or ())
        if gate["name"] not in known
    ]


def _check_tolerations(spec: dict[str, Any], present: dict[str, Any]) -> list[Cause]:
    kept = [_without_seconds(toleration) for toleration in spec.get("tolerations") or ()]
    if all(_without_seconds(one) in kept for one in present.get("tolerations") or ()):
        return []
    message = "Forbidden: existing toleration can not be modified except its tolerationSeconds"
    return [Cause("FieldValueForbidden", message, "spec.tolerations")]


def _without_seconds(toleration: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def _fixed(spec: dict[str, Any], *, gated: bool) -> dict[str, Any]:
    """Return the part of a spec that may not change; images are left out of its containers."""
    free = (*_FREE, *(_FREE_WHILE_GATED if gated else ()))
    fixed = {name: value for name, value in spec.items() if name not in free}
    for name in ("containers", "initContainers"):
        if fixed.get(name):
            fixed[name] = _without_images(fixed[name])
    return fixed


def _without_images(containers: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in container.items() if name != "image"}
        for container in containers
    ]


def _difference(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Return a unified diff without its file names."""
    old, new = (json.dumps(spec, indent=1, sort_keys=True).splitlines() for spec in (before, after))
    lines = difflib.unified_diff(old, new, lineterm="", n=_LINES_AROUND)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++"))) + "\n"
