"""Hypothesis strategies of pods, nodes and clusters: small worlds in which things often meet.

Needs hypothesis: the extra ``moorage[testing]``. Whatever is drawn is valid for an API server. The
few label keys, values and resources are named here, so that a test can build on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from moorage.model import Node, Pod, Taint, Toleration
from moorage.testing.cluster import Cluster
from moorage.testing.objects import make_affinity, make_namespace, make_node, make_pod, make_service

try:
    from hypothesis import strategies as st
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "moorage.testing.strategies needs hypothesis; type: pip install 'moorage[testing]'",
        name="hypothesis",
    ) from error

__all__ = [
    "EXTENDED_RESOURCES",
    "HOSTNAME",
    "IMAGES",
    "LABEL_KEYS",
    "LABEL_VALUES",
    "NAMESPACES",
    "ZONE",
    "clusters",
    "labels",
    "node_names",
    "nodes",
    "pods",
    "quantities",
    "taints",
    "tolerations",
]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
LABEL_KEYS = ("app", "disk", "rank", ZONE)
LABEL_VALUES = ("a", "b", "1", "7", "007")
EXTENDED_RESOURCES = ("example.com/gpu", "example.com/nic")
NAMESPACES = ("default", "other")
IMAGES = ("app:1", "registry:5000/db:latest")
_NODE_NAMES = tuple(f"n{number}" for number in range(1, 7))
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MOST_PODS = 6


def quantities() -> st.SearchStrategy[str]:
    """Draw an amount of cpu or memory as the API spells it."""
    return st.sampled_from(["0", "1", "2", "100m", "0.5", "1500m"])


def labels(
    keys: tuple[str, ...] = LABEL_KEYS, *, min_size: int = 0
) -> st.SearchStrategy[dict[str, str]]:
    """Draw labels, some of these keys."""
    most = min(3, len(keys))
    values = st.sampled_from(LABEL_VALUES)
    return st.dictionaries(st.sampled_from(keys), values, min_size=min_size, max_size=most)


def node_names() -> st.SearchStrategy[str]:
    """Draw the name of a node."""
    return st.sampled_from(_NODE_NAMES)


def taints() -> st.SearchStrategy[Taint]:
    """Draw a taint."""
    return st.builds(
        Taint,
        key=st.sampled_from(("dedicated", "disk")),
        value=st.sampled_from(("", "a")),
        effect=st.sampled_from(_EFFECTS),
    )


def tolerations() -> st.SearchStrategy[Toleration]:
    """Draw a toleration, also of everything."""
    exists = st.builds(
        Toleration,
        key=st.sampled_from(("", "dedicated", "disk")),
        operator=st.just("Exists"),
        effect=st.sampled_from(("", *_EFFECTS)),
    )
    equal = st.builds(
        Toleration,
        key=st.sampled_from(("dedicated", "disk")),
        operator=st.sampled_from(("", "Equal")),
        value=st.sampled_from(("", "a")),
        effect=st.sampled_from(("", *_EFFECTS)),
    )
    return st.one_of(exists, equal)


def nodes(*, names: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[Node]:
    """Draw a node."""
    return st.builds(
        make_node,
        node_names() if names is None else names,
        cpu=st.sampled_from(["0", "1", "2", "7500m"]),
        memory=st.sampled_from(["0", "512Mi", "2Gi"]),
        pods=st.sampled_from([1, 3, 110]),
        allocatable=st.dictionaries(
            st.sampled_from(EXTENDED_RESOURCES), st.sampled_from(["0", "1", "4"])
        ),
        labels=labels(),
        taints=st.lists(taints(), max_size=2, unique=True),
        unschedulable=st.sampled_from([False, False, False, True]),
        images=st.dictionaries(st.sampled_from(IMAGES), st.sampled_from([0, 30_000_000, 10**9])),
    )


def pods(
    *,
    names: st.SearchStrategy[str] | None = None,
    node: st.SearchStrategy[str] | None = None,
    **fields: st.SearchStrategy[Any],
) -> st.SearchStrategy[Pod]:
    """Draw a pod, waiting unless `node` draws where it runs; `fields` replace what is drawn.

    Fields are the arguments of `make_pod`: ``pods(priority=st.just(5))``.
    """
    drawn = {"name": st.sampled_from(["p", "q"]) if names is None else names, **_pod_fields()}
    if node is not None:
        drawn["node"] = node
    return st.fixed_dictionaries(drawn | fields).map(lambda chosen: make_pod(**chosen))


def clusters(*, min_nodes: int = 1, max_nodes: int = 5) -> st.SearchStrategy[Cluster]:
    """Draw a cluster of nodes with pods, in two namespaces, with a service or none."""
    return st.builds(
        _cluster,
        st.lists(
            nodes(),
            min_size=min_nodes,
            max_size=max_nodes,
            unique_by=lambda node: node.metadata.name,
        ),
        st.lists(
            st.tuples(st.integers(0, max_nodes - 1), st.fixed_dictionaries(_pod_fields())),
            max_size=_MOST_PODS,
        ),
        st.tuples(*(labels(("app",)) for _ in NAMESPACES)),
        st.none() | labels(("app",), min_size=1),
    )


@cache
def _pod_fields() -> dict[str, st.SearchStrategy[Any]]:
    """Return what is drawn of every pod; made once, since making strategies is what takes time."""
    return {
        "namespace": st.sampled_from(NAMESPACES),
        "requests": st.dictionaries(
            st.sampled_from(("cpu", "memory", *EXTENDED_RESOURCES)),
            st.sampled_from(["0", "1", "2"]),
            max_size=3,
        ),
        "labels": labels(),
        "node_selector": st.one_of(st.just({}), labels()),
        "affinity": st.one_of(st.none(), _affinities()),
        "tolerations": st.lists(tolerations(), max_size=2),
        "priority": st.sampled_from([None, 0, 10]),
        "host_ports": st.lists(st.sampled_from([80, 81]), max_size=1),
        "image": st.sampled_from(IMAGES),
    }


def _affinities() -> st.SearchStrategy[Any]:
    values = st.lists(st.sampled_from(LABEL_VALUES), min_size=1, max_size=2, unique=True)
    by_key = st.dictionaries(st.sampled_from(LABEL_KEYS), values, max_size=2)
    terms = st.dictionaries(
        st.sampled_from([HOSTNAME, ZONE]), labels(("app",), min_size=1), max_size=1
    )
    return st.builds(
        make_affinity,
        nodes=by_key,
        prefer_nodes=by_key,
        weight=st.integers(1, 100),
        near=terms,
        away_from=terms,
    )


def _cluster(
    found: Sequence[Node],
    running: Sequence[tuple[int, Mapping[str, Any]]],
    namespaces: Sequence[Mapping[str, str]],
    selector: Mapping[str, str] | None,
) -> Cluster:
    cluster = Cluster(found)
    for name, chosen in zip(NAMESPACES, namespaces, strict=True):
        cluster.add(make_namespace(name, labels=chosen))
    if selector:
        cluster.add(make_service("s", selector=selector))
    for number, (place, fields) in enumerate(running if found else ()):
        node = found[place % len(found)].metadata.name
        cluster.add(make_pod(f"r{number}", node=node, **fields))
    return cluster
