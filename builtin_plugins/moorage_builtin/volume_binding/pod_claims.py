"""What the claims of a pod need before it can run: nothing, a volume once a node is chosen, or help."""

from __future__ import annotations

from typing import NamedTuple

import moorage
from moorage.model import (
    InvalidSelectorError,
    PersistentVolumeClaim,
    StorageClass,
    selector_of,
    volume_class,
)
from moorage_builtin.volume_binding.ledger import Ledger
from moorage_builtin.volumes.claims import claim_uses, is_bound, is_for, not_found, owner_problem

__all__ = ["PodClaims", "RefusedClaimError", "pod_claims", "waits_for_node"]


class RefusedClaimError(Exception):
    """A claim for which no node would do now; the text says which, and why."""


class PodClaims(NamedTuple):
    """A pod's claims: `bound` ones have their volume, `unbound` get one where the pod goes."""

    bound: tuple[PersistentVolumeClaim, ...] = ()
    unbound: tuple[PersistentVolumeClaim, ...] = ()


def pod_claims(pod: moorage.Pod, ledger: Ledger) -> PodClaims:
    """Sort the claims of a pod; raises RefusedClaimError."""
    claims = [_usable(pod, use.name, ledger, own=use.is_ephemeral) for use in claim_uses(pod)]
    bound = tuple(claim for claim in claims if is_bound(claim))
    unbound = tuple(claim for claim in claims if not is_bound(claim))
    for claim in unbound:
        # With a volume named by its user, it is bound by the volume controller, at once.
        if claim.spec.volume_name or not waits_for_node(claim, ledger.storage):
            raise RefusedClaimError(_unbound(claim, ledger.storage))
        _check_selector(claim)
    return PodClaims(bound, unbound)


def waits_for_node(claim: PersistentVolumeClaim, storage: moorage.StorageStore) -> bool:
    """Say whether a claim is bound once a node is chosen, by its class."""
    found = storage.get(StorageClass, volume_class(claim))
    return found is not None and found.volume_binding_mode == "WaitForFirstConsumer"


def _usable(pod: moorage.Pod, name: str, ledger: Ledger, *, own: bool) -> PersistentVolumeClaim:
    claim = ledger.claim(pod.metadata.namespace, name)
    if claim is None:
        if own:
            raise RefusedClaimError(
                "waiting for ephemeral volume controller to create the persistentvolumeclaim "
                f'"{name}"'
            )
        raise RefusedClaimError(not_found(name))
    if claim.status.phase == "Lost":
        raise RefusedClaimError(
            f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume '
            f'"{claim.spec.volume_name}"'
        )
    if claim.metadata.deletion_timestamp is not None:
        raise RefusedClaimError(f'persistentvolumeclaim "{name}" is being deleted')
    if own and not is_for(pod, claim):
        raise RefusedClaimError(owner_problem(pod, claim))
    return claim


def _unbound(claim: PersistentVolumeClaim, storage: moorage.StorageStore) -> str:
    reason = "pod has unbound immediate PersistentVolumeClaims"
    wanted = volume_class(claim)
    if not claim.spec.volume_name and wanted and storage.get(StorageClass, wanted) is None:
        # Nobody binds it: kube-scheduler leaves people to find that out.
        name = claim.metadata.name
        reason += f' (storageclass "{wanted}" of persistentvolumeclaim "{name}" not found)'
    return reason


def _check_selector(claim: PersistentVolumeClaim) -> None:
    if claim.spec.selector is not None:
        try:
            selector_of(claim.spec.selector, field="spec.selector")
        except InvalidSelectorError as error:
            name = claim.metadata.name
            raise RefusedClaimError(f'persistentvolumeclaim "{name}": {error}') from error
