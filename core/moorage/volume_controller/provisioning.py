"""What a CSI provisioner does for a claim: the volume that it makes, and from where it is reached."""

from __future__ import annotations

from moorage.volume_controller.objects import (
    Get,
    Object,
    annotations_of,
    class_of,
    reference_to,
    requests_of,
)

__all__ = ["SELECTED_NODE", "made_volume", "provisioner_of", "volume_name"]

SELECTED_NODE = "volume.kubernetes.io/selected-node"
_PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
_NOBODY = "kubernetes.io/no-provisioner"


def provisioner_of(storage_class: Object | None) -> str:
    """Return who makes volumes of a class; an empty text: nobody."""
    found = "" if storage_class is None else storage_class.get("provisioner", "")
    return "" if found == _NOBODY else found


def volume_name(claim: Object) -> str:
    """Return the name of the volume that is made for a claim."""
    return f"pvc-{claim['metadata']['uid']}"


def made_volume(claim: Object, storage_class: Object, *, get: Get) -> Object:
    """Return the volume that is made for a claim of a class, near the node that was selected."""
    name, provisioner = volume_name(claim), provisioner_of(storage_class)
    node = annotations_of(claim).get(SELECTED_NODE)
    affinity = None if node is None else _affinity(node, provisioner, get=get)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {_PROVISIONED_BY: provisioner}},
        "spec": {
            "capacity": {"storage": requests_of(claim).get("storage", "0")},
            "accessModes": claim["spec"].get("accessModes") or ["ReadWriteOnce"],
            "csi": {"driver": provisioner, "volumeHandle": name},
            "claimRef": reference_to(claim),
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy") or "Delete",
            "storageClassName": class_of(claim),
            "volumeMode": claim["spec"].get("volumeMode") or "Filesystem",
            **({} if affinity is None else {"nodeAffinity": {"required": affinity}}),
        },
    }


def _affinity(node_name: str, driver: str, *, get: Get) -> Object | None:
    """Return from where a volume made for a node is reached: its topology, as the driver has it."""
    node, said = get("Node", "", node_name), get("CSINode", "", node_name)
    if node is None or said is None:
        return None
    labels = node["metadata"].get("labels") or {}
    keys = [
        key
        for one in said["spec"].get("drivers") or ()
        if one["name"] == driver
        for key in one.get("topologyKeys") or ()
        if key in labels
    ]
    if not keys:
        return None
    needed = [{"key": key, "operator": "In", "values": [labels[key]]} for key in keys]
    return {"nodeSelectorTerms": [{"matchExpressions": needed}]}
