"""Lists: selection, pages, and the snapshots that keep the pages of one list consistent."""

from __future__ import annotations

import base64
import binascii
import json
from bisect import bisect_right
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from moorage.embedded.shelf import Key
from moorage.embedded.status import StatusError, bad_request, expired

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.embedded.registry import Registry
    from moorage.embedded.resources import Resource
    from moorage.embedded.selectors import Selection
    from moorage.embedded.shelf import Version

__all__ = ["Listing", "Page"]

# Lists being paged through at one time; a snapshot is a list of references, 8 bytes an object.
_SNAPSHOTS = 16
_TOKEN_VERSION = "meta.k8s.io/v1"  # noqa: S105 - the format of the continue token, no secret


class Page(NamedTuple):
    """Part of a list: its objects, the version it shows, and how to go on (empty: it is the last)."""

    versions: Sequence[Version]
    number: int
    continue_token: str = ""
    remaining: int | None = None


class Listing:
    """Lists a registry's objects."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._snapshots: OrderedDict[tuple[str, int], Sequence[Version]] = OrderedDict()

    def page(
        self,
        resource: Resource,
        selection: Selection,
        *,
        limit: int = 0,
        continue_token: str = "",
        version: str = "",
        exact: bool = False,
    ) -> Page:
        """List what `selection` selects, ordered by namespace and name.

        `version` is the oldest state that will do or, with `exact`, the very state wanted; a future
        one is a 504, a past exact one a 410 if the resource has changed since. `limit` 0 means all.
        """
        number = self._registry.version
        if continue_token:
            number, start = _read_token(continue_token)
            return self._rest(resource, selection, number, start, limit)
        self._check_version(resource, version, exact=exact)
        versions: Sequence[Version] = self._registry.shelf(resource).versions(selection.namespace)
        if limit and limit < len(versions):
            self._keep(resource, number)
        return _cut(versions, selection, number, limit)

    def _check_version(self, resource: Resource, version: str, *, exact: bool) -> None:
        if not version:
            return
        if not version.isdecimal():
            raise bad_request(f'Invalid value: "{version}": strconv.ParseUint: invalid syntax')
        wanted, current = int(version), self._registry.version
        if wanted > current:
            raise StatusError(
                f"Timeout: Too large resource version: {wanted}, current: {current}",
                code=504,
                reason="Timeout",
                details={
                    "causes": [
                        {
                            "reason": "ResourceVersionTooLarge",
                            "message": "Too large resource version",
                        }
                    ],
                    "retryAfterSeconds": 1,
                },
            )
        if exact:
            shelf = self._registry.shelf(resource)
            if wanted < shelf.floor or shelf.position_after(wanted) < shelf.end:
                raise expired(f"too old resource version: {wanted} ({current})")

    def _keep(self, resource: Resource, number: int) -> None:
        shelf = self._registry.shelf(resource)
        self._snapshots[shelf.resource.qualified, number] = shelf.versions()
        while len(self._snapshots) > _SNAPSHOTS:
            self._snapshots.popitem(last=False)

    def _rest(
        self, resource: Resource, selection: Selection, number: int, start: Key, limit: int
    ) -> Page:
        shelf = self._registry.shelf(resource)
        snapshot = self._snapshots.get((shelf.resource.qualified, number))
        if snapshot is None:
            raise expired(
                "The provided continue parameter is too old to display a consistent list result. "
                "You can start a new list without the continue parameter."
            )
        self._snapshots.move_to_end((shelf.resource.qualified, number))
        index = bisect_right(snapshot, start, key=lambda version: version.key)
        rest = snapshot[index:]
        if selection.namespace is not None:
            rest = [version for version in rest if version.key.namespace == selection.namespace]
        return _cut(rest, selection, number, limit)


def _cut(versions: Sequence[Version], selection: Selection, number: int, limit: int) -> Page:
    if selection.selects:
        versions = [version for version in versions if version.selected_by(selection)]
    if not limit or limit >= len(versions):
        return Page(versions, number)
    # With a selector a real server does not know how many are left, and does not say.
    remaining = None if selection.selects else len(versions) - limit
    token = _write_token(number, versions[limit - 1].key)
    return Page(versions[:limit], number, token, remaining)


def _write_token(number: int, last: Key) -> str:
    start = f"/{last.namespace}/{last.name}\0" if last.namespace else f"/{last.name}\0"
    token = {"v": _TOKEN_VERSION, "rv": number, "start": start}
    text = json.dumps(token, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, Key]:
    try:
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
        content = json.loads(text)
        number, start = int(content["rv"]), str(content["start"])
    except (binascii.Error, UnicodeDecodeError, ValueError, TypeError, KeyError) as error:
        raise bad_request(f"invalid continue token: continue key is not valid: {error}") from error
    namespace, _slash, name = start.strip("/").rstrip("\0").rpartition("/")
    return number, Key(namespace, name)
