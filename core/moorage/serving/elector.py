"""Who leads: the Lease is taken, renewed and given back as kube-scheduler does.

::

                 free, or not renewed for leaseDuration since we saw it last
    standing by --------------------------------------------------------------> leading
        ^                                                                          |  each retryPeriod:
        |                                                                          |  renew
        +---- (never: a process that has led does not stand by again)              v
                          not renewed for renewDeadline, taken by another,        lost
                          or the scheduling loop hangs

No replica trusts another's clock: a Lease is old when it did not change for its duration by our own.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus

import msgspec

from moorage.api.gate import WriteGate, steady_clock
from moorage.errors import ApiError, MoorageError
from moorage.fault_log import NOTICE
from moorage.serving.lease import LeaseLock, LeaseSpec, ObservedLease

__all__ = ["Elector", "Terms"]

_logger = logging.getLogger(__name__)

_JITTER = 1.2
"""Standing by, up to so much of the period is added, or all would come at the same moment."""
_RELEASED_SECONDS = 1
"""The duration of a Lease that was given back: whoever reads it may take it at once."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """``leaderElection`` of the configuration, in seconds; the defaults are kube-scheduler's."""

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    namespace: str = "kube-system"
    name: str = "moorage"

    @property
    def request_timeout(self) -> float:
        """How long one request may take: two must fit into the deadline."""
        return self.renew_deadline / 2


def _alive() -> bool:
    return True


