"""VolumeRestrictions: disks and claims that several pods must not use at once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

import moorage
from moorage.model import Volume
from moorage_builtin.volumes.claims import named_claims, not_found
from moorage_builtin.volumes.hints import is_named_claim

__all__ = ["VolumeRestrictions"]

_DISK_TAKEN = 1
_CLAIM_TAKEN = 2
_VERDICTS = {
    _DISK_TAKEN: moorage.Verdict.unschedulable("node(s) had no available disk"),
    _CLAIM_TAKEN: moorage.Verdict.unschedulable(
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod"
    ),
}
_FOR_ONE_POD = "ReadWriteOncePod"

_QUEUE = moorage.QueueingHint.QUEUE
_SKIP = moorage.QueueingHint.SKIP


class VolumeRestrictions(moorage.Plugin):
    """Filters by disks that cannot be mounted twice on a node, and claims for a single pod."""

    # Pods without claims and disks are let pass whatever happens; of others it is asked anew.
    filter_depends = moorage.Depends()
    watches = ("persistentvolumeclaims",)

    @moorage.hookimpl
    def sign(self, pod: moorage.Pod) -> Hashable | None:
        """Pods without claims and disks look the same."""
        return None if named_claims(pod) or _disks(pod) else ()

    @moorage.hookimpl
    def pre_filter(self, state: moorage.CycleState, pod: moorage.Pod) -> moorage.Verdict | None:
        """Count who uses the claims that are for one pod alone; skip pods that nobody keeps out.

        Notes `claims`, the names of such claims, and `users`, how many pods use them: a number for
        all rows, or (n,) int64 once pods were added or taken off.
        """
        namespace = pod.metadata.namespace
        claims = set()
        for name in named_claims(pod):
            claim = self.handle.storage.claim(namespace, name)
            if claim is None:
                return moorage.Verdict.unresolvable(not_found(name))
            if _FOR_ONE_POD in claim.spec.access_modes:
                claims.add(name)
        # A pod for whose own volume a claim was made does not name it, and is no user here.
        users = sum(
            info.uid != pod.metadata.uid and name in named_claims(info.pod)
            for name in claims
            for info in self.handle.claim_users(namespace, name)
        )
        disks = _disks(pod)
        if not disks and not users:
            return moorage.SKIP
        state.update(claims=frozenset(claims), users=users, disks=disks)
        return None

    @moorage.hookimpl
    def add_pods(
        self,
        state: moorage.CycleState,
        pod: moorage.Pod,
        nodes: moorage.NodesView,
        positions: NDArray[np.intp],
        pods: Sequence[moorage.PodInfo],
    ) -> None:
        """Count users that come."""
        _count(state, pod, len(nodes), positions, pods, 1)

    @moorage.hookimpl
    def remove_pods(
        self,
        state: moorage.CycleState,
        pod: moorage.Pod,
        nodes: moorage.NodesView,
        positions: NDArray[np.intp],
        pods: Sequence[moorage.PodInfo],
    ) -> None:
        """Count users that go."""
        _count(state, pod, len(nodes), positions, pods, -1)

    @moorage.hookimpl
    def filter_nodes(self, state: moorage.CycleState, nodes: moorage.NodesView) -> NDArray[np.int8]:
        """Return (n,) codes: 1 where a disk is taken, 2 where a claim is, wherever that pod is."""
        codes = np.zeros(len(nodes), dtype=np.int8)
        codes[np.asarray(state["users"]) > 0] = _CLAIM_TAKEN
        disks: tuple[Volume, ...] = state["disks"]
        if disks:
            for position in np.flatnonzero(nodes.volume_counts).tolist():
                if any(_conflicts(disks, other) for other in nodes.pods(position)):
                    codes[position] = _DISK_TAKEN
        return codes

    @moorage.hookimpl
    def explain(self, code: int) -> moorage.Verdict:
        """Preempting the pod that has it helps."""
        return _VERDICTS[code]

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Come back when a pod that has it goes, a node comes, or the claim does."""
        action, resource = moorage.ActionType, moorage.EventResource
        event = moorage.ClusterEvent
        return [
            moorage.EventHint(event(resource.ASSIGNED_POD, action.DELETE), _gives_back),
            moorage.EventHint(event(resource.NODE, action.ADD)),
            moorage.EventHint(event(resource.PERSISTENT_VOLUME_CLAIM, action.ADD), is_named_claim),
        ]


def _disks(pod: moorage.Pod) -> tuple[Volume, ...]:
    return tuple(volume for volume in pod.spec.volumes if _is_disk(volume))


def _is_disk(volume: Volume) -> bool:
    """Say whether a volume is a disk of a kind that nodes cannot share freely."""
    return (
        volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.iscsi is not None
        or volume.rbd is not None
    )


def _conflicts(disks: Sequence[Volume], other: moorage.Pod) -> bool:
    return any(_conflict(disk, used) for used in other.spec.volumes for disk in disks)


def _conflict(one: Volume, other: Volume) -> bool:
    """Say whether two volumes are the same disk, and not both only read.

    A volume of AWS conflicts even where it is only read.
    """
    disk, used = one.gce_persistent_disk, other.gce_persistent_disk
    if disk is not None and used is not None and disk.pd_name == used.pd_name:
        return not (disk.read_only and used.read_only)
    ebs = one.aws_elastic_block_store
    if ebs is not None and ebs == other.aws_elastic_block_store:
        return True
    lun, used_lun = one.iscsi, other.iscsi
    if lun is not None and used_lun is not None and lun.iqn == used_lun.iqn:
        return not (lun.read_only and used_lun.read_only)
    image, used_image = one.rbd, other.rbd
    if image is None or used_image is None or set(image.monitors).isdisjoint(used_image.monitors):
        return False
    same = (image.pool, image.image) == (used_image.pool, used_image.image)
    return same and not (image.read_only and used_image.read_only)


def _count(
    state: moorage.CycleState,
    pod: moorage.Pod,
    rows: int,
    positions: NDArray[np.intp],
    pods: Sequence[moorage.PodInfo],
    change: int,
) -> None:
    claims: frozenset[str] = state.get("claims", frozenset())
    if not claims:
        return
    namespace = pod.metadata.namespace
    users = np.array(np.broadcast_to(state["users"], (rows,)), dtype=np.int64)
    for position, info in zip(positions.tolist(), pods, strict=True):
        if info.storage_volumes and info.pod.metadata.namespace == namespace:
            users[position] += change * len(claims.intersection(named_claims(info.pod)))
    state["users"] = users


def _gives_back(
    pod: moorage.Pod,
    before: moorage.Pod | None,
    after: moorage.Pod | None,  # noqa: ARG001 - a hint gets both versions
) -> moorage.QueueingHint:
    """Queue where the pod that went had a disk or a claim of this one."""
    if before is None or not before.spec.node_name:
        return _SKIP
    if _conflicts(_disks(pod), before):
        return _QUEUE
    shares = pod.metadata.namespace == before.metadata.namespace and not set(
        named_claims(pod)
    ).isdisjoint(named_claims(before))
    return _QUEUE if shares else _SKIP
