"""What a scheduler writes about volumes: that one is for a claim, and where a claim's is to be made.

Patches of what changes, each good for the version that was looked at alone: where somebody was
faster, the server answers 409 and nothing is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from moorage.api.client import MERGE_PATCH
from moorage.api.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moorage.api.client import ApiClient

__all__ = ["annotate_claim", "claim_volume"]


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Written(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()


async def claim_volume(
    client: ApiClient,
    *,
    name: str,
    version: str,
    claim: Mapping[str, str],
    by_controller: bool,
) -> str:
    """Write into a PersistentVolume which claim it is for; returns the version it has then.

    `claim` is the reference; it was chosen `by_controller`, or by who made the volume: then the
    volume stays with a claim of that name when this one goes. Raises ApiError (409: the volume is
    not as in `version`), UnreachableError.
    """
    metadata: dict[str, Any] = {"resourceVersion": version}
    if by_controller:
        metadata["annotations"] = {"pv.kubernetes.io/bound-by-controller": "yes"}
    body = {"metadata": metadata, "spec": {"claimRef": claim}}
    return await _patch(client, PERSISTENT_VOLUMES.path(name=name), body)


async def annotate_claim(
    client: ApiClient,
    *,
    namespace: str,
    name: str,
    version: str,
    annotations: Mapping[str, str],
) -> str:
    """Write annotations of a PersistentVolumeClaim; returns the version it has then.

    Raises ApiError (409: the claim is not as in `version`), UnreachableError.
    """
    body = {"metadata": {"resourceVersion": version, "annotations": annotations}}
    return await _patch(client, PERSISTENT_VOLUME_CLAIMS.path(namespace, name), body)


async def _patch(client: ApiClient, path: str, body: dict[str, Any]) -> str:
    answer = await client.request("PATCH", path, body=body, content_type=MERGE_PATCH)
    return msgspec.json.decode(answer, type=_Written).metadata.resource_version
