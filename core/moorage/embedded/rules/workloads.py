"""The rules of workloads (their pod template above all) and of priority classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.embedded.rules.affinity import check_label_selector
from moorage.embedded.rules.metadata import MetadataTypes
from moorage.embedded.rules.names import invalid_value, required
from moorage.embedded.rules.pod_types import (
    LabelSelectorTypes,
    SpecTypes,
    Types,
    check_quantity_types,
    check_types,
    quantities_of,
)
from moorage.embedded.rules.pods import check_pod_spec

if TYPE_CHECKING:
    from moorage.embedded.status import Cause

__all__ = ["check_priority_class", "check_workload", "check_workload_types"]

_HIGHEST_PRIORITY = 1_000_000_000
_SELECTS = frozenset({"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"})


class TemplateTypes(Types):
    """A pod template."""

    metadata: MetadataTypes | None = None
    spec: SpecTypes | None = None


class ClaimTypes(Types):
    """A StatefulSet's template of a claim."""

    metadata: MetadataTypes
    spec: dict[str, Any] | None = None


class WorkloadSpecTypes(Types):
    """What the specs of all workloads have between them; a controller's selector is plain labels."""

    selector: dict[str, Any] | None = None
    replicas: int | None = None
    parallelism: int | None = None
    completions: int | None = None
    template: TemplateTypes | None = None
    volume_claim_templates: list[ClaimTypes] | None = None


class WorkloadTypes(Types):
    """A workload; its metadata is checked apart."""

    spec: WorkloadSpecTypes


class SelectingSpecTypes(Types):
    """The spec of a workload that has a label selector."""

    selector: LabelSelectorTypes | None = None


class SelectingTypes(Types):
    """A workload that has a label selector."""

    spec: SelectingSpecTypes


def check_workload_types(workload: dict[str, Any]) -> None:
    """Raise a 400 that names the field if one has the wrong JSON type or is no quantity."""
    kind = workload["kind"]
    if workload.get("spec") is None:
        workload["spec"] = {}
    check_types(kind, workload, WorkloadTypes)
    if kind in _SELECTS:
        check_types(kind, workload, SelectingTypes)
    template = workload["spec"].get("template") or {}
    check_quantity_types(kind, quantities_of(template.get("spec") or {}))


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
        {"name": claim["metadata"].get("name")} for claim in spec.get("volumeClaimTemplates") or ()
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
