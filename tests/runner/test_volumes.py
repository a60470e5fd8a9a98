"""Volumes bound against an API server over HTTP: what is written, waited for, and taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.api_proxy import ApiProxy
from tests.runner.conftest import Cluster
from tests.runner.test_preemption import priority_class
from tests.runner.test_runner import eventually

import moorage
from moorage.embedded import EmbeddedApiServer
from moorage_builtin.default_preemption import DefaultPreemption
from moorage_builtin.volume_binding import VolumeBinding, VolumeBindingArgs
from moorage_builtin.volume_restrictions import VolumeRestrictions

HOST = "kubernetes.io/hostname"
BOUND = "pv.kubernetes.io/bind-completed"
SELECTED = "volume.kubernetes.io/selected-node"


class HastyArgs(VolumeBindingArgs):
    """Arguments with a short patience."""

    bind_timeout_seconds: int = 1


class Hasty(VolumeBinding):
    """VolumeBinding that waits a second."""

    Args = HastyArgs


class RestlessArgs(VolumeBindingArgs):
    """Arguments without any patience."""

    bind_timeout_seconds: int = 0


class Restless(VolumeBinding):
    """VolumeBinding that does not wait."""

    Args = RestlessArgs


@pytest.fixture
async def alone() -> AsyncIterator[Cluster]:
    """Start an API server without a stand-in for the volume controller."""
    async with EmbeddedApiServer(volumes=False) as server, ApiProxy(server.url) as proxy:
        yield Cluster(server, proxy)


def create(cluster: Cluster, kind: str, name: str, **parts: Any) -> None:  # noqa: ANN401 - JSON
    """Create an object."""
    api_version = "storage.k8s.io/v1" if kind in {"StorageClass", "CSINode"} else "v1"
    metadata = {"name": name, **parts.pop("metadata", {})}
    cluster.store.create({"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts})


def storage_class(cluster: Cluster, provisioner: str) -> None:
    """Create the class ``wait``."""
    create(
        cluster,
        "StorageClass",
        "wait",
        provisioner=provisioner,
        volumeBindingMode="WaitForFirstConsumer",
    )


def volume(cluster: Cluster, name: str, host: str) -> None:
    """Create a volume on a node, which is ready to be bound."""
    needed = {"key": HOST, "operator": "In", "values": [host]}
    spec = {
        "capacity": {"storage": "5Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "wait",
        "local": {"path": "/mnt"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [needed]}]}},
    }
    create(cluster, "PersistentVolume", name, spec=spec)
    status = {"status": {"phase": "Available"}}
    cluster.store.patch("persistentvolumes", name, status, subresource="status")


def local_volume(cluster: Cluster) -> None:
    """Create node n0 with a volume, v, which nobody but the scheduler gives to a claim."""
    cluster.node("n0", labels={HOST: "n0"})
    storage_class(cluster, "kubernetes.io/no-provisioner")
    volume(cluster, "v", "n0")


def claim(
    cluster: Cluster,
    name: str,
    *,
    mode: str = "ReadWriteOnce",
    annotations: dict[str, str] | None = None,
) -> None:
    """Create a claim of the class ``wait``."""
    metadata = {"namespace": "default", "annotations": annotations or {}}
    spec = {
        "accessModes": [mode],
        "storageClassName": "wait",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    create(cluster, "PersistentVolumeClaim", name, metadata=metadata, spec=spec)


def pod(cluster: Cluster, name: str, claim_name: str, **spec: Any) -> None:  # noqa: ANN401 - JSON
    """Create a pod that uses a claim."""
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim_name}}]
    cluster.pod(name, cpu="100m", volumes=volumes, **spec)


def claim_of(cluster: Cluster, name: str) -> dict[str, Any]:
    """Return a claim."""
    return cluster.store.get("persistentvolumeclaims", name, namespace="default")


def volume_of(cluster: Cluster, name: str) -> dict[str, Any]:
    """Return a volume."""
    return cluster.store.get("persistentvolumes", name)


def finish(cluster: Cluster, name: str, volume_name: str) -> None:
    """Bind a claim, as the volume controller would."""
    patch = {
        "metadata": {"annotations": {BOUND: "yes"}},
        "spec": {"volumeName": volume_name},
    }
    cluster.store.patch("persistentvolumeclaims", name, patch, namespace="default")


async def test_a_volume_that_is_there_is_written_to_and_the_claim_is_bound(
    cluster: Cluster,
) -> None:
    """On the node that reaches it; of the volume only the claim and the annotation are written."""
    for name in ("n0", "n1"):
        cluster.node(name, labels={HOST: name})
    storage_class(cluster, "kubernetes.io/no-provisioner")
    volume(cluster, "v", "n1")
    claim(cluster, "c")
    pod(cluster, "p", "c")

    await cluster.until_idle(VolumeBinding=VolumeBinding)

    (body,) = cluster.proxy.bodies("PATCH", "/persistentvolumes/v")
    uid = claim_of(cluster, "c")["metadata"]["uid"]
    assert cluster.node_of("p") == "n1"
    assert cluster.get("p")["status"]["phase"] == "Running"
    assert body["metadata"].keys() == {"resourceVersion", "annotations"}
    assert body["spec"].keys() == {"claimRef"}
    assert body["spec"]["claimRef"]["uid"] == uid
    assert claim_of(cluster, "c")["status"]["phase"] == "Bound"
    assert volume_of(cluster, "v")["spec"]["claimRef"]["uid"] == uid


async def test_a_volume_is_made_for_the_node_that_was_chosen(cluster: Cluster) -> None:
    """The claim is told of the node, in one annotation; the volume is reached from there alone."""
    cluster.node("n0", labels={"zone": "z-a"})
    driver = {"name": "csi.example.com", "nodeID": "n0", "topologyKeys": ["zone"]}
    create(cluster, "CSINode", "n0", spec={"drivers": [driver]})
    storage_class(cluster, "csi.example.com")
    claim(cluster, "c")
    pod(cluster, "p", "c")

    await cluster.until_idle(VolumeBinding=VolumeBinding)

    (body,) = cluster.proxy.bodies("PATCH", "/persistentvolumeclaims/c")
    made = volume_of(cluster, claim_of(cluster, "c")["spec"]["volumeName"])
    (term,) = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert body["metadata"]["annotations"] == {SELECTED: "n0"}
    assert term["matchExpressions"] == [{"key": "zone", "operator": "In", "values": ["z-a"]}]
    assert cluster.node_of("p") == "n0"


async def test_a_pod_is_not_bound_before_its_claim_is(alone: Cluster) -> None:
    """It waits for the volume controller, and goes on as soon as that is done."""
    local_volume(alone)
    claim(alone, "c")
    pod(alone, "p", "c")

    async with alone.running(alone.runner(VolumeBinding=VolumeBinding)):
        await eventually(lambda: "claimRef" in volume_of(alone, "v")["spec"])
        assert alone.node_of("p") == ""
        finish(alone, "c", "v")
        await eventually(lambda: alone.node_of("p") == "n0")


async def test_without_patience_a_claim_is_bound_and_its_pod_is_tried_again(
    alone: Cluster,
) -> None:
    """The first attempt writes which volume it gets; a later one finds it bound."""
    local_volume(alone)
    claim(alone, "c")
    pod(alone, "p", "c")

    async with alone.running(alone.runner(VolumeBinding=Restless)):
        await eventually(lambda: "within 0 seconds" in alone.condition("p").get("message", ""))
        assert "claimRef" in volume_of(alone, "v")["spec"]
        finish(alone, "c", "v")
        await eventually(lambda: alone.node_of("p") == "n0")


async def test_a_pod_whose_claim_is_not_bound_in_time_is_tried_again(alone: Cluster) -> None:
    """Its condition names the claim; what was written stands, and is used the next time."""
    local_volume(alone)
    claim(alone, "c")
    pod(alone, "p", "c")

    async with alone.running(alone.runner(VolumeBinding=Hasty)):
        await eventually(lambda: alone.condition("p").get("reason") == "SchedulerError")
        message = alone.condition("p")["message"]
        finish(alone, "c", "v")
        await eventually(lambda: alone.node_of("p") == "n0")

    assert message == (
        'running PreBind plugin "VolumeBinding": binding volumes: not bound within 1 seconds: '
        "default/c"
    )
    assert len(alone.proxy.bodies("PATCH", "/persistentvolumes/v")) == 1


async def test_claim_that_is_not_bound_in_time_counts_as_a_fault(alone: Cluster) -> None:
    """Of binding; one that is bound does not count."""
    local_volume(alone)
    claim(alone, "c")
    pod(alone, "p", "c")
    runner = alone.runner(VolumeBinding=Hasty)

    async with alone.running(runner):
        await eventually(lambda: alone.condition("p").get("reason") == "SchedulerError")
        finish(alone, "c", "v")
        await eventually(lambda: alone.node_of("p") == "n0")

    counted = runner.session.services.metrics.scheduling.volume_errors
    assert [counted.value(one) for one in ("predicate", "assume", "bind")] == [0, 0, 1]


@pytest.mark.parametrize(
    ("annotations", "problem"),
    [
        pytest.param({"other": "kept"}, "provisioning failed for PVC", id="others are left"),
        pytest.param({}, "selectedNode annotation reset for PVC", id="none are left"),
    ],
)
async def test_a_provisioner_that_gives_up_has_the_pod_placed_anew(
    alone: Cluster, annotations: dict[str, str], problem: str
) -> None:
    """It takes the selected node away; then every node may be chosen again."""
    alone.node("n0")
    storage_class(alone, "csi.example.com")
    claim(alone, "c", annotations=annotations)
    pod(alone, "p", "c")

    def selected() -> str:
        annotations = claim_of(alone, "c")["metadata"].get("annotations", {})
        return str(annotations.get(SELECTED, ""))

    async with alone.running(alone.runner(VolumeBinding=VolumeBinding)):
        await eventually(lambda: selected() == "n0")
        patch = {"metadata": {"annotations": {SELECTED: None}}}
        alone.store.patch("persistentvolumeclaims", "c", patch, namespace="default")
        expected = f'running PreBind plugin "VolumeBinding": binding volumes: {problem} "c"'
        await eventually(lambda: alone.condition("p").get("message", "") == expected)
        await eventually(lambda: selected() == "n0")


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        pytest.param(
            ("persistentvolumes", "v", ""),
            'failed to check binding: could not find v1.PersistentVolume "v"',
            id="the volume",
        ),
        pytest.param(
            ("persistentvolumeclaims", "c", "default"),
            'failed to check binding: could not find v1.PersistentVolumeClaim "default/c"',
            id="the claim",
        ),
    ],
)
async def test_what_goes_while_it_is_being_bound_is_named(
    alone: Cluster, where: tuple[str, str, str], problem: str
) -> None:
    """In the pod's condition."""
    local_volume(alone)
    claim(alone, "c")
    pod(alone, "p", "c")
    kind, name, namespace = where

    async with alone.running(alone.runner(VolumeBinding=VolumeBinding)):
        await eventually(lambda: "claimRef" in volume_of(alone, "v")["spec"])
        alone.store.delete(kind, name, namespace=namespace)
        expected = f'running PreBind plugin "VolumeBinding": binding volumes: {problem}'
        await eventually(lambda: alone.condition("p").get("message", "") == expected)


