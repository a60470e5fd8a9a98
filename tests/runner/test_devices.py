"""Devices against an API server over HTTP: what is written into claims, and what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.runner.test_runner import eventually

from moorage_builtin.dynamic_resources import DynamicResources
from moorage_builtin.node_resources_fit import NodeResourcesFit

if TYPE_CHECKING:
    from tests.runner.conftest import Cluster

CLAIMS = "resourceclaims.resource.k8s.io"
PLUGINS: dict[str, Any] = {
    "NodeResourcesFit": NodeResourcesFit,
    "DynamicResources": DynamicResources,
}


def devices(cluster: Cluster, *names: str, **fields: Any) -> None:  # noqa: ANN401 - JSON
    """Create a node with devices, and a class that also goes by a resource."""
    cluster.node("n1")
    api = {"apiVersion": "resource.k8s.io/v1"}
    spec: dict[str, Any] = {
        "selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}],
        "extendedResourceName": "example.com/gpu",
    }
    cluster.store.create({**api, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": spec})
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    listed = [{"name": name, **fields} for name in names]
    spec = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, "devices": listed}
    cluster.store.create({**api, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec})


def claim(cluster: Cluster, name: str) -> None:
    """Create a claim for one device."""
    cluster.store.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": "default"},
            "spec": one_device(),
        }
    )


def one_device() -> dict[str, Any]:
    """Ask for one device."""
    return {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}


def uses(name: str) -> list[dict[str, str]]:
    """Use a claim."""
    return [{"name": "g", "resourceClaimName": name}]


def stored(cluster: Cluster, name: str) -> dict[str, Any]:
    """Return a claim."""
    return cluster.store.get(CLAIMS, name, namespace="default")


def device_of(item: dict[str, Any]) -> str:
    """Return the device of a claim that has one."""
    [result] = item["status"]["allocation"]["devices"]["results"]
    return str(result["device"])


async def test_claim_says_what_it_got_and_for_whom(cluster: Cluster) -> None:
    """Allocation, the node that it holds for, the pod; a finalizer guards it."""
    devices(cluster, "g0")
    claim(cluster, "c")
    cluster.pod("p", resourceClaims=uses("c"))

    await cluster.until_idle(**PLUGINS)

    item, pod = stored(cluster, "c"), cluster.get("p")
    assert pod["spec"]["nodeName"] == "n1"
    assert item["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    allocation = item["status"]["allocation"]
    assert allocation.pop("allocationTimestamp")
    assert allocation == {
        "devices": {
            "results": [{"request": "r", "driver": "gpu.example.com", "pool": "n1", "device": "g0"}]
        },
        "nodeSelector": {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
            ]
        },
    }
    assert item["status"]["reservedFor"] == [
        {"resource": "pods", "name": "p", "uid": pod["metadata"]["uid"]}
    ]


async def test_pods_share_a_claim(cluster: Cluster) -> None:
    """The second finds it allocated, and is added to its users."""
    devices(cluster, "g0")
    claim(cluster, "c")
    cluster.pod("p1", resourceClaims=uses("c"))
    cluster.pod("p2", resourceClaims=uses("c"))

    async with cluster.running(cluster.runner(**PLUGINS)):
        await eventually(lambda: cluster.node_of("p1") and cluster.node_of("p2"))

    users = stored(cluster, "c")["status"]["reservedFor"]
    assert {one["name"] for one in users} == {"p1", "p2"}


async def test_claims_come_from_templates_and_go_with_their_pods(cluster: Cluster) -> None:
    """And who waited for the device gets it then."""
    devices(cluster, "g0")
    reference = [{"name": "g", "resourceClaimTemplateName": "t"}]
    cluster.pod("first", resourceClaims=reference)
    async with cluster.running(cluster.runner(**PLUGINS)):
        await eventually(lambda: "not created yet" in cluster.condition("first").get("message", ""))
        cluster.store.create(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaimTemplate",
                "metadata": {"name": "t", "namespace": "default"},
                "spec": {"spec": one_device()},
            }
        )
        await eventually(lambda: cluster.node_of("first"))
        [made] = cluster.store.list(CLAIMS)
        assert made["metadata"]["name"].startswith("first-g-")
        cluster.pod("second", resourceClaims=reference)
        await eventually(
            lambda: "cannot allocate" in cluster.condition("second").get("message", "")
        )
        cluster.store.delete("pods", "first", namespace="default", grace_seconds=0)
        await eventually(lambda: cluster.node_of("second"))
    [made] = cluster.store.list(CLAIMS)
    assert made["metadata"]["name"].startswith("second-g-")
    assert device_of(made) == "g0"


async def test_resources_that_stand_for_devices(cluster: Cluster) -> None:
    """A claim is made for the pod, which is told which request serves which container."""
    devices(cluster, "g0", "g1", "g2")
    amounts = {"example.com/gpu": "2"}
    container = {
        "name": "c",
        "image": "app:v1",
        "resources": {"requests": amounts, "limits": amounts},
    }
    cluster.pod("p", containers=[container])
    cluster.pod("q", containers=[container])

    await cluster.until_idle(**PLUGINS)

    [made] = cluster.store.list(CLAIMS)
    bound = "p" if cluster.node_of("p") else "q"
    other = "q" if bound == "p" else "p"
    assert len(made["status"]["allocation"]["devices"]["results"]) == 2
    assert made["metadata"]["annotations"] == {
        "resource.kubernetes.io/extended-resource-claim": "true"
    }
    assert cluster.get(bound)["status"]["extendedResourceClaimStatus"] == {
        "requestMappings": [
            {
                "containerName": "c",
                "resourceName": "example.com/gpu",
                "requestName": "container-0-request-0",
            }
        ],
        "resourceClaimName": made["metadata"]["name"],
    }
    assert "1 cannot allocate all claims" in cluster.condition(other)["message"]


async def test_claims_made_for_resources_are_counted(cluster: Cluster) -> None:
    """Also those that the API server refused."""
    devices(cluster, "g0")
    resources = {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}
    cluster.pod("p", containers=[{"name": "c", "image": "i", "resources": resources}])
    cluster.proxy.refuse("POST", "/resourceclaims", 403, "Forbidden")
    runner = await cluster.until_idle(**PLUGINS)
    assert cluster.node_of("p") == "n1"
    counted = runner.session.services.metrics.scheduling.claims_created
    assert (counted.value("failure"), counted.value("success")) == (1, 1)


async def test_lost_answer_is_found_out_by_reading(cluster: Cluster) -> None:
    """A 500 tells nothing; the claim is read, and written again."""
    devices(cluster, "g0")
    claim(cluster, "c")
    cluster.proxy.refuse("PATCH", "/c/status", 500, "InternalError")
    cluster.pod("p", resourceClaims=uses("c"))

    async with cluster.running(cluster.runner(**PLUGINS)):
        await eventually(lambda: cluster.node_of("p"))

    assert len(cluster.proxy.bodies("PATCH", "/c/status")) == 2


async def test_refused_write_gives_the_device_back(cluster: Cluster) -> None:
    """The pod is tried again after its backoff, and says why until then."""
    devices(cluster, "g0")
    claim(cluster, "c")
    claim(cluster, "other")
    cluster.proxy.refuse("PATCH", "/c/status", 403, "Forbidden", times=100)
    cluster.pod("p", resourceClaims=uses("c"))

    async with cluster.running(cluster.runner(**PLUGINS)):
        await eventually(lambda: cluster.condition("p").get("reason") == "SchedulerError")
        cluster.pod("q", resourceClaims=uses("other"))
        await eventually(lambda: cluster.node_of("q"))

    assert device_of(stored(cluster, "other")) == "g0"
    assert "allocation" not in stored(cluster, "c")["status"]


async def test_pod_waits_until_its_devices_are_ready(cluster: Cluster) -> None:
    """And is bound when their driver says so."""
    devices(cluster, "g0", bindingConditions=["Attached"], bindingFailureConditions=["Failed"])
    claim(cluster, "c")
    cluster.pod("p", resourceClaims=uses("c"))

    async with cluster.running(cluster.runner(**PLUGINS)):
        await eventually(lambda: stored(cluster, "c")["status"].get("allocation"))
        assert not cluster.node_of("p")
        report(cluster, "c", "Attached")
        await eventually(lambda: cluster.node_of("p"))


async def test_devices_that_fail_are_given_back(cluster: Cluster) -> None:
    """The pod is tried with another device."""
    devices(
        cluster, "g0", "g1", bindingConditions=["Attached"], bindingFailureConditions=["Failed"]
    )
    claim(cluster, "c")
    cluster.pod("p", resourceClaims=uses("c"))

    async with cluster.running(cluster.runner(**PLUGINS)):
        await eventually(lambda: stored(cluster, "c")["status"].get("allocation"))
        report(cluster, "c", "Failed")
        await eventually(
            lambda: "device binding failed: claim=c" in cluster.condition("p").get("message", "")
        )
        await eventually(lambda: not stored(cluster, "c")["status"].get("devices"))
        await eventually(lambda: stored(cluster, "c")["status"].get("allocation"))
        report(cluster, "c", "Attached")
        await eventually(lambda: cluster.node_of("p"))


def report(cluster: Cluster, name: str, condition: str) -> None:
    """Report a condition of a claim's device, as its driver."""
    item = stored(cluster, name)
    [result] = item["status"]["allocation"]["devices"]["results"]
    reported = {key: result[key] for key in ("driver", "pool", "device")}
    reported["conditions"] = [
        {"type": condition, "status": "True", "reason": "Said", "message": "so"}
    ]
    patch = {"status": {"devices": [reported]}}
    cluster.store.patch(
        CLAIMS, name, patch, namespace="default", kind="merge", subresource="status"
    )
