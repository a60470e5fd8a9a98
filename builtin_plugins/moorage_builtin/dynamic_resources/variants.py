"""What a pod needs devices for on a node: it depends on the resources that the node has itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import moorage
from moorage.model.devices import ResourceClaim
from moorage_builtin.dynamic_resources.expressions import Expressions
from moorage_builtin.dynamic_resources.extended import Served, requests_for
from moorage_builtin.dynamic_resources.pod_claims import ClaimProblem
from moorage_builtin.dynamic_resources.pools import DeviceKind
from moorage_builtin.dynamic_resources.reckoner import Reckoner
from moorage_builtin.dynamic_resources.wanted import Refused, Wanted, wanted_of

__all__ = ["Requests", "Variant", "Variants", "requests_of"]

Requests = tuple[tuple[Wanted, ...], ...]
"""The requests of a claim, each with its alternatives."""


class Variant(NamedTuple):
    """The claims to be allocated, where a node leaves some `resources` to devices.

    `asked` is the inventory's number for all that tells devices apart for them: who selects them,
    and by which attributes they are compared. `problem` says why devices are not to be had.
    """

    resources: frozenset[str]
    claims: tuple[ResourceClaim, ...]
    wanted: tuple[Requests, ...]
    served: tuple[Served, ...] = ()
    problem: str = ""
    asked: int = -1

    def likeness(self, kind: DeviceKind, expressions: Expressions) -> tuple[Any, ...]:
        """Say of a kind of devices what tells it apart."""
        selected = tuple(one.likeness(kind, expressions) for one in self._all_wanted())
        return (*selected, *(kind.attribute(name) for name in self._attributes()))

    @property
    def apart(self) -> tuple[Any, ...]:
        """All that tells devices apart."""
        return tuple(one.asked for one in self._all_wanted()), tuple(self._attributes())

    def _all_wanted(self) -> Iterator[Wanted]:
        for requests in self.wanted:
            for alternatives in requests:
                yield from alternatives

    def _attributes(self) -> Iterator[str]:
        for claim in self.claims:
            for constraint in claim.spec.devices.constraints:
                yield constraint.match_attribute or constraint.distinct_attribute or ""


class Variants:
    """The variants of one pod, made when they are first asked for.

    `own` are the claims that it names, as far as they need devices.
    """

    def __init__(
        self, reckoner: Reckoner, pod: moorage.Pod, own: Sequence[tuple[ResourceClaim, Requests]]
    ) -> None:
        self._reckoner = reckoner
        self._pod = pod
        self._claims = tuple(claim for claim, _ in own)
        self._wanted = tuple(requests for _, requests in own)
        self._made: dict[frozenset[str], Variant] = {}

    def of(self, resources: frozenset[str]) -> Variant:
        """Return what is needed where some resources are left to devices."""
        variant = self._made.get(resources)
        if variant is None:
            variant = self._make(resources)
            number = self._reckoner.inventory.way_of_asking(variant.apart)
            self._made[resources] = variant = variant._replace(asked=number)
        return variant

    def _make(self, resources: frozenset[str]) -> Variant:
        if not resources:
            return Variant(resources, self._claims, self._wanted)
        claim, served = requests_for(self._pod, resources, self._reckoner.classes)
        try:
            wanted = requests_of(claim, self._reckoner)
        except ClaimProblem as problem:
            return Variant(resources, (), (), problem=str(problem))
        return Variant(resources, (*self._claims, claim), (*self._wanted, wanted), served)


def requests_of(claim: ResourceClaim, reckoner: Reckoner) -> Requests:
    """Return what the requests of a claim want; ClaimProblem where nobody can say."""
    try:
        return tuple(
            wanted_of(claim, request, reckoner.classes) for request in claim.spec.devices.requests
        )
    except Refused as refusal:
        raise ClaimProblem(str(refusal)) from refusal
