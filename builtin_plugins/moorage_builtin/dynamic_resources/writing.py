"""What is written about a pod's devices: allocations, who uses them, and how that is undone.

::

    reserved --finalizer, allocation and reservedFor, claim by claim--> written --ready--> to be bound
                        |                                                  |
                        +------- undo: no longer reserved for the pod <----+

A claim that was written stays allocated when the pod fails: the next attempt finds it so, or gives
its devices back in PostFilter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

import moorage
from moorage.errors import ApiError, UnreachableError
from moorage.model.devices import AllocationResult, ConsumerReference, ResourceClaim
from moorage_builtin.dynamic_resources.claim_api import (
    UnsettledError,
    change_claim,
    create_claim,
    delete_claim,
)
from moorage_builtin.dynamic_resources.extended import MARK, NAME_IN_MEMORY, Served
from moorage_builtin.dynamic_resources.ledger import Ledger
from moorage_builtin.dynamic_resources.pod_claims import is_reserved_for
from moorage_builtin.dynamic_resources.pod_devices import Allocated
from moorage_builtin.dynamic_resources.readiness import (
    BindingFailedError,
    has_conditions,
    is_overdue,
    is_ready,
)

__all__ = ["Writer"]

_FINALIZER = "resource.kubernetes.io/delete-protection"
_LATEST_ARRIVAL = 120.0
"""Seconds after which a request arrives no more; API servers give up after 60."""
_LOOK_AGAIN = 5.0
"""Seconds after which claims are looked at again, whether or not one was told of."""


class _LateError(Exception):
    """A claim can no longer be written as was decided; the text says why."""


class Writer:
    """Writes what was decided about devices; one for each plugin instance."""

    def __init__(self, handle: moorage.Handle, ledger: Ledger, binding_timeout: float) -> None:
        self._handle = handle
        self._ledger = ledger
        self._timeout = binding_timeout

    async def write(
        self,
        state: moorage.CycleState,
        pod: moorage.Pod,
        node_name: str,
        *,
        claims: Sequence[ResourceClaim],
        allocations: Iterable[Allocated],
        served: Sequence[Served],
    ) -> moorage.Verdict | None:
        """Write all claims of a pod and wait until their devices are ready; an Error if that fails.

        Notes in `state` what has been written, for `undo`.
        """
        given = {one.claim.metadata.uid: one for one in allocations}
        written: list[ResourceClaim] = []
        state["written"] = written
        try:
            for claim in claims:
                allocated = given.get(claim.metadata.uid)
                if claim.metadata.name != NAME_IN_MEMORY:
                    allocation = None if allocated is None else allocated.allocation
                    written.append(await self._write(claim, pod, allocation))
                elif allocated is not None:
                    written.append(await self._write_extended(pod, allocated, served, written))
            await self._wait_until_ready(pod, node_name, written)
        except (_LateError, BindingFailedError, ApiError, UnreachableError) as error:
            return moorage.Verdict.error(str(error))
        return None

    def undo(
        self,
        pod: moorage.Pod,
        claims: Iterable[ResourceClaim],
        written: Sequence[ResourceClaim] | None,
    ) -> None:
        """Reserve claims for a pod no longer, and delete one that was made for it."""
        known = {one.metadata.uid: one for one in (*claims, *(written or ()))}
        for claim in known.values():
            newest = self._ledger.newest(claim)
            if newest is None or not is_reserved_for(newest, pod):
                continue
            if _is_made_here(newest):
                self.delete(pod, newest)
            else:
                self._handle.spawn(self._undo(newest, pod))

    def deallocate(self, pod: moorage.Pod, claim: ResourceClaim) -> None:
        """Have a claim give back its devices; its pod hears of it by the claim."""
        uid = claim.metadata.uid
        if uid not in self._ledger.deallocating and self._handle.spawn(
            self._deallocate(claim, pod)
        ):
            self._ledger.deallocating.add(uid)

    def delete(self, pod: moorage.Pod, claim: ResourceClaim) -> None:
        """Have a claim deleted that was made for a pod's resources."""
        uid = claim.metadata.uid
        if uid not in self._ledger.deallocating and self._handle.spawn(self._delete(claim, pod)):
            self._ledger.deallocating.add(uid)

    # One claim

    async def _write(
        self, claim: ResourceClaim, pod: moorage.Pod, allocation: AllocationResult | None
    ) -> ResourceClaim:
        now = self._handle.wall()
        async with self._ledger.lock(claim.metadata.uid):
            newest = self._ledger.newest(claim) or claim
            written = await self._change(newest, pod, allocation, now)
            self._ledger.written(written)
        return written

    async def _change(
        self,
        claim: ResourceClaim,
        pod: moorage.Pod,
        allocation: AllocationResult | None,
        now: datetime,
    ) -> ResourceClaim:
        try:
            return await change_claim(
                self._handle.client,
                claim,
                lambda version: _wanted(version, pod, allocation, now),
            )
        except UnsettledError as error:
            if allocation is not None:
                until = self._handle.clock() + _LATEST_ARRIVAL
                self._ledger.doubt(error.claim, allocation.devices.results, until)
            raise

    async def _write_extended(
        self,
        pod: moorage.Pod,
        allocated: Allocated,
        served: Sequence[Served],
        written: list[ResourceClaim],
    ) -> ResourceClaim:
        """Create the claim for a pod's resources, allocate it, and tell the kubelet of it."""
        name = pod.metadata.name
        created, status = self._handle.metrics.scheduling.claims_created, "failure"
        try:
            made = await create_claim(
                self._handle.client, allocated.claim, generate_name=f"{name}-extended-resources-"
            )
            status = "success"
        finally:
            created.inc(status)
        written.append(made)
        now = self._handle.wall()
        full = await self._change(made, pod, allocated.allocation, now)
        written.remove(made)
        self._ledger.written(full, reserved_as=allocated.claim.metadata.uid)
        await self._handle.patch_status(
            pod,
            {
                "extendedResourceClaimStatus": {
                    "requestMappings": [one.as_json() for one in served],
                    "resourceClaimName": full.metadata.name,
                }
            },
        )
        return full

    async def _wait_until_ready(
        self, pod: moorage.Pod, node_name: str, claims: Sequence[ResourceClaim]
    ) -> None:
        if not any(has_conditions(claim) for claim in claims):
            return
        self._handle.event(
            pod,
            kind="Normal",
            reason="BindingConditionsPending",
            action="Scheduling",
            note=f"waiting for binding conditions for device on node {node_name}",
        )
        until = self._handle.clock() + self._timeout
        while not self._are_ready(claims):
            left = until - self._handle.clock()
            if left <= 0:
                raise _LateError("device binding timeout: context deadline exceeded")
            await self._ledger.wait_for_claims(min(left, _LOOK_AGAIN))

    def _are_ready(self, claims: Iterable[ResourceClaim]) -> bool:
        for claim in claims:
            newest = self._ledger.newest(claim)
            if newest is None:
                raise _LateError(f"claim {claim.key} got deleted in the meantime")
            if not is_ready(newest):
                if is_overdue(newest, self._timeout, self._handle.wall()):
                    raise _LateError(f"device binding timeout: claim={claim.metadata.name}")
                return False
        return True

    # Beside the scheduling

    async def _undo(self, claim: ResourceClaim, pod: moorage.Pod) -> None:
        def without(version: ResourceClaim) -> tuple[str, dict[str, Any]] | None:
            if not is_reserved_for(version, pod):
                return None
            kept = [one for one in version.status.reserved_for if one.uid != pod.metadata.uid]
            return "status", {"status": {"reservedFor": _references(kept) or None}}

        async with self._ledger.lock(claim.metadata.uid):
            newest = self._ledger.newest(claim) or claim
            self._ledger.written(await change_claim(self._handle.client, newest, without))

    async def _deallocate(self, claim: ResourceClaim, pod: moorage.Pod) -> None:
        def emptied(version: ResourceClaim) -> tuple[str, dict[str, Any]] | None:
            used = any(one.uid != pod.metadata.uid for one in version.status.reserved_for)
            if used or version.status.allocation is None:
                return None
            fields = ["allocation", "reservedFor", *(["devices"] if version.status.devices else [])]
            return "status", {"status": dict.fromkeys(fields)}

        try:
            async with self._ledger.lock(claim.metadata.uid):
                newest = self._ledger.newest(claim) or claim
                self._ledger.written(await change_claim(self._handle.client, newest, emptied))
        except (ApiError, UnreachableError) as error:
            self._failed("take back the devices of", claim, pod, error)
        finally:
            self._ledger.deallocating.discard(claim.metadata.uid)

    async def _delete(self, claim: ResourceClaim, pod: moorage.Pod) -> None:
        def unprotected(version: ResourceClaim) -> tuple[str, dict[str, Any]] | None:
            kept = [one for one in version.metadata.finalizers if one != _FINALIZER]
            if len(kept) == len(version.metadata.finalizers):
                return None
            return "", {"metadata": {"finalizers": kept}}

        try:
            async with self._ledger.lock(claim.metadata.uid):
                newest = self._ledger.newest(claim) or claim
                newest = await change_claim(self._handle.client, newest, unprotected)
                await delete_claim(self._handle.client, newest)
        except (ApiError, UnreachableError) as error:
            self._failed("delete", claim, pod, error)
        finally:
            self._ledger.deallocating.discard(claim.metadata.uid)

    def _failed(self, what: str, claim: ResourceClaim, pod: moorage.Pod, error: Exception) -> None:
        self._handle.logger.error(
            "Cannot %s resource claim %s for pod %s/%s: %s",
            what,
            claim.key,
            pod.metadata.namespace,
            pod.metadata.name,
            error,
        )


