"""Kinds of volumes that are older than CSI: where they are reached from, and what they count for."""

from __future__ import annotations

import msgspec
import pytest
from tests.builtin.asking_about_storage import Asked, node
from tests.objects import make_pod, requirement, term
from tests.volumes_kit import (
    OLD_ZONE,
    ZONE,
    make_attachment,
    make_claim,
    make_class,
    make_csi_node,
    make_volume,
    pod_with,
)

from moorage import PodInfo
from moorage.model import CSIVolume, PersistentVolume, Volume
from moorage.model.pods import AWSElasticBlockStore, AzureDisk, GCEPersistentDisk
from moorage_builtin.volumes.translation import csi_of_inline, csi_of_volume, translated_affinity

MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
OLD_REGION = "failure-domain.beta.kubernetes.io/region"
OUT_OF_REACH = ("node(s) didn't match PersistentVolume's node affinity",)
TOO_MANY = ("node(s) exceed max volume count",)


def of_kind(volume: PersistentVolume, **source: object) -> PersistentVolume:
    """Return a volume as one of an older kind."""
    spec = msgspec.structs.replace(volume.spec, csi=None, **source)
    return msgspec.structs.replace(volume, spec=spec)


# Where they are reached from


def test_the_zone_of_an_older_volume_is_read_as_its_csi_driver_does() -> None:
    """On nodes that leave such volumes to the driver; on others in the older words."""
    kind = "kubernetes.io/aws-ebs"
    volume = make_volume("v", class_name="", labels={ZONE: "z-a"})
    disk = AWSElasticBlockStore(volume_id="vol-1")
    own = "topology.ebs.csi.aws.com/zone"
    migrated = {MIGRATED: f"kubernetes.io/cinder,{kind}"}
    asked = Asked(
        "VolumeBinding",
        pod_with("p", "c"),
        [node("n0", **{own: "z-a"}), node("n1", **{own: "z-b"}), node("n2", zone="z-b")],
        make_claim("c", volume="v"),
        of_kind(volume, aws_elastic_block_store=disk),
        make_csi_node("n0", {}, annotations=migrated),
        make_csi_node("n1", {}, annotations=migrated),
    )

    assert asked.reasons() == [(), OUT_OF_REACH, ()]


def test_a_disk_of_azure_is_read_in_its_own_words_everywhere() -> None:
    """Its driver's label is not asked for."""
    migrated = {MIGRATED: "kubernetes.io/azure-disk"}
    near = [term(requirement(ZONE, "In", "z-a"))]
    asked = Asked(
        "VolumeBinding",
        pod_with("p", "c"),
        [node("n0", zone="z-a"), node("n1", zone="z-b")],
        make_claim("c", volume="v"),
        of_kind(make_volume("v", terms=near), azure_disk=AzureDisk(disk_uri="/disk")),
        make_csi_node("n0", {}, annotations=migrated),
        make_csi_node("n1", {}, annotations=migrated),
    )

    assert asked.reasons() == [(), OUT_OF_REACH]


def test_a_free_volume_is_chosen_by_its_own_words() -> None:
    """What its driver calls the zone counts once it is bound."""
    near = [term(requirement(ZONE, "In", "z-a"))]
    disk = GCEPersistentDisk(pd_name="disk")
    asked = Asked(
        "VolumeBinding",
        pod_with("p", "c"),
        [node("n0", zone="z-a"), node("n1", zone="z-b")],
        make_class("static", provisioner="kubernetes.io/no-provisioner"),
        make_claim("c"),
        of_kind(make_volume("v", terms=near), gce_persistent_disk=disk),
        make_csi_node("n0", {}, annotations={MIGRATED: "kubernetes.io/gce-pd"}),
    )

    assert asked.reasons() == [(), ("node(s) didn't find available persistent volumes to bind",)]


@pytest.mark.parametrize(
    ("operator", "values", "key"),
    [
        pytest.param("In", ("r",), "topology.kubernetes.io/region", id="with values"),
        pytest.param("Exists", (), OLD_REGION, id="without"),
    ],
)
def test_the_older_label_of_a_region_becomes_todays_where_it_has_values(
    operator: str, values: tuple[str, ...], key: str
) -> None:
    """Beside the label of the zone, which becomes the driver's."""
    needed = term(requirement(OLD_ZONE, "In", "z-a"), requirement(OLD_REGION, operator, *values))
    disk = AWSElasticBlockStore(volume_id="vol-1")
    translated = translated_affinity(
        of_kind(make_volume("v", terms=[needed]), aws_elastic_block_store=disk)
    )

    assert translated is not None
    keys = [one.key for one in translated.node_selector_terms[0].match_expressions]
    assert keys == ["topology.ebs.csi.aws.com/zone", key]


