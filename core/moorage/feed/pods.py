"""Pods: those on nodes into the cache, those that wait for us into the queue.

What becomes of a pod, by what the API server tells of it::

    nobody here serves its profile --> counted by name, else ignored
    it waits                       --> queue          (gone: out of the queue, out of Permit)
    it has a node                  --> cache, and out of the queue; helps as AssignedPod/Add
    it has ended, or is gone       --> out of both; helps as AssignedPod/Delete
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Hashable, Iterable

from moorage.cache.cluster import ClusterCache
from moorage.feed.following import Feed
from moorage.framework.waiting_pods import WaitingPods
from moorage.model.changes import pod_changes
from moorage.model.events import ActionType, ClusterEvent, EventResource
from moorage.model.pod_info import PodInfo
from moorage.model.pods import Pod, is_finished, is_terminating, pod_key
from moorage.model.quantities import InvalidQuantityError
from moorage.queueing import Place, SchedulingQueue

__all__ = ["PodFeed"]

_logger = logging.getLogger(__name__)

_ADDED = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD)
_DELETED = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
# What kube-scheduler's metrics call what happens to pods that wait.
_WAITING_ADDED = "UnschedulablePodAdd"
_WAITING_UPDATED = "UnschedulablePodUpdate"
_WAITING_DELETED = "UnschedulablePodDelete"
_ASSIGNED_UPDATED = "AssignedPodUpdate"


class PodFeed(Feed[Pod]):
    """Keeps cache and queue up to date with the pods that have not ended.

    `profiles` are the names that pods are scheduled for here. `unserved` counts the waiting pods
    of other names: nobody may be there to schedule them. A pod with a quantity that cannot be read
    keeps its last good version, or is left out.
    """

    def __init__(
        self,
        cluster: ClusterCache,
        queue: SchedulingQueue,
        waiting: WaitingPods,
        *,
        profiles: Collection[str],
    ) -> None:
        self._cluster = cluster
        self._queue = queue
        self._waiting = waiting
        self._profiles = frozenset(profiles)
        self._pods: dict[str, PodInfo] = {}
        self.unserved: Counter[str] = Counter()

    def identity(self, item: Pod) -> str:
        """Return the pod's uid: a namesake made anew is another pod."""
        return item.metadata.uid

    def identity_by(self, namespace: str, name: str, uid: str) -> str:  # noqa: ARG002 - what it goes by
        """Return the same by metadata."""
        return uid

    def identities(self) -> Iterable[str]:
        """Return the uids of all pods."""
        return self._pods

    def newest(self, identity: Hashable) -> Pod | None:
        """Return the newest version of a pod by uid."""
        info = self._pods.get(str(identity))
        return None if info is None else info.pod

    def known(self, uid: str) -> PodInfo | None:
        """Return the newest version of a pod that has not ended; None: gone, or never seen."""
        return self._pods.get(uid)

    def put(self, item: Pod) -> None:
        """Take in a pod."""
        uid = item.metadata.uid
        before = self._pods.get(uid)
        if before is not None and _version(before.pod) == _version(item) != "":
            return  # a new list repeats what is known
        if is_finished(item):
            self.drop(uid)
            return
        try:
            info = PodInfo(item)
        except InvalidQuantityError as error:
            _logger.error("Left out pod %s: it has %s", pod_key(item), error)  # noqa: TRY400 - the sentence says it all
            return
        if before is not None and _is_assigned(before) and not _is_assigned(info):
            # The API does not take a node away again; a backup that was restored may.
            self.drop(uid)
            before = None
        self._pods[uid] = info
        if not _is_assigned(info):
            self._put_waiting(before, info)
        elif before is not None and _is_assigned(before):
            self._update_assigned(before, info)
        else:
            self._assign(before, info)

    def drop(self, identity: Hashable) -> None:
        """Forget a pod that has ended or is gone."""
        info = self._pods.pop(str(identity), None)
        if info is None:
            return
        if _is_assigned(info):
            self._cluster.remove_pod(info.uid)
            self._tell(_DELETED, info.pod, None)
        else:
            self._drop_waiting(info)

    def _assign(self, before: PodInfo | None, info: PodInfo) -> None:
        """Put a pod on its node, whoever bound it."""
        left = "" if before is None else self._held_for(before)
        was_on_it = self._cluster.is_assumed(info.uid)
        if before is not None:
            self._leave_queue(before)
        self._cluster.add_pod(info)
        self._tell(_ADDED, None, info.pod)
        if left and left != info.pod.spec.node_name:
            # Somebody else bound it, and not to where we had room for it.
            self._queue.release(info, left, was_on_it=was_on_it)

    def _update_assigned(self, before: PodInfo, info: PodInfo) -> None:
        self._cluster.add_pod(info)
        self._mean(_ASSIGNED_UPDATED)
        changes = pod_changes(before, info)
        if changes:
            event = ClusterEvent(EventResource.ASSIGNED_POD, changes)
            self._tell(event, before.pod, info.pod)

    def _put_waiting(self, before: PodInfo | None, info: PodInfo) -> None:
        name = info.pod.spec.scheduler_name
        if name not in self._profiles:
            if before is None:
                self.unserved[name] += 1
            return
        if before is None:
            self._mean(_WAITING_ADDED)
            self._queue.add(info)
            return
        changes = ClusterEvent(EventResource.UNSCHEDULED_POD, pod_changes(before, info))
        self._mean(_WAITING_UPDATED, *changes.labels)
        assumed = self._cluster.is_assumed(info.uid)
        if assumed and self._queue.place(info.uid) is not Place.IN_FLIGHT:
            # Bound by us, told before the binding was: it must not come back into the queue.
            return
        nominator = self._queue.nominator
        expected = nominator.node_of(info.uid)
        self._queue.update(before, info)
        if expected and nominator.node_of(info.uid) != expected:
            # Somebody else said so. Like kube-scheduler, try the pod itself as well.
            self._queue.release(info, expected, tell_itself=True)
        if assumed:
            # It is on its node in the cache already, and must not be expected there as well.
            nominator.remove(info.uid)
            if is_terminating(info.pod) and not is_terminating(before.pod):
                self._end_assumed(info)

    def _drop_waiting(self, info: PodInfo) -> None:
        in_flight = self._queue.place(info.uid) is Place.IN_FLIGHT
        expected = self._queue.nominator.node_of(info.uid)
        self._leave_queue(info)
        if self._cluster.is_assumed(info.uid):
            if in_flight:
                self._end_assumed(info)
            else:
                # It was bound, and gone before the watch told so.
                node_name = self._cluster.node_of(info.uid)
                self._cluster.remove_pod(info.uid)
                self._queue.release(info, node_name, was_on_it=True)
        elif expected:
            self._queue.release(info, expected)

    def _end_assumed(self, info: PodInfo) -> None:
        """Give the room of a pod that is about to be bound to others: it ends, and never will be.

        Where it waits in Permit, that is over, and its binding undoes everything. Where it is further
        on, its binding comes to nothing in the end, which may take minutes.
        """
        waiting = self._waiting.get(info.uid)
        if waiting is not None:
            waiting.reject("", "removed")  # kube-scheduler's word for it
            return
        node_name = self._cluster.node_of(info.uid)
        self._cluster.forget(info.uid)
        self._queue.release(info, node_name, was_on_it=True)

    def _held_for(self, info: PodInfo) -> str:
        """Return the node that has room set aside for a waiting pod; empty: none."""
        if self._cluster.is_assumed(info.uid):
            return self._cluster.node_of(info.uid)
        return self._queue.nominator.node_of(info.uid)

    def _leave_queue(self, info: PodInfo) -> None:
        """Take a pod out of the queue, and out of Permit where it waits there."""
        name = info.pod.spec.scheduler_name
        if name not in self._profiles:
            self.unserved[name] -= 1
            if not self.unserved[name]:
                del self.unserved[name]
            return
        self._mean(_WAITING_DELETED)
        self._queue.delete(info)
        waiting = self._waiting.get(info.uid)
        if waiting is not None:
            waiting.reject("", "pod was deleted or bound by another scheduler")


def _is_assigned(info: PodInfo) -> bool:
    return bool(info.pod.spec.node_name)


def _version(pod: Pod) -> str:
    return pod.metadata.resource_version
