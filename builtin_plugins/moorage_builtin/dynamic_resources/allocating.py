"""The search for devices: claim by claim, request by request, the first full solution counts.

Devices are tried in the order of the pools, within a request never one before another that comes
earlier, so that each set is tried once. A device that is like one which was tried in vain at the same
place (same pool, kind and state) is not tried again: whatever follows would fail as well.

Each decision is a generator: it takes something, yields where to go on, and when it is resumed gives
it back and takes the next. A stack of them is the search, however deep it gets.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from moorage.model.devices import ResourceClaim
from moorage_builtin.dynamic_resources.capacities import Taken, taken_of
from moorage_builtin.dynamic_resources.constraints import Constraint, constraints_of
from moorage_builtin.dynamic_resources.expressions import Expressions
from moorage_builtin.dynamic_resources.ledger import ViewState
from moorage_builtin.dynamic_resources.pools import DeviceKind, PoolView, SeenDevice
from moorage_builtin.dynamic_resources.wanted import Refused, Wanted

__all__ = ["Found", "Search"]

_MOST_DEVICES = 32
"""Devices that one claim can have, the API's bound."""
_STEPS_BETWEEN_LOOKS = 64

_Where = tuple[int, int]
"""The place of a view, and that of a device in it."""


class Found(NamedTuple):
    """One device for a request: the places of its view and in it, and what is taken of it if shared.

    `request` is the request's place in the claim, `alternative` that of the one chosen (-1: none
    to choose from).
    """

    request: int
    alternative: int
    view: int
    device: int
    taken: Taken | None


class _Place(NamedTuple):
    """Where the search is: the next device of a request of a claim, and from which one on."""

    claim: int
    request: int
    alternative: int = -1
    device: int = 0
    view: int = 0
    start: int = 0


