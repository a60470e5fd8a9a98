"""Who has which device, in this process: one for all profiles, or two pods get one device.

A claim has what the API server says. It is ahead of that by what is on its way::

    nothing --reserve--> pending --written--> assumed --the watch tells as much--> as the server says
       ^                    |
       +-----unreserve------+

Of each claim one version counts, the last one along this way that there is. Where an answer was
lost and the pod failed, its devices are held back for as long as the write may still arrive.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from moorage.cache.devices import ClaimStore, PoolKey
from moorage.model import InvalidQuantityError, parse_quantity
from moorage.model.devices import DeviceResult, ResourceClaim
from moorage_builtin.dynamic_resources.pools import Counters, PoolView

__all__ = ["Ledger", "ViewState"]


class ViewState(NamedTuple):
    """What of a view is in use.

    `used` are the places of devices that are nobody else's to have, `shared` what is taken of the
    capacities of others, `free` what is left of the counters. Equal keys: equal states.
    """

    used: frozenset[int]
    shared: Mapping[int, Mapping[str, Fraction]]
    free: Counters
    key: tuple[Any, ...]


class _PoolUse:
    """What claims have of one pool."""

    def __init__(self) -> None:
        self.version = 0
        self.exclusive: Counter[str] = Counter()
        self.shares: Counter[str] = Counter()
        self.taken: dict[str, Counter[str]] = {}
        self.amounts: dict[str, dict[str, Fraction]] = {}

    def count(self, result: DeviceResult, change: int) -> None:
        """Count a device that a claim got (1) or gave back (-1)."""
        self.version += 1
        name = result.device
        if result.share_id is None:
            _count(self.exclusive, name, change)
            return
        _count(self.shares, name, change)
        amounts = self.amounts.setdefault(name, {})
        for capacity, text in result.consumed_capacity.items():
            amounts[capacity] = amounts.get(capacity, Fraction(0)) + change * _amount(text)
        if not self.shares[name]:
            del self.amounts[name]


class _Doubt(NamedTuple):
    """What a claim may come to have: a write to this version of it may arrive until then."""

    version: int
    results: tuple[DeviceResult, ...]
    until: float


class Ledger:
    """Which claims have which devices, of those in the API server and of those on their way."""

    def __init__(self, claims: ClaimStore) -> None:
        self._claims = claims
        self._pending: dict[str, tuple[str, tuple[DeviceResult, ...]]] = {}
        """Claim -> the pod that it is being allocated for, and what; by uid."""
        self._assumed: dict[str, ResourceClaim] = {}
        self._doubtful: dict[str, _Doubt] = {}
        self._counted: dict[str, tuple[DeviceResult, ...]] = {}
        self._use: dict[PoolKey, _PoolUse] = {}
        self._versions = 0
        self._locks: dict[str, asyncio.Lock] = {}
        self._waiting: set[asyncio.Event] = set()
        self.released: set[str] = set()
        """Pods whose devices were given back before they were written down, by uid."""
        self.deallocating: set[str] = set()
        """Claims whose devices are being given back at the API server, by uid."""
        for uid in claims.allocated:
            self._recount(uid)
        claims.listeners.append(self._on_claim)

    # Claims

    def claim(self, namespace: str, name: str) -> ResourceClaim | None:
        """Return a claim as it is known to be, ahead of the watch; None: there is none."""
        claim = self._claims.get(namespace, name)
        return None if claim is None else self._assumed.get(claim.metadata.uid, claim)

    def newest(self, claim: ResourceClaim) -> ResourceClaim | None:
        """Return the newest version of a claim, None where it is gone."""
        uid = claim.metadata.uid
        return self._assumed.get(uid) or self._claims.by_uid(uid)

    def is_pending(self, uid: str) -> bool:
        """Say whether a claim is being allocated."""
        return uid in self._pending

    def reserve(self, uid: str, pod_uid: str, results: Iterable[DeviceResult]) -> None:
        """Give a claim devices, for now; ValueError where it is being allocated already."""
        if uid in self._pending:
            raise ValueError(f"claim {uid} is in the process of being allocated")
        self._pending[uid] = (pod_uid, tuple(results))
        self.released.discard(pod_uid)
        self._recount(uid)

    def release(self, uid: str, pod_uid: str) -> None:
        """Take back what a claim was given for a pod and that was not written; idempotent."""
        pending = self._pending.get(uid)
        if pending is not None and pending[0] == pod_uid:
            del self._pending[uid]
            self.released.add(pod_uid)
            self._recount(uid)

    def doubt(self, claim: ResourceClaim, results: Iterable[DeviceResult], until: float) -> None:
        """Hold devices back that a claim may come to have, by the clock, or until it changes."""
        self._doubtful[claim.metadata.uid] = _Doubt(_number(claim), tuple(results), until)
        self._recount(claim.metadata.uid)

    def forget_doubts(self, now: float) -> None:
        """Give back devices whose claim can no longer come to have them."""
        for uid in [uid for uid, doubt in self._doubtful.items() if doubt.until <= now]:
            del self._doubtful[uid]
            self._recount(uid)

    def written(self, claim: ResourceClaim, *, reserved_as: str = "") -> None:
        """Note a version that the API server accepted; the watch tells of it later, or has already.

        `reserved_as` is the uid under which it was reserved.
        """
        uid = claim.metadata.uid
        known = self._claims.by_uid(uid)
        if known is None or _number(known) < _number(claim):
            self._assumed[uid] = claim
        self._pending.pop(reserved_as or uid, None)
        self._settle(claim)
        self._recount(reserved_as or uid)
        self._recount(uid)

    def lock(self, uid: str) -> asyncio.Lock:
        """Return what those hold who write a claim: one after another, in the order they came."""
        lock = self._locks.get(uid)
        if lock is None:
            self._locks = {key: one for key, one in self._locks.items() if one.locked()}
            lock = self._locks[uid] = asyncio.Lock()
        return lock

    async def wait_for_claims(self, seconds: float) -> None:
        """Wait until some claim changed, or the time is over."""
        happened = asyncio.Event()
        self._waiting.add(happened)
        try:
            async with asyncio.timeout(seconds):
                await happened.wait()
        except TimeoutError:
            pass
        finally:
            self._waiting.discard(happened)

    # Devices

    def state(self, view: PoolView) -> ViewState:
        """Return what of a view is in use; made anew only where its pool changed."""
        use = self._use.get(view.key)
        version = 0 if use is None else use.version
        if view.state is None or view.state[0] != version:
            view.state = (version, _state(view, use))
        state: ViewState = view.state[1]
        return state

    def holders(self) -> dict[tuple[str, str, str], list[str]]:
        """Return which claims have each device for themselves, by uid; for checks and people."""
        found: dict[tuple[str, str, str], list[str]] = {}
        for uid, results in self._counted.items():
            for result in results:
                if result.share_id is None and not result.admin_access:
                    found.setdefault(result.id, []).append(uid)
        return found

    def check_invariants(self) -> None:
        """Raise AssertionError where what is counted differs from what claims have."""
        uids = self._claims.allocated.keys() | self._assumed.keys()
        uids |= self._pending.keys() | self._doubtful.keys()
        expected = {uid: self._results(uid) for uid in uids}
        if self._counted != {uid: results for uid, results in expected.items() if results}:
            raise AssertionError("what is counted differs from what claims have")

    def _on_claim(self, uid: str) -> None:
        assumed = self._assumed.get(uid)
        known = self._claims.by_uid(uid)
        if assumed is not None and (known is None or _number(known) >= _number(assumed)):
            del self._assumed[uid]
        if known is None:
            self._doubtful.pop(uid, None)
        else:
            self._settle(known)
        self._recount(uid)
        for happened in self._waiting:
            happened.set()

    def _settle(self, claim: ResourceClaim) -> None:
        """End a doubt: what was written to an older version can arrive no more."""
        doubt = self._doubtful.get(claim.metadata.uid)
        if doubt is not None and _number(claim) > doubt.version:
            del self._doubtful[claim.metadata.uid]

    def _results(self, uid: str) -> tuple[DeviceResult, ...]:
        claim = self._assumed.get(uid) or self._claims.by_uid(uid)
        allocation = None if claim is None else claim.status.allocation
        if allocation is not None:
            return allocation.devices.results
        pending, doubt = self._pending.get(uid), self._doubtful.get(uid)
        known = () if pending is None else pending[1]
        return known if doubt is None else (*known, *doubt.results)

    def _recount(self, uid: str) -> None:
        before, now = self._counted.pop(uid, ()), self._results(uid)
        if now:
            self._counted[uid] = now
        if before == now:
            return
        for results, change in ((now, 1), (before, -1)):
            for result in results:
                if not result.admin_access:
                    self._use_of(result).count(result, change)

    def _use_of(self, result: DeviceResult) -> _PoolUse:
        key = (result.driver, result.pool)
        use = self._use.get(key)
        if use is None:
            use = self._use[key] = _PoolUse()
        return use


def _state(view: PoolView, use: _PoolUse | None) -> ViewState:
    free = dict(view.counters)
    if use is None:
        return ViewState(frozenset(), {}, free, ())
    places = view.places
    used = frozenset(places[name] for name in use.exclusive if name in places)
    shared = {places[name]: amounts for name, amounts in use.amounts.items() if name in places}
    for name, kind in view.consumers:
        if name in use.exclusive or name in use.shares:
            for counter, amount in kind.consumes.items():
                free[counter] = free.get(counter, Fraction(0)) - amount
    key: tuple[Any, ...] = (used,)
    if shared or free:
        amounts_of = sorted((place, *sorted(amounts.items())) for place, amounts in shared.items())
        key = (used, tuple(amounts_of), tuple(sorted(free.items())))
    return ViewState(used, {place: dict(amounts) for place, amounts in shared.items()}, free, key)


def _count(counter: Counter[str], name: str, change: int) -> None:
    counter[name] += change
    if not counter[name]:
        del counter[name]


def _amount(text: str) -> Fraction:
    try:
        return parse_quantity(text)
    except InvalidQuantityError:
        return Fraction(0)


def _number(claim: ResourceClaim) -> int:
    """Return a claim's version; they compare as numbers (KEP-5504)."""
    version = claim.metadata.resource_version
    return int(version) if version.isdecimal() else 0
