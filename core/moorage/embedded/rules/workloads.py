"""The rules of workloads (their pod template above all) and of priority classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.embedded.rules.affinity import check_label_selector
from moorage.embedded.rules.names import invalid_value, required
from moorage.embedded.rules.pod_types import check_spec_types
from moorage.embedded.rules.pods import check_pod_spec
from moorage.embedded.status import bad_request

if TYPE_CHECKING:
    from moorage.embedded.status import Cause

__all__ = ["check_priority_class", "check_workload", "check_workload_types"]

_HIGHEST_PRIORITY = 1_000_000_000
_SELECTS = frozenset({"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"})


def check_workload_types(workload: dict[str, Any]) -> None:
    """Raise a 400 if the spec, its replicas or the pod template have the wrong JSON types."""
    kind = workload["kind"]
    spec = workload.setdefault("spec", {})
    template = spec.get("template", {}) if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(template or {}, dict):
        raise bad_request(
            f"{kind} cannot be handled as a {kind}: spec or spec.template is no object"
        )
    for name in ("replicas", "parallelism", "completions"):
        if not isinstance(spec.get(name) or 0, int):
            raise bad_request(f"{kind} cannot be handled as a {kind}: spec.{name} is no integer")
    if template and template.get("spec") is not None:
        check_spec_types(kind, template)


def check_workload(workload: dict[str, Any]) -> list[Cause]:
    """Return what is wrong with a workload: replicas, selector, pod template."""
    spec, causes = workload["spec"], []
    for name in ("replicas", "parallelism", "completions"):
        if (spec.get(name) or 0) < 0:
            why = "must be greater than or equal to 0"
            causes.append(invalid_value(f"spec.{name}", spec[name], why))
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    if workload["kind"] in _SELECTS:
        selector = spec.get("selector") or {}
        if not selector:
            causes.append(required("spec.selector"))
        causes += check_label_selector("spec.selector", selector)
        wanted = selector.get("matchLabels") or {}
        if any(labels.get(key) != value for key, value in wanted.items()):
            why = "`selector` does not match template `labels`"
            causes.append(invalid_value("spec.template.metadata.labels", labels, why))
    if not template.get("spec"):
        return [*causes, required("spec.template.spec.containers")]
    # A StatefulSet's containers may mount what its claim templates will become.
    claims = [
        {"name": claim.get("metadata", {}).get("name")}
        for claim in spec.get("volumeClaimTemplates") or ()
    ]
    pod_spec = template["spec"]
    if claims:
        pod_spec = {**pod_spec, "volumes": [*(pod_spec.get("volumes") or ()), *claims]}
    return causes + check_pod_spec(pod_spec, "spec.template.spec")


def check_priority_class(priority_class: dict[str, Any]) -> list[Cause]:
    """Values above a billion are reserved for the ``system-`` classes."""
    value = priority_class.get("value", 0)
    name = priority_class["metadata"]["name"]
    if not isinstance(value, int) or isinstance(value, bool):
        return [invalid_value("value", value, "must be an integer")]
    if value > _HIGHEST_PRIORITY and not name.startswith("system-"):
        why = f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}"
        return [invalid_value("value", value, why)]
    return []
