"""One resource's objects, each as the bytes of its present version, and what changed lately.

An object lives as JSON bytes: a reader that wants a dict decodes its own copy, so nobody can change
what is stored, lists are joined from bytes, and the garbage collector has nothing to walk over.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moorage.embedded.resources import Resource
    from moorage.embedded.selectors import Selection

__all__ = ["Change", "Key", "Shelf", "Version"]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(type=dict[str, Any]).decode


class Key(NamedTuple):
    """Where an object stands; `namespace` is empty for a cluster-wide object."""

    namespace: str
    name: str


class Version(msgspec.Struct, frozen=True, gc=False):
    """One version of one object; never changes.

    `item` is its JSON without kind and apiVersion, the form it has in a list; `labels` and `fields`
    are what selectors ask about.
    """

    key: Key
    number: int
    uid: str
    item: bytes
    labels: dict[str, str]
    fields: dict[str, str]

    def as_dict(self, resource: Resource) -> dict[str, Any]:
        """Return a fresh copy of the object in the form of `resource`; the caller owns it."""
        head = {"kind": resource.kind, "apiVersion": resource.api_version}
        return {**head, **resource.from_stored(_decode(self.item))}

    def as_item(self, resource: Resource) -> bytes:
        """Return the object's JSON as an item of a list: without kind and apiVersion."""
        if resource.stored_as:
            return _encode(resource.from_stored(_decode(self.item)))
        return self.item

    def as_json(self, resource: Resource) -> bytes:
        """Return the object's JSON, kind and apiVersion first."""
        head = f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}",'
        return head.encode() + self.as_item(resource)[1:]

    def selected_by(self, selection: Selection) -> bool:
        """Tell whether a list with this selection includes the object."""
        return selection.accepts(self.key.namespace, self.labels, self.fields)


class Change(NamedTuple):
    """One event of the history: `version` is the state after it, for a deletion the last state."""

    version: Version
    before: Version | None
    deleted: bool

    def seen_through(self, selection: Selection) -> tuple[str, Version] | None:
        """Return the watch event that a selection makes of this change; None if it sees nothing.

        An object that stops matching is reported as deleted, in the state that matched last.
        """
        before = self.before
        was = before is not None and before.selected_by(selection)
        if not self.deleted and self.version.selected_by(selection):
            return ("MODIFIED" if was else "ADDED"), self.version
        if not was or before is None:
            return None
        return "DELETED", self.version if self.deleted else restamped(before, self.version.number)


def restamped(version: Version, number: int) -> Version:
    """Return the same state under another resourceVersion."""
    content = _decode(version.item)
    content["metadata"]["resourceVersion"] = str(number)
    return msgspec.structs.replace(version, number=number, item=_encode(content))


def make_version(resource: Resource, key: Key, content: dict[str, Any], number: int) -> Version:
    """Freeze an object (kind and apiVersion are left out) as the version of this number."""
    metadata = content["metadata"]
    metadata["resourceVersion"] = str(number)
    item = {name: part for name, part in content.items() if name not in {"kind", "apiVersion"}}
    return Version(
        key,
        number,
        metadata["uid"],
        _encode(item),
        metadata.get("labels") or {},
        _field_values(resource.fields, content, key),
    )


def _field_values(
    paths: Mapping[str, tuple[str, ...]], content: dict[str, Any], key: Key
) -> dict[str, str]:
    values = {"metadata.name": key.name, "metadata.namespace": key.namespace}
    for label, path in paths.items():
        value: Any = content
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if value is None:
            continue
        values[label] = ("true" if value else "false") if isinstance(value, bool) else str(value)
    return values


class Shelf:
    """The present versions of one resource's objects, and its bounded history of changes.

    `history` is the number of changes that are kept at least; up to a quarter more may be held, so
    that dropping old ones costs O(1) a change. Changes later than `floor` are all there.
    """

    def __init__(self, resource: Resource, *, history: int, floor: int) -> None:
        self.resource = resource
        self.floor = floor
        self._history = history
        self._versions: dict[Key, Version] = {}
        self._order: list[Key] = []
        self._arrived: set[Key] = set()  # keys to be merged into _order when somebody lists
        self._left: set[Key] = set()  # keys to be taken out of it
        self._changes: list[Change] = []
        self._dropped = 0
        self._waiting: set[asyncio.Future[None]] = set()

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self._versions)

    def get(self, key: Key) -> Version | None:
        """Return the present version of an object."""
        return self._versions.get(key)

    def put(self, version: Version) -> None:
        """Make `version` the present one of its object and record the change."""
        before = self._versions.get(version.key)
        if before is None:
            self._left.discard(version.key)
            self._arrived.add(version.key)
        self._versions[version.key] = version
        self._record(Change(version, before, deleted=False))

    def remove(self, last: Version) -> None:
        """Take an object away; `last` is its last state, numbered as the deletion."""
        before = self._versions.pop(last.key)
        self._arrived.discard(last.key)
        self._left.add(last.key)
        self._record(Change(last, before, deleted=True))

    def versions(self, namespace: str | None = None) -> list[Version]:
        """Return the present versions ordered by namespace and name; O(n) in those returned."""
        self._sort()
        if namespace is None:
            keys = self._order
        else:
            first = bisect_left(self._order, Key(namespace, ""))
            keys = self._order[first : bisect_left(self._order, Key(namespace + "\0", ""))]
        return [self._versions[key] for key in keys]

    def _sort(self) -> None:
        # Put off until somebody lists: a burst of creations and deletions is worked in at once,
        # and sorting an almost sorted list is nearly linear.
        if self._arrived or self._left:
            moved = self._arrived | self._left
            self._order = [key for key in self._order if key not in moved]
            self._order += sorted(self._arrived)
            self._order.sort()
            self._arrived.clear()
            self._left.clear()

    def _record(self, change: Change) -> None:
        self._changes.append(change)
        surplus = len(self._changes) - self._history
        if surplus > self._history // 4:
            self.floor = self._changes[surplus - 1].version.number
            del self._changes[:surplus]
            self._dropped += surplus
        self.wake()

    def compact(self) -> None:
        """Drop the history: who has not heard all of it by now has to begin anew."""
        if self._changes:
            self.floor = self._changes[-1].version.number
            self._dropped += len(self._changes)
            self._changes.clear()
        self.wake()

    def wake(self) -> None:
        """Let everybody go on who waits for a change."""
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting.clear()

    def position_after(self, number: int) -> int:
        """Return the position in the history behind everything up to resourceVersion `number`."""
        index = bisect_right(self._changes, number, key=lambda change: change.version.number)
        return self._dropped + index

    @property
    def end(self) -> int:
        """The position behind the latest change."""
        return self._dropped + len(self._changes)

    def changes(self, position: int, *, most: int) -> list[Change] | None:
        """Return up to `most` changes from a position on; None if they have been dropped."""
        index = position - self._dropped
        return None if index < 0 else self._changes[index : index + most]

    async def wait(self, position: int) -> None:
        """Return when there is a change at `position`, or when somebody calls `wake`."""
        if position < self.end:
            return
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await future
        finally:
            self._waiting.discard(future)

    def check_invariants(self) -> None:
        """Raise `AssertionError` if order, versions and history do not agree."""
        self._sort()
        held = sorted(self._versions)
        if self._order != held:
            raise AssertionError("the order lists other objects than there are versions")
        numbers = [change.version.number for change in self._changes]
        if numbers != sorted(set(numbers)) or (numbers and numbers[0] <= self.floor):
            raise AssertionError("the history is out of order or reaches below its floor")
