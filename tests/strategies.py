"""Hypothesis strategies of nodes, pods and clusters; small worlds in which things often meet."""

from __future__ import annotations

from hypothesis import strategies as st

from moorage.model import (
    Affinity,
    Container,
    ContainerImage,
    ContainerPort,
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
    PodStatus,
    PreferredSchedulingTerm,
    ResourceRequirements,
    Taint,
    Toleration,
)
from moorage.model.pods import (
    ContainerRestartRule,
    ContainerStatus,
    ImageVolumeSource,
    PodCondition,
    Volume,
)

__all__ = [
    "EXTENDED",
    "FEATURES",
    "IMAGES",
    "KEYS",
    "NODE_NAMES",
    "VALUES",
    "affinities",
    "clusters",
    "images",
    "node_affinities",
    "nodes",
    "pod_specs",
    "pod_statuses",
    "pods",
    "quantities",
    "resource_lists",
    "taints",
    "terms",
    "tolerations",
]

NODE_NAMES = tuple(f"n{number}" for number in range(8))
KEYS = ("zone", "disk", "rank")
VALUES = ("a", "b", "1", "7", "-3", "007")
IMAGES = ("app:1", "app:latest", "registry:5000/db:latest", "tool@sha256:ab", "app")
FEATURES = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "Other")
EXTENDED = ("example.com/gpu", "example.com/nic", "hugepages-2Mi")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NODE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")

quantities = st.sampled_from(
    ["0", "1", "2", "100m", "0.5", "1500m", "64Mi", "1Gi", "3G", "1e3", "2000000001n", "7Ki"]
)


def resource_lists(*, most: int = 4) -> st.SearchStrategy[dict[str, str]]:
    """Draw a ResourceList."""
    names = ("cpu", "memory", "ephemeral-storage", *EXTENDED)
    return st.dictionaries(st.sampled_from(names), quantities, max_size=most)


def labels() -> st.SearchStrategy[dict[str, str]]:
    """Draw a node's labels."""
    return st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))


def taints() -> st.SearchStrategy[Taint]:
    """Draw a taint."""
    return st.builds(
        Taint,
        key=st.sampled_from(KEYS),
        value=st.sampled_from(["", "a", "950"]),
        effect=st.sampled_from(_EFFECTS),
    )


def tolerations() -> st.SearchStrategy[Toleration]:
    """Draw a toleration, also of operators that are off in 1.36."""
    return st.builds(
        Toleration,
        key=st.sampled_from(["", *KEYS, "node.kubernetes.io/unschedulable"]),
        operator=st.sampled_from(["", "Equal", "Exists", "Exists", "Gt", "Lt"]),
        value=st.sampled_from(["", "a", "900"]),
        effect=st.sampled_from(["", *_EFFECTS]),
    )


def images() -> st.SearchStrategy[ContainerImage]:
    """Draw an image on a node, some with several names."""
    return st.builds(
        ContainerImage,
        names=st.none() | st.lists(st.sampled_from(IMAGES), max_size=2, unique=True).map(tuple),
        size_bytes=st.sampled_from([0, 1_000_000, 30_000_000, 900_000_000, 5_000_000_000]),
    )


