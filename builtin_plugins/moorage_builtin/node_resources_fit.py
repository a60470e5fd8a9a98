"""NodeResourcesFit: a pod's requests must fit what a node has left; scored by a strategy."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

import moorage
from moorage.model import amounts_of, is_label_key
from moorage.model.devices import IMPLICIT_RESOURCE, DeviceClass
from moorage_builtin.dynamic_resources.counting import DeviceCounts
from moorage_builtin.hints import is_own_update
from moorage_builtin.resources import Asked, is_extended
from moorage_builtin.scoring_strategy import ScoringStrategy, ScoringStrategyType, scorer_of

__all__ = ["NodeResourcesFit", "NodeResourcesFitArgs"]

_EVERYWHERE = ("cpu", "memory", "ephemeral-storage", "pods")
"""Resources of every node: adjacent in the cache, so that they are looked at without a copy."""
_PODS = _EVERYWHERE.index("pods")
_NEVER_SHORT = -(2**62)
_MOST_RESOURCES = 29
"""Resources that get a bit of their own in a code; a pod that asks for more shares the last."""


class NodeResourcesFitArgs(moorage.PluginArgs):
    """Arguments of NodeResourcesFit."""

    ignored_resources: tuple[str, ...] = Field(
        default=(), description="Extended resources that the filter ignores."
    )
    ignored_resource_groups: tuple[str, ...] = Field(
        default=(), description="Groups (before the slash) of extended resources to ignore."
    )
    scoring_strategy: ScoringStrategy = Field(
        default=ScoringStrategy(type=ScoringStrategyType.LEAST_ALLOCATED),
        description="How nodes are scored.",
    )

    @field_validator("ignored_resources", "ignored_resource_groups")
    @classmethod
    def _names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not is_label_key(name):
                raise ValueError(f"{name!r} cannot be the name of a resource or a group of them")
        return names

    @field_validator("ignored_resource_groups")
    @classmethod
    def _no_slash(cls, groups: tuple[str, ...]) -> tuple[str, ...]:
        for group in groups:
            if "/" in group:
                raise ValueError(f"resource group name {group!r} can't contain '/'")
        return groups


class NodeResourcesFit(moorage.Plugin):
    """Filters by what is left of resources, scores by what is allocated of them.

    A resource that stands for devices of a class (KEP-5004) is left to DynamicResources on nodes
    that have none of it themselves; there, the devices are what is scored.
    """

    Args = NodeResourcesFitArgs
    filter_depends = moorage.Depends(node=True, pods=True)
    score_depends = moorage.Depends(node=True, pods=True)

    def __init__(self, args: NodeResourcesFitArgs, handle: moorage.Handle) -> None:
        super().__init__(args, handle)
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._strategy = args.scoring_strategy
        self._score = scorer_of(args.scoring_strategy)
        self._devices = DeviceCounts(handle)

    @moorage.hookimpl
    def sign(self, info: moorage.PodInfo) -> Hashable | None:
        """Only the requests matter, and which of them stand for devices now.

        Where devices count in the score, the next pod finds others left.
        """
        devices = tuple(self._devices.behind(name for name, _ in info.requests.amounts))
        if not devices:
            return info.requests
        if any(spec.name in devices for spec in self._strategy.resources):
            return None
        return info.requests, devices

    @moorage.hookimpl
    def pre_filter(self, state: moorage.CycleState, info: moorage.PodInfo) -> None:
        """List what the pod asks for; what it does not ask for can never be short."""
        wanted = self._wanted(info) | {"pods": 1}
        extra = [name for name in wanted if name not in _EVERYWHERE]
        state["names"] = (*_EVERYWHERE, *extra)
        state["devices"] = [state["names"].index(name) for name in self._devices.behind(extra)]
        state["amounts"] = np.array(
            [[wanted.get(name, _NEVER_SHORT)] for name in state["names"]], dtype=np.int64
        )

    @moorage.hookimpl
    def filter_nodes(
        self, state: moorage.CycleState, nodes: moorage.NodesView
    ) -> NDArray[np.int64] | None:
        """Return (n,) codes: a bit for each resource that is short, and bit 0 if it always is."""
        allocatable = nodes.allocatable_of(state["names"])
        amounts: NDArray[np.int64] = state["amounts"]
        short = amounts > allocatable - nodes.requested_of(state["names"])
        for index in state["devices"]:
            short[index] &= allocatable[index] > 0
        if not np.count_nonzero(short):
            return None
        bits = 2 << np.arange(len(short)).clip(max=_MOST_RESOURCES)
        codes: NDArray[np.int64] = np.bitwise_or.reduce(short * bits[:, np.newaxis], axis=0)
        never = short & (amounts > allocatable)
        # The number of pods is never said to be out of reach.
        never[_PODS] = False
        codes[never.any(axis=0)] |= 1
        return codes

    @moorage.hookimpl
    def explain(self, state: moorage.CycleState, code: int) -> moorage.Verdict:
        """Name each resource that is short; what is beyond a node's size no preemption helps."""
        reasons = [
            "Too many pods" if name == "pods" else f"Insufficient {name}"
            for index, name in enumerate(state["names"])
            if code & (2 << min(index, _MOST_RESOURCES))
        ]
        if code & 1:
            return moorage.Verdict.unresolvable(*reasons)
        return moorage.Verdict.unschedulable(*reasons)

    @moorage.hookimpl
    def pre_score(self, state: moorage.CycleState, info: moorage.PodInfo) -> None:
        """Reckon what the pod asks of the strategy's resources."""
        state["asked"] = Asked.of(info, self._strategy.resources, with_defaults=True)

    @moorage.hookimpl
    def score_nodes(self, state: moorage.CycleState, nodes: moorage.NodesView) -> NDArray[np.int64]:
        """Score 0 to 100 by the strategy's resources with the pod added; (n,) int64."""
        asked: Asked = state["asked"]
        allocatable, requested = self._devices.amounts(asked, nodes)
        return self._score(asked, requested + asked.own, allocatable)

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Come back when pods go or shrink, or nodes come or grow."""
        action, resource = moorage.ActionType, moorage.EventResource
        return [
            moorage.EventHint(
                moorage.ClusterEvent(
                    resource.ASSIGNED_POD, action.DELETE | action.UPDATE_POD_SCALE_DOWN
                ),
                self._frees_something,
            ),
            moorage.EventHint(
                moorage.ClusterEvent(resource.UNSCHEDULED_POD, action.UPDATE_POD_SCALE_DOWN),
                is_own_update,
            ),
            moorage.EventHint(
                moorage.ClusterEvent(resource.NODE, action.ADD | action.UPDATE_NODE_ALLOCATABLE),
                self._node_has_more,
            ),
            moorage.EventHint(
                moorage.ClusterEvent(resource.DEVICE_CLASS, action.ADD | action.UPDATE_OTHER),
                _stands_for_resource_now,
            ),
        ]

    def _ignores(self, resource: str) -> bool:
        return is_extended(resource) and (
            resource in self._ignored or resource.partition("/")[0] in self._ignored_groups
        )

    def _wanted(self, info: moorage.PodInfo) -> dict[str, int]:
        return {
            name: amount
            for name, amount in info.requests.amounts
            if amount > 0 and not self._ignores(name)
        }

    def _frees_something(
        self, pod: moorage.Pod, before: moorage.Pod | None, after: moorage.Pod | None
    ) -> moorage.QueueingHint:
        if before is None:
            return moorage.QueueingHint.SKIP
        if after is None:
            freed = bool(before.spec.node_name)
            return moorage.QueueingHint.QUEUE if freed else moorage.QueueingHint.SKIP
        old, new = (self._wanted(moorage.PodInfo(version)) for version in (before, after))
        wanted = self._wanted(moorage.PodInfo(pod))
        shrunk = any(new.get(name, 0) < old.get(name, 0) for name in wanted)
        return moorage.QueueingHint.QUEUE if shrunk else moorage.QueueingHint.SKIP

    def _node_has_more(
        self, pod: moorage.Pod, before: moorage.Node | None, after: moorage.Node | None
    ) -> moorage.QueueingHint:
        if after is None:
            return moorage.QueueingHint.SKIP
        wanted = self._wanted(moorage.PodInfo(pod)) | {"pods": 1}
        new = amounts_of(after.status.allocatable)
        # Whether the node has devices, DynamicResources finds out.
        left = {name for name in self._devices.behind(wanted) if not new.get(name)}
        if any(amount > new.get(name, 0) for name, amount in wanted.items() if name not in left):
            return moorage.QueueingHint.SKIP
        if before is not None:
            old = amounts_of(before.status.allocatable)
            if not left and not any(new.get(name, 0) > old.get(name, 0) for name in wanted):
                return moorage.QueueingHint.SKIP
        return moorage.QueueingHint.QUEUE


def _stands_for_resource_now(
    pod: moorage.Pod, before: DeviceClass | None, after: DeviceClass | None
) -> moorage.QueueingHint:
    """Retry where a class has come to stand for a resource that the pod asks for."""
    if after is None:
        return moorage.QueueingHint.SKIP
    names = {after.spec.extended_resource_name}
    if before is None:
        names.add(f"{IMPLICIT_RESOURCE}{after.metadata.name}")
    else:
        names.discard(before.spec.extended_resource_name)
    asked = any(name in names for name, _ in moorage.PodInfo(pod).requests.amounts)
    return moorage.QueueingHint.QUEUE if asked else moorage.QueueingHint.SKIP
