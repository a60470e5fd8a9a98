"""Just enough OpenAPI for kubectl: it asks whether a kind can be patched with field validation.

In: for every kind, that PATCH takes ``fieldValidation`` and ``dryRun``. Out: the schemas; kubectl
falls back on those it was built with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.embedded.resources import Catalogue, Resource

__all__ = ["openapi_document", "openapi_index"]


def openapi_index(catalogue: Catalogue) -> dict[str, Any]:
    """Answer ``/openapi/v3``: where each group version's document is."""
    places = dict.fromkeys(_place(row) for row in catalogue)
    return {"paths": {place: {"serverRelativeURL": f"/openapi/v3/{place}"} for place in places}}


def openapi_document(catalogue: Catalogue, place: str) -> dict[str, Any] | None:
    """Answer ``/openapi/v3/PLACE``, such as ``apis/apps/v1``; None if nothing is served there."""
    rows = [row for row in catalogue if _place(row) == place]
    if not rows:
        return None
    return {
        "openapi": "3.0.0",
        "info": {"title": "Moorage's embedded API server", "version": "v1.36"},
        "paths": dict(_paths(rows)),
        "components": {"schemas": {}},
    }


def _place(row: Resource) -> str:
    return f"apis/{row.api_version}" if row.group else f"api/{row.api_version}"


def _paths(rows: Iterable[Resource]) -> Iterable[tuple[str, dict[str, Any]]]:
    for row in rows:
        within = "/namespaces/{namespace}" if row.namespaced else ""
        kind = {"group": row.group, "version": row.version, "kind": row.kind}
        patch = {
            "operationId": f"patch{row.kind}",
            "parameters": [
                {"name": name, "in": "query", "schema": {"type": "string"}}
                for name in ("dryRun", "fieldManager", "fieldValidation")
            ],
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": "patch",
            "x-kubernetes-group-version-kind": kind,
        }
        yield f"/{_place(row)}{within}/{row.plural}/{{name}}", {"patch": patch}
