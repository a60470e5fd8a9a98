"""Which claims a pod uses, whether they are bound, and what is wrong with them."""

from __future__ import annotations

from typing import NamedTuple

import moorage
from moorage.model import PersistentVolume, PersistentVolumeClaim

__all__ = [
    "BIND_COMPLETED",
    "ClaimUse",
    "claim_uses",
    "is_bound",
    "is_for",
    "is_reserved_for",
    "named_claims",
    "not_found",
    "owner_problem",
    "uses",
]

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""Annotation of a claim whose binding the volume controller has finished."""


class ClaimUse(NamedTuple):
    """A claim that a pod uses; `is_ephemeral`: it is made for the pod, and must be the pod's own."""

    name: str
    is_ephemeral: bool


def claim_uses(pod: moorage.Pod) -> tuple[ClaimUse, ...]:
    """Return the claims of a pod in the order of its volumes, each once."""
    if not pod.spec.volumes:
        return ()
    found: dict[str, ClaimUse] = {}
    for volume in pod.spec.volumes:
        name = volume.claim_of(pod.metadata.name)
        if name is not None:
            found.setdefault(name, ClaimUse(name, volume.persistent_volume_claim is None))
    return tuple(found.values())


def named_claims(pod: moorage.Pod) -> tuple[str, ...]:
    """Return the claims that a pod names, each once; those that are made for it have no other user."""
    if not pod.spec.volumes:
        return ()
    named = (volume.persistent_volume_claim for volume in pod.spec.volumes)
    return tuple(dict.fromkeys(claim.claim_name for claim in named if claim is not None))


def uses(pod: moorage.Pod, claim: PersistentVolumeClaim) -> bool:
    """Say whether a pod uses a claim, by namespace and name."""
    metadata = claim.metadata
    return pod.metadata.namespace == metadata.namespace and any(
        use.name == metadata.name for use in claim_uses(pod)
    )


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Say whether a claim has its volume and the volume controller has finished binding them."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def is_for(pod: moorage.Pod, claim: PersistentVolumeClaim) -> bool:
    """Say whether a claim was made for a pod: the pod is its controller."""
    return claim.metadata.namespace == pod.metadata.namespace and any(
        owner.controller and owner.uid == pod.metadata.uid
        for owner in claim.metadata.owner_references
    )


def is_reserved_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Say whether a volume names a claim as the one it is for, by a user or by a binding."""
    wanted, own = volume.spec.claim_ref, claim.metadata
    if wanted is None or (wanted.namespace, wanted.name) != (own.namespace, own.name):
        return False
    # Recordings leave the uids of claims out.
    return not wanted.uid or not own.uid or wanted.uid == own.uid


def not_found(name: str) -> str:
    """Word that there is no such claim, as the API server does."""
    return f'persistentvolumeclaim "{name}" not found'


def owner_problem(pod: moorage.Pod, claim: PersistentVolumeClaim) -> str:
    """Word that an ephemeral volume's claim is somebody else's."""
    own, its = pod.metadata, claim.metadata
    return (
        f"PVC {its.namespace}/{its.name} was not created for pod {own.namespace}/{own.name} "
        "(pod is not owner)"
    )
