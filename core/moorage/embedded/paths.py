"""URL paths of the Kubernetes API, read into what they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from moorage.embedded.resources import Catalogue, Resource

__all__ = ["Target", "read_path"]

_NAMESPACES = "namespaces"


class Target(NamedTuple):
    """What a URL is about; `namespace` None means all, `name` empty means the collection."""

    resource: Resource
    namespace: str | None
    name: str = ""
    subresource: str = ""


def read_path(catalogue: Catalogue, path: str) -> Target | None:
    """Return the target of a (decoded) URL path; None if nothing is served there."""
    match path.strip("/").split("/"):
        case ["api", version, *rest] if rest:
            return _read(catalogue, "", version, rest)
        case ["apis", group, version, *rest] if rest:
            return _read(catalogue, group, version, rest)
    return None


def _read(catalogue: Catalogue, group: str, version: str, rest: list[str]) -> Target | None:
    namespace: str | None = None
    # /namespaces/NAME and its own subresources are about the namespace, not something within.
    within = rest[0] == _NAMESPACES and len(rest) > 2  # noqa: PLR2004 - namespaces, name, what is in it
    if within and catalogue.at(group, version, rest[2]):
        namespace, rest = rest[1], rest[2:]
    resource = catalogue.at(group, version, rest[0])
    if resource is None or resource.namespaced < (namespace is not None):
        return None
    match rest[1:]:
        case []:
            return Target(resource, namespace)
        case [name] if name:
            return _one(resource, namespace, name)
        case [name, subresource] if name and subresource in resource.subresources:
            return _one(resource, namespace, name, subresource)
    return None


def _one(
    resource: Resource, namespace: str | None, name: str, subresource: str = ""
) -> Target | None:
    if resource.namespaced and namespace is None:
        return None
    return Target(resource, namespace or "", name, subresource)
