"""A stand-in for the disruption controller: how many pods of a budget may go now.

In: the status of PodDisruptionBudgets, from the pods that they select. Out: the scale of the
controllers behind the pods, which a real controller looks up for percentages and maxUnavailable;
here the pods that there are count as those that are meant to be.
"""

from __future__ import annotations

import asyncio
import logging
import math
from typing import TYPE_CHECKING, Any

import msgspec

from moorage.embedded.status import StatusError
from moorage.embedded.tasks import Tasks
from moorage.model.meta import LabelSelector
from moorage.model.selectors import InvalidSelectorError, selector_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from moorage.embedded.shelf import Version
    from moorage.embedded.store import Store

__all__ = ["DisruptionStandIn", "budget_status"]

_log = logging.getLogger(__name__)

_BUDGETS = "poddisruptionbudgets.policy"
_ENDED = frozenset({"Succeeded", "Failed"})
_SETTLE_SECONDS = 0.1
"""Changes come in bursts: one reckoning is enough for all of them."""


def budget_status(budget: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Reckon a budget's status over the pods of its namespace.

    Rule: policy/v1. Healthy pods are those that are Ready; as many as are more than desired may go.
    A budget with an invalid selector lets nobody go.
    """
    spec = budget.get("spec") or {}
    observed = {"observedGeneration": budget["metadata"].get("generation", 1)}
    try:
        chosen = selector_of(msgspec.convert(spec.get("selector") or {}, LabelSelector))
    except (InvalidSelectorError, msgspec.ValidationError):
        nobody = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
        return observed | dict.fromkeys(nobody, 0)
    mine = [
        pod
        for pod in pods
        if chosen.matches(pod["metadata"].get("labels") or {})
        and (pod.get("status") or {}).get("phase") not in _ENDED
    ]
    expected = len(mine)
    healthy = sum(map(_is_healthy, mine))
    if spec.get("maxUnavailable") is not None:
        desired = max(0, expected - _share(spec["maxUnavailable"], expected))
    else:
        desired = _share(spec.get("minAvailable", 1), expected)
    return observed | {
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": max(0, healthy - desired) if expected else 0,
        "expectedPods": expected,
    }


class DisruptionStandIn:
    """Follows the budgets and pods of a store and keeps the budgets' status right."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._registry = store.registry
        named = store.registry.catalogue.named
        self._pods, self._budgets = named("pods"), named(_BUDGETS)
        self._stale: set[str] = set()
        self._changed = asyncio.Event()
        self._tasks = Tasks()

    def start(self) -> None:
        """Begin on the running event loop, with what is there already."""
        self._tasks.begin(self._follow("pods"))
        self._tasks.begin(self._follow(_BUDGETS))
        self._tasks.begin(self._reckon())

    async def stop(self) -> None:
        """Stop; everything stays as it is."""
        await self._tasks.stop()

    async def _follow(self, plural: str) -> None:
        while True:
            watch = self._store.watch(plural, start=self._registry.version)
            self._note(version.key.namespace for version in self._all_budgets())
            try:
                async for events in watch.batches():
                    self._note(event.version.key.namespace for event in events)
            except StatusError as error:
                _log.info("the stand-in for disruption fell behind and starts anew: %s", error)

    def _all_budgets(self) -> list[Version]:
        return list(self._registry.shelf(self._budgets).versions())

    def _note(self, namespaces: Any) -> None:  # noqa: ANN401 - an iterator of names
        self._stale.update(namespaces)
        if self._stale:
            self._changed.set()

    async def _reckon(self) -> None:
        while True:
            await self._changed.wait()
            await asyncio.sleep(_SETTLE_SECONDS)
            self._changed.clear()
            stale, self._stale = self._stale, set()
            budgets = [one for one in self._all_budgets() if one.key.namespace in stale]
            # Most clusters have few budgets, and most namespaces none.
            for namespace in {one.key.namespace for one in budgets}:
                pods = [
                    version.as_dict(self._pods)
                    for version in self._registry.shelf(self._pods).versions()
                    if version.key.namespace == namespace
                ]
                for version in budgets:
                    if version.key.namespace == namespace:
                        self._write(version, pods)

    def _write(self, version: Version, pods: Sequence[Mapping[str, Any]]) -> None:
        budget = version.as_dict(self._budgets)
        status = (budget.get("status") or {}) | budget_status(budget, pods)
        if status == budget.get("status"):
            return
        budget["status"] = status
        try:
            self._registry.replace(self._budgets, version, budget, subresource="status")
        except StatusError as error:
            _log.info("the status of budget %s is left for later: %s", version.key.name, error)
            self._note([version.key.namespace])


def _is_healthy(pod: Mapping[str, Any]) -> bool:
    if pod["metadata"].get("deletionTimestamp"):
        return False
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _share(value: Any, count: int) -> int:  # noqa: ANN401 - a number or a percentage
    if isinstance(value, str) and value.endswith("%"):
        return math.ceil(int(value[:-1]) * count / 100)
    return int(value)
