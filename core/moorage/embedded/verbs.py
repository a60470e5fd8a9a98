"""The verbs of the API on one target: reads, writes and deletes, each from request to response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from aiohttp import web

from moorage.embedded.dependents import create_dependents, delete_dependents
from moorage.embedded.patching import json_patch, merge_patch, strategic_merge
from moorage.embedded.placement import DeleteOptionsTypes, bind, evict
from moorage.embedded.queries import (
    grace_seconds,
    is_true,
    number_of,
    read_body,
    selection_of,
    wants_table,
)
from moorage.embedded.rules.metadata import check_metadata_types
from moorage.embedded.rules.pod_types import check_types
from moorage.embedded.shelf import Key
from moorage.embedded.status import StatusError, bad_request, details_of, not_found, success
from moorage.embedded.tables import Tabulator
from moorage.embedded.workloads import CONTROLLED_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from moorage.embedded.listing import Page
    from moorage.embedded.paths import Target
    from moorage.embedded.registry import Deletion
    from moorage.embedded.resources import Resource
    from moorage.embedded.shelf import Version
    from moorage.embedded.store import Store
    from moorage.embedded.watch_stream import WatchStreams

__all__ = ["Verbs", "json_response"]

_PATCHES: dict[str, Callable[[dict[str, Any], Any], dict[str, Any]]] = {
    "application/json-patch+json": json_patch,
    "application/merge-patch+json": merge_patch,
    "application/strategic-merge-patch+json": strategic_merge,
}
_APPLY = frozenset({"application/apply-patch+yaml", "application/apply-patch+cbor"})


def json_response(body: object, *, status: int = 200) -> web.Response:
    """Answer with JSON; bytes are taken as JSON already."""
    data = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return web.Response(body=data, status=status, headers={"Content-Type": "application/json"})


class Verbs:
    """Answers requests whose path names a resource."""

    def __init__(self, store: Store, watches: WatchStreams) -> None:
        self._store = store
        self._registry = store.registry
        self._watches = watches

    async def answer(  # noqa: PLR0911 - one line a verb reads best
        self, request: web.BaseRequest, target: Target
    ) -> web.StreamResponse:
        """Answer a request; a verb that the target does not have is a 405."""
        match (request.method, bool(target.name), target.subresource):
            case ("GET", _, "") if is_true(request, "watch"):
                return await self._watches.serve(request, target)
            case ("GET", False, ""):
                return self._list(request, target)
            case ("GET", True, "" | "status" | "resize"):
                return self._get(request, target)
            case ("POST", False, "") if (
                target.namespace is not None or not target.resource.namespaced
            ):
                return await self._create(request, target)
            case ("POST", True, "binding" | "eviction"):
                return await self._place(request, target)
            case ("PUT", True, "" | "status" | "resize" | "finalize"):
                return await self._update(request, target)
            case ("PATCH", True, "" | "status" | "resize"):
                return await self._patch(request, target)
            case ("DELETE", True, ""):
                return await self._delete(request, target)
            case ("DELETE", False, "") if "deletecollection" in target.resource.verbs:
                return await self._delete_collection(request, target)
        raise StatusError(
            "the server does not allow this method on the requested resource",
            code=405,
            reason="MethodNotAllowed",
        )

    # ------------------------------------------------------------------- read

    def _get(self, request: web.BaseRequest, target: Target) -> web.Response:
        version = self._registry.get(target.resource, _key(target))
        return self._one(request, target, version)

    def _one(
        self, request: web.BaseRequest, target: Target, version: Version, *, status: int = 200
    ) -> web.Response:
        resource = target.resource
        if not wants_table(request):
            return json_response(version.as_json(resource), status=status)
        table = Tabulator(resource, now=self._registry.clock.now()).table(
            [version.as_dict(resource)],
            {"resourceVersion": str(version.number)},
            request.query.get("includeObject", "Metadata"),
        )
        return json_response(table, status=status)

    def _list(self, request: web.BaseRequest, target: Target) -> web.Response:
        resource = target.resource
        page = self._store.listing.page(
            resource,
            selection_of(request, target),
            limit=number_of(request, "limit") or 0,
            continue_token=request.query.get("continue", ""),
            version=request.query.get("resourceVersion", ""),
            exact=request.query.get("resourceVersionMatch") == "Exact",
        )
        metadata = _list_metadata(page)
        if wants_table(request):
            include = request.query.get("includeObject", "Metadata")
            items = (version.as_dict(resource) for version in page.versions)
            tabulator = Tabulator(resource, now=self._registry.clock.now())
            return json_response(tabulator.table(items, metadata, include))
        return json_response(_list_body(target, metadata, page.versions))

    # ------------------------------------------------------------------ write

    async def _create(self, request: web.BaseRequest, target: Target) -> web.Response:
        item = await self._body(request, target)
        namespace = (target.namespace or "") if target.resource.namespaced else ""
        return self._create_with_dependents(request, target, item, namespace=namespace)

    def _create_with_dependents(
        self, request: web.BaseRequest, target: Target, item: dict[str, Any], *, namespace: str
    ) -> web.Response:
        """Create an object, and what its controller would make of it."""
        version = self._registry.create(target.resource, item, namespace=namespace)
        response = self._one(request, target, version, status=201)
        if target.resource.kind in CONTROLLED_KINDS:
            try:
                create_dependents(self._store, version.as_dict(target.resource))
            except StatusError as error:  # the workload itself is there, as on a real server
                kind = target.resource.kind
                response.headers["Warning"] = _warning(f"{kind} {version.key.name}: {error}")
        return response

    async def _place(self, request: web.BaseRequest, target: Target) -> web.Response:
        kind = target.subresource.capitalize()
        body = await self._body(request, target, kind=kind)
        if target.subresource == "binding":
            bind(self._registry, _key(target), body)
        else:
            evict(self._registry, _key(target), body)
        return json_response(success(code=201), status=201)

    async def _update(self, request: web.BaseRequest, target: Target) -> web.Response:
        item = await self._body(request, target)
        key = _key(target)
        version = self._registry.update(target.resource, key, item, subresource=target.subresource)
        return self._one(request, target, version)

    async def _patch(self, request: web.BaseRequest, target: Target) -> web.Response:
        if request.content_type in _APPLY:
            return await self._apply(request, target)
        patch_of = _PATCHES.get(request.content_type)
        if patch_of is None:
            raise StatusError(
                "the body of the request was in an unknown format - accepted media types include: "
                f"{', '.join([*_PATCHES, *sorted(_APPLY)])}",
                code=415,
                reason="UnsupportedMediaType",
            )
        patch = await read_body(request, target.resource.kind)
        if not isinstance(patch, dict) and patch_of is not json_patch:
            raise bad_request("a patch of this type is an object")
        old = self._registry.get(target.resource, _key(target))
        patched = patch_of(old.as_dict(target.resource), patch)
        return self._one(request, target, self._replace(target, old, patched))

    def _replace(self, target: Target, old: Version, patched: dict[str, Any]) -> Version:
        item = target.resource.to_stored(patched)
        return self._registry.replace(target.resource, old, item, subresource=target.subresource)

    async def _apply(self, request: web.BaseRequest, target: Target) -> web.Response:
        """Server-side apply: create, or merge over what is there. No field owners are kept."""
        item = await self._body(request, target)
        key = _key(target)
        check_metadata_types(target.resource, item)
        item["metadata"].setdefault("name", key.name)
        old = self._registry.shelf(target.resource).get(key)
        if old is None:
            if target.subresource:
                raise not_found(target.resource, key.name)
            return self._create_with_dependents(request, target, item, namespace=key.namespace)
        patched = strategic_merge(old.as_dict(target.resource), item)
        return self._one(request, target, self._replace(target, old, patched))

    # ----------------------------------------------------------------- delete

    async def _delete(self, request: web.BaseRequest, target: Target) -> web.Response:
        options = await self._options(request)
        preconditions = options.get("preconditions") or {}
        resource, key = target.resource, _key(target)
        deletion = self._registry.delete(
            resource,
            key,
            grace=grace_seconds(request, options),
            uid=preconditions.get("uid"),
            number=preconditions.get("resourceVersion"),
        )
        self._take_along(target.resource, deletion, options)
        if resource.returns_deleted or not deletion.gone:
            return json_response(deletion.version.as_json(resource))
        details = {**details_of(resource, key.name), "uid": deletion.version.uid}
        return json_response(success(details=details))

    async def _delete_collection(self, request: web.BaseRequest, target: Target) -> web.Response:
        options = await self._options(request)
        grace = grace_seconds(request, options)
        page = self._store.listing.page(target.resource, selection_of(request, target))
        deletions = [
            self._registry.delete(target.resource, version.key, grace=grace)
            for version in page.versions
        ]
        for deletion in deletions:
            self._take_along(target.resource, deletion, options)
        deleted = [deletion.version for deletion in deletions]
        metadata = {"resourceVersion": str(self._registry.version)}
        return json_response(_list_body(target, metadata, deleted))

    def _take_along(self, resource: Resource, deletion: Deletion, options: dict[str, Any]) -> None:
        """Delete what a workload owned, as the garbage collector does, unless it is to stay."""
        orphans = options.get("propagationPolicy") == "Orphan"
        if resource.kind in CONTROLLED_KINDS and deletion.gone and not orphans:
            gone = deletion.version
            delete_dependents(self._store, gone.uid, namespace=gone.key.namespace)

    async def _options(self, request: web.BaseRequest) -> dict[str, Any]:
        options = await read_body(request, "DeleteOptions")
        if options is not None and not isinstance(options, dict):
            raise bad_request("the body of a delete is a DeleteOptions object")
        check_types("DeleteOptions", options or {}, DeleteOptionsTypes)
        return options or {}

    async def _body(
        self, request: web.BaseRequest, target: Target, *, kind: str = ""
    ) -> dict[str, Any]:
        kind = kind or target.resource.kind
        if request.query.get("dryRun"):
            raise bad_request("dryRun is not served by the embedded API server")
        item = await read_body(request, kind)
        if not isinstance(item, dict):
            raise bad_request(f"the body of the request is not a {kind} object")
        return item


def _warning(text: str) -> str:
    """Return a header that kubectl shows as a warning."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'299 - "{quoted}"'


def _key(target: Target) -> Key:
    return Key(target.namespace or "", target.name)


def _list_metadata(page: Page) -> dict[str, Any]:
    metadata: dict[str, Any] = {"resourceVersion": str(page.number)}
    if page.continue_token:
        metadata["continue"] = page.continue_token
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    return metadata


def _list_body(target: Target, metadata: dict[str, Any], versions: Iterable[Version]) -> bytes:
    resource = target.resource
    head = msgspec.json.encode(
        {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": metadata}
    )
    items = b",".join([version.as_item(resource) for version in versions])
    return head[:-1] + b',"items":[' + items + b"]}"
