"""Volumes, claims and classes for tests, in few words, and strategies that draw them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hypothesis import strategies as st
from tests.objects import make_node, make_pod, requirement, term

from moorage import PodInfo
from moorage.model import (
    AnnotatedMeta,
    CSIDriver,
    CSIDriverSpec,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    CSIStorageCapacity,
    CSIVolume,
    LabelSelector,
    Node,
    NodeSelector,
    NodeSelectorTerm,
    ObjectMeta,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
    ResourceRequirements,
    StorageClass,
    StorageObject,
    StoragePhase,
    TopologySelectorTerm,
    Volume,
    VolumeAttachment,
    VolumeLimit,
    VolumeNodeAffinity,
)
from moorage.model.pods import (
    ISCSI,
    RBD,
    AWSElasticBlockStore,
    ClaimSource,
    GCEPersistentDisk,
)
from moorage.model.storage import (
    AttachedVolume,
    TopologySelectorRequirement,
    VolumeAttachmentSpec,
)

__all__ = [
    "DRIVER",
    "OLD_ZONE",
    "ZONE",
    "claim_volume",
    "clusters",
    "disks",
    "make_attachment",
    "make_claim",
    "make_class",
    "make_csi_node",
    "make_volume",
    "pod_with",
]

ZONE = "topology.kubernetes.io/zone"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
DRIVER = "csi.example.com"
NAMESPACE = "ns"
WAIT = "WaitForFirstConsumer"


def make_class(
    name: str,
    *,
    provisioner: str = DRIVER,
    mode: str = WAIT,
    zones: Sequence[Sequence[str]] = (),
) -> StorageClass:
    """Make a class; each of `zones` is a term of allowed topologies."""
    terms = tuple(
        TopologySelectorTerm(
            match_label_expressions=(TopologySelectorRequirement(key=ZONE, values=tuple(one)),)
            if one
            else ()
        )
        for one in zones
    )
    return StorageClass(
        metadata=ObjectMeta(name=name),
        provisioner=provisioner,
        volume_binding_mode=mode,
        allowed_topologies=terms,
    )


def make_volume(
    name: str,
    *,
    size: str = "10Gi",
    class_name: str = "static",
    terms: Iterable[NodeSelectorTerm] | None = None,
    labels: Mapping[str, str] | None = None,
    claim: str = "",
    claim_uid: str = "",
    modes: Sequence[str] = ("ReadWriteOnce",),
    volume_mode: str | None = None,
    phase: str = "Available",
    driver: str = DRIVER,
    version: int = 1,
) -> PersistentVolume:
    """Make a volume; with `claim` it names one."""
    reference = ObjectReference(namespace=NAMESPACE, name=claim, uid=claim_uid) if claim else None
    affinity = None
    if terms is not None:
        affinity = VolumeNodeAffinity(required=NodeSelector(node_selector_terms=tuple(terms)))
    return PersistentVolume(
        metadata=AnnotatedMeta(name=name, labels=dict(labels or {}), resource_version=str(version)),
        spec=PersistentVolumeSpec(
            capacity={"storage": size},
            access_modes=tuple(modes),
            claim_ref=reference,
            storage_class_name=class_name,
            volume_mode=volume_mode,
            node_affinity=affinity,
            csi=CSIVolume(driver=driver, volume_handle=name),
        ),
        status=StoragePhase(phase=phase),
    )


def make_claim(
    name: str,
    *,
    size: str = "1Gi",
    class_name: str | None = "static",
    volume: str = "",
    bound: bool | None = None,
    modes: Sequence[str] = ("ReadWriteOnce",),
    selector: Mapping[str, str] | None = None,
    volume_mode: str | None = None,
    annotations: Mapping[str, str] | None = None,
    phase: str = "",
    version: int = 1,
) -> PersistentVolumeClaim:
    """Make a claim of uid ``uid-NAME``; with `volume` it is bound to it, unless said otherwise."""
    is_bound = bool(volume) if bound is None else bound
    completed = {"pv.kubernetes.io/bind-completed": "yes"} if is_bound else {}
    return PersistentVolumeClaim(
        metadata=AnnotatedMeta(
            name=name,
            namespace=NAMESPACE,
            uid=f"uid-{name}",
            resource_version=str(version),
            annotations={**completed, **(annotations or {})},
        ),
        spec=PersistentVolumeClaimSpec(
            access_modes=tuple(modes),
            selector=None if selector is None else LabelSelector(match_labels=dict(selector)),
            resources=ResourceRequirements(requests={"storage": size}),
            volume_name=volume,
            storage_class_name=class_name,
            volume_mode=volume_mode,
        ),
        status=StoragePhase(phase=phase or ("Bound" if is_bound else "Pending")),
    )


def make_csi_node(
    name: str, limits: Mapping[str, int | None], *, annotations: Mapping[str, str] | None = None
) -> CSINode:
    """Make what drivers say of a node: their limits."""
    return CSINode(
        metadata=AnnotatedMeta(name=name, annotations=dict(annotations or {})),
        spec=CSINodeSpec(
            drivers=tuple(
                CSINodeDriver(name=driver, allocatable=VolumeLimit(count=count))
                for driver, count in limits.items()
            )
        ),
    )


def make_attachment(
    name: str, *, node: str, volume: str, attacher: str = DRIVER
) -> VolumeAttachment:
    """Make an attachment of a volume to a node."""
    return VolumeAttachment(
        metadata=ObjectMeta(name=name),
        spec=VolumeAttachmentSpec(
            attacher=attacher,
            node_name=node,
            source=AttachedVolume(persistent_volume_name=volume),
        ),
    )


def claim_volume(name: str) -> Volume:
    """Make a pod's volume that is a claim."""
    return Volume(name=f"v-{name}", persistent_volume_claim=ClaimSource(claim_name=name))


