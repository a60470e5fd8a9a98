"""Whether kube-scheduler is at work in a cluster; two schedulers must not serve one name."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import msgspec

from moorage.api.resources import LEASES
from moorage.errors import ApiError, ConfigurationError

if TYPE_CHECKING:
    from moorage.api.client import ApiClient
    from moorage.config import KubeSchedulerConfiguration

__all__ = ["refuse_to_compete", "shares_lease"]

_NAMESPACE: Final = "kube-system"
_NAME: Final = "kube-scheduler"
_SERVED: Final = "default-scheduler"
_PATIENCE_SECONDS: Final = 10.0
"""As at start-up elsewhere: somebody waits for an answer."""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: datetime | None = None


class _Lease(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


def shares_lease(configuration: KubeSchedulerConfiguration) -> bool:
    """Say whether kube-scheduler's own Lease is the one to hold: then the election keeps us apart."""
    election = configuration.leader_election
    return (
        election.leader_elect
        and election.resource_name == _NAME
        and election.resource_namespace == _NAMESPACE
    )


async def refuse_to_compete(client: ApiClient, scheduler_names: Iterable[str]) -> None:
    """Raise ConfigurationError if we were to serve ``default-scheduler`` beside kube-scheduler.

    Somebody holds its Lease if it was renewed within its duration, by our clock; a time in the
    future counts as fresh. Raises ApiError where the Lease may not be read: then nobody can tell.
    """
    if _SERVED not in scheduler_names:
        return
    try:
        body = await client.request(
            "GET", LEASES.path(_NAMESPACE, _NAME), timeout=_PATIENCE_SECONDS
        )
    except ApiError as error:
        if error.code == HTTPStatus.NOT_FOUND:
            return
        raise
    spec = msgspec.json.decode(body, type=_Lease).spec
    if spec.holder_identity and spec.renew_time is not None:
        lasts = timedelta(seconds=spec.lease_duration_seconds or 0)
        if datetime.now(UTC) < spec.renew_time + lasts:
            raise ConfigurationError(
                f"{spec.holder_identity} holds the Lease {_NAMESPACE}/{_NAME}, so kube-scheduler"
                f" serves {_SERVED} already; give the profile another schedulerName, or stop"
                " kube-scheduler first"
            )
