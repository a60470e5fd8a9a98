"""Moorage: a Kubernetes scheduler whose every decision is made by plugins.

The way of a pod through the packages:

    api (list, watch) -> feed -> cache and queueing -> cycle (filter, score, choose)
        -> binding (assume, reserve, permit; then wait, pre-bind, bind) -> api (write)

These are the names a plugin author needs; the contract of every hook is in
`moorage.framework.hookspecs`. The records of API objects are in `moorage.model`. Until 1.0 all of
this is provisional.
"""

from __future__ import annotations

from moorage.cache import (
    BudgetStore,
    DeviceStore,
    LabelColumnView,
    NodeInfo,
    NodesView,
    PodsOnRows,
    StorageStore,
)
from moorage.errors import (
    ApiError,
    ConfigurationError,
    LostAnswerError,
    MoorageError,
    PluginError,
    UnreachableError,
)
from moorage.framework.assembly import new_framework
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.dry_run import DryRun
from moorage.framework.handle import Handle, Services
from moorage.framework.hints import EventHint, QueueingHint
from moorage.framework.host import Registry, discover
from moorage.framework.informing import Informer
from moorage.framework.nomination import Nomination
from moorage.framework.placement import Placement, PodGroup
from moorage.framework.plugin import Depends, Plugin, PluginArgs, hookimpl
from moorage.framework.pre_binding import PodInPreBind, PodsInPreBind
from moorage.framework.profile import Framework
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.scaling import scale
from moorage.framework.verdict import SKIP, SUCCESS, Code, Verdict
from moorage.framework.waiting_pods import WaitingPod, WaitingPods
from moorage.model.events import ActionType, ClusterEvent, EventResource
from moorage.model.nodes import Node
from moorage.model.pod_info import HostPort, PodInfo
from moorage.model.pods import Pod

__all__ = [
    "SKIP",
    "SUCCESS",
    "ActionType",
    "ApiError",
    "BudgetStore",
    "ClusterEvent",
    "Code",
    "ConfigurationError",
    "CycleState",
    "Depends",
    "DeviceStore",
    "Diagnosis",
    "DryRun",
    "EventHint",
    "EventResource",
    "Framework",
    "Handle",
    "HostPort",
    "Informer",
    "LabelColumnView",
    "LostAnswerError",
    "MoorageError",
    "Node",
    "NodeInfo",
    "NodesView",
    "Nomination",
    "Placement",
    "Plugin",
    "PluginArgs",
    "PluginError",
    "Pod",
    "PodGroup",
    "PodInPreBind",
    "PodInfo",
    "PodsInPreBind",
    "PodsOnRows",
    "QueuedPod",
    "QueueingHint",
    "Registry",
    "Services",
    "StorageStore",
    "UnreachableError",
    "Verdict",
    "WaitingPod",
    "WaitingPods",
    "discover",
    "hookimpl",
    "new_framework",
    "scale",
]
