"""In-process access to the embedded server's objects, as dicts, by the same rules as over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from moorage.embedded.listing import Listing
from moorage.embedded.patching import json_patch, merge_patch, strategic_merge
from moorage.embedded.placement import bind
from moorage.embedded.selectors import parse_selection
from moorage.embedded.shelf import Key
from moorage.embedded.status import StatusError, bad_request
from moorage.embedded.watching import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from moorage.embedded.registry import Registry
    from moorage.embedded.resources import Resource

__all__ = ["Store"]


_PATCHES: dict[str, Callable[[dict[str, Any], Any], dict[str, Any]]] = {
    "json": json_patch,
    "merge": merge_patch,
    "strategic": strategic_merge,
}


class Store:
    """Creates, reads and changes the server's objects without HTTP.

    Resources are called by their qualified plural: ``pods``, ``deployments.apps``. Dicts given are
    copied, dicts returned are fresh copies. Refusals are `moorage.errors.ApiError`s with the code,
    reason and message that HTTP would answer with. Not thread-safe: call it on the server's loop.
    """

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.listing = Listing(registry)

    def resource_of(self, item: Mapping[str, Any]) -> Resource:
        """Return the resource that an object belongs to by its apiVersion and kind."""
        api_version, kind = item.get("apiVersion"), item.get("kind")
        found = self.registry.catalogue.of_kind(str(api_version), str(kind))
        if found is None:
            raise StatusError(
                f'no matches for kind "{kind}" in version "{api_version}"',
                code=404,
                reason="NotFound",
            )
        return found

    def compact(self) -> None:
        """Forget what changed until now, as etcd does now and then: older watches end with 410."""
        self.registry.compact()

    def create(self, item: Mapping[str, Any], *, namespace: str = "") -> dict[str, Any]:
        """Create an object from its apiVersion, kind and content; return it as stored.

        A namespaced object goes to `namespace`, else to the one it names, else to ``default``.
        """
        resource, copy = self.resource_of(item), _copy(item)
        key = _key(resource, copy, namespace)
        return self.registry.create(resource, copy, namespace=key.namespace).as_dict(resource)

    def get(self, resource: str, name: str, *, namespace: str = "") -> dict[str, Any]:
        """Return an object; `ApiError` 404 if there is none."""
        found = self.registry.catalogue.named(resource)
        return self.registry.get(found, Key(namespace, name)).as_dict(found)

    def list(
        self,
        resource: str,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> list[dict[str, Any]]:
        """Return the selected objects ordered by namespace and name; all namespaces by default."""
        found = self.registry.catalogue.named(resource)
        selection = parse_selection(
            found, namespace=namespace, label_selector=label_selector, field_selector=field_selector
        )
        return [one.as_dict(found) for one in self.listing.page(found, selection).versions]

    def update(self, item: Mapping[str, Any], *, subresource: str = "") -> dict[str, Any]:
        """Replace an object, or its ``status``; a resourceVersion in it must be the present one."""
        resource, copy = self.resource_of(item), _copy(item)
        key = _key(resource, copy, "")
        version = self.registry.update(resource, key, copy, subresource=subresource)
        return version.as_dict(resource)

    def patch(
        self,
        resource: str,
        name: str,
        patch: Any,  # noqa: ANN401 - a JSON patch is a list, the others are objects
        *,
        namespace: str = "",
        kind: str = "strategic",
        subresource: str = "",
    ) -> dict[str, Any]:
        """Patch an object; `kind` is ``strategic``, ``merge`` or ``json``."""
        found = self.registry.catalogue.named(resource)
        applied = _PATCHES[kind]
        old = self.registry.get(found, Key(namespace, name))
        item = applied(old.as_dict(found), patch)
        return self.registry.replace(
            found, old, found.to_stored(item), subresource=subresource
        ).as_dict(found)

    def bind(self, name: str, node: str, *, namespace: str) -> None:
        """Bind a pod to a node."""
        bind(self.registry, Key(namespace, name), {"target": {"kind": "Node", "name": node}})

    def delete(
        self, resource: str, name: str, *, namespace: str = "", grace_seconds: int | None = None
    ) -> None:
        """Delete an object; a pod on a node stays until its grace period is over."""
        found = self.registry.catalogue.named(resource)
        self.registry.delete(found, Key(namespace, name), grace=grace_seconds)

    def watch(
        self,
        resource: str,
        *,
        start: int,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Watch:
        """Watch a resource's selected changes after resourceVersion `start`; the caller closes it."""
        found = self.registry.catalogue.named(resource)
        selection = parse_selection(
            found, namespace=namespace, label_selector=label_selector, field_selector=field_selector
        )
        shelf = self.registry.shelf(found)
        return Watch(shelf, selection, start=start, current=self.registry.version)


def _copy(item: Mapping[str, Any]) -> dict[str, Any]:
    """Copy by way of JSON, which also turns the dates that YAML knows into text."""
    try:
        copy: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(item))
    except (TypeError, msgspec.MsgspecError) as error:
        raise bad_request(f"the object cannot be written as JSON: {error}") from error
    return copy


def _key(resource: Resource, item: Mapping[str, Any], namespace: str) -> Key:
    metadata = item.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    own = str(metadata.get("namespace") or "")
    place = (namespace or own or "default") if resource.namespaced else ""
    return Key(place, str(metadata.get("name") or ""))
