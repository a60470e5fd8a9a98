"""From bytes to records, fast where everything decodes and whole where not."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.decoding import Added, Change, Deleted, Modified, ObjectDecoder
from moorage.errors import LostAnswerError


class Meta(msgspec.Struct, rename="camel"):
    """As much of an object's metadata as these tests read."""

    name: str = ""
    resource_version: str = ""


class Thing(msgspec.Struct):
    """An object; `size` may be wrong."""

    metadata: Meta
    size: int = 0


KINDS: dict[str, type[Change[Thing]]] = {"ADDED": Added, "MODIFIED": Modified, "DELETED": Deleted}

events = st.lists(
    st.tuples(
        st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]),
        st.one_of(st.integers(-9, 9), st.just("wrong")),
    ),
    max_size=20,
)


@given(events=events)
def test_lines_equal_an_obvious_reading(events: list[tuple[str, int | str]]) -> None:
    """Every good change in order, every bad one reported, and the version of the last line."""
    lines = [
        {
            "type": kind,
            "object": {"metadata": {"name": "t", "resourceVersion": str(n)}, "size": size},
        }
        for n, (kind, size) in enumerate(events)
    ]
    reported: list[str] = []
    decoder = ObjectDecoder(Thing, lambda name, _: reported.append(name))
    found = decoder.lines(b"\n".join(msgspec.json.encode(line) for line in lines))
    assert found.changes == [
        KINDS[kind](Thing(Meta("t", str(n)), size))
        for n, (kind, size) in enumerate(events)
        if kind != "BOOKMARK" and isinstance(size, int)
    ]
    assert [change.type for change in found.changes] == [
        kind for kind, size in events if kind != "BOOKMARK" and size != "wrong"
    ]
    assert len(reported) == sum(kind != "BOOKMARK" and size == "wrong" for kind, size in events)
    assert found.resource_version == (str(len(events) - 1) if events else "")


def test_version_is_that_of_the_line_before_an_error() -> None:
    """A Status carries no version; what was reached before it counts."""
    added = b'{"type":"ADDED","object":{"metadata":{"resourceVersion":"7"}}}'
    error = b'{"type":"ERROR","object":{"metadata":{},"code":410}}'
    lines = ObjectDecoder(Thing).lines(added + b"\n" + error)
    assert lines.resource_version == "7"
    assert lines.status is not None
    assert lines.status.code == 410


@pytest.mark.parametrize("body", [b"", b"[]", b"hello", b'{"kind":"Status"}'])
def test_what_is_no_list_or_event_is_a_lost_answer(body: bytes) -> None:
    """Somebody else answered, or half of the answer is missing."""
    with pytest.raises(LostAnswerError):
        ObjectDecoder(Thing).page(body)
    if body:
        with pytest.raises(LostAnswerError):
            ObjectDecoder(Thing).lines(body)
