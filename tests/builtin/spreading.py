"""Clusters, pods and decisions for tests of PodTopologySpread, in few words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from tests.objects import make_node, make_pod, queued

import moorage
from moorage import PodInfo, discover
from moorage.cache import ClusterCache
from moorage.cycle import Cycle, Decision
from moorage.framework.assembly import new_framework
from moorage.framework.profile import Framework
from moorage.model import (
    LabelSelector,
    ObjectMeta,
    Service,
    TopologySpreadConstraint,
)
from moorage.model.meta import OwnerReference
from moorage.model.workloads import MapSelectorSpec

__all__ = [
    "HOST",
    "NAME",
    "REASON",
    "REGISTRY",
    "WEB",
    "cluster_of",
    "decide",
    "ended",
    "feasible",
    "framework_of",
    "listed",
    "owned",
    "scores",
    "service",
    "spread",
    "web",
]

NAME = "PodTopologySpread"
HOST = "kubernetes.io/hostname"
REASON = "node(s) didn't match pod topology spread constraints"
WEB = LabelSelector(match_labels={"app": "web"})
REGISTRY = discover()


def spread(
    key: str = "zone",
    max_skew: int = 1,
    selector: LabelSelector | None = WEB,
    *,
    soft: bool = False,
    **fields: Any,  # noqa: ANN401 - any other field of a constraint
) -> TopologySpreadConstraint:
    """Make a constraint, hard unless `soft`."""
    return TopologySpreadConstraint(
        max_skew=max_skew,
        topology_key=key,
        when_unsatisfiable="ScheduleAnyway" if soft else "DoNotSchedule",
        label_selector=selector,
        **fields,
    )


def web(
    *constraints: TopologySpreadConstraint,
    labels: Mapping[str, str] | None = None,
    **spec: Any,  # noqa: ANN401 - any field of a PodSpec
) -> PodInfo:
    """Make a waiting pod labelled ``app=web``."""
    own = {"app": "web"} if labels is None else labels
    return make_pod("new", labels=own, topology_spread_constraints=constraints, **spec)


def cluster_of(
    zones: Mapping[str, str | None], pods: Mapping[str, int] | None = None, **labels: str
) -> ClusterCache:
    """Make nodes in zones (None: no zone at all), and pods labelled ``app=web`` on them."""
    cluster = ClusterCache()
    for name, zone in zones.items():
        own = {HOST: name} | labels | ({} if zone is None else {"zone": zone})
        cluster.set_node(make_node(name, labels=own))
    for name, count in (pods or {}).items():
        for number in range(count):
            cluster.add_pod(make_pod(f"{name}-{number}", node=name, labels={"app": "web"}))
    return cluster


def framework_of(cluster: ClusterCache, args: Mapping[str, Any] | None = None) -> Framework:
    """Assemble a profile of this plugin alone."""
    services = moorage.Services(cluster=cluster)
    return new_framework(REGISTRY, [NAME], {NAME: args or {}}, services=services)


def decide(cluster: ClusterCache, info: PodInfo, args: Mapping[str, Any] | None = None) -> Decision:
    """Decide for one pod."""
    return Cycle(framework_of(cluster, args), cluster).decide(queued(info), details=True)


def feasible(decision: Decision) -> list[str]:
    """Return the names of the nodes that passed, sorted."""
    assert decision.details is not None, decision.message
    return sorted(decision.details.feasible)


def scores(decision: Decision) -> dict[str, int]:
    """Return this plugin's scores; empty where it skipped scoring."""
    assert decision.details is not None
    found = decision.details.scores or {}
    return {name: parts[NAME] for name, parts in found.items() if NAME in parts}


def ended(info: PodInfo) -> PodInfo:
    """Return the same pod, asked to end."""
    ending = datetime(2026, 1, 1, tzinfo=UTC)
    metadata = msgspec.structs.replace(info.pod.metadata, deletion_timestamp=ending)
    return PodInfo(msgspec.structs.replace(info.pod, metadata=metadata))


def owned(info: PodInfo, kind: str) -> PodInfo:
    """Return the same pod, controlled by ``owner`` of a kind (empty: by nobody)."""
    if not kind:
        return info
    version = "v1" if kind == "ReplicationController" else "apps/v1"
    owner = OwnerReference(kind=kind, name="owner", api_version=version, controller=True)
    metadata = msgspec.structs.replace(info.pod.metadata, owner_references=(owner,))
    return PodInfo(msgspec.structs.replace(info.pod, metadata=metadata))


def listed(**fields: object) -> dict[str, Any]:
    """Make arguments with one hard default constraint over zones."""
    usual = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    return {"defaultingType": "List", "defaultConstraints": [usual | fields]}


def service(selector: dict[str, str] | None) -> Service:
    """Make a service in the pods' namespace."""
    return Service(
        metadata=ObjectMeta(name="svc", namespace="ns"), spec=MapSelectorSpec(selector=selector)
    )
