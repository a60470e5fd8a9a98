"""Objects that are only kept: services, controllers of pods, disruption budgets, storage."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar, cast

import msgspec

from moorage.cache.cluster import ClusterCache
from moorage.cache.workloads import WorkloadIdentity, identity_of
from moorage.feed.following import Feed
from moorage.model.disruption import PodDisruptionBudget
from moorage.model.events import ActionType, ClusterEvent
from moorage.model.storage import StorageObject
from moorage.model.workloads import Workload
from moorage.queueing import SchedulingQueue

__all__ = ["BudgetFeed", "StorageFeed", "WorkloadFeed"]

_logger = logging.getLogger(__name__)

W = TypeVar("W", bound=Workload)
S = TypeVar("S", bound=StorageObject)


class WorkloadFeed(Feed[W], Generic[W]):
    """Keeps one kind of workload in the cache up to date; `resource` is what hints register."""

    def __init__(
        self, cluster: ClusterCache, queue: SchedulingQueue, kind: type[W], resource: str
    ) -> None:
        self._cluster = cluster
        self._queue = queue
        self._kind = kind
        self._added = ClusterEvent(resource, ActionType.ADD)
        self._updated = ClusterEvent(resource, ActionType.UPDATE_OTHER)
        self._deleted = ClusterEvent(resource, ActionType.DELETE)

    def identity(self, item: W) -> WorkloadIdentity:
        """Return the workload's kind, namespace and name."""
        return identity_of(item)

    def identity_by(self, namespace: str, name: str, uid: str) -> WorkloadIdentity:  # noqa: ARG002 - what it goes by
        """Return the same by metadata."""
        return cast("WorkloadIdentity", (self._kind, namespace, name))

    def identities(self) -> Iterable[WorkloadIdentity]:
        """Return the identities of all workloads of this kind."""
        return [
            identity_of(workload)
            for workload in self._cluster.workloads
            if isinstance(workload, self._kind)
        ]

    def put(self, item: W) -> None:
        """Take in a workload; only what it selects wakes anybody."""
        before = self._cluster.workloads.get(identity_of(item))
        self._cluster.set_workload(item)
        if before is None:
            self._tell(self._added, None, item)
        elif before.spec != item.spec:
            self._tell(self._updated, before, item)

    def drop(self, identity: Hashable) -> None:
        """Forget a workload."""
        known = cast("WorkloadIdentity", identity)
        before = self._cluster.workloads.get(known)
        if before is not None:
            self._cluster.remove_workload(known)
            self._tell(self._deleted, before, None)


class BudgetFeed(Feed[PodDisruptionBudget]):
    """Keeps the disruption budgets in the cache up to date; wakes nobody."""

    def __init__(self, cluster: ClusterCache) -> None:
        self._budgets = cluster.budgets

    def identity(self, item: PodDisruptionBudget) -> tuple[str, str]:
        """Return the budget's namespace and name."""
        return item.metadata.namespace, item.metadata.name

    def identity_by(self, namespace: str, name: str, uid: str) -> tuple[str, str]:  # noqa: ARG002 - what it goes by
        """Return the same by metadata."""
        return namespace, name

    def identities(self) -> Iterable[tuple[str, str]]:
        """Return the identities of all budgets."""
        return [self.identity(budget) for budget in self._budgets]

    def put(self, item: PodDisruptionBudget) -> None:
        """Take in a budget; one that cannot be read protects nobody, and that is said."""
        self._budgets.put(item)
        identity = self.identity(item)
        problem = self._budgets.invalid.get(identity)
        if problem is not None:
            _logger.error("PodDisruptionBudget %s/%s protects no pod: %s", *identity, problem)

    def drop(self, identity: Hashable) -> None:
        """Forget a budget."""
        self._budgets.drop(*cast("tuple[str, str]", identity))


class StorageFeed(Feed[S], Generic[S]):
    """Keeps one kind of storage object up to date; `resource` is what hints register.

    An object that differs in nothing that anybody reads is kept for its version, and wakes nobody.
    """

    def __init__(
        self, cluster: ClusterCache, queue: SchedulingQueue, kind: type[S], resource: str
    ) -> None:
        self._storage = cluster.storage
        self._queue = queue
        self._kind = kind
        self._added = ClusterEvent(resource, ActionType.ADD)
        self._updated = ClusterEvent(resource, ActionType.UPDATE_OTHER)
        self._deleted = ClusterEvent(resource, ActionType.DELETE)

    def identity(self, item: S) -> tuple[str, str]:
        """Return the object's namespace, empty where its kind has none, and its name."""
        return item.metadata.namespace, item.metadata.name

    def identity_by(self, namespace: str, name: str, uid: str) -> tuple[str, str]:  # noqa: ARG002 - what it goes by
        """Return the same by metadata."""
        return namespace, name

    def identities(self) -> Iterable[tuple[str, str]]:
        """Return the identities of all objects of this kind."""
        return [self.identity(item) for item in self._storage.all(self._kind)]

    def newest(self, identity: Hashable) -> S | None:
        """Return the newest version of an object."""
        namespace, name = cast("tuple[str, str]", identity)
        return self._storage.get(self._kind, name, namespace)

    def put(self, item: S) -> None:
        """Take in an object."""
        before = self.newest(self.identity(item))
        self._storage.put(item)
        if before is None:
            self._tell(self._added, None, item)
        elif _without_version(before) != _without_version(item):
            self._tell(self._updated, before, item)

    def drop(self, identity: Hashable) -> None:
        """Forget an object."""
        before = self.newest(identity)
        if before is not None:
            self._storage.drop(self._kind, before.metadata.name, before.metadata.namespace)
            self._tell(self._deleted, before, None)


def _without_version(item: S) -> S:
    metadata = msgspec.structs.replace(item.metadata, resource_version="")
    return msgspec.structs.replace(item, metadata=metadata)