def _wanted(
    version: ResourceClaim, pod: moorage.Pod, allocation: AllocationResult | None, now: datetime
) -> tuple[str, dict[str, Any]] | None:
    """Return what is missing in a version of a claim: first the finalizer, then all the rest."""
    if version.metadata.deletion_timestamp is not None:
        raise _LateError(f"claim {version.key} got deleted in the meantime")
    present = version.status.allocation
    if is_reserved_for(version, pod) and present is not None:
        if allocation is None or _is_same(present, allocation):
            return None
        raise _LateError(f"claim {version.key} got allocated elsewhere in the meantime")
    if allocation is None and present is None:
        raise _LateError(f"claim {version.key} got deallocated elsewhere in the meantime")
    if allocation is not None:
        if present is not None:
            raise _LateError(f"claim {version.key} got allocated elsewhere in the meantime")
        if _FINALIZER not in version.metadata.finalizers:
            return "", {"metadata": {"finalizers": [*version.metadata.finalizers, _FINALIZER]}}
    own = ConsumerReference(resource="pods", name=pod.metadata.name, uid=pod.metadata.uid)
    status: dict[str, Any] = {"reservedFor": _references([*version.status.reserved_for, own])}
    if allocation is not None:
        # Only here: what a claim has been given cannot be changed, not even the time.
        timestamp = f"{now:%Y-%m-%dT%H:%M:%SZ}"
        status["allocation"] = {
            **msgspec.to_builtins(allocation),
            "allocationTimestamp": timestamp,
        }
    return "status", {"status": status}


def _is_same(one: AllocationResult, other: AllocationResult) -> bool:
    """Say whether two allocations are of the same devices for the same requests."""
    return [(result.request, result.id, result.share_id) for result in one.devices.results] == [
        (result.request, result.id, result.share_id) for result in other.devices.results
    ]


def _references(consumers: Iterable[ConsumerReference]) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = msgspec.to_builtins(list(consumers))
    return written


def _is_made_here(claim: ResourceClaim) -> bool:
    return claim.metadata.annotations.get(MARK) == "true"
