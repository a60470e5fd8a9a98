"""Hypothesis strategies of inter-pod affinity; few keys and values, so that terms often match."""

from __future__ import annotations

from hypothesis import strategies as st

from moorage.model import (
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    Node,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodInfo,
    PodSpec,
    WeightedPodAffinityTerm,
)

__all__ = [
    "NAMESPACES",
    "NODE_NAMES",
    "TOPOLOGY_KEYS",
    "affinities",
    "node_labels",
    "nodes",
    "pod_labels",
    "pods",
]

NODE_NAMES = tuple(f"n{number}" for number in range(6))
NAMESPACES = ("a", "b", "c")
TOPOLOGY_KEYS = ("host", "zone")
_KEYS = ("app", "rev")
_VALUES = ("x", "y")


def pod_labels() -> st.SearchStrategy[dict[str, str]]:
    """Draw labels of a pod or a namespace."""
    return st.dictionaries(st.sampled_from(_KEYS), st.sampled_from(_VALUES))


def node_labels() -> st.SearchStrategy[dict[str, str]]:
    """Draw a node's labels, some without a topology key."""
    value = st.sampled_from(["1", "2", "3"])
    usual = st.fixed_dictionaries(dict.fromkeys(TOPOLOGY_KEYS, value))
    return st.one_of(usual, usual, st.dictionaries(st.sampled_from(TOPOLOGY_KEYS), value))


def nodes() -> st.SearchStrategy[Node]:
    """Draw a node with room for everybody."""
    return st.builds(
        lambda name, labels: Node(
            metadata=ObjectMeta(name=name, labels=labels),
            status=NodeStatus(allocatable={"cpu": "64", "memory": "64Gi", "pods": "1000"}),
        ),
        st.sampled_from(NODE_NAMES),
        node_labels(),
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


def _selectors() -> st.SearchStrategy[LabelSelector]:
    plain = st.builds(
        LabelSelector, match_labels=st.fixed_dictionaries({"app": st.sampled_from(_VALUES)})
    )
    any_kind = st.builds(
        LabelSelector,
        match_labels=st.dictionaries(st.sampled_from(_KEYS), st.sampled_from(_VALUES), max_size=1),
        match_expressions=st.lists(_expressions(), max_size=1).map(tuple),
    )
    return plain | any_kind


def _terms() -> st.SearchStrategy[PodAffinityTerm]:
    keys = st.sampled_from([(), (), (), ("app",), ("rev",)])
    return st.builds(
        PodAffinityTerm,
        topology_key=st.sampled_from(TOPOLOGY_KEYS),
        label_selector=st.one_of(*[_selectors()] * 5, st.none()),
        namespaces=st.sampled_from([(), (), (), ("a",), ("b", "c")]),
        namespace_selector=st.none() | _selectors(),
        match_label_keys=keys,
        mismatch_label_keys=keys,
    )


def _halves() -> st.SearchStrategy[PodAffinity]:
    weighted = st.builds(
        WeightedPodAffinityTerm, weight=st.integers(1, 100), pod_affinity_term=_terms()
    )
    return st.builds(
        PodAffinity,
        required_during_scheduling_ignored_during_execution=st.lists(_terms(), max_size=2).map(
            tuple
        ),
        preferred_during_scheduling_ignored_during_execution=st.lists(weighted, max_size=2).map(
            tuple
        ),
    )


def affinities() -> st.SearchStrategy[Affinity | None]:
    """Draw affinity between pods, or none."""
    return st.none() | st.builds(
        Affinity, pod_affinity=st.none() | _halves(), pod_anti_affinity=st.none() | _halves()
    )


def _series() -> st.SearchStrategy[Affinity]:
    """Draw the affinity of pods ``app=x`` that follow each other."""
    own = LabelSelector(match_labels={"app": "x"})
    term = st.builds(
        PodAffinityTerm, topology_key=st.sampled_from(TOPOLOGY_KEYS), label_selector=st.just(own)
    )
    return st.builds(
        lambda terms: Affinity(
            pod_affinity=PodAffinity(
                required_during_scheduling_ignored_during_execution=tuple(terms)
            )
        ),
        st.lists(term, min_size=1, max_size=2),
    )


def pods(uid: str, *, node: str = "") -> st.SearchStrategy[PodInfo]:
    """Draw a pod of this uid and name, on a node or on none."""

    def build(namespace: str, labels: dict[str, str], affinity: Affinity | None) -> PodInfo:
        metadata = ObjectMeta(name=uid, namespace=namespace, uid=uid, labels=labels)
        return PodInfo(Pod(metadata=metadata, spec=PodSpec(node_name=node, affinity=affinity)))

    namespaces = st.sampled_from(NAMESPACES)
    any_kind = st.builds(build, namespaces, pod_labels(), affinities())
    series = st.builds(build, st.just("a"), st.just({"app": "x"}), _series())
    return st.one_of(any_kind, any_kind, series)
