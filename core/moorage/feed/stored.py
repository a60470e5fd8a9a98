"""Objects that are only kept: services, controllers of pods, disruption budgets."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar, cast

from moorage.cache.cluster import ClusterCache
from moorage.cache.workloads import WorkloadIdentity, identity_of
from moorage.feed.following import Feed
from moorage.model.disruption import PodDisruptionBudget
from moorage.model.events import ActionType, ClusterEvent
from moorage.model.workloads import Workload
from moorage.queueing import SchedulingQueue

__all__ = ["BudgetFeed", "WorkloadFeed"]

_logger = logging.getLogger(__name__)

W = TypeVar("W", bound=Workload)


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
            self._queue.move(self._added, None, item)
        elif before.spec != item.spec:
            self._queue.move(self._updated, before, item)

    def drop(self, identity: Hashable) -> None:
        """Forget a workload."""
        known = cast("WorkloadIdentity", identity)
        before = self._cluster.workloads.get(known)
        if before is not None:
            self._cluster.remove_workload(known)
            self._queue.move(self._deleted, before, None)


class BudgetFeed(Feed[PodDisruptionBudget]):
    """Keeps the disruption budgets in the cache up to date; wakes nobody."""

    def __init__(self, cluster: ClusterCache) -> None:
        self._budgets = cluster.budgets

    def identity(self, item: PodDisruptionBudget) -> tuple[str, str]:
        """Return the budget's namespace and name."""
        return item.metadata.namespace, item.metadata.name

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
