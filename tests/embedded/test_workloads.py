"""The stand-in for the workload controllers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from moorage.embedded import EmbeddedApiServer, apply_manifests

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import aiohttp


def workload(kind: str, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 - any field of a spec
    """Return a workload named ``w`` whose pods are labelled ``app: w``."""
    template = {
        "metadata": {"labels": {"app": "w"}, "annotations": {"note": "kept"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "w"}}, "template": template, **spec},
    }


async def pods_of(server: EmbeddedApiServer, *items: dict[str, Any]) -> list[dict[str, Any]]:
    """Apply objects; return all pods."""
    await apply_manifests(server.store, items)
    return server.store.list("pods")


async def test_a_deployment_gets_its_pods_through_a_replica_set(server: EmbeddedApiServer) -> None:
    """Named after the hash of the template, labelled with it, and owned."""
    pods = await pods_of(server, workload("Deployment", replicas=3))
    [replica_set] = server.store.list("replicasets.apps")
    assert replica_set["metadata"]["ownerReferences"][0]["kind"] == "Deployment"
    assert replica_set["metadata"]["name"].startswith("w-")
    assert len(pods) == 3
    for pod in pods:
        metadata = pod["metadata"]
        assert metadata["name"].startswith(replica_set["metadata"]["name"] + "-")
        assert metadata["labels"] == replica_set["spec"]["selector"]["matchLabels"]
        assert metadata["annotations"] == {"note": "kept"}
        assert metadata["ownerReferences"] == [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": replica_set["metadata"]["name"],
                "uid": replica_set["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]


async def test_a_replica_set_has_one_pod_unless_it_says_otherwise(
    server: EmbeddedApiServer,
) -> None:
    """The API's default."""
    assert len(await pods_of(server, workload("ReplicaSet"))) == 1


async def test_a_stateful_set_numbers_its_pods_and_claims(server: EmbeddedApiServer) -> None:
    """Each pod mounts a claim of its own, made from the template."""
    item = workload(
        "StatefulSet", replicas=2, volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {}}]
    )
    container = item["spec"]["template"]["spec"]["containers"][0]
    container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    pods = await pods_of(server, item)
    claims = server.store.list("persistentvolumeclaims")
    assert [pod["metadata"]["name"] for pod in pods] == ["w-0", "w-1"]
    assert [claim["metadata"]["name"] for claim in claims] == ["data-w-0", "data-w-1"]
    source = {"persistentVolumeClaim": {"claimName": "data-w-1"}}
    assert pods[1]["spec"]["volumes"] == [{"name": "data", **source}]


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        pytest.param({}, 1, id="by default"),
        pytest.param({"parallelism": 3}, 3, id="parallelism"),
        pytest.param({"parallelism": 3, "completions": 2}, 2, id="fewer completions"),
    ],
)
async def test_a_job_gets_what_runs_at_once(
    spec: dict[str, int], count: int, server: EmbeddedApiServer
) -> None:
    """As many as its parallelism, no more than are to complete."""
    item = workload("Job", **spec)
    item["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    pods = await pods_of(server, item)
    assert len(pods) == count
    assert pods[0]["metadata"]["labels"]["job-name"] == "w"


async def test_a_daemon_set_gets_a_pod_for_each_node(server: EmbeddedApiServer) -> None:
    """Held to its node by affinity, wherever the nodes stand in the manifests."""
    nodes = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} for name in "ab"]
    pods = await pods_of(server, workload("DaemonSet"), *nodes)
    held = [
        pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        for pod in pods
    ]
    names = [one["nodeSelectorTerms"][0]["matchFields"][0]["values"] for one in held]
    assert sorted(names) == [["a"], ["b"]]


async def test_a_workload_whose_pods_are_given_gets_no_more(
    server: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """As in a dump of a whole cluster."""
    pod = make_pod("w-0")
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "w", "uid": "u"}
    pod["metadata"]["ownerReferences"] = [owner]
    pods = await pods_of(server, workload("StatefulSet", replicas=5), pod)
    assert [one["metadata"]["name"] for one in pods] == ["w-0"]


SETS = "/apis/apps/v1/namespaces/default"


def names_of(server: EmbeddedApiServer, plural: str) -> list[str]:
    """Return the names of what is stored."""
    return [item["metadata"]["name"] for item in server.store.list(plural)]