class Search:
    """One search for all claims of a pod among the devices that a node sees.

    `wanted` are the alternatives of each request of each claim. `deadline` is asked now and then
    whether the time is over. Refused for a reason that is worth telling.
    """

    def __init__(
        self,
        claims: Sequence[ResourceClaim],
        wanted: Sequence[Sequence[tuple[Wanted, ...]]],
        seen: Sequence[tuple[PoolView, ViewState]],
        *,
        expressions: Expressions,
        is_over: Callable[[], bool],
    ) -> None:
        self._claims = claims
        self._wanted = wanted
        self._views = [view for view, _ in seen]
        self._states = [state for _, state in seen]
        self._expressions = expressions
        self._is_over = is_over
        self._found: list[list[Found]] = [[] for _ in claims]
        self._holders: defaultdict[_Where, set[int]] = defaultdict(set)
        """The claims that have a device, by its place; more than one with admin access only."""
        self._shares: Counter[_Where] = Counter()
        self._amounts: dict[_Where, dict[str, Fraction]] = {}
        self._free = [dict(state.free) for state in self._states]
        self._overdrawn = [min(state.free.values(), default=0) < 0 for state in self._states]
        self._constraints: list[list[Constraint]] = []
        self._all: dict[int, list[_Where]] = {}

    def run(self) -> list[list[Found]] | None:
        """Return the devices of each claim, None where they cannot all be had."""
        try:
            self._constraints = [constraints_of(claim) for claim in self._claims]
        except ValueError as error:
            raise Refused(str(error)) from error
        self._prepare()
        stack = [self._go_on(_Place(0, 0))]
        steps = 0
        while stack:
            steps += 1
            if steps % _STEPS_BETWEEN_LOOKS == 1 and self._is_over():
                raise Refused("timed out trying to allocate devices")
            place = next(stack[-1], None)
            if place is None:
                stack.pop()
            elif place.claim == len(self._claims):
                return self._found
            else:
                stack.append(self._go_on(place))
        if any(view.problem for view in self._views):
            raise Refused("invalid resource pools were encountered")
        return None

    # What is known before

    def _prepare(self) -> None:
        for claim, requests in zip(self._claims, self._wanted, strict=True):
            fewest = 0
            for alternatives in requests:
                for wanted in alternatives:
                    if wanted.takes_all:
                        self._all[id(wanted)] = self._all_of(wanted)
                    elif wanted.request.allocation_mode != "ExactCount":
                        raise Refused(
                            f"claim {claim.key}, request {wanted.name}: unsupported count mode "
                            f"{wanted.request.allocation_mode}"
                        )
                fewest += min(map(self._count, alternatives))
            if fewest > _MOST_DEVICES:
                raise Refused(
                    f"claim {claim.key}: number of requested devices {fewest} exceeds the claim "
                    f"limit of {_MOST_DEVICES}"
                )

    def _all_of(self, wanted: Wanted) -> list[_Where]:
        found = []
        for index, view in enumerate(self._views):
            if not view.is_usable:
                why = "currently being updated" if view.is_incomplete else "currently invalid"
                raise Refused(
                    f"claim {wanted.claim.key}, request {wanted.name}: asks for all devices, but "
                    f"resource pool {view.label} is {why}"
                )
            found += [
                (index, place)
                for place, seen in enumerate(view.devices)
                if self._is_selected(wanted, view, seen)
                and self._taken(wanted, (index, place)) is not None
            ]
        return found

    def _count(self, wanted: Wanted) -> int:
        return len(self._all[id(wanted)]) if wanted.takes_all else wanted.request.count

    # Decisions

    def _go_on(self, place: _Place) -> Iterator[_Place]:
        requests = self._wanted[place.claim]
        if place.request == len(requests):
            yield _Place(place.claim + 1, 0)
            return
        alternatives = requests[place.request]
        if place.alternative < 0:
            for index in range(len(alternatives)):
                yield place._replace(alternative=index)
            return
        wanted = alternatives[place.alternative]
        count = self._count(wanted)
        if wanted.takes_all and not count:
            return
        if place.device == count:
            yield _Place(place.claim, place.request + 1)
        elif len(self._found[place.claim]) + count - place.device <= _MOST_DEVICES:
            pick = self._pick_all if wanted.takes_all else self._pick_next
            yield from pick(place, wanted)

    def _pick_all(self, place: _Place, wanted: Wanted) -> Iterator[_Place]:
        where = self._all[id(wanted)][place.device]
        offer = self._offer(place, wanted, where)
        if offer is None:
            return
        if not self._take(place, wanted, where, offer):
            # All are asked for: no other choice of these could do.
            view, device = where
            label = f"{self._views[view].label}/{self._views[view].devices[device].name}"
            raise Refused(
                f"claim {wanted.claim.key}, request {wanted.name}: cannot add device {label} "
                "because a claim constraint would not be satisfied"
            )
        yield place._replace(device=place.device + 1)
        self._put_back(place, wanted)

    def _pick_next(self, place: _Place, wanted: Wanted) -> Iterator[_Place]:
        for index in range(place.view, len(self._views)):
            view = self._views[index]
            if not view.is_usable:
                continue
            vain: set[tuple[DeviceKind, bool]] = set()
            start = place.start if index == place.view else 0
            for device in range(start, len(view.devices)):
                where = (index, device)
                seen = view.devices[device]
                if self._is_taken(place, wanted, where):
                    continue
                if not self._is_selected(wanted, view, seen):
                    continue
                is_plain = not self._is_shared(where)
                like = (seen.kind, self._is_in_use(where))
                if is_plain and like in vain:
                    continue
                offer = self._offer(place, wanted, where)
                if offer is not None and self._take(place, wanted, where, offer):
                    yield place._replace(device=place.device + 1, view=index, start=device + 1)
                    self._put_back(place, wanted)
                if is_plain:
                    vain.add(like)

    def _is_taken(self, place: _Place, wanted: Wanted, where: _Where) -> bool:
        """Say whether a device is not to be had; with admin access, others may have it too."""
        if wanted.is_admin:
            return place.claim in self._holders[where]
        return self._is_in_use(where)

    def _is_in_use(self, where: _Where) -> bool:
        view, device = where
        return device in self._states[view].used or bool(self._holders[where])

    def _is_selected(self, wanted: Wanted, view: PoolView, seen: SeenDevice) -> bool:
        return wanted.selects(seen.kind, lambda: f"{view.label}/{seen.name}", self._expressions)

    # Taking and putting back

    def _offer(self, place: _Place, wanted: Wanted, where: _Where) -> Taken | None:
        """Return what a request would take of a device, None where it is not to be had now."""
        if self._is_taken(place, wanted, where) or not wanted.tolerates(self._kind(where)):
            return None
        return self._taken(wanted, where) if self._has_counters(where) else None

    def _take(self, place: _Place, wanted: Wanted, where: _Where, offer: Taken) -> bool:
        """Take a device, unless a constraint forbids it."""
        kind = self._kind(where)
        picked: list[Constraint] = []
        for constraint in self._constraints[place.claim]:
            if not constraint.add(wanted.name, kind):
                for one in picked:
                    one.remove(wanted.name, kind)
                return False
            picked.append(constraint)
        alternative = place.alternative if "/" in wanted.name else -1
        taken = offer if kind.device.allow_multiple_allocations else None
        self._found[place.claim].append(Found(place.request, alternative, *where, taken))
        self._count_device(place, 1)
        return True

    def _put_back(self, place: _Place, wanted: Wanted) -> None:
        """Put back the device that was taken last."""
        self._count_device(place, -1)
        found = self._found[place.claim].pop()
        kind = self._kind((found.view, found.device))
        for constraint in self._constraints[place.claim]:
            constraint.remove(wanted.name, kind)

    def _kind(self, where: _Where) -> DeviceKind:
        view, device = where
        return self._views[view].devices[device].kind

    def _count_device(self, place: _Place, change: int) -> None:
        found = self._found[place.claim][-1]
        where = (found.view, found.device)
        if found.taken is not None:
            was_shared = self._is_shared(where)
            self._shares[where] += change
            amounts = self._amounts.setdefault(where, {})
            for name, amount in found.taken.amounts.items():
                amounts[name] = amounts.get(name, Fraction(0)) + change * amount
            if was_shared == self._is_shared(where):
                return  # its counters are taken once, for all who share it
        elif change > 0:
            self._holders[where].add(place.claim)
        else:
            self._holders[where].discard(place.claim)
        for counter, amount in self._kind(where).consumes.items():
            self._free[found.view][counter] -= change * amount

    def _is_shared(self, where: _Where) -> bool:
        """Say whether somebody has a share of a device (of its capacities, if others have it)."""
        view, device = where
        return bool(self._shares[where] or self._states[view].shared.get(device))

    def _taken(self, wanted: Wanted, where: _Where) -> Taken | None:
        """Return what is taken of a device's capacities, None where they do not suffice."""
        view, device = where
        one = self._views[view].devices[device]
        try:
            taken = taken_of(one.device, wanted.request.capacity)
        except ValueError as error:
            raise Refused(f"device {self._views[view].label}/{one.name}: {error}") from error
        if taken is None:
            return None
        others = dict(self._states[view].shared.get(device, {}))
        for name, amount in self._amounts.get(where, {}).items():
            others[name] = others.get(name, Fraction(0)) + amount
        return taken if taken.fits(one.device, others) else None

    def _has_counters(self, where: _Where) -> bool:
        kind = self._kind(where)
        if not kind.device.consumes_counters or (
            kind.device.allow_multiple_allocations and self._is_shared(where)
        ):
            return True
        view = where[0]
        if self._overdrawn[view]:
            # More is in use than there is of some counter: whatever takes from counters has to wait.
            return False
        free = self._free[view]
        return all(free.get(counter, 0) >= amount for counter, amount in kind.consumes.items())
