"""Claims at the API server: each change is made to the version that it was decided on, or anew.

Nothing is written whole: changes are merge patches that name the version they are for. Where the
answer to one was lost, the claim is read until somebody answers: whoever gave up would free devices
that may be taken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from itertools import count
from typing import Any

import msgspec

from moorage.api.client import ApiClient
from moorage.api.resources import RESOURCE_CLAIMS
from moorage.errors import ApiError, LostAnswerError, UnreachableError
from moorage.model.devices import ResourceClaim

__all__ = ["Change", "UnsettledError", "change_claim", "create_claim", "delete_claim"]

_MERGE_PATCH = "application/merge-patch+json"
_MOST_FAILURES = 10
_READ_DELAYS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each attempt to read; the last one for all after it."""


class UnsettledError(UnreachableError):
    """A patch of `claim` failed, and an earlier one to the same version may still arrive."""

    def __init__(self, claim: ResourceClaim, error: Exception) -> None:
        super().__init__(str(error))
        self.claim = claim


Change = Callable[[ResourceClaim], tuple[str, dict[str, Any]] | None]
"""Says for a version of a claim what to patch: ``status`` or nothing, and the patch; None: nothing."""


async def change_claim(
    client: ApiClient,
    claim: ResourceClaim,
    change: Change,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> ResourceClaim:
    """Patch a claim until `change` has nothing left to do; returns its newest version.

    `change` is asked anew for each version, so that it may be asked again after its patch went
    through; what it raises goes to the caller. Raises ApiError and UnreachableError; UnsettledError
    where a patch whose answer was lost may still arrive.
    """
    lost_at = ""
    failures: list[Exception] = []
    try:
        while (wanted := change(claim)) is not None:
            if len(failures) > _MOST_FAILURES:
                raise failures[-1]
            try:
                claim = await _patch(client, claim, *wanted)
            except (ApiError, UnreachableError) as error:
                if _is_unclear(error):
                    lost_at = claim.metadata.resource_version
                elif not _is_conflict(error):
                    raise
                failures.append(error)
                await sleep(0.01 * len(failures))
                claim = await _read(client, claim, sleep)
    except (ApiError, UnreachableError) as error:
        if lost_at and lost_at == claim.metadata.resource_version:
            raise UnsettledError(claim, error) from error
        raise
    return claim


async def create_claim(
    client: ApiClient, claim: ResourceClaim, *, generate_name: str
) -> ResourceClaim:
    """Create a claim under a generated name; returns it as stored. Raises as `change_claim`."""
    written: dict[str, Any] = msgspec.to_builtins(claim)
    metadata = written["metadata"]
    metadata = {key: metadata[key] for key in ("namespace", "ownerReferences", "annotations")}
    body = {
        "apiVersion": RESOURCE_CLAIMS.api_version,
        "kind": RESOURCE_CLAIMS.kind,
        "metadata": {"generateName": generate_name, **metadata},
        "spec": written.get("spec", {}),
    }
    answer = await client.request("POST", RESOURCE_CLAIMS.path(claim.metadata.namespace), body=body)
    return _decoded(answer)


async def delete_claim(client: ApiClient, claim: ResourceClaim) -> None:
    """Delete a claim; one that is gone already is left alone. Raises as `change_claim`."""
    body = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": claim.metadata.uid},
    }
    try:
        await client.request("DELETE", _path(claim), body=body)
    except ApiError as error:
        if error.code not in {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}:
            raise


def _is_unclear(error: Exception) -> bool:
    """Say whether it is unknown what became of a request: a 5xx tells nothing of the store."""
    if isinstance(error, ApiError):
        return error.code >= HTTPStatus.INTERNAL_SERVER_ERROR
    return isinstance(error, LostAnswerError)


def _is_conflict(error: Exception) -> bool:
    return isinstance(error, ApiError) and error.code == HTTPStatus.CONFLICT


async def _patch(
    client: ApiClient, claim: ResourceClaim, subresource: str, patch: dict[str, Any]
) -> ResourceClaim:
    metadata = {
        "uid": claim.metadata.uid,
        "resourceVersion": claim.metadata.resource_version,
        **patch.get("metadata", {}),
    }
    answer = await client.request(
        "PATCH",
        _path(claim, subresource),
        body={**patch, "metadata": metadata},
        content_type=_MERGE_PATCH,
    )
    return _decoded(answer)


async def _read(
    client: ApiClient, claim: ResourceClaim, sleep: Callable[[float], Awaitable[None]]
) -> ResourceClaim:
    """Read a claim, for as long as that takes; ApiError where it is gone or may not be read."""
    for attempt in count():
        await sleep(_READ_DELAYS[min(attempt, len(_READ_DELAYS) - 1)])
        try:
            newest = _decoded(await client.request("GET", _path(claim)))
        except (UnreachableError, msgspec.DecodeError):
            continue
        except ApiError as error:
            overloaded = error.code == HTTPStatus.TOO_MANY_REQUESTS
            if error.code < HTTPStatus.INTERNAL_SERVER_ERROR and not overloaded:
                raise
            continue
        if newest.metadata.uid != claim.metadata.uid:
            raise ApiError(
                f"claim {claim.key} was replaced by another of the same name",
                code=HTTPStatus.CONFLICT,
                reason="Conflict",
            )
        return newest
    raise AssertionError("it is asked for ever")


def _path(claim: ResourceClaim, subresource: str = "") -> str:
    metadata = claim.metadata
    return RESOURCE_CLAIMS.path(metadata.namespace, metadata.name, subresource or None)


def _decoded(answer: bytes) -> ResourceClaim:
    return msgspec.json.decode(answer, type=ResourceClaim)
