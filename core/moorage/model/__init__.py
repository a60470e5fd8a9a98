"""The cluster as typed records: pods, nodes, quantities, selectors, events; no I/O, no NumPy.

In: what the API's JSON says, field names in snake_case. Out: nothing is decided here. Imports
nothing of Moorage but its siblings. What is named here is public; plugins may import it.
"""

from __future__ import annotations

from moorage.model.affinity import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from moorage.model.affinity_terms import AffinityTerm, AffinityTerms, TermKind, affinity_terms
from moorage.model.disruption import (
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from moorage.model.events import ALL, ActionType, ClusterEvent, EventResource
from moorage.model.meta import LabelSelector, LabelSelectorRequirement, Namespace, ObjectMeta
from moorage.model.nodes import ContainerImage, Node, NodeSpec, NodeStatus, Taint
from moorage.model.pod_info import HostPort, PodInfo
from moorage.model.pods import (
    Container,
    ContainerPort,
    Pod,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    Toleration,
)
from moorage.model.quantities import InvalidQuantityError, parse_milli, parse_value
from moorage.model.requests import Requests, amounts_of, pod_requests
from moorage.model.selectors import (
    InvalidSelectorError,
    Requirement,
    Selector,
    node_term_requirements,
    selector_of,
)
from moorage.model.workloads import (
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    Workload,
)

__all__ = [
    "ALL",
    "ActionType",
    "Affinity",
    "AffinityTerm",
    "AffinityTerms",
    "ClusterEvent",
    "Container",
    "ContainerImage",
    "ContainerPort",
    "EventResource",
    "HostPort",
    "InvalidQuantityError",
    "InvalidSelectorError",
    "LabelSelector",
    "LabelSelectorRequirement",
    "Namespace",
    "Node",
    "NodeAffinity",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "NodeSpec",
    "NodeStatus",
    "ObjectMeta",
    "Pod",
    "PodAffinity",
    "PodAffinityTerm",
    "PodDisruptionBudget",
    "PodDisruptionBudgetSpec",
    "PodDisruptionBudgetStatus",
    "PodInfo",
    "PodSpec",
    "PodStatus",
    "PreferredSchedulingTerm",
    "ReplicaSet",
    "ReplicationController",
    "Requests",
    "Requirement",
    "ResourceRequirements",
    "Selector",
    "Service",
    "StatefulSet",
    "Taint",
    "TermKind",
    "Toleration",
    "TopologySpreadConstraint",
    "WeightedPodAffinityTerm",
    "Workload",
    "affinity_terms",
    "amounts_of",
    "node_term_requirements",
    "parse_milli",
    "parse_value",
    "pod_requests",
    "selector_of",
]
