"""From bytes to records: pages of lists, lines of watches.

Everything is decoded in one pass at C speed. Only where a record does not decode is its page or
chunk read again, object by object, so that one bad object costs no other.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

import msgspec

from moorage.api.faults import Status
from moorage.errors import LostAnswerError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Added",
    "Change",
    "ChangeType",
    "Deleted",
    "Lines",
    "Modified",
    "ObjectDecoder",
    "Page",
    "log_undecodable",
]

T = TypeVar("T")

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]

_logger = logging.getLogger(__name__)


class Change(msgspec.Struct, Generic[T], frozen=True, tag_field="type"):
    """One object that came, changed or went: `type` is ADDED, MODIFIED or DELETED."""

    object: T

    type: ClassVar[ChangeType]


class Added(Change[T], Generic[T], frozen=True, tag="ADDED"):
    """The object is new."""

    type: ClassVar[ChangeType] = "ADDED"


class Modified(Change[T], Generic[T], frozen=True, tag="MODIFIED"):
    """The object changed; this is its new state."""

    type: ClassVar[ChangeType] = "MODIFIED"


class Deleted(Change[T], Generic[T], frozen=True, tag="DELETED"):
    """The object is gone; this is its last state."""

    type: ClassVar[ChangeType] = "DELETED"


class _Bookmark(msgspec.Struct, frozen=True, tag_field="type", tag="BOOKMARK"):
    """Nothing happened up to the version that it carries."""


class _Error(msgspec.Struct, frozen=True, tag_field="type", tag="ERROR"):
    """The server ends the watch, and says why."""

    object: Status


_Event: TypeAlias = "Change[T] | _Bookmark | _Error"


class _RawEvent(msgspec.Struct, frozen=True):
    """Any line."""

    type: str
    object: msgspec.Raw


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    next_page: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct, Generic[T], frozen=True):
    metadata: _ListMeta
    items: list[T] | None = None  # Go writes an empty list as null at times


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class _Object(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()


class _Versioned(msgspec.Struct, frozen=True):
    """A line, as far as its version goes."""

    object: _Object


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list; `next_page` is the token of the one that follows, or empty."""

    items: list[T]
    resource_version: str
    next_page: str


@dataclass(frozen=True, slots=True)
class Lines(Generic[T]):
    """What a chunk of a watch said: changes in order, the version reached, and maybe the end.

    `resource_version` is empty where no line carried one, `status` None unless the server ended
    the watch.
    """

    changes: list[Change[T]]
    resource_version: str
    status: Status | None


def log_undecodable(name: str, error: msgspec.ValidationError) -> None:
    """Say in the log which object is left out, and why."""
    _logger.warning("Left out %s, which does not decode: %s", name, error)


class ObjectDecoder(Generic[T]):
    """Decodes what a server answers into records of one type.

    `record` is a msgspec.Struct type; `on_undecodable` is told of each object that is left out:
    its name (``namespace/name``) and why.
    """

    def __init__(
        self,
        record: type[T],
        on_undecodable: Callable[[str, msgspec.ValidationError], None] = log_undecodable,
    ) -> None:
        self._on_undecodable = on_undecodable
        # Types made at run time; mypy takes none of them for a type.
        page: Any = _Page[record]  # type: ignore[valid-type]
        added: Any = Added[record]  # type: ignore[valid-type]
        modified: Any = Modified[record]  # type: ignore[valid-type]
        deleted: Any = Deleted[record]  # type: ignore[valid-type]
        self._object = msgspec.json.Decoder(record)
        self._page: msgspec.json.Decoder[_Page[T]] = msgspec.json.Decoder(page)
        self._lines: msgspec.json.Decoder[_Event[T]] = msgspec.json.Decoder(
            added | modified | deleted | _Bookmark | _Error
        )

    def page(self, body: bytes) -> Page[T]:
        """Decode one page. Raises LostAnswerError where it is no list at all."""
        try:
            page = self._page.decode(body)
        except msgspec.DecodeError:
            return self._page_one_by_one(body)
        return Page(page.items or [], page.metadata.resource_version, page.metadata.next_page)

    def lines(self, chunk: bytes) -> Lines[T]:
        """Decode whole lines. Raises LostAnswerError where one is no event at all.

        One pass over the bytes, and a second one over the last line, for its version.
        """
        try:
            events = self._lines.decode_lines(chunk)
        except msgspec.DecodeError:
            events = [event for line in chunk.split(b"\n") if (event := self._line(line))]
        status = next((event.object for event in events if isinstance(event, _Error)), None)
        changes = [event for event in events if isinstance(event, Change)]
        return Lines(changes, _last_version(chunk), status)

    def _page_one_by_one(self, body: bytes) -> Page[T]:
        try:
            page = msgspec.json.decode(body, type=_Page[msgspec.Raw])
        except msgspec.DecodeError as error:
            raise LostAnswerError(f"a list came back as something else ({error})") from error
        items = [one for raw in page.items or () if (one := self._one(raw)) is not None]
        return Page(items, page.metadata.resource_version, page.metadata.next_page)

    def _line(self, line: bytes) -> _Event[T] | None:
        """Decode one line; None where its object does not decode, which has been reported."""
        if not line.strip():
            return None
        try:
            event = msgspec.json.decode(line, type=_RawEvent)
        except msgspec.DecodeError as error:
            raise LostAnswerError(f"a watch carried a line that is no event ({error})") from error
        if event.type == "BOOKMARK":
            return _Bookmark()
        if event.type == "ERROR":
            return _Error(msgspec.json.decode(event.object, type=Status))
        one = self._one(event.object)
        if one is None or event.type not in _CHANGES:
            return None
        return _CHANGES[event.type](one)

    def _one(self, raw: msgspec.Raw) -> T | None:
        try:
            return self._object.decode(raw)
        except msgspec.ValidationError as error:
            try:
                meta = msgspec.json.decode(raw, type=_Object).metadata
            except msgspec.ValidationError:
                meta = _Meta(name="an object without a name")
            self._on_undecodable(str(meta), error)
            return None


_CHANGES: dict[str, type[Change[Any]]] = {
    "ADDED": Added,
    "MODIFIED": Modified,
    "DELETED": Deleted,
}


def _last_version(chunk: bytes) -> str:
    """Return the version that the last line with one carries; empty where none does.

    A line that is an ERROR carries none.
    """
    end = len(chunk)
    while end > 0:
        start = chunk.rfind(b"\n", 0, end) + 1
        try:
            version = msgspec.json.decode(chunk[start:end], type=_Versioned)
        except msgspec.DecodeError:  # an empty line, or metadata of a shape that nobody can read
            version = _Versioned(_Object())
        if version.object.metadata.resource_version:
            return version.object.metadata.resource_version
        end = start - 1
    return ""
