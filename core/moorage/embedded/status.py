"""Refusals: exceptions that carry the ``Status`` object a real API server would answer with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from moorage.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from moorage.embedded.resources import Resource

__all__ = [
    "Cause",
    "StatusError",
    "already_exists",
    "bad_request",
    "conflict",
    "details_of",
    "expired",
    "forbidden",
    "invalid",
    "not_found",
    "success",
]


class StatusError(ApiError):
    """An `ApiError` raised by the embedded server itself; `details` goes into the Status body."""

    def __init__(
        self,
        message: str,
        *,
        code: int,
        reason: str,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        retry_after = (details or {}).get("retryAfterSeconds")
        super().__init__(message, code=code, reason=reason, retry_after=retry_after)
        self.details = details

    def as_status(self) -> dict[str, Any]:
        """Return the ``Status`` object, its fields in the order of a real API server."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": str(self),
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details:
            status["details"] = dict(self.details)
        status["code"] = self.code
        return status


class Cause(NamedTuple):
    """One field that validation refuses."""

    reason: str
    message: str
    field: str


def success(*, code: int | None = None, details: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the ``Status`` of something that went well; `code` only where the API states it."""
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
    }
    if details:
        status["details"] = dict(details)
    if code is not None:
        status["code"] = code
    return status


def details_of(resource: Resource, name: str) -> dict[str, Any]:
    """Return the ``details`` that name an object: its name, group (unless core) and plural."""
    group = {"group": resource.group} if resource.group else {}
    return {"name": name, **group, "kind": resource.plural}


def not_found(resource: Resource, name: str) -> StatusError:
    """404: no such object."""
    return StatusError(
        f'{resource.qualified} "{name}" not found',
        code=404,
        reason="NotFound",
        details=details_of(resource, name),
    )


def already_exists(resource: Resource, name: str) -> StatusError:
    """409 on create: the name is taken."""
    return StatusError(
        f'{resource.qualified} "{name}" already exists',
        code=409,
        reason="AlreadyExists",
        details=details_of(resource, name),
    )


def conflict(
    resource: Resource,
    name: str,
    why: str = "the object has been modified; please apply your changes to the latest version "
    "and try again",
    *,
    named: str | None = None,
) -> StatusError:
    """409: the object is not in the state that the write presumes.

    `named` replaces the plural in message and details (``pods/binding``, or the kind).
    """
    details = details_of(resource, name)
    if named is not None:
        details["kind"] = named
    return StatusError(
        f'Operation cannot be fulfilled on {named or resource.qualified} "{name}": {why}',
        code=409,
        reason="Conflict",
        details=details,
    )


def forbidden(resource: Resource, name: str, why: str) -> StatusError:
    """403 from admission, as for a priority class that does not exist."""
    return StatusError(
        f'{resource.qualified} "{name}" is forbidden: {why}',
        code=403,
        reason="Forbidden",
        details=details_of(resource, name),
    )


def bad_request(message: str) -> StatusError:
    """400: a request that cannot be understood."""
    return StatusError(message, code=400, reason="BadRequest")


def expired(message: str) -> StatusError:
    """410: the version asked for is no longer in the history."""
    return StatusError(message, code=410, reason="Expired")


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> StatusError:
    """422: the object breaks rules; every offending field is named, each once in the message."""
    sentences = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    listed = sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"
    qualified = f"{kind}.{group}" if group else kind
    details: dict[str, Any] = {"name": name}
    if group:
        details["group"] = group
    details["kind"] = kind
    details["causes"] = [cause._asdict() for cause in causes]
    return StatusError(
        f'{qualified} "{name}" is invalid: {listed}',
        code=422,
        reason="Invalid",
        details=details,
    )
