"""Where a pod's claims can be had: each reason that speaks against a node, and what the others offer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage.model import PersistentVolume, PersistentVolumeClaim
from moorage_builtin.volume_binding.ledger import SELECTED_NODE, Ledger, claim_key
from moorage_builtin.volume_binding.matching import NONE, Match, match_volumes
from moorage_builtin.volume_binding.pod_claims import PodClaims
from moorage_builtin.volume_binding.provisioning import Provision, check_provision
from moorage_builtin.volumes.reach import Reach

__all__ = ["Found", "find_volumes", "reasons_of"]

_OUT_OF_REACH = 1
_NONE_TO_BIND = 2
_NO_ROOM = 4
_VOLUME_GONE = 8
_REASONS = {
    _OUT_OF_REACH: "node(s) didn't match PersistentVolume's node affinity",
    _NONE_TO_BIND: "node(s) didn't find available persistent volumes to bind",
    _NO_ROOM: "node(s) did not have enough free storage",
    _VOLUME_GONE: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
}
"""Several may hold of one node: a code is their sum."""


def reasons_of(code: int) -> tuple[str, ...]:
    """Return the reasons that a code stands for."""
    return tuple(reason for bit, reason in _REASONS.items() if code & bit)


class Found(NamedTuple):
    """Answers about n nodes: `codes` (n,) int8, 0 where all claims can be had.

    `matches` are claims with the volumes that are there for them, `provisions` claims for which
    volumes can be made; a claim is among the latter for the nodes where it has no match.
    """

    codes: NDArray[np.int8]
    matches: list[Match]
    provisions: list[Provision]

    def bindings(self, position: int) -> list[tuple[PersistentVolume, PersistentVolumeClaim]]:
        """Return which volumes the claims get on one node that passes."""
        return [
            (volume, match.claim)
            for match in self.matches
            if (volume := match.volume(position)) is not None
        ]

    def to_provision(self, position: int) -> list[PersistentVolumeClaim]:
        """Return the claims that get a new volume on one node that passes."""
        matched = {
            claim_key(match.claim) for match in self.matches if match.volume(position) is not None
        }
        return [one.claim for one in self.provisions if claim_key(one.claim) not in matched]


def find_volumes(claims: PodClaims, nodes: moorage.NodesView, ledger: Ledger) -> Found:
    """Look for the volumes of a pod's claims on n nodes."""
    reach = Reach(nodes, ledger.storage)
    codes = _out_of_reach(claims, len(nodes), ledger, reach)
    if not claims.unbound:
        return Found(codes, [], [])
    elsewhere = _selected_elsewhere(claims, nodes)
    selected = [one for one in claims.unbound if SELECTED_NODE in one.metadata.annotations]
    others = [one for one in claims.unbound if SELECTED_NODE not in one.metadata.annotations]
    matches = match_volumes(others, ledger, reach, len(nodes))
    unmatched = [match for match in matches if (match.chosen == NONE).any()]
    to_provision = (*selected, *(match.claim for match in unmatched))
    provisions = [check_provision(claim, nodes, ledger.storage) for claim in to_provision]
    refused = np.where(elsewhere, _NONE_TO_BIND, 0).astype(np.int8)
    undecided = ~elsewhere
    chosen = {claim_key(match.claim): match.chosen for match in unmatched}
    # The first claim that cannot be had on a node is the reason.
    for provision in provisions:
        asked = undecided.copy()
        matched = chosen.get(claim_key(provision.claim))
        if matched is not None:
            asked &= matched == NONE
        refused[asked & ~provision.allowed] |= _NONE_TO_BIND
        asked &= provision.allowed
        if provision.has_room is not None:
            refused[asked & ~provision.has_room] |= _NO_ROOM
        undecided &= refused == 0
    return Found(codes | refused, matches, provisions)


def _out_of_reach(claims: PodClaims, count: int, ledger: Ledger, reach: Reach) -> NDArray[np.int8]:
    """Say where bound claims' volumes are out of reach; the first claim at fault is the reason."""
    codes = np.zeros(count, dtype=np.int8)
    for claim in claims.bound:
        volume = ledger.volume(claim.spec.volume_name)
        if volume is None:
            codes[codes == 0] = _VOLUME_GONE
            break
        rows = reach.rows(volume)
        if rows is not None:
            codes[(codes == 0) & ~rows] = _OUT_OF_REACH
    return codes


def _selected_elsewhere(claims: PodClaims, nodes: moorage.NodesView) -> NDArray[np.bool_]:
    """Say which nodes are not the one that a claim's volume is being made for; (n,) bool."""
    elsewhere = np.zeros(len(nodes), dtype=np.bool_)
    for claim in claims.unbound:
        node = claim.metadata.annotations.get(SELECTED_NODE)
        if node is not None:
            here = np.zeros(len(nodes), dtype=np.bool_)
            here[nodes.positions((node,))] = True
            elsewhere |= ~here
    return elsewhere
