"""The search for devices: claim by claim, request by request, the first full solution counts.

Devices are tried in the order of the pools, within a request never one before another that comes
earlier, so that each set is tried once. A device that is like one which was tried in vain at the same
place (same pool, kind and state) is not tried again: whatever follows would fail as well.

Each decision is a generator: it takes something, yields where to go on, and when it is resumed gives
it back and takes the next. A stack of them is the search, however deep it gets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from moorage.model.devices import ResourceClaim
from moorage_builtin.dynamic_resources.capacities import Taken, taken_of
from moorage_builtin.dynamic_resources.constraints import Constraint, constraints_of
from moorage_builtin.dynamic_resources.expressions import Expressions
from moorage_builtin.dynamic_resources.inventory import DeviceKind, PoolView, SeenDevice
from moorage_builtin.dynamic_resources.ledger import ViewState
from moorage_builtin.dynamic_resources.wanted import Refused, Wanted

__all__ = ["Found", "Search"]

_MOST_DEVICES = 32
"""Devices that one claim can have, the API's bound."""
_STEPS_BETWEEN_LOOKS = 64


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
        self._in_use: Counter[tuple[int, int]] = Counter()
        self._for_admin: set[tuple[int, int, int]] = set()
        self._shares: Counter[tuple[int, int]] = Counter()
        self._amounts: dict[tuple[int, int], dict[str, Fraction]] = {}
        self._free = [dict(state.free) for state in self._states]
        self._constraints: list[list[Constraint]] = []
        self._all: dict[int, list[tuple[int, int]]] = {}

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
            problems = {f"{view.label}: {view.problem}" for view in self._views if view.problem}
            raise Refused(f"invalid resource pools were encountered: {', '.join(sorted(problems))}")
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

    def _all_of(self, wanted: Wanted) -> list[tuple[int, int]]:
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
        view, device = self._all[id(wanted)][place.device]
        if self._take(place, wanted, view, device):
            yield place._replace(device=place.device + 1)
            self._put_back(place, wanted)

    def _pick_next(self, place: _Place, wanted: Wanted) -> Iterator[_Place]:
        for index in range(place.view, len(self._views)):
            view = self._views[index]
            if not view.is_usable:
                continue
            vain: set[DeviceKind] = set()
            start = place.start if index == place.view else 0
            for device in range(start, len(view.devices)):
                seen = view.devices[device]
                if self._is_taken(place, wanted, index, device):
                    continue
                if not self._is_selected(wanted, view, seen):
                    continue
                is_plain = not self._is_shared(index, device)
                if is_plain and seen.kind in vain:
                    continue
                if self._take(place, wanted, index, device):
                    yield place._replace(device=place.device + 1, view=index, start=device + 1)
                    self._put_back(place, wanted)
                if is_plain:
                    vain.add(seen.kind)

    def _is_taken(self, place: _Place, wanted: Wanted, view: int, device: int) -> bool:
        if wanted.is_admin:
            return (place.claim, view, device) in self._for_admin
        return device in self._states[view].used or bool(self._in_use[view, device])

    def _is_selected(self, wanted: Wanted, view: PoolView, seen: SeenDevice) -> bool:
        return wanted.selects(seen.kind, lambda: f"{view.label}/{seen.name}", self._expressions)

    # Taking and putting back

    def _take(self, place: _Place, wanted: Wanted, view: int, device: int) -> bool:
        """Take a device, unless something forbids it."""
        kind = self._views[view].devices[device].kind
        if self._is_taken(place, wanted, view, device) or not wanted.tolerates(kind):
            return False
        taken = self._taken(wanted, view, device)
        if taken is None or not self._has_counters(kind, view, device):
            return False
        picked: list[Constraint] = []
        for constraint in self._constraints[place.claim]:
            if not constraint.add(wanted.name, kind):
                for one in picked:
                    one.remove(wanted.name, kind)
                return False
            picked.append(constraint)
        shared = kind.device.allow_multiple_allocations
        self._found[place.claim].append(
            Found(
                place.request,
                place.alternative if "/" in wanted.name else -1,
                view,
                device,
                taken if shared else None,
            )
        )
        self._count_device(place, wanted, 1)
        return True

    def _put_back(self, place: _Place, wanted: Wanted) -> None:
        """Put back the device that was taken last."""
        self._count_device(place, wanted, -1)
        found = self._found[place.claim].pop()
        kind = self._views[found.view].devices[found.device].kind
        for constraint in self._constraints[place.claim]:
            constraint.remove(wanted.name, kind)

    def _count_device(self, place: _Place, wanted: Wanted, change: int) -> None:
        found = self._found[place.claim][-1]
        where = (found.view, found.device)
        if found.taken is not None:
            was_shared = self._is_shared(*where)
            self._shares[where] += change
            amounts = self._amounts.setdefault(where, {})
            for name, amount in found.taken.amounts.items():
                amounts[name] = amounts.get(name, Fraction(0)) + change * amount
            if was_shared == self._is_shared(*where):
                return  # its counters are taken once, for all who share it
        elif wanted.is_admin:
            if change > 0:
                self._for_admin.add((place.claim, *where))
            else:
                self._for_admin.discard((place.claim, *where))
            return
        else:
            self._in_use[where] += change
        kind = self._views[found.view].devices[found.device].kind
        for counter, amount in kind.consumes.items():
            self._free[found.view][counter] -= change * amount

    def _is_shared(self, view: int, device: int) -> bool:
        """Say whether somebody has a share of a device."""
        return bool(self._shares[view, device]) or device in self._states[view].shared

    def _taken(self, wanted: Wanted, view: int, device: int) -> Taken | None:
        """Return what is taken of a device's capacities, None where they do not suffice."""
        one = self._views[view].devices[device]
        try:
            taken = taken_of(one.device, one.kind.driver, wanted.request.capacity)
        except ValueError as error:
            raise Refused(f"device {self._views[view].label}/{one.name}: {error}") from error
        if taken is None:
            return None
        others = dict(self._states[view].shared.get(device, {}))
        for name, amount in self._amounts.get((view, device), {}).items():
            others[name] = others.get(name, Fraction(0)) + amount
        return taken if taken.fits(one.device, others) else None

    def _has_counters(self, kind: DeviceKind, view: int, device: int) -> bool:
        if not kind.consumes:
            return True
        if kind.device.allow_multiple_allocations and self._is_shared(view, device):
            return True
        free = self._free[view]
        return all(free.get(counter, 0) >= amount for counter, amount in kind.consumes.items())
