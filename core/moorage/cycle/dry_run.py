"""A pod's filters over rows with hypothetical pods, all rows in lockstep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.cache import NodesView, PodsOnRows
from moorage.cycle.asking import Asker
from moorage.cycle.steps import Step
from moorage.framework.cycle_state import CycleState
from moorage.model.pod_info import PodInfo

__all__ = ["FilterRun", "RowFilters", "looks_at_pods"]

_FACTS_WITHOUT_PODS = frozenset({"nodes", "images", "namespaces", "workloads"})


class RowFilters:
    """What stays the same in all runs over the same rows.

    `states` are each plugin's notes on the pod, in the order of the filters. A plugin whose answer
    cannot depend on pods is asked once at most, for all rows as they are; `known` has the answers
    (n,) of those that were asked before, None: all rows pass.
    """

    def __init__(
        self,
        asker: Asker,
        info: PodInfo,
        states: Mapping[Step, CycleState],
        nodes: NodesView,
        known: Mapping[Step, NDArray[np.int32] | None],
    ) -> None:
        self.asker = asker
        self.info = info
        self.states = states
        self.steps = tuple(states)
        self.moving = tuple(step for step in self.steps if looks_at_pods(step))
        self.standing: dict[Step, NDArray[np.int32]] = {}
        self.passes = np.ones(len(nodes), dtype=np.bool_)
        for step in self.steps:
            if step not in self.moving:
                if step in known:
                    codes = known[step]
                else:
                    codes = asker.filter(step, states[step], info, nodes)
                if codes is not None and np.count_nonzero(codes):
                    self.standing[step] = codes
                    self.passes &= codes == 0


class _Lane(NamedTuple):
    """One of the two ways in which rows must pass: with their nominated pods, and without.

    The first is only about rows that have some: `positions` of the run are its rows, and `places`
    says which row of the lane each position is, -1: none; both None: the same rows as the run.
    """

    nodes: NodesView
    states: Mapping[Step, CycleState]
    positions: NDArray[np.intp] | None = None
    places: NDArray[np.intp] | None = None

    def changed(self, filters: RowFilters, pods: PodsOnRows, change: int) -> _Lane:
        """Return the lane with pods of the run's rows added (1) or taken off (-1)."""
        if self.places is not None:
            pods = pods.at(self.places)
        if not len(pods):
            return self
        nodes = self.nodes.with_pods(pods) if change > 0 else self.nodes.without_pods(pods)
        states = {
            step: filters.asker.change_pods(
                step, self.states[step], filters.info, nodes, pods, change=change
            )
            for step in filters.moving
        }
        return self._replace(nodes=nodes, states=states)

    def ask(self, filters: RowFilters) -> dict[Step, NDArray[np.int32]]:
        """Return what plugins that look at pods say of the lane's rows; who passes all is left out."""
        found = {}
        for step in filters.moving:
            codes = filters.asker.filter(step, self.states[step], filters.info, self.nodes)
            if codes is not None:
                found[step] = codes
        return found


class FilterRun:
    """See `moorage.DryRun`; `begin` makes the first one."""

    def __init__(self, filters: RowFilters, lanes: Sequence[_Lane]) -> None:
        self._filters = filters
        self._lanes = lanes

    @classmethod
    def begin(cls, filters: RowFilters, nodes: NodesView, expected: PodsOnRows) -> FilterRun:
        """Begin with rows as they are; `expected` are the pods nominated to them."""
        plain = _Lane(nodes, filters.states)
        if not len(expected):
            return cls(filters, (plain,))
        positions = np.unique(expected.positions)
        places = np.full(len(nodes), -1, dtype=np.intp)
        places[positions] = np.arange(len(positions))
        some = _Lane(nodes.take(positions), filters.states, positions, places)
        # In this order: the first that refuses a row gives the reason.
        return cls(filters, (some.changed(filters, expected, 1), plain))

    @property
    def nodes(self) -> NodesView:
        """The rows, nominated pods not added."""
        return self._lanes[-1].nodes

    @property
    def passes(self) -> NDArray[np.bool_]:
        """Which rows pass; (n,) bool."""
        passes = self._filters.passes.copy()
        for lane, found in zip(self._lanes, self._codes, strict=True):
            for codes in found.values():
                if lane.positions is None:
                    passes &= codes == 0
                else:
                    passes[lane.positions] &= codes == 0
        return passes

    def reasons(self, positions: NDArray[np.intp]) -> dict[str, int]:
        """Count the reasons of rows; the first plugin in order that refuses a row counts."""
        filters = self._filters
        counts: Counter[str] = Counter()
        left = positions
        for lane, found in zip(self._lanes, self._codes, strict=True):
            asked = left if lane.places is None else left[lane.places[left] >= 0]
            elsewhere = np.setdiff1d(left, asked)
            for step in filters.steps:
                codes = filters.standing.get(step)
                refused = None if codes is None else codes[asked]
                if step in found:
                    refused = found[step][asked if lane.places is None else lane.places[asked]]
                if refused is None:
                    continue
                self._count(counts, step, lane, refused)
                asked = asked[refused == 0]
            left = np.union1d(asked, elsewhere)
        return dict(counts)

    def with_pods(self, pods: PodsOnRows) -> FilterRun:
        """Add pods to rows."""
        return self._changed(pods, 1)

    def without_pods(self, pods: PodsOnRows) -> FilterRun:
        """Take pods off rows."""
        return self._changed(pods, -1)

    def _changed(self, pods: PodsOnRows, change: int) -> FilterRun:
        return FilterRun(
            self._filters, [lane.changed(self._filters, pods, change) for lane in self._lanes]
        )

    @cached_property
    def _codes(self) -> list[dict[Step, NDArray[np.int32]]]:
        return [lane.ask(self._filters) for lane in self._lanes]

    def _count(
        self, counts: Counter[str], step: Step, lane: _Lane, codes: NDArray[np.int32]
    ) -> None:
        filters = self._filters
        state = lane.states.get(step, filters.states[step])
        kinds, numbers = np.unique(codes[codes > 0], return_counts=True)
        for code, number in zip(kinds.tolist(), numbers.tolist(), strict=True):
            for reason in filters.asker.explain(step, state, filters.info, code).reasons:
                counts[reason] += number


def looks_at_pods(step: Step) -> bool:
    """Say whether what a plugin answers for a row can depend on the pods there."""
    depends = step.plugin.filter_depends
    return (
        depends is None
        or depends.pods
        or step.add_pods is not None
        or step.remove_pods is not None
        or not _FACTS_WITHOUT_PODS.issuperset(depends.facts)
    )