async def test_a_volume_that_was_kept_for_a_claim_is_not_marked_as_chosen(alone: Cluster) -> None:
    """So that the volume controller leaves it to that claim's name."""
    local_volume(alone)
    kept = {"spec": {"claimRef": {"namespace": "default", "name": "c"}}}
    alone.store.patch("persistentvolumes", "v", kept)
    claim(alone, "c")
    pod(alone, "p", "c")

    async with alone.running(alone.runner(VolumeBinding=VolumeBinding)):
        await eventually(lambda: "uid" in volume_of(alone, "v")["spec"]["claimRef"])

    assert "annotations" not in volume_of(alone, "v")["metadata"]


async def test_a_pod_that_is_deleted_on_its_way_leaves_its_volume_to_others(
    alone: Cluster,
) -> None:
    """Once its write has failed, without any event about the volume."""
    local_volume(alone)
    claim(alone, "c")
    claim(alone, "d")
    pod(alone, "p", "c")
    held = alone.proxy.hold("PATCH", "/persistentvolumes/v")
    alone.proxy.refuse("PATCH", "/persistentvolumes/v", 409, "Conflict")

    async with alone.running(alone.runner(VolumeBinding=VolumeBinding)):
        await eventually(lambda: bool(alone.proxy.bodies("PATCH", "/persistentvolumes/v")))
        pod(alone, "q", "d")
        await eventually(lambda: alone.condition("q").get("reason") == "Unschedulable")
        alone.store.delete("pods", "p", namespace="default", grace_seconds=0)
        held.set()
        await eventually(
            lambda: (volume_of(alone, "v")["spec"].get("claimRef") or {}).get("name") == "d"
        )


