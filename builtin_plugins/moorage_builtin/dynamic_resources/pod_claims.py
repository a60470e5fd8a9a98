"""Which claims a pod uses, and what stands in the way of using them now."""

from __future__ import annotations

from collections.abc import Iterator

import moorage
from moorage.model.devices import ResourceClaim
from moorage.model.pods import PodResourceClaim
from moorage_builtin.dynamic_resources.ledger import Ledger

__all__ = ["ClaimProblem", "check_usable", "claims_of", "is_reserved_for"]

_MOST_CONSUMERS = 256
"""Pods that may use one claim at the same time, the API's bound."""


class ClaimProblem(Exception):  # noqa: N818 - a reason to wait, no fault
    """A claim of a pod cannot be used now; the text says which and why."""


def claims_of(pod: moorage.Pod, ledger: Ledger) -> list[ResourceClaim]:
    """Return the claims of a pod, each once; ClaimProblem where one is not there, or not the pod's."""
    return list({claim.metadata.uid: claim for claim in _claims(pod, ledger)}.values())


def is_reserved_for(claim: ResourceClaim, pod: moorage.Pod) -> bool:
    """Say whether a pod is among those that use a claim."""
    return any(one.uid == pod.metadata.uid for one in claim.status.reserved_for)


def check_usable(claim: ResourceClaim, pod: moorage.Pod, ledger: Ledger) -> None:
    """Raise ClaimProblem where others stand in the way of a pod's using a claim."""
    if claim.status.allocation is None:
        if ledger.is_pending(claim.metadata.uid):
            raise ClaimProblem(f"resource claim {claim.key} is in the process of being allocated")
    elif len(claim.status.reserved_for) >= _MOST_CONSUMERS and not is_reserved_for(claim, pod):
        raise ClaimProblem("resourceclaim in use")


def _claims(pod: moorage.Pod, ledger: Ledger) -> Iterator[ResourceClaim]:
    namespace = pod.metadata.namespace
    for reference in pod.spec.resource_claims:
        name = _name_of(pod, reference)
        if name is None:
            continue
        claim = ledger.claim(namespace, name)
        if claim is None:
            raise ClaimProblem(f'could not find ResourceClaim "{namespace}/{name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimProblem(f'resourceclaim "{name}" is being deleted')
        if reference.resource_claim_name is None and not _is_for(claim, pod):
            raise ClaimProblem(
                f"ResourceClaim {claim.key} was not created for Pod {namespace}/"
                f"{pod.metadata.name} (Pod is not owner)"
            )
        yield claim


def _name_of(pod: moorage.Pod, reference: PodResourceClaim) -> str | None:
    """Return the name of a claim of a pod; None: none was needed in the end."""
    if reference.resource_claim_name is not None:
        return reference.resource_claim_name
    where = f'pod "{pod.metadata.namespace}/{pod.metadata.name}"'
    if reference.resource_claim_template_name is None:
        raise ClaimProblem(
            f'{where}, spec.resourceClaim "{reference.name}": none of the supported fields are set'
        )
    for status in pod.status.resource_claim_statuses:
        if status.name == reference.name:
            return status.resource_claim_name
    raise ClaimProblem(f"{where}: ResourceClaim not created yet")


def _is_for(claim: ResourceClaim, pod: moorage.Pod) -> bool:
    return any(
        owner.controller and owner.uid == pod.metadata.uid
        for owner in claim.metadata.owner_references
    )
