"""Where each pod is: one place at a time, changed in one function and by one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from moorage.framework.queued_pod import QueuedPod
from moorage.queueing.backoff import BackoffQueue
from moorage.queueing.in_flight import InFlight
from moorage.queueing.places import TRANSITIONS, Place
from moorage.queueing.pod_heap import PodHeap
from moorage.queueing.refusals import Refusals
from moorage.queueing.waiting_pool import WaitingPool

__all__ = ["Ledger"]


class Ledger:
    """The pods by uid and by key, and what holds them in each place."""

    def __init__(self, *, sort_key: Callable[[QueuedPod], Any], clock: Callable[[], float]) -> None:
        self._sort_key = sort_key
        self._clock = clock
        self._pods: dict[str, QueuedPod] = {}
        self._places: dict[str, Place] = {}
        self._uids: dict[str, str] = {}
        self.active = PodHeap()
        self.backoff = BackoffQueue()
        self.unschedulable = WaitingPool()
        self.gated = WaitingPool()
        self.in_flight = InFlight()
        self.refusals = Refusals()

    def find(self, uid: str) -> QueuedPod | None:
        """Return the pod with this uid, wherever it is."""
        return self._pods.get(uid)

    def find_key(self, key: str) -> QueuedPod | None:
        """Return the newest pod of the name ``namespace/name``."""
        uid = self._uids.get(key)
        return None if uid is None else self._pods[uid]

    def place(self, queued: QueuedPod) -> Place:
        """Return where a pod is; another one with the same uid does not count."""
        uid = queued.info.uid
        return self._places[uid] if self._pods.get(uid) is queued else Place.OUTSIDE

    def transfer(self, queued: QueuedPod, to: Place) -> None:
        """Move a pod from where it is; raises `RuntimeError` where the table has no such move."""
        source = self.place(queued)
        if (source, to) not in TRANSITIONS:
            raise RuntimeError(f"{queued.key} cannot go from {source.value} to {to.value}")
        # Plugin code: before anything is changed, so that a pod is never half moved.
        key = self._sort_key(queued) if to in {Place.ACTIVE, Place.BACKOFF} else None
        self._leave(queued, source)
        self._enter(queued, to, key)
        self._count(queued, source, to)

    def refresh(self, queued: QueuedPod) -> None:
        """Sort a changed pod in anew, where its place has an order."""
        place = self.place(queued)
        if place is Place.ACTIVE:
            self.active.push(queued, self._sort_key(queued))
        elif place is Place.BACKOFF:
            self.backoff.push(queued, self._sort_key(queued))

    def pods(self) -> Mapping[Place, tuple[QueuedPod, ...]]:
        """List the pods of each place; O(n log n), for people."""
        return {place: tuple(holder) for place, holder in self._holders().items()}

    def counts(self) -> Mapping[Place, int]:
        """Count the pods of each place; O(1)."""
        return {place: len(holder) for place, holder in self._holders().items()}

    def _holders(
        self,
    ) -> dict[Place, PodHeap | BackoffQueue | WaitingPool | InFlight]:
        return {
            Place.ACTIVE: self.active,
            Place.BACKOFF: self.backoff,
            Place.UNSCHEDULABLE: self.unschedulable,
            Place.GATED: self.gated,
            Place.IN_FLIGHT: self.in_flight,
        }

    def _leave(self, queued: QueuedPod, source: Place) -> None:
        if source is Place.ACTIVE:
            self.active.discard(queued)
        elif source is Place.BACKOFF:
            self.backoff.discard(queued)
        elif source is Place.UNSCHEDULABLE:
            self.unschedulable.discard(queued)
        elif source is Place.GATED:
            self.gated.discard(queued)
        elif source is Place.IN_FLIGHT:
            self.in_flight.end(queued.info.uid)

    def _enter(self, queued: QueuedPod, to: Place, key: Any) -> None:  # noqa: ANN401 - the plugin's key
        uid = queued.info.uid
        if to is Place.OUTSIDE:
            self._forget(queued)
            return
        self._pods[uid] = queued
        self._places[uid] = to
        self._uids[queued.key] = uid
        if to is Place.ACTIVE:
            self.active.push(queued, key)
        elif to is Place.BACKOFF:
            self.backoff.push(queued, key)
        elif to is Place.UNSCHEDULABLE:
            plugins = queued.unschedulable_plugins | queued.pending_plugins
            self.unschedulable.add(queued, plugins, now=self._clock())
        elif to is Place.GATED:
            self.gated.add(queued, frozenset({queued.gated_by}), now=self._clock())
        else:
            self.in_flight.start(queued)

    def _count(self, queued: QueuedPod, source: Place, to: Place) -> None:
        """Count a pod for those who refused it, from its failed attempt to its next one."""
        if to is Place.IN_FLIGHT or to is Place.OUTSIDE:  # faster than a set, for every pod
            self.refusals.forget(queued)
            return
        if source is Place.IN_FLIGHT:
            self.refusals.note(queued, queued.unschedulable_plugins | queued.pending_plugins)
        if to is Place.GATED:
            self.refusals.note(queued, (queued.gated_by,))

    def _forget(self, queued: QueuedPod) -> None:
        uid = queued.info.uid
        del self._pods[uid], self._places[uid]
        # A pod made anew under the same name may have taken the key over.
        if self._uids.get(queued.key) == uid:
            del self._uids[queued.key]

    def check_invariants(self) -> None:
        """Raise `AssertionError` unless each pod is in its one place and everything is indexed."""
        holders = self._holders()
        for holder in (*holders.values(), self.refusals):
            holder.check_invariants()
        if sum(map(len, holders.values())) != len(self._pods):
            raise AssertionError("a pod is in two places, or in none")
        if self._places.keys() != self._pods.keys():
            raise AssertionError("pods and places differ")
        for uid, place in self._places.items():
            if self._pods[uid] not in holders[place]:
                raise AssertionError(f"{uid} is not in {place.value}, where it should be")
        if not set(self._uids.values()) <= self._pods.keys():
            raise AssertionError("a name leads to a pod that is gone")
