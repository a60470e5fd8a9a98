"""Claims that come and go with a pod: what the controller of ephemeral volumes would make of one."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["claims_for", "is_owned_by"]


def claims_for(pod: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the claims that are to be made for a pod, one for each ephemeral volume."""
    metadata = pod["metadata"]
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    found = []
    for volume in pod["spec"].get("volumes") or ():
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
        if template is None:
            continue
        made = copy.deepcopy(template.get("metadata") or {})
        name = f"{metadata['name']}-{volume['name']}"
        made.update(name=name, namespace=metadata["namespace"], ownerReferences=[owner])
        found.append(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": made,
                "spec": copy.deepcopy(template["spec"]),
            }
        )
    return found


def is_owned_by(claim: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    """Say whether a claim goes when a pod goes."""
    owners = claim["metadata"].get("ownerReferences") or ()
    return any(one["uid"] == pod["metadata"]["uid"] for one in owners)
