"""Whether everything that the API server holds by now has been taken in."""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from moorage.api.client import ApiClient
from moorage.runner.watching import Watch

__all__ = ["has_caught_up"]

_PAGE = 5000


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = "0"


class _Object(msgspec.Struct):
    metadata: _Meta


class _ListMeta(msgspec.Struct):
    next_page: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct):
    metadata: _ListMeta
    items: list[_Object] | None = None


async def has_caught_up(client: ApiClient, watch: Watch) -> bool:
    """Ask the API server for all objects of a watch, newest state, and compare.

    Caught up is who has seen the newest version of all that is there, and knows nothing else.
    Raises ApiError, UnreachableError.
    """
    newest = 0
    identities: set[Hashable] = set()
    params = {**watch.params, "limit": str(_PAGE)}
    while True:
        body = await client.request("GET", watch.reflector.resource.path(), params=params)
        page = msgspec.json.decode(body, type=_List)
        for item in page.items or ():
            # Resource versions compare as numbers, by the API's promise since 1.35 (KEP-5504).
            newest = max(newest, int(item.metadata.resource_version))
            meta = item.metadata
            identities.add(watch.feed.identity_by(meta.namespace, meta.name, meta.uid))
        if not page.metadata.next_page:
            break
        params = {**params, "continue": page.metadata.next_page}
    return (
        not watch.is_taking
        and int(watch.reflector.resource_version) >= newest
        and identities.issuperset(watch.feed.identities())
    )