def pod_with(name: str, *claims: str, node: str = "", volumes: Iterable[Volume] = ()) -> PodInfo:
    """Make a pod that uses claims, and other volumes."""
    return make_pod(name, node=node, volumes=(*map(claim_volume, claims), *volumes))


# Strategies

_zones = st.sampled_from(["z-a", "z-b", "z-c"])
_sizes = st.sampled_from(["1Gi", "2Gi", "5Gi", "10Gi"])
_claims = st.sampled_from([f"c{index}" for index in range(6)])
_volumes = [f"v{index}" for index in range(6)]
_nodes = [f"n{index}" for index in range(4)]
_classes = st.sampled_from(["static", "wait", "zoned", "capacity", "now", "gone"])

_terms = st.one_of(
    st.builds(lambda zones: term(requirement(ZONE, "In", *zones)), st.sets(_zones, min_size=1)),
    st.builds(lambda zone: term(requirement(ZONE, "NotIn", zone)), _zones),
    st.builds(
        lambda name: term(requirement("kubernetes.io/hostname", "In", name)),
        st.sampled_from(_nodes),
    ),
    st.just(term()),
    st.just(term(fields=(requirement("metadata.name", "In", "n0"),))),
    st.just(term(requirement(ZONE, "Nonsense"))),
)
_labels = st.one_of(
    st.just({}),
    st.builds(lambda zone: {ZONE: zone}, _zones),
    st.builds(lambda zone: {OLD_ZONE: zone}, _zones),
    st.builds(lambda one, two: {ZONE: f"{one}__{two}"}, _zones, _zones),
    st.just({ZONE: ""}),
    st.just({"tier": "fast"}),
)


@st.composite
def _node(draw: st.DrawFn, name: str) -> Node:
    labels = {"kubernetes.io/hostname": name}
    labels |= draw(
        st.one_of(
            st.just({}),
            st.builds(lambda zone: {ZONE: zone}, _zones),
            st.builds(lambda zone: {OLD_ZONE: zone}, _zones),
        )
    )
    return make_node(name, labels=labels)


@st.composite
def _volume(draw: st.DrawFn, name: str) -> PersistentVolume:
    return make_volume(
        name,
        size=draw(_sizes),
        class_name=draw(_classes),
        terms=draw(st.none() | st.lists(_terms, max_size=2)),
        labels=draw(_labels),
        claim=draw(st.just("") | _claims),
        claim_uid=draw(st.sampled_from(["", "uid-c0", "other"])),
        modes=draw(st.sampled_from([("ReadWriteOnce",), ("ReadWriteOnce", "ReadOnlyMany")])),
        volume_mode=draw(st.sampled_from([None, "Filesystem", "Block"])),
        phase=draw(st.sampled_from(["Available", "Available", "Bound", "Released"])),
        driver=draw(st.sampled_from([DRIVER, "other.example.com"])),
    )