class Elector:
    """Takes and keeps one Lease under an identity; opens `gate` for as long as it may be trusted.

    `is_alive` says whether the scheduling loop moves: a leader that hangs must let others lead.
    `on_event(lease, sentence)` is told what the world should hear. `clock` is steady, in seconds.
    """

    def __init__(
        self,
        lock: LeaseLock,
        terms: Terms,
        *,
        identity: str,
        gate: WriteGate,
        is_alive: Callable[[], bool] = _alive,
        on_event: Callable[[ObservedLease, str], None] = lambda *_: None,
        clock: Callable[[], float] = steady_clock,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
    ) -> None:
        self.identity = identity
        self.leads = False
        self._lock = lock
        self._terms = terms
        self._gate = gate
        self._is_alive = is_alive
        self._on_event = on_event
        self._clock = clock
        self._sleep = sleep
        self._rng = rng or random.Random()  # noqa: S311 - spreads requests, not cryptography
        self._observed: ObservedLease | None = None
        self._observed_at = 0.0
        self._renewed_at = float("-inf")
        self._stepping: asyncio.Task[bool] | None = None

    @property
    def holder(self) -> str:
        """Who held the Lease when it was seen last; empty: nobody."""
        return "" if self._observed is None else self._observed.holder

    @property
    def seconds_since_renewal(self) -> float:
        """How long ago the last renewal that succeeded began."""
        return self._clock() - self._renewed_at

    async def acquire(self) -> None:
        """Stand by until the Lease is ours."""
        name = f"{self._lock.namespace}/{self._lock.name}"
        _logger.log(NOTICE, "Attempting to acquire leader lease %s as %s", name, self.identity)
        while not await self._whole_step():
            jitter = _JITTER * self._rng.random()
            await self._sleep(self._terms.retry_period * (1 + jitter))
        self.leads = True
        _logger.log(NOTICE, "Successfully acquired lease %s", name)
        self._tell("became leader")

    async def keep(self) -> str:
        """Renew until that fails for too long; return why, with the gate shut for good."""
        reason = ""
        while not reason:
            if not self._is_alive():
                reason = "the scheduling loop hangs"
            elif not await self._whole_step():
                reason = self._end()
            if not reason:
                left = self._terms.renew_deadline - self.seconds_since_renewal
                await self._sleep(max(0.0, min(self._terms.retry_period, left)))
        self._gate.shut()
        self.leads = False
        self._tell("stopped leading")
        return reason

    def _end(self) -> str:
        """Say why a renewal that failed was the last; empty: it is tried again."""
        if self.holder not in {"", self.identity}:
            return f"{self.holder} has taken it"
        if self.seconds_since_renewal >= self._terms.renew_deadline:
            return f"it could not be renewed for {self._terms.renew_deadline:g} s"
        return ""

    async def release(self) -> None:
        """Give the Lease back, so that others need not wait; a failure is logged."""
        self._gate.shut()
        if self._stepping is not None:
            await asyncio.wait({self._stepping})
        if self._observed is None or self.holder != self.identity:
            return
        try:
            await self._give_back(self._observed)
        except MoorageError as error:
            _logger.warning("The lease was not given back: %s", error)
        if self.leads:
            self.leads = False
            self._tell("stopped leading")

    async def _whole_step(self) -> bool:
        """Do a step that goes on where this is cancelled: what was sent may arrive."""
        self._stepping = asyncio.create_task(self.step())
        return await asyncio.shield(self._stepping)

    async def _give_back(self, known: ObservedLease) -> None:
        try:
            self._observe(await self._lock.update(known, self._released(known)))
        except ApiError as error:
            if not _is_conflict(error):
                raise
            # A renewal of ours that was not answered had arrived after all.
            found = await self._lock.read()
            if found is not None and found.holder == self.identity:
                self._observe(await self._lock.update(found, self._released(found)))

    def _released(self, known: ObservedLease) -> LeaseSpec:
        now = self._lock.now()
        return LeaseSpec("", _RELEASED_SECONDS, now, now, known.spec.lease_transitions)

    async def step(self) -> bool:
        """Try once to take the Lease, or to renew it; True: it is ours."""
        begun = self._clock()
        try:
            async with asyncio.timeout(self._terms.request_timeout):
                held = await self._take_or_renew(begun)
        except TimeoutError:
            _logger.warning("The lease was not answered in %g s", self._terms.request_timeout)
            return False
        except MoorageError as error:
            if not _is_conflict(error):
                _logger.warning("The lease cannot be read or written: %s", error)
            return False
        if held:
            self._renewed_at = begun
            self._gate.open_until(begun + min(self._terms.renew_deadline, self._seconds))
        return held

    async def _take_or_renew(self, begun: float) -> bool:
        known = self._observed
        if known is not None and known.holder == self.identity and self._holds(begun):
            try:
                self._observe(await self._lock.update(known, self._renewed(known)))
            except ApiError as error:
                if not _is_conflict(error):
                    raise
            else:
                return True
        found = await self._lock.read()
        if found is None:
            self._observe(await self._lock.create(self._taken(None)))
            return True
        self._observe(found)
        if found.holder not in {"", self.identity} and self._holds(self._clock()):
            return False
        mine = found.holder == self.identity
        spec = self._renewed(found) if mine else self._taken(found)
        self._observe(await self._lock.update(found, spec))
        return True

    def _holds(self, now: float) -> bool:
        """Say whether the Lease changed within its duration, by our own clock."""
        if self._observed is None:
            return False
        return now < self._observed_at + (self._observed.spec.lease_duration_seconds or 0)

    def _observe(self, lease: ObservedLease) -> None:
        if self._observed is None or lease.spec != self._observed.spec:
            self._observed_at = self._clock()
        self._observed = lease

    def _taken(self, found: ObservedLease | None) -> LeaseSpec:
        now = self._lock.now()
        transitions = 0 if found is None else (found.spec.lease_transitions or 0) + 1
        return LeaseSpec(self.identity, self._seconds, now, now, transitions)

    def _renewed(self, known: ObservedLease) -> LeaseSpec:
        return msgspec.structs.replace(
            known.spec, renew_time=self._lock.now(), lease_duration_seconds=self._seconds
        )

    @property
    def _seconds(self) -> int:
        # The API has whole seconds; as in Go, a fraction is cut off.
        return int(self._terms.lease_duration)

    def _tell(self, what: str) -> None:
        if self._observed is not None:
            self._on_event(self._observed, f"{self.identity} {what}")


def _is_conflict(error: Exception) -> bool:
    return isinstance(error, ApiError) and error.code == HTTPStatus.CONFLICT