@pytest.mark.parametrize("by", ["nodeSelector", "affinity"])
async def test_a_daemon_set_leaves_nodes_out_that_would_not_let_it_in(
    by: str, server: EmbeddedApiServer
) -> None:
    """Those with other labels, and with taints that it does not tolerate: no pod waits for them."""
    nodes = [_node(name, labels={"disk": "ssd"}) for name in ("labelled", "tainted")]
    nodes += [_node(name, labels={"disk": "ssd"}) for name in ("tolerable", "preferred")]
    nodes.append(_node("other", labels={"disk": "hdd"}))
    for one, taint in (("tainted", "NoSchedule"), ("preferred", "PreferNoSchedule")):
        _taint(nodes, one, {"key": "shut", "effect": taint})
    _taint(nodes, "tolerable", {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    item = workload("DaemonSet")
    item["spec"]["template"]["spec"][by] = _only_ssd(by)

    pods = await pods_of(server, item, *nodes)

    held = [
        pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        for pod in pods
    ]
    names = [one["nodeSelectorTerms"][0]["matchFields"][0]["values"][0] for one in held]
    assert sorted(names) == ["labelled", "preferred", "tolerable"]


def _node(name: str, *, labels: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def _taint(nodes: list[dict[str, Any]], name: str, taint: dict[str, str]) -> None:
    [node] = [one for one in nodes if one["metadata"]["name"] == name]
    node["spec"] = {"taints": [taint]}


def _only_ssd(by: str) -> dict[str, Any]:
    if by == "nodeSelector":
        return {"disk": "ssd"}
    term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    required = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


@pytest.mark.parametrize(
    ("method", "path", "content_type"),
    [
        pytest.param("POST", "deployments", "application/json", id="created"),
        pytest.param("PATCH", "deployments/w", "application/apply-patch+yaml", id="applied"),
    ],
)
async def test_a_workload_that_comes_over_http_gets_its_pods_too(
    method: str,
    path: str,
    content_type: str,
    server: EmbeddedApiServer,
    api: Callable[..., Awaitable[tuple[int, Any]]],
) -> None:
    """As one of the manifests does: `kubectl apply` would seem to have done nothing."""
    item = workload("Deployment", replicas=2)

    code, _ = await api(method, f"{SETS}/{path}", item, content_type)

    assert code == 201
    assert len(names_of(server, "replicasets.apps")) == 1
    assert len(names_of(server, "pods")) == 2


@pytest.mark.parametrize("collection", [False, True])
async def test_what_a_workload_owns_goes_with_it(
    server: EmbeddedApiServer,
    api: Callable[..., Awaitable[tuple[int, Any]]],
    make_pod: Callable[..., dict[str, Any]],
    *,
    collection: bool,
) -> None:
    """As the garbage collector has it; what others own stays."""
    server.store.create(make_pod("alone"))
    await api("POST", f"{SETS}/deployments", workload("Deployment", replicas=2))

    code, _ = await api("DELETE", f"{SETS}/deployments" + ("" if collection else "/w"))

    assert code == 200
    assert names_of(server, "replicasets.apps") == []
    assert names_of(server, "pods") == ["alone"]


async def test_what_a_workload_owns_may_stay(
    server: EmbeddedApiServer, api: Callable[..., Awaitable[tuple[int, Any]]]
) -> None:
    """`kubectl delete --cascade=orphan`."""
    await api("POST", f"{SETS}/replicasets", workload("ReplicaSet", replicas=2))

    await api("DELETE", f"{SETS}/replicasets/w", {"propagationPolicy": "Orphan"})

    assert len(names_of(server, "pods")) == 2


async def test_pods_that_are_refused_are_told_in_a_warning(
    server: EmbeddedApiServer, session: aiohttp.ClientSession
) -> None:
    """The workload is there, as on a real server, and kubectl shows what is wrong with it."""
    item = workload("ReplicaSet")
    item["spec"]["template"]["spec"]["priorityClassName"] = "none"

    async with session.post(f"{server.url}{SETS}/replicasets", json=item) as response:
        warning = response.headers["Warning"]

    assert response.status == 201
    assert warning.startswith('299 - "ReplicaSet w: pods ')
    assert "no PriorityClass with name none was found" in warning
    assert names_of(server, "replicasets.apps") == ["w"]
