"""A session in virtual time whose profiles give devices: what the API server tells goes in by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
from tests.builtin.dynamic_resources.devices_kit import framework_on

from moorage.binding.reservation import Reservation
from moorage.framework.handle import Services
from moorage.model import DeviceClass, DeviceObject, Node, Pod, ResourceClaim, ResourceSlice
from moorage.session import Failure, Session
from moorage.testing import make_node
from moorage_builtin.default_binder import DefaultBinder
from moorage_builtin.dynamic_resources import DynamicResources
from moorage_builtin.dynamic_resources.ledger import Ledger
from moorage_builtin.node_resources_fit import NodeResourcesFit
from moorage_builtin.priority_sort import PrioritySort
from moorage_builtin.scheduling_gates import SchedulingGates

__all__ = ["PROFILES", "Loop"]

PROFILES = ("default-scheduler", "other")
_PLUGINS = (PrioritySort, SchedulingGates, NodeResourcesFit, DynamicResources, DefaultBinder)
_PLURALS: dict[type[Any], str] = {
    Node: "nodes",
    Pod: "pods",
    ResourceClaim: "resourceclaims",
    ResourceSlice: "resourceslices",
    DeviceClass: "deviceclasses",
}


class Loop:
    """Two profiles on one cluster; objects get rising versions as they are told."""

    def __init__(self, *nodes: str) -> None:
        self.now = 1000.0
        self.version = 100
        self.services = Services(
            clock=lambda: self.now,
            wall=lambda: datetime.fromtimestamp(self.now, UTC),
            generator=np.random.default_rng(0),
        )
        frameworks = {}
        for name in PROFILES:
            framework = framework_on(self.services, *_PLUGINS)
            framework.profile_name = name
            framework.register_events()
            frameworks[name] = framework
        self.session = Session(frameworks, self.services)
        for node in nodes:
            self.tell(make_node(node))

    @property
    def ledger(self) -> Ledger:
        """Who has which device."""
        ledger: Ledger = self.services.shared["DynamicResources"].ledger
        return ledger

    def tell(self, item: Node | Pod | DeviceObject) -> None:
        """Have the watch tell of an object, in a newer version."""
        self.version += 1
        metadata = msgspec.structs.replace(item.metadata, resource_version=str(self.version))
        watched = self.session.watched(_PLURALS[type(item)])
        assert watched is not None
        watched.feed.put(msgspec.structs.replace(item, metadata=metadata))

    def tell_gone(self, item: Pod | DeviceObject) -> None:
        """Have the watch tell that an object is gone."""
        watched = self.session.watched(_PLURALS[type(item)])
        assert watched is not None
        watched.feed.drop(watched.feed.identity(item))

    def attempt(self) -> Reservation | Failure | None:
        """Try the next pod that is ready; None: there is none."""
        return self.session.attempt()

    def run(self, seconds: float = 15.0) -> dict[str, str]:
        """Let time pass, and return the last outcome of each pod: a node, or a message."""
        outcomes: dict[str, str] = {}
        until = self.now + seconds
        while self.now < until:
            self.session.tick()
            while (outcome := self.attempt()) is not None:
                name = outcome.info.pod.metadata.name
                if isinstance(outcome, Reservation):
                    outcomes[name] = outcome.node_name
                else:
                    outcomes[name] = outcome.message
            self.now += 1.0
        return outcomes
