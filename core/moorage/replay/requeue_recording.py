"""The format of recorded requeueing: a JSON list of cases, each with one event."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from moorage.errors import RecordingError

__all__ = ["RequeueCase", "RequeueEvent", "is_requeue_recording", "read_cases"]


class RequeueEvent(msgspec.Struct):
    """The one change that was made: an object created, deleted, or patched (a merge patch)."""

    op: str
    resource: str
    name: str = ""
    namespace: str | None = None
    object: dict[str, Any] | None = None
    patch: dict[str, Any] | None = None


class RequeueCase(msgspec.Struct, rename="camel"):
    """A cluster, a pod that does not fit it, an event, and what came of it.

    `objects` are the API's, by plural. `retried`: the pod was tried again because of the event;
    `bound_to`: where it ended. `message_before` or `reason_before` say why it did not fit.
    """

    name: str
    objects: dict[str, list[dict[str, Any]]]
    pod: dict[str, Any]
    event: RequeueEvent
    retried: bool
    bound_to: str | None = None
    message_before: str | None = None
    reason_before: str | None = None


def is_requeue_recording(path: Path) -> bool:
    """Say whether a file is of this format: recorded decisions are lines, this is one list."""
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip().startswith(b"[")
    except OSError:
        return False


def read_cases(path: Path) -> list[RequeueCase]:
    """Read all cases; RecordingError where the file is none of this format, or has no case."""
    try:
        cases = msgspec.json.decode(path.read_bytes(), type=list[RequeueCase])
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise RecordingError(f"{path}: is no list of requeueing cases: {error}") from error
    if not cases:
        raise RecordingError(f"{path}: holds no case, so there is nothing to compare")
    return cases
