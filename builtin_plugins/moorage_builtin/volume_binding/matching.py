"""Which volumes that are there already would do for claims: on each node the smallest that fits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.model import (
    PersistentVolume,
    PersistentVolumeClaim,
    Selector,
    parse_quantity,
    selector_of,
    volume_class,
)
from moorage_builtin.volume_binding.ledger import Ledger
from moorage_builtin.volumes.claims import is_reserved_for
from moorage_builtin.volumes.reach import Reach

__all__ = ["NONE", "Match", "by_size", "match_volumes"]

NONE = -1
"""In `Match.chosen`: no volume would do."""


class Match(NamedTuple):
    """What one claim gets on each of n nodes: `chosen` (n,) intp are places in `volumes`, or -1."""

    claim: PersistentVolumeClaim
    volumes: Sequence[PersistentVolume]
    chosen: NDArray[np.intp]

    def volume(self, position: int) -> PersistentVolume | None:
        """Return the volume for one node."""
        place = int(self.chosen[position])
        return None if place == NONE else self.volumes[place]


def by_size(claims: Iterable[PersistentVolumeClaim]) -> list[PersistentVolumeClaim]:
    """Sort claims so that those that need least choose first, and leave the large volumes."""
    return sorted(claims, key=lambda claim: _size(claim.spec.resources.requests))


def match_volumes(
    claims: Iterable[PersistentVolumeClaim], ledger: Ledger, reach: Reach, count: int
) -> list[Match]:
    """Choose volumes for claims one after another, on `count` nodes; none is chosen twice on one.

    A volume that names a claim is that claim's, and the claim gets no other.
    """
    taken: dict[str, NDArray[np.bool_]] = {}
    return [_match(claim, ledger, reach, count, taken) for claim in by_size(claims)]


def _match(
    claim: PersistentVolumeClaim,
    ledger: Ledger,
    reach: Reach,
    count: int,
    taken: dict[str, NDArray[np.bool_]],
) -> Match:
    """Choose for one claim; `taken` says on which nodes earlier claims chose a volume."""
    fitting = _fitting(claim, ledger)
    chosen = np.full(count, NONE, dtype=np.intp)
    left = np.ones(count, dtype=np.bool_)
    for place, volume in enumerate(fitting):
        rows = left.copy()
        reached = reach.rows_as_written(volume)
        if reached is not None:
            rows &= reached
        earlier = taken.get(volume.metadata.name)
        if earlier is not None:
            rows &= ~earlier
        if not rows.any():
            continue
        chosen[rows] = place
        left &= ~rows
        taken[volume.metadata.name] = rows if earlier is None else earlier | rows
        if not left.any():
            break
    return Match(claim, fitting, chosen)


def _fitting(claim: PersistentVolumeClaim, ledger: Ledger) -> list[PersistentVolume]:
    """Return the volumes that would do for a claim, wherever they can be reached, smallest first."""
    needed = _size(claim.spec.resources.requests)
    selector = None
    if claim.spec.selector is not None:
        selector = selector_of(claim.spec.selector, field="spec.selector")
    large_enough = [
        (_size(volume.spec.capacity), volume)
        for volume in ledger.volumes_of_class(volume_class(claim))
        if _is_of_kind(volume, claim)
    ]
    large_enough = [(size, volume) for size, volume in large_enough if size >= needed]
    for _, volume in large_enough:
        if is_reserved_for(volume, claim):
            return [volume]
    free = [(size, volume) for size, volume in large_enough if _is_free(volume, claim, selector)]
    # Sorting is stable: of equal ones the first by name.
    return [volume for _, volume in sorted(free, key=lambda pair: pair[0])]


def _is_of_kind(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Say whether a volume is what a claim wants in mode and attributes, and is not going away."""
    return (
        volume.metadata.deletion_timestamp is None
        and (volume.spec.volume_mode or "Filesystem") == (claim.spec.volume_mode or "Filesystem")
        and (volume.spec.volume_attributes_class_name or "")
        == (claim.spec.volume_attributes_class_name or "")
    )


def _is_free(
    volume: PersistentVolume, claim: PersistentVolumeClaim, selector: Selector | None
) -> bool:
    return (
        volume.spec.claim_ref is None
        and volume.status.phase == "Available"
        and (selector is None or selector.matches(volume.metadata.labels))
        and set(claim.spec.access_modes) <= set(volume.spec.access_modes)
    )


def _size(amounts: Mapping[str, str]) -> int:
    """Return how much storage is said, in billionths of a byte: half a byte is less than one."""
    text = amounts.get("storage")
    return 0 if text is None else _billionths(text)


@lru_cache(maxsize=65536)
def _billionths(text: str) -> int:
    return ceil(parse_quantity(text) * 10**9)
