"""What kubectl prints of kinds whose columns are fields: each column with where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["COLUMNS", "Source", "cell"]

_ACCESS_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}

Source: TypeAlias = "str | Callable[[Mapping[str, Any]], object]"
"""The path of a field, or what makes the text of the object."""


def cell(source: Source, item: Mapping[str, Any]) -> str:
    """Return the text of a cell; empty where the object does not say."""
    value = _field(item, source) if isinstance(source, str) else source(item)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _field(item: Mapping[str, Any], path: str) -> object:
    found: Any = item
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _access_modes(item: Mapping[str, Any]) -> str:
    modes = _field(item, "status.accessModes") or _field(item, "spec.accessModes")
    if not isinstance(modes, list):
        return ""
    return ",".join(_ACCESS_MODES.get(str(mode), str(mode)) for mode in modes)


def _claim(item: Mapping[str, Any]) -> str:
    claim = _field(item, "spec.claimRef")
    return (
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if isinstance(claim, dict) else ""
    )


def _or(path: str, otherwise: str) -> Callable[[Mapping[str, Any]], object]:
    def found(item: Mapping[str, Any]) -> object:
        value = _field(item, path)
        return otherwise if value is None else value

    return found


def _device_state(item: Mapping[str, Any]) -> str:
    """Say where a claim for devices stands, as kubectl does."""
    words = ["deleted"] if _field(item, "metadata.deletionTimestamp") else []
    if _field(item, "status.allocation") is None:
        return ",".join([*words, "pending"])
    reserved = ["reserved"] if _field(item, "status.reservedFor") else []
    return ",".join([*words, "allocated", *reserved])


COLUMNS: Final[Mapping[str, tuple[tuple[str, Source], ...]]] = {
    "leases.coordination.k8s.io": (("Holder", "spec.holderIdentity"),),
    "namespaces": (("Status", "status.phase"),),
    "persistentvolumeclaims": (
        ("Status", "status.phase"),
        ("Volume", "spec.volumeName"),
        ("Capacity", "status.capacity.storage"),
        ("Access Modes", _access_modes),
        ("StorageClass", "spec.storageClassName"),
    ),
    "persistentvolumes": (
        ("Capacity", "spec.capacity.storage"),
        ("Access Modes", _access_modes),
        ("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
        ("Status", "status.phase"),
        ("Claim", _claim),
        ("StorageClass", "spec.storageClassName"),
    ),
    "poddisruptionbudgets.policy": (
        ("Min Available", _or("spec.minAvailable", "N/A")),
        ("Max Unavailable", _or("spec.maxUnavailable", "N/A")),
        ("Allowed Disruptions", _or("status.disruptionsAllowed", "0")),
    ),
    "priorityclasses.scheduling.k8s.io": (
        ("Value", "value"),
        ("Global-Default", _or("globalDefault", "false")),
    ),
    "resourceclaims.resource.k8s.io": (("State", _device_state),),
    "storageclasses.storage.k8s.io": (
        ("Provisioner", "provisioner"),
        ("ReclaimPolicy", _or("reclaimPolicy", "Delete")),
        ("VolumeBindingMode", _or("volumeBindingMode", "Immediate")),
        ("AllowVolumeExpansion", _or("allowVolumeExpansion", "false")),
    ),
}
"""By the qualified plural; name and age stand around these."""