async def test_a_pod_makes_room_by_ending_the_one_that_has_its_claim(cluster: Cluster) -> None:
    """A claim for one pod alone: the less important pod gives it up, on whatever node it is."""
    cluster.node("n0")
    storage_class(cluster, "csi.example.com")
    claim(cluster, "c", mode="ReadWriteOncePod")
    priority_class(cluster, "high", 1000)
    pod(cluster, "low", "c", terminationGracePeriodSeconds=0)
    plugins: dict[str, type[moorage.Plugin]] = {
        "Restrictions": VolumeRestrictions,
        "VolumeBinding": VolumeBinding,
        "Preemption": DefaultPreemption,
    }

    async with cluster.running(cluster.runner(**plugins)):
        await eventually(lambda: cluster.node_of("low") == "n0")
        pod(cluster, "second", "c")
        await eventually(lambda: "already in-use" in cluster.condition("second").get("message", ""))
        pod(cluster, "important", "c", priorityClassName="high")
        await eventually(lambda: cluster.node_of("important") == "n0")

    names = {one["metadata"]["name"] for one in cluster.store.list("pods")}
    assert names == {"important", "second"}
    assert cluster.node_of("second") == ""


async def test_a_class_that_is_made_later_brings_its_pods_back(cluster: Cluster) -> None:
    """The pod says which class it lacks, and waits for it."""
    cluster.node("n0")
    claim(cluster, "c")
    pod(cluster, "p", "c")

    async with cluster.running(cluster.runner(VolumeBinding=VolumeBinding)):
        await eventually(lambda: 'storageclass "wait"' in cluster.condition("p").get("message", ""))
        storage_class(cluster, "csi.example.com")
        await eventually(lambda: cluster.node_of("p") == "n0")


@pytest.mark.parametrize("left", [None, {"namespace": "default", "name": "c"}])
async def test_a_volume_that_is_let_go_has_the_pod_placed_anew(
    alone: Cluster, left: dict[str, str] | None
) -> None:
    """The volume controller takes the claim out, or its uid where a user kept the volume for it."""
    local_volume(alone)
    if left is not None:
        alone.store.patch("persistentvolumes", "v", {"spec": {"claimRef": left}})
    claim(alone, "c")
    pod(alone, "p", "c")

    async with alone.running(alone.runner(VolumeBinding=VolumeBinding)):
        await eventually(lambda: "uid" in (volume_of(alone, "v")["spec"].get("claimRef") or {}))
        reset = None if left is None else {"uid": None}
        alone.store.patch("persistentvolumes", "v", {"spec": {"claimRef": reset}})
        expected = (
            'running PreBind plugin "VolumeBinding": binding volumes: ClaimRef got reset for pv "v"'
        )
        await eventually(lambda: alone.condition("p").get("message", "") == expected)
