"""Which pods on rows use volumes that somebody has to look at: claims, and disks named directly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from moorage.cache.storage import ObjectKey
from moorage.model.pod_info import PodInfo

__all__ = ["VolumeUsers"]


class VolumeUsers:
    """Pods on rows by what they use; a pod without such volumes costs nothing.

    `counts` (capacity,) int64: how many volumes the pods of a row name, each use counted: no fewer
    than may be attached to the node for them. `claims`: who uses a claim, by uid of the pod.
    """

    def __init__(self, capacity: int) -> None:
        self.counts: NDArray[np.int64] = np.zeros(capacity, dtype=np.int64)
        self._claims: dict[ObjectKey, dict[str, PodInfo]] = {}

    def grow(self, capacity: int) -> None:
        """Make room for more rows."""
        counts = np.zeros(capacity, dtype=np.int64)
        counts[: len(self.counts)] = self.counts
        self.counts = counts

    def add(self, info: PodInfo, row: int) -> None:
        """Count a pod that comes to a row."""
        if info.storage_volumes:
            self.counts[row] += info.storage_volumes
            for key in claim_keys(info):
                self._claims.setdefault(key, {})[info.uid] = info

    def remove(self, info: PodInfo, row: int) -> None:
        """Count a pod no more that leaves a row."""
        if info.storage_volumes:
            self.counts[row] -= info.storage_volumes
            for key in claim_keys(info):
                users = self._claims[key]
                del users[info.uid]
                if not users:
                    del self._claims[key]

    def of_claim(self, namespace: str, name: str) -> Iterable[PodInfo]:
        """Return the pods on rows that use a claim."""
        return tuple(self._claims.get((namespace, name), {}).values())

    def check_invariants(self, pods: Mapping[int, Iterable[PodInfo]]) -> None:
        """Raise AssertionError where anything differs from a recount."""
        anew = VolumeUsers(len(self.counts))
        for row, infos in pods.items():
            for info in infos:
                anew.add(info, row)
        assert np.array_equal(self.counts, anew.counts)
        assert {key: users.keys() for key, users in self._claims.items()} == {
            key: users.keys() for key, users in anew._claims.items()
        }


def claim_keys(info: PodInfo) -> set[ObjectKey]:
    """Return the claims that a pod uses."""
    metadata = info.pod.metadata
    return {
        (metadata.namespace, name)
        for volume in info.pod.spec.volumes
        if (name := volume.claim_of(metadata.name)) is not None
    }