def nodes(name: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[Node]:
    """Draw a node."""
    allocatable = st.builds(
        lambda usual, more: usual | more,
        st.fixed_dictionaries(
            {
                "cpu": st.sampled_from(["0", "1", "2", "4", "7500m"]),
                "memory": st.sampled_from(["0", "512Mi", "2Gi", "7900000k"]),
                "pods": st.sampled_from(["0", "1", "3", "110"]),
            },
            optional={"ephemeral-storage": st.sampled_from(["1Gi", "10Gi"])},
        ),
        st.dictionaries(st.sampled_from(EXTENDED), st.sampled_from(["0", "1", "2", "64Mi"])),
    )
    return st.builds(
        Node,
        metadata=st.builds(
            ObjectMeta,
            name=st.sampled_from(NODE_NAMES) if name is None else name,
            labels=labels(),
        ),
        spec=st.builds(
            NodeSpec,
            unschedulable=st.sampled_from([False, False, True]),
            taints=st.lists(taints(), max_size=2, unique=True).map(tuple),
        ),
        status=st.builds(
            NodeStatus,
            allocatable=allocatable,
            images=st.lists(images(), max_size=2).map(tuple),
            declared_features=st.lists(st.sampled_from(FEATURES), max_size=2, unique=True).map(
                tuple
            ),
        ),
    )


@st.composite
def _requirements(draw: st.DrawFn) -> NodeSelectorRequirement:
    operator = draw(st.sampled_from(_NODE_OPERATORS))
    values: tuple[str, ...] = ()
    if operator in {"Gt", "Lt"}:
        values = (draw(st.sampled_from(["1", "7", "03", "0"])),)
    elif operator in {"In", "NotIn"}:
        readable = [value for value in VALUES if value[0] != "-"]
        values = tuple(draw(st.lists(st.sampled_from(readable), min_size=1, max_size=3)))
    return NodeSelectorRequirement(
        key=draw(st.sampled_from(KEYS)), operator=operator, values=values
    )


def _field_requirements() -> st.SearchStrategy[NodeSelectorRequirement]:
    return st.builds(
        NodeSelectorRequirement,
        key=st.just("metadata.name"),
        operator=st.sampled_from(["In", "NotIn"]),
        values=st.tuples(st.sampled_from(NODE_NAMES)),
    )


def terms() -> st.SearchStrategy[NodeSelectorTerm]:
    """Draw a term, also an empty one and one that names nodes."""
    return st.builds(
        NodeSelectorTerm,
        match_expressions=st.lists(_requirements(), max_size=2).map(tuple),
        match_fields=st.lists(_field_requirements(), max_size=2).map(tuple),
    )


def node_affinities() -> st.SearchStrategy[NodeAffinity]:
    """Draw required and preferred node affinity."""
    return st.builds(
        NodeAffinity,
        required_during_scheduling_ignored_during_execution=st.none()
        | st.builds(
            NodeSelector,
            node_selector_terms=st.lists(terms(), min_size=1, max_size=3).map(tuple),
        ),
        preferred_during_scheduling_ignored_during_execution=st.lists(
            st.builds(PreferredSchedulingTerm, weight=st.integers(1, 100), preference=terms()),
            max_size=3,
        ).map(tuple),
    )


def affinities() -> st.SearchStrategy[Affinity]:
    """Draw affinity to nodes."""
    return st.builds(Affinity, node_affinity=st.none() | node_affinities())


def _ports() -> st.SearchStrategy[ContainerPort]:
    return st.builds(
        ContainerPort,
        container_port=st.just(80),
        host_port=st.sampled_from([0, 80, 81]),
        host_ip=st.sampled_from(["", "0.0.0.0", "10.1.1.1", "10.1.1.2"]),  # noqa: S104 - every address
        protocol=st.sampled_from(["TCP", "UDP"]),
    )


@st.composite
def _containers(draw: st.DrawFn, names: tuple[str, ...], *, init: bool) -> tuple[Container, ...]:
    count = draw(st.integers(0 if init else 1, len(names)))
    return tuple(
        Container(
            name=name,
            image=draw(st.sampled_from(IMAGES)),
            resources=ResourceRequirements(requests=draw(resource_lists(most=3))),
            ports=tuple(draw(st.lists(_ports(), max_size=1))),
            restart_policy=draw(st.sampled_from([None, "Always"])) if init else None,
            restart_policy_rules=draw(
                st.sampled_from([(), (), (ContainerRestartRule(action="RestartAllContainers"),)])
            ),
        )
        for name in names[:count]
    )


def pod_specs(node_name: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[PodSpec]:
    """Draw what a pod asks for."""
    volumes = st.builds(
        Volume,
        name=st.just("v"),
        image=st.none() | st.builds(ImageVolumeSource, reference=st.sampled_from(IMAGES)),
    )
    return st.builds(
        PodSpec,
        node_name=st.just("") if node_name is None else node_name,
        priority=st.sampled_from([None, 0, 10]),
        node_selector=st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=1),
        affinity=st.none() | affinities(),
        tolerations=st.lists(tolerations(), max_size=3).map(tuple),
        containers=_containers(("a", "b"), init=False),
        init_containers=_containers(("i", "j", "k"), init=True),
        volumes=st.lists(volumes, max_size=2).map(tuple),
        overhead=st.one_of(st.just({}), resource_lists(most=2)),
        resources=st.none() | st.builds(ResourceRequirements, requests=resource_lists(most=2)),
        host_network=st.booleans(),
        host_users=st.sampled_from([None, False, True]),
    )


def pod_statuses() -> st.SearchStrategy[PodStatus]:
    """Draw a status, most often one of a pod that nobody resizes."""
    given = st.none() | resource_lists(most=3)
    used = st.none() | st.builds(ResourceRequirements, requests=resource_lists(most=3))
    statuses = st.builds(
        ContainerStatus,
        name=st.sampled_from(["a", "b", "i", "j", "x"]),
        allocated_resources=given,
        resources=used,
    )
    infeasible = PodCondition(type="PodResizePending", status="True", reason="Infeasible")
    resized = st.builds(
        PodStatus,
        conditions=st.sampled_from([(), (), (infeasible,)]),
        container_statuses=st.lists(statuses, max_size=2, unique_by=lambda one: one.name).map(
            tuple
        ),
        init_container_statuses=st.lists(statuses, max_size=2, unique_by=lambda one: one.name).map(
            tuple
        ),
        allocated_resources=given,
        resources=used,
    )
    return st.just(PodStatus()) | resized


def pods(
    uid: st.SearchStrategy[str],
    *,
    node_name: st.SearchStrategy[str] | None = None,
    statuses: st.SearchStrategy[PodStatus] | None = None,
) -> st.SearchStrategy[PodInfo]:
    """Draw a pod; its name is its uid."""
    return st.builds(
        lambda uid, spec, status: PodInfo(
            Pod(metadata=ObjectMeta(name=uid, namespace="ns", uid=uid), spec=spec, status=status)
        ),
        uid,
        pod_specs(node_name),
        st.just(PodStatus()) if statuses is None else statuses,
    )


def clusters() -> st.SearchStrategy[tuple[list[Node], list[PodInfo]]]:
    """Draw nodes of different names, and pods bound to some of the usual names."""
    return st.tuples(
        st.lists(nodes(), max_size=5, unique_by=lambda node: node.metadata.name),
        st.lists(
            pods(
                st.sampled_from([f"bound-{number}" for number in range(6)]),
                node_name=st.sampled_from(NODE_NAMES[:3]),
                statuses=pod_statuses(),
            ),
            max_size=4,
            unique_by=lambda info: info.uid,
        ),
    )