@st.composite
def _claim(draw: st.DrawFn, name: str) -> PersistentVolumeClaim:
    volume = draw(st.just("") | st.sampled_from([*_volumes, "lost"]))
    selected = draw(st.sampled_from([None, None, None, "n0", "n1"]))
    return make_claim(
        name,
        size=draw(_sizes),
        class_name=draw(_classes | st.none()),
        volume=volume,
        bound=draw(st.just(bool(volume)) | st.booleans()),
        modes=draw(
            st.sampled_from([("ReadWriteOnce",), ("ReadWriteOncePod",), ("ReadWriteMany",)])
        ),
        selector=draw(st.sampled_from([None, None, {"tier": "fast"}])),
        volume_mode=draw(st.sampled_from([None, None, "Block"])),
        annotations={} if selected is None else {"volume.kubernetes.io/selected-node": selected},
    )


disks = st.one_of(
    st.builds(
        lambda name, read_only: Volume(
            name="d", gce_persistent_disk=GCEPersistentDisk(pd_name=name, read_only=read_only)
        ),
        st.sampled_from(["a", "b"]),
        st.booleans(),
    ),
    st.builds(
        lambda name: Volume(
            name="d", aws_elastic_block_store=AWSElasticBlockStore(volume_id=f"vol-{name}")
        ),
        st.sampled_from(["a", "b"]),
    ),
    st.builds(
        lambda iqn, read_only: Volume(name="d", iscsi=ISCSI(iqn=iqn, read_only=read_only)),
        st.sampled_from(["a", "b"]),
        st.booleans(),
    ),
    st.builds(
        lambda monitors, image, read_only: Volume(
            name="d", rbd=RBD(monitors=tuple(monitors), image=image, read_only=read_only)
        ),
        st.lists(st.sampled_from(["m1", "m2"]), min_size=1, unique=True),
        st.sampled_from(["a", "b"]),
        st.booleans(),
    ),
)


@st.composite
def _pod(draw: st.DrawFn, name: str, node: str) -> PodInfo:
    claims = draw(st.lists(_claims, max_size=3, unique=True))
    return pod_with(name, *claims, node=node, volumes=draw(st.lists(disks, max_size=2)))


@st.composite
def clusters(
    draw: st.DrawFn,
) -> tuple[list[Node], list[PodInfo], list[StorageObject], PodInfo]:
    """Draw nodes, pods on them, everything about storage, and a pod that is to be placed."""
    nodes = [draw(_node(name)) for name in _nodes[: draw(st.integers(1, 4))]]
    pods = [
        draw(_pod(f"p{index}", draw(st.sampled_from(nodes)).metadata.name))
        for index in range(draw(st.integers(0, 5)))
    ]
    found: list[StorageObject] = [
        make_class("static", provisioner="kubernetes.io/no-provisioner"),
        make_class("wait"),
        make_class("zoned", zones=draw(st.lists(st.lists(_zones, max_size=2), max_size=2))),
        make_class("capacity", provisioner="cap.example.com"),
        make_class("now", mode="Immediate"),
        CSIDriver(
            metadata=ObjectMeta(name="cap.example.com"),
            spec=CSIDriverSpec(storage_capacity=draw(st.booleans())),
        ),
    ]
    found += [
        CSIStorageCapacity(
            metadata=ObjectMeta(name=f"room{index}", namespace="kube-system"),
            node_topology=draw(
                st.none()
                | st.builds(lambda zone: LabelSelector(match_labels={ZONE: zone}), _zones)
                | st.just(LabelSelector())
            ),
            storage_class_name="capacity",
            capacity=draw(st.none() | _sizes),
            maximum_volume_size=draw(st.none() | _sizes),
        )
        for index in range(draw(st.integers(0, 2)))
    ]
    found += [draw(_volume(name)) for name in _volumes[: draw(st.integers(0, 6))]]
    found += [draw(_claim(f"c{index}")) for index in range(draw(st.integers(1, 6)))]
    for name in draw(st.lists(st.sampled_from(_nodes), unique=True)):
        limits = {
            driver: draw(st.none() | st.integers(0, 3))
            for driver in draw(st.lists(st.sampled_from([DRIVER, "ebs.csi.aws.com"]), unique=True))
        }
        found.append(make_csi_node(name, limits))
    found += [
        make_attachment(
            f"a{index}",
            node=draw(st.sampled_from(_nodes)),
            volume=draw(st.sampled_from(_volumes)),
            attacher=draw(st.sampled_from([DRIVER, "other.example.com"])),
        )
        for index in range(draw(st.integers(0, 3)))
    ]
    return nodes, pods, found, draw(_pod("new", ""))
