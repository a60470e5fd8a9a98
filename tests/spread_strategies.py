"""Hypothesis strategies of topology spread; few keys and values, so that domains fill up."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import strategies as st

from moorage.model import (
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodInfo,
    PodSpec,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)

__all__ = [
    "NAMESPACES",
    "NODE_NAMES",
    "constraints",
    "metadata",
    "nodes",
    "pod_labels",
    "pods",
    "selectors",
]

NODE_NAMES = tuple(f"n{number}" for number in range(7))
NAMESPACES = ("a", "b")
_TOPOLOGY_KEYS = ("kubernetes.io/hostname", "zone", "rack")
_KEYS = ("app", "rev")
_VALUES = ("x", "y")


def pod_labels() -> st.SearchStrategy[dict[str, str]]:
    """Draw a pod's labels."""
    return st.dictionaries(st.sampled_from(_KEYS), st.sampled_from(_VALUES))


def metadata(uid: str) -> st.SearchStrategy[ObjectMeta]:
    """Draw a pod's metadata; now and then it is terminating."""
    ending = datetime(2026, 1, 1, tzinfo=UTC)
    return st.builds(
        ObjectMeta,
        name=st.just(uid),
        uid=st.just(uid),
        namespace=st.sampled_from(NAMESPACES),
        labels=pod_labels(),
        deletion_timestamp=st.sampled_from([None, None, None, ending]),
    )


def nodes(names: Sequence[str] = NODE_NAMES) -> st.SearchStrategy[Node]:
    """Draw a node of one of these names, with room for everybody; some lack keys, some have an empty value."""
    labels = st.fixed_dictionaries(
        {},
        optional={
            "kubernetes.io/hostname": st.sampled_from(["h1", "h2", "h3"]),
            "zone": st.sampled_from(["1", "2", "3", ""]),
            "rack": st.sampled_from(["r", "s"]),
            "disk": st.sampled_from(["ssd", "hdd"]),
        },
    )
    taints = st.builds(
        Taint,
        key=st.just("own"),
        effect=st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
    )
    return st.builds(
        lambda name, labels, taints: Node(
            metadata=ObjectMeta(name=name, labels=labels),
            spec=NodeSpec(taints=tuple(taints)),
            status=NodeStatus(allocatable={"cpu": "64", "memory": "64Gi", "pods": "1000"}),
        ),
        st.sampled_from(names),
        labels,
        st.lists(taints, max_size=1),
    )


@st.composite
def _expressions(draw: st.DrawFn) -> LabelSelectorRequirement:
    operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]))
    values: tuple[str, ...] = ()
    if operator in {"In", "NotIn"}:
        values = tuple(draw(st.lists(st.sampled_from(_VALUES), min_size=1, max_size=2)))
    return LabelSelectorRequirement(
        key=draw(st.sampled_from(_KEYS)), operator=operator, values=values
    )


def selectors() -> st.SearchStrategy[LabelSelector]:
    """Draw a label selector, also an empty one."""
    return st.builds(
        LabelSelector,
        match_labels=st.dictionaries(st.sampled_from(_KEYS), st.sampled_from(_VALUES), max_size=1),
        match_expressions=st.lists(_expressions(), max_size=1).map(tuple),
    )


def constraints() -> st.SearchStrategy[TopologySpreadConstraint]:
    """Draw one constraint, hard or soft."""
    policies = st.sampled_from([None, "Honor", "Ignore"])
    return st.builds(
        TopologySpreadConstraint,
        max_skew=st.integers(1, 3),
        topology_key=st.sampled_from(_TOPOLOGY_KEYS),
        when_unsatisfiable=st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
        label_selector=st.one_of(selectors(), selectors(), st.none()),
        min_domains=st.sampled_from([None, None, 1, 2, 4]),
        node_affinity_policy=policies,
        node_taints_policy=policies,
        match_label_keys=st.sampled_from([(), (), ("rev",), ("rev", "app")]),
    )


def _affinities() -> st.SearchStrategy[Affinity | None]:
    wanted = NodeSelectorRequirement(key="disk", operator="NotIn", values=("hdd",))
    named = tuple(
        NodeSelectorRequirement(key="metadata.name", operator="NotIn", values=(name,))
        for name in ("n1", "n2")
    )
    required = NodeSelector(
        node_selector_terms=(
            NodeSelectorTerm(match_expressions=(wanted,), match_fields=named),
            NodeSelectorTerm(),
        )
    )
    affinity = Affinity(
        node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=required)
    )
    return st.sampled_from([None, None, affinity])


def pods(uid: str, *, node: str = "", most: int = 3) -> st.SearchStrategy[PodInfo]:
    """Draw a pod of this uid and name, on a node or on none, with `most` constraints at most."""
    spec = st.builds(
        PodSpec,
        node_name=st.just(node),
        node_selector=st.sampled_from([{}, {}, {"disk": "ssd"}]),
        affinity=_affinities(),
        tolerations=st.sampled_from([(), (Toleration(key="own", operator="Exists"),)]),
        topology_spread_constraints=st.lists(constraints(), max_size=most).map(tuple),
    )
    return st.builds(
        lambda metadata, spec: PodInfo(Pod(metadata=metadata, spec=spec)), metadata(uid), spec
    )
