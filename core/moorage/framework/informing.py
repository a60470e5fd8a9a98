"""Objects of kinds that only plugins know: one store a kind, however many plugins ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["InformedKind", "Informer", "Informers"]


class InformedKind(NamedTuple):
    """A resource of the API by group (empty: core), version and plural."""

    group: str
    version: str
    plural: str

    @property
    def event_resource(self) -> str:
        """The name under which hints register: ``plural.version.group``."""
        return ".".join(part for part in (self.plural, self.version, self.group) if part)


class Informer:
    """The objects of one kind as they are in the cluster, kept up to date by the runner.

    Objects are plain dictionaries in the API's spelling, to be treated as read-only.
    """

    def __init__(self, kind: InformedKind) -> None:
        self.kind = kind
        self.synced = False
        self.asked_by: set[str] = set()
        """The plugins that would go without, where the server does not serve the kind."""
        self._objects: dict[tuple[str, str], Mapping[str, Any]] = {}

    def get(self, name: str, namespace: str = "") -> Mapping[str, Any] | None:
        """Return one object, None where there is none of that name."""
        return self._objects.get((namespace, name))

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(tuple(self._objects.values()))

    def __len__(self) -> int:
        return len(self._objects)

    def put(self, item: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Store the newer version of an object; returns the older. For the runner."""
        key = _key(item)
        before = self._objects.get(key)
        self._objects[key] = item
        return before

    def drop(self, item: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Forget an object; returns what was known of it. For the runner."""
        return self._objects.pop(_key(item), None)


class Informers:
    """All informers of a process by kind; plugins ask through their handle, in `start`."""

    def __init__(self) -> None:
        self._informers: dict[InformedKind, Informer] = {}

    def __iter__(self) -> Iterator[Informer]:
        return iter(tuple(self._informers.values()))

    def get(self, kind: InformedKind, *, plugin: str = "") -> Informer:
        """Return the informer of a kind, made when first asked for; `plugin` is who asks."""
        informer = self._informers.get(kind)
        if informer is None:
            informer = self._informers[kind] = Informer(kind)
        if plugin:
            informer.asked_by.add(plugin)
        return informer


def _key(item: Mapping[str, Any]) -> tuple[str, str]:
    metadata = item.get("metadata", {})
    return metadata.get("namespace", ""), metadata.get("name", "")
