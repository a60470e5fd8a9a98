"""What a served resource is, and the catalogue that routing and discovery read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from moorage.errors import MoorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from moorage.embedded.status import Cause

__all__ = ["Catalogue", "Resource"]

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
COMMON_FIELDS = {
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
}


def _leave(_object: dict[str, Any]) -> None:
    """Fill in nothing."""


def _accept(_object: dict[str, Any]) -> list[Cause]:
    """Refuse nothing."""
    return []


def _accept_change(_new: dict[str, Any], _old: dict[str, Any]) -> list[Cause]:
    """Refuse no change."""
    return []


def _as_it_is(item: dict[str, Any]) -> dict[str, Any]:
    """Convert nothing."""
    return item


@dataclass(frozen=True, slots=True)
class Resource:
    """One row of the table of resources: where it is served and what is particular about it.

    The callables get the whole object as a dict. `fill` writes defaults into it, `reset_status`
    does what a real server does to ``status`` on create, `check` and `check_change` (new, old)
    return the fields that break rules, `check_types` raises a 400 for a wrong JSON type.
    `fields` maps a field selector's label to the path of its value.

    A row with `stored_as` (the qualified name of another row) is a second form of that row's
    objects: `to_stored` and `from_stored` convert, in both directions, whole objects and patches.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = VERBS
    singular: str = ""
    generation: bool = False
    returns_deleted: bool = False
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    check_types: Callable[[dict[str, Any]], None] = _leave
    fill: Callable[[dict[str, Any]], None] = _leave
    reset_status: Callable[[dict[str, Any]], None] = _leave
    check: Callable[[dict[str, Any]], list[Cause]] = _accept
    check_change: Callable[[dict[str, Any], dict[str, Any]], list[Cause]] = _accept_change
    name_rule: str = "subdomain"
    stored_as: str = ""
    to_stored: Callable[[dict[str, Any]], dict[str, Any]] = _as_it_is
    from_stored: Callable[[dict[str, Any]], dict[str, Any]] = _as_it_is

    @property
    def api_version(self) -> str:
        """``v1`` or ``group/version``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """``pods`` or ``leases.coordination.k8s.io``: the name used in messages and calls."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def has_status(self) -> bool:
        """Whether ``status`` is written through its own subresource."""
        return "status" in self.subresources

    def field_path(self, label: str) -> tuple[str, ...] | None:
        """Return the path behind a field selector's label; None if it cannot be selected by."""
        return COMMON_FIELDS.get(label) or self.fields.get(label)

    @property
    def singular_name(self) -> str:
        """The name of one: the kind in lower case unless the row says otherwise."""
        return self.singular or self.kind.lower()


class Catalogue:
    """All resources being served, by path and by kind. Adding one is adding a row."""

    def __init__(self, rows: tuple[Resource, ...]) -> None:
        self._by_path: dict[tuple[str, str, str], Resource] = {}
        self._by_kind: dict[tuple[str, str], Resource] = {}
        self._by_name: dict[str, Resource] = {}
        for row in rows:
            self.add(row)

    def __iter__(self) -> Iterator[Resource]:
        """Go over all resources in the order of the table."""
        return iter(self._by_path.values())

    def add(self, resource: Resource) -> None:
        """Serve one more resource; `MoorageError` if its path or kind is taken."""
        path = (resource.group, resource.version, resource.plural)
        kind = (resource.api_version, resource.kind)
        if path in self._by_path or kind in self._by_kind:
            raise MoorageError(
                f"the embedded API server already serves {resource.kind} of "
                f"{resource.api_version}; leave out the second registration"
            )
        self._by_path[path] = resource
        self._by_kind[kind] = resource
        self._by_name[resource.qualified] = resource

    def remove(self, resource: Resource) -> None:
        """Serve a resource no longer."""
        del self._by_path[resource.group, resource.version, resource.plural]
        del self._by_kind[resource.api_version, resource.kind]
        del self._by_name[resource.qualified]

    def at(self, group: str, version: str, plural: str) -> Resource | None:
        """Return the resource served at a path."""
        return self._by_path.get((group, version, plural))

    def of_kind(self, api_version: str, kind: str) -> Resource | None:
        """Return the resource whose objects say this apiVersion and kind."""
        return self._by_kind.get((api_version, kind))

    def has(self, qualified: str) -> bool:
        """Say whether a resource of this name, such as ``pods``, is served."""
        return qualified in self._by_name

    def named(self, qualified: str) -> Resource:
        """Return the resource called ``pods`` or ``leases.coordination.k8s.io``."""
        resource = self._by_name.get(qualified)
        if resource is None:
            raise MoorageError(
                f"the embedded API server serves no {qualified!r}; it knows "
                f"{', '.join(sorted(self._by_name))}"
            )
        return resource

    def stored(self, resource: Resource) -> Resource:
        """Return the row whose form is stored: `resource` itself, or what it is a second form of."""
        return self.named(resource.stored_as) if resource.stored_as else resource
