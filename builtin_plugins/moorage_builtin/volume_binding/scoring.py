"""How full the volumes would be that a pod gets on each node."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from moorage.model import storage_bytes, volume_class
from moorage_builtin.volume_binding.finding import Found
from moorage_builtin.volume_binding.ledger import claim_key
from moorage_builtin.volume_binding.matching import NONE
from moorage_builtin.volume_binding.provisioning import Provision

__all__ = ["rate_volumes"]


class _Class:
    """What is asked of one class on n nodes, and what there is; `counts`: where it is asked at all."""

    def __init__(self, count: int) -> None:
        self.requested: NDArray[np.int64] = np.zeros(count, dtype=np.int64)
        self.capacity: NDArray[np.int64] = np.zeros(count, dtype=np.int64)
        self.counts: NDArray[np.bool_] = np.zeros(count, dtype=np.bool_)


def rate_volumes(found: Found, by_percent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the mean over classes of what the shape says of their utilisation; (n,) int64, 0-100.

    `by_percent` (101,) int64 is the shape. Where volumes are there already only those count, else
    the room that new ones are made in; a class of which neither is known does not count.
    """
    count = len(found.codes)
    static, dynamic = _static(found, count), _dynamic(found, count)
    has_static = np.zeros(count, dtype=np.bool_)
    for one in static.values():
        has_static |= one.counts
    scores = np.where(
        has_static, _mean(static, by_percent, count), _mean(dynamic, by_percent, count)
    )
    rounded: NDArray[np.int64] = np.floor(scores + 0.5).astype(np.int64)
    return rounded


def _static(found: Found, count: int) -> Mapping[str, _Class]:
    classes: dict[str, _Class] = {}
    for match in found.matches:
        matched = match.chosen != NONE
        if not matched.any():
            continue
        one = classes.setdefault(volume_class(match.claim), _Class(count))
        one.counts |= matched
        one.requested[matched] += storage_bytes(match.claim.spec.resources.requests) or 0
        sizes = np.array([storage_bytes(volume.spec.capacity) or 0 for volume in match.volumes])
        one.capacity[matched] += sizes[match.chosen[matched]]
    return classes


def _dynamic(found: Found, count: int) -> Mapping[str, _Class]:
    classes: dict[str, _Class] = {}
    chosen = {claim_key(match.claim): match for match in found.matches}
    for provision in found.provisions:
        known = _known(provision)
        if known is None:
            continue
        match = chosen.get(claim_key(provision.claim))
        if match is not None:
            known = known & (match.chosen == NONE)
        one = classes.setdefault(volume_class(provision.claim), _Class(count))
        one.counts |= known
        one.requested[known] += storage_bytes(provision.claim.spec.resources.requests) or 0
        # Two volumes are made in the same room: it does not add up.
        assert provision.capacity is not None  # noqa: S101 - known means that it is said
        one.capacity[known] = provision.capacity[known]
    return classes


def _known(provision: Provision) -> NDArray[np.bool_] | None:
    return None if provision.capacity is None else provision.has_room


def _mean(
    classes: Mapping[str, _Class], by_percent: NDArray[np.int64], count: int
) -> NDArray[np.float64]:
    total = np.zeros(count, dtype=np.int64)
    number = np.zeros(count, dtype=np.int64)
    for one in classes.values():
        full = (one.capacity == 0) | (one.requested > one.capacity)
        percent = np.where(full, 100, one.requested * 100 // np.maximum(one.capacity, 1))
        total += np.where(one.counts, by_percent[percent], 0)
        number += one.counts
    mean: NDArray[np.float64] = total / np.maximum(number, 1)
    return mean
