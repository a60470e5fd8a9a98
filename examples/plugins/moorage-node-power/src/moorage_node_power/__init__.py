"""Keeps pods off nodes that draw much power, and prefers those that draw little.

What nodes draw is measured by somebody else and written to custom resources, one a node and named
like it (crd.yaml); they are read through the handle, which keeps one watch for the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import moorage

__all__ = ["NodePower"]

_UNKNOWN, _TOO_MUCH = 1, 2


class NodePower(moorage.Plugin):
    """Keeps pods off nodes that draw much power, and prefers those that draw little."""

    class Args(moorage.PluginArgs):
        """Arguments, as a profile gives them in ``pluginConfig``."""

        most_watts: float = Field(
            gt=0.0, description="Nodes that draw as much, or more, get no pods."
        )
        require_reading: bool = Field(
            default=False, description="Whether nodes without a reading get no pods."
        )

    @moorage.hookimpl
    def start(self) -> None:
        """Ask for the custom resources; the host watches them from now on."""
        self.readings = self.handle.informer("power.example.com", "v1", "nodepowers")

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Try pods again when a node that was too hot draws less."""
        changes = moorage.ActionType.ADD | moorage.ActionType.UPDATE | moorage.ActionType.DELETE
        event = moorage.ClusterEvent(self.readings.kind.event_resource, changes)
        node = moorage.ClusterEvent(moorage.EventResource.NODE, moorage.ActionType.ADD)
        return [moorage.EventHint(event, self._draws_less), moorage.EventHint(node)]

    @moorage.hookimpl
    def filter_nodes(self, nodes: moorage.NodesView) -> NDArray[np.int32]:
        """Refuse nodes by what they draw; (n,) int32 codes."""
        watts = self._watts(nodes)
        codes = np.where(watts >= self.args.most_watts, _TOO_MUCH, 0)
        if self.args.require_reading:
            codes[np.isnan(watts)] = _UNKNOWN
        return codes.astype(np.int32)

    @moorage.hookimpl
    def explain(self, code: int) -> moorage.Verdict:
        """Say why a node was refused."""
        if code == _UNKNOWN:
            return moorage.Verdict.unresolvable("node(s) had no power reading")
        return moorage.Verdict.unresolvable(f"node(s) drew {self.args.most_watts:g} W or more")

    @moorage.hookimpl
    def score_nodes(self, nodes: moorage.NodesView) -> NDArray[np.float64]:
        """Score the watts that are left; (n,) float64, 0 where nobody knows."""
        left: NDArray[np.float64] = self.args.most_watts - self._watts(nodes)
        left[np.isnan(left)] = 0.0
        return left

    @moorage.hookimpl
    def normalize_scores(self, scores: NDArray[Any]) -> NDArray[np.int64]:
        """Bring them to 0 to 100; (n,) int64."""
        return moorage.scale(scores)

    def _watts(self, nodes: moorage.NodesView) -> NDArray[np.float64]:
        """Return what nodes draw; (n,) float64, NaN without a reading."""
        return np.array([_reading(self.readings.get(name)) for name in nodes.names()], dtype=float)

    def _draws_less(
        self, _: moorage.Pod, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None
    ) -> moorage.QueueingHint:
        before, after = _reading(old), _reading(new)
        if new is None:
            helps = not self.args.require_reading
        else:
            helps = after < self.args.most_watts and not before < self.args.most_watts
        return moorage.QueueingHint.QUEUE if helps else moorage.QueueingHint.SKIP


def _reading(item: Mapping[str, Any] | None) -> float:
    """Return the watts of a NodePower, NaN where it says none."""
    watts = (item or {}).get("status", {}).get("watts")
    return float(watts) if isinstance(watts, int | float) else float("nan")
