"""Clusters, pods and terms for tests of InterPodAffinity, in few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from tests.objects import make_node, queued

import moorage
from moorage import PodInfo, discover
from moorage.cache import ClusterCache
from moorage.cycle import Cycle, Decision
from moorage.framework.assembly import new_framework
from moorage.framework.profile import Framework
from moorage.model import (
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    Namespace,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    WeightedPodAffinityTerm,
)

__all__ = [
    "NAME",
    "away",
    "cluster_of",
    "decide",
    "expression",
    "feasible",
    "framework_of",
    "labelled",
    "namespace",
    "near",
    "pod",
    "scores",
    "term",
    "weighted",
]

NAME = "InterPodAffinity"
_REGISTRY = discover()
_uids = count(1)


def labelled(*expressions: LabelSelectorRequirement, **labels: str) -> LabelSelector:
    """Make a label selector."""
    return LabelSelector(match_labels=labels, match_expressions=expressions)


def expression(key: str, operator: str, *values: str) -> LabelSelectorRequirement:
    """Make one expression of a label selector."""
    return LabelSelectorRequirement(key=key, operator=operator, values=values)


def term(
    selector: LabelSelector | None,
    key: str = "host",
    **fields: Any,  # noqa: ANN401 - any other field of a term
) -> PodAffinityTerm:
    """Make a term."""
    return PodAffinityTerm(topology_key=key, label_selector=selector, **fields)


def weighted(weight: int, wanted: PodAffinityTerm) -> WeightedPodAffinityTerm:
    """Make a preferred term."""
    return WeightedPodAffinityTerm(weight=weight, pod_affinity_term=wanted)


def _half(
    required: Sequence[PodAffinityTerm], preferred: Sequence[WeightedPodAffinityTerm]
) -> PodAffinity:
    return PodAffinity(
        required_during_scheduling_ignored_during_execution=tuple(required),
        preferred_during_scheduling_ignored_during_execution=tuple(preferred),
    )


def near(*required: PodAffinityTerm, preferred: Sequence[WeightedPodAffinityTerm] = ()) -> Affinity:
    """Make affinity to pods."""
    return Affinity(pod_affinity=_half(required, preferred))


def away(*required: PodAffinityTerm, preferred: Sequence[WeightedPodAffinityTerm] = ()) -> Affinity:
    """Make anti-affinity to pods."""
    return Affinity(pod_anti_affinity=_half(required, preferred))


def pod(
    affinity: Affinity | None = None,
    *,
    node: str = "",
    namespace: str = "ns",
    labels: Mapping[str, str] | None = None,
    **more_labels: str,
) -> PodInfo:
    """Make a pod with a uid of its own; most labels can be given as keywords."""
    name = f"pod-{next(_uids)}"
    own = {**(labels or {}), **more_labels}
    metadata = ObjectMeta(name=name, namespace=namespace, uid=name, labels=own)
    return PodInfo(Pod(metadata=metadata, spec=PodSpec(node_name=node, affinity=affinity)))


def namespace(name: str, **labels: str) -> Namespace:
    """Make a namespace."""
    return Namespace(metadata=ObjectMeta(name=name, labels=labels))


def cluster_of(
    nodes: Mapping[str, Mapping[str, str]] | Sequence[str],
    pods: Sequence[PodInfo] = (),
    namespaces: Sequence[Namespace] = (),
) -> ClusterCache:
    """Make a cluster; nodes given by name alone are their own ``host``."""
    cluster = ClusterCache()
    labels = nodes if isinstance(nodes, Mapping) else {name: {"host": name} for name in nodes}
    for name, own in labels.items():
        cluster.set_node(make_node(name, labels=own))
    for one in namespaces:
        cluster.set_namespace(one)
    for info in pods:
        cluster.add_pod(info)
    return cluster


def framework_of(cluster: ClusterCache, **args: Any) -> Framework:  # noqa: ANN401 - arguments as configured
    """Assemble a profile of this plugin alone."""
    services = moorage.Services(cluster=cluster)
    return new_framework(_REGISTRY, [NAME], {NAME: args}, services=services)


def decide(cluster: ClusterCache, info: PodInfo, **args: Any) -> Decision:  # noqa: ANN401 - as above
    """Decide for one pod."""
    return Cycle(framework_of(cluster, **args), cluster).decide(queued(info), details=True)


def feasible(cluster: ClusterCache, info: PodInfo) -> list[str]:
    """Return the names of the nodes that pass, sorted."""
    decision = decide(cluster, info)
    assert decision.details is not None, decision.message
    return sorted(decision.details.feasible)


def scores(cluster: ClusterCache, info: PodInfo, **args: Any) -> dict[str, int]:  # noqa: ANN401 - as above
    """Return this plugin's scores; empty where it skips scoring."""
    decision = decide(cluster, info, **args)
    assert decision.details is not None, decision.message
    found = decision.details.scores or {}
    return {name: parts[NAME] for name, parts in found.items() if NAME in parts}
