"""On which nodes a DaemonSet has pods: its controller asks before the scheduler does.

In: the node's name, labels and taints, as the controller looks at them. Out: resources and all
else, which it leaves to the scheduler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from moorage.model.affinity import NodeAffinity
from moorage.model.nodes import Taint
from moorage.model.pods import Toleration
from moorage.model.selectors import InvalidSelectorError, node_term_requirements
from moorage.model.taints import KEEPS_OUT, untolerated

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["belongs_on"]


def belongs_on(pod: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    """Say whether a daemon's pod, tolerations of the controller included, is made for a node.

    Where the pod says what the API would refuse, it is made, so that the refusal is seen.
    """
    spec = pod["spec"]
    try:
        return (
            spec.get("nodeName", "") in {"", node["metadata"]["name"]}
            and _is_selected(spec, node["metadata"])
            and _is_tolerated(spec, (node.get("spec") or {}).get("taints") or ())
        )
    except (msgspec.ValidationError, InvalidSelectorError):
        return True


def _is_selected(spec: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
    labels = metadata.get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = msgspec.convert((spec.get("affinity") or {}).get("nodeAffinity") or {}, NodeAffinity)
    required = affinity.required_during_scheduling_ignored_during_execution
    if required is None:
        return True
    for term in required.node_selector_terms:
        on_labels, on_fields = node_term_requirements(term)
        holds = all(needed.accepts(labels.get(needed.key)) for needed in on_labels)
        if holds and all(needed.accepts(metadata["name"]) for needed in on_fields):
            return bool(on_labels or on_fields)
    return False


def _is_tolerated(spec: Mapping[str, Any], taints: object) -> bool:
    tolerations = msgspec.convert(spec.get("tolerations") or (), tuple[Toleration, ...])
    return not untolerated(msgspec.convert(taints, tuple[Taint, ...]), tolerations, KEEPS_OUT)
