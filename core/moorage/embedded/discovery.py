"""Discovery documents, all made from the table of resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.embedded.resources import Catalogue, Resource

__all__ = ["AGGREGATED", "SERVER_VERSION", "Discovery"]

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

SERVER_VERSION = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.2+moorage-embedded",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "",
}

# Subresources whose kind is not that of their resource: group, version, kind.
_SUBRESOURCE_KINDS = {
    "binding": ("", "", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
}
_SUBRESOURCE_VERBS = {"binding": ["create"], "eviction": ["create"], "finalize": ["update"]}
_WRITTEN = ["get", "patch", "update"]


class Discovery:
    """Answers what is served where. Built on each call: rows may be added while the server runs."""

    def __init__(self, catalogue: Catalogue, *, address: str) -> None:
        self._catalogue = catalogue
        self._address = address

    def core_versions(self) -> dict[str, Any]:
        """Answer ``/api``."""
        return {
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [
                {"clientCIDR": "0.0.0.0/0", "serverAddress": self._address}
            ],
        }

    def groups(self) -> dict[str, Any]:
        """Answer ``/apis``."""
        return {
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": [
                {"name": name, **_versions_of(name, versions)}
                for name, versions in self._named().items()
            ],
        }

    def group(self, name: str) -> dict[str, Any] | None:
        """Answer ``/apis/GROUP``; None if there is no such group."""
        versions = self._named().get(name)
        if versions is None:
            return None
        return {
            "kind": "APIGroup",
            "apiVersion": "v1",
            "name": name,
            **_versions_of(name, versions),
        }

    def resources(self, group: str, version: str) -> dict[str, Any] | None:
        """Answer ``/api/v1`` and ``/apis/GROUP/VERSION``; None if nothing is served there."""
        rows = [row for row in self._catalogue if (row.group, row.version) == (group, version)]
        if not rows:
            return None
        # The core group's list says no apiVersion; a real server's does not either.
        head = {"kind": "APIResourceList", **({"apiVersion": "v1"} if group else {})}
        listed = [entry for row in rows for entry in _entries(row)]
        return {**head, "groupVersion": rows[0].api_version, "resources": listed}

    def aggregated(self, *, core: bool) -> dict[str, Any]:
        """Answer ``/api`` (the core group alone) or ``/apis`` for a client that asks for all at once."""
        versions: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for row in self._catalogue:
            if (not row.group) is core:
                versions.setdefault(row.group, {}).setdefault(row.version, []).append(
                    _aggregated_entry(row)
                )
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": [
                {
                    "metadata": {"name": group} if group else {},
                    "versions": [
                        {"version": version, "resources": entries, "freshness": "Current"}
                        for version, entries in by_version.items()
                    ],
                }
                for group, by_version in versions.items()
            ],
        }

    def _named(self) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for row in self._catalogue:
            if row.group and row.version not in groups.setdefault(row.group, []):
                groups[row.group].append(row.version)
        return groups


def _versions_of(group: str, versions: list[str]) -> dict[str, Any]:
    listed = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"versions": listed, "preferredVersion": listed[0]}


def _entries(row: Resource) -> list[dict[str, Any]]:
    entry: dict[str, Any] = {
        "name": row.plural,
        "singularName": row.singular_name,
        "namespaced": row.namespaced,
        "kind": row.kind,
        "verbs": list(row.verbs),
        **_names(row),
    }
    return [entry, *(_subresource(row, name) for name in row.subresources)]


def _names(row: Resource) -> dict[str, Any]:
    names: dict[str, Any] = {}
    if row.short_names:
        names["shortNames"] = list(row.short_names)
    if row.categories:
        names["categories"] = list(row.categories)
    return names


def _subresource(row: Resource, name: str) -> dict[str, Any]:
    group, version, kind = _SUBRESOURCE_KINDS.get(name, ("", "", row.kind))
    return {
        "name": f"{row.plural}/{name}",
        "singularName": "",
        "namespaced": row.namespaced,
        **({"group": group, "version": version} if group else {}),
        "kind": kind,
        "verbs": _SUBRESOURCE_VERBS.get(name, _WRITTEN),
    }


def _aggregated_entry(row: Resource) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "resource": row.plural,
        "responseKind": {"group": row.group, "version": "", "kind": row.kind},
        "scope": "Namespaced" if row.namespaced else "Cluster",
        "singularResource": row.singular_name,
        "verbs": list(row.verbs),
        **_names(row),
    }
    if row.subresources:
        entry["subresources"] = [_aggregated_subresource(row, name) for name in row.subresources]
    return entry


def _aggregated_subresource(row: Resource, name: str) -> dict[str, Any]:
    group, version, kind = _SUBRESOURCE_KINDS.get(name, (row.group, "", row.kind))
    return {
        "subresource": name,
        "responseKind": {"group": group, "version": version, "kind": kind},
        "verbs": _SUBRESOURCE_VERBS.get(name, _WRITTEN),
    }