# What they count for


@pytest.mark.parametrize(
    ("volume", "driver", "handle"),
    [
        pytest.param(
            Volume(
                name="d",
                aws_elastic_block_store=AWSElasticBlockStore(volume_id="aws://us-east-1a/vol-7"),
            ),
            "ebs.csi.aws.com",
            "vol-7",
            id="aws",
        ),
        pytest.param(
            Volume(name="d", gce_persistent_disk=GCEPersistentDisk(pd_name="disk")),
            "pd.csi.storage.gke.io",
            "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk",
            id="gce",
        ),
    ],
)
def test_a_disk_of_an_older_kind_counts_for_its_csi_driver(
    volume: Volume, driver: str, handle: str
) -> None:
    """By the handle that the driver knows it by: the same disk counts once."""
    other = make_volume("v", driver=driver)
    csi = CSIVolume(driver=driver, volume_handle=handle)
    same = msgspec.structs.replace(other, spec=msgspec.structs.replace(other.spec, csi=csi))
    there = pod_with("there", "c", node="n0")
    asked = Asked(
        "NodeVolumeLimits",
        make_pod("p", volumes=(volume,)),
        [node("n0"), node("n1")],
        make_csi_node("n0", {driver: 1}),
        make_csi_node("n1", {driver: 0}),
        make_claim("c", volume="v"),
        same,
        pods=[there],
    )

    assert asked.reasons() == [(), TOO_MANY]


@pytest.mark.parametrize(
    ("labels", "handle"),
    [
        pytest.param({}, "zones/UNSPECIFIED", id="none"),
        pytest.param({ZONE: "a-b-c", OLD_ZONE: "a-b-d"}, "zones/a-b-d", id="the older one first"),
        pytest.param({ZONE: "a-b-c__a-b-d"}, "regions/a-b", id="zones of one region"),
        pytest.param({ZONE: "a-b-c__a-x-d"}, None, id="zones of two regions"),
        pytest.param({ZONE: "ab-c__ab-d"}, None, id="no zones of this cloud"),
    ],
)
def test_where_a_disk_of_google_is_comes_from_its_labels(
    labels: dict[str, str], handle: str | None
) -> None:
    """A handle that cannot be made up means that the disk does not count."""
    disk = GCEPersistentDisk(pd_name="disk")
    found = csi_of_volume(of_kind(make_volume("v", labels=labels), gce_persistent_disk=disk))

    expected = None if handle is None else f"projects/UNSPECIFIED/{handle}/disks/disk"
    assert (None if found is None else found.volume_handle) == expected


@pytest.mark.parametrize(
    ("kind", "counts"),
    [(None, True), ("Managed", True), ("managed", True), ("Shared", False), ("Dedicated", False)],
)
def test_only_managed_disks_of_azure_count(kind: str | None, counts: bool) -> None:  # noqa: FBT001 - a parameter
    """The driver knows of no others."""
    disk = Volume(name="d", azure_disk=AzureDisk(disk_uri="/disk", kind=kind))

    assert (csi_of_inline(disk) is not None) == counts


def test_an_attached_volume_of_an_older_kind_counts_only_while_a_pod_uses_it() -> None:
    """Of attachments alone only those of CSI volumes count."""
    driver, disk = "pd.csi.storage.gke.io", GCEPersistentDisk(pd_name="disk")

    def reasons(*pods: PodInfo) -> list[tuple[str, ...]]:
        return Asked(
            "NodeVolumeLimits",
            pod_with("p", "c"),
            [node("n0")],
            make_csi_node("n0", {driver: 1}),
            make_claim("c", volume="v"),
            make_volume("v", driver=driver),
            make_claim("d", volume="w"),
            of_kind(make_volume("w"), gce_persistent_disk=disk),
            make_attachment("a", node="n0", volume="w", attacher=driver),
            pods=pods,
        ).reasons()

    assert reasons() == [()]
    assert reasons(pod_with("there", "d", node="n0")) == [TOO_MANY]


def test_the_handle_of_a_volume_of_csi_is_its_own() -> None:
    """Nothing is translated."""
    volume = make_volume("v", driver="csi.example.com")

    assert csi_of_volume(volume) == CSIVolume(driver="csi.example.com", volume_handle="v")
