"""The server as a whole: its address, kubeconfig, token, resources, and odd requests."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from moorage.embedded import EmbeddedApiServer, ManualClock
from moorage.errors import ApiError, MoorageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import aiohttp


async def test_a_port_in_use_is_one_sentence(server: EmbeddedApiServer) -> None:
    """It names the address and what to do."""
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(MoorageError, match=f"cannot listen on 127.0.0.1:{port} .*choose another"):
        async with EmbeddedApiServer(port=port):
            pass


@pytest.mark.parametrize("turns", range(5))
async def test_who_connects_while_the_server_closes_is_hung_up_on(turns: int) -> None:
    """However far the event loop has got with the connection; nobody is left waiting."""
    async with EmbeddedApiServer(
        kubelet=False, volumes=False, device_claims=False, disruption=False
    ) as server:
        client = socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])))
        for _ in range(turns):
            await asyncio.sleep(0)
    client.settimeout(1.0)
    with client, contextlib.suppress(ConnectionResetError):
        assert not client.recv(1)


async def test_the_kubeconfig_points_at_the_server() -> None:
    """With the token, where there is one."""
    async with EmbeddedApiServer(kubelet=False, token="secret") as server:  # noqa: S106 - a test's
        config = yaml.safe_load(server.kubeconfig())
    assert config["clusters"][0]["cluster"] == {"server": server.url}
    assert config["users"][0]["user"] == {"token": "secret"}
    assert config["current-context"] == config["contexts"][0]["name"]


async def test_the_initial_namespaces_are_there(server: EmbeddedApiServer) -> None:
    """Labelled with their names, as selectors of namespaces want it."""
    labels = {
        item["metadata"]["name"]: item["metadata"]["labels"]
        for item in server.store.list("namespaces")
    }
    assert set(labels) == {"default", "kube-node-lease", "kube-public", "kube-system"}
    assert labels["default"] == {"kubernetes.io/metadata.name": "default"}


async def test_a_custom_resource_can_be_added_while_the_server_runs(
    server: EmbeddedApiServer, api: Callable[..., Awaitable[tuple[int, Any]]]
) -> None:
    """It is discovered, stored and served like any other."""
    server.add_resource(group="example.com", version="v1", plural="boats", kind="Boat")
    path = "/apis/example.com/v1/namespaces/default/boats"
    status, boat = await api("POST", path, {"metadata": {"name": "b"}, "spec": {"sails": 2}})
    assert (status, boat["kind"], boat["spec"]) == (201, "Boat", {"sails": 2})
    assert (await api("GET", f"{path}/b"))[1] == boat
    listed = (await api("GET", "/apis/example.com/v1"))[1]["resources"]
    assert [one["name"] for one in listed] == ["boats", "boats/status"]


async def test_a_resource_is_added_once(server: EmbeddedApiServer) -> None:
    """The second registration is an error that names it."""
    with pytest.raises(MoorageError, match="already serves Pod of v1"):
        server.add_resource(group="", version="v1", plural="pods", kind="Pod")


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        pytest.param("PATCH", "/api/v1/pods", 405, id="a verb that a collection lacks"),
        pytest.param("POST", "/api/v1/pods", 405, id="create in all namespaces"),
        pytest.param("DELETE", "/api/v1/namespaces", 405, id="all namespaces at once"),
        pytest.param("GET", "/api/v1/namespaces/default/pods/a/logs", 404, id="no subresource"),
        pytest.param("GET", "/api/v1/pods/a", 404, id="a pod without a namespace"),
        pytest.param("GET", "/api/v1/namespaces/default/nodes", 404, id="a node in a namespace"),
        pytest.param("GET", "/api", 200, id="discovery"),
    ],
)
async def test_a_request_that_makes_no_sense_is_told_so(
    method: str,
    path: str,
    code: int,
    server: EmbeddedApiServer,
    session: aiohttp.ClientSession,
) -> None:
    """Never a 500."""
    async with session.request(method, server.url + path) as answer:
        assert answer.status == code


@pytest.mark.parametrize(
    ("content_type", "body", "code"),
    [
        pytest.param("application/vnd.kubernetes.protobuf", "k8s", 415, id="protobuf"),
        pytest.param("application/json", "[]", 400, id="no object"),
        pytest.param("application/json", "", 400, id="nothing"),
        pytest.param("application/json", '{"kind": "Node", "metadata": {}}', 400, id="other kind"),
        pytest.param("application/json", '{"metadata": []}', 400, id="metadata of the wrong type"),
        pytest.param("application/yaml", "a: [", 400, id="no YAML"),
    ],
)
async def test_a_body_that_makes_no_sense_is_told_so(
    content_type: str,
    body: str,
    code: int,
    api: Callable[..., Awaitable[tuple[int, Any]]],
) -> None:
    """With a Status."""
    path = "/api/v1/namespaces/default/pods"
    status, answer = await api("POST", path, body, content_type)
    assert (status, answer["kind"], answer["code"]) == (code, "Status", code)


async def test_yaml_is_read_where_it_is_sent(
    api: Callable[..., Awaitable[tuple[int, Any]]],
) -> None:
    """As ``kubectl apply --server-side`` may do."""
    body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n"
    path = "/api/v1/namespaces/default/configmaps/a?fieldManager=t"
    for data in ("v", "w"):
        status, answer = await api(
            "PATCH", path, body.replace("k: v", f"k: {data}"), "application/apply-patch+yaml"
        )
        assert (status, answer["data"]) == (201 if data == "v" else 200, {"k": data})


async def test_a_pod_of_an_unknown_priority_class_is_forbidden(
    server: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """The message names the class."""
    with pytest.raises(ApiError, match="no PriorityClass with name nope was found") as refusal:
        server.store.create(make_pod("a", priorityClassName="nope"))
    assert refusal.value.code == 403


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"priority": 7}, "the integer value of priority"),
        ({"preemptionPolicy": "Never"}, "the string value of PreemptionPolicy"),
    ],
)
async def test_a_pod_cannot_choose_its_priority_itself(
    spec: dict[str, Any],
    message: str,
    server: EmbeddedApiServer,
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """What its class says counts; saying the same is allowed."""
    server.store.create(make_pod("same", priority=0))
    with pytest.raises(ApiError, match=message) as refusal:
        server.store.create(make_pod("a", **spec))
    assert refusal.value.code == 403


async def test_a_default_priority_class_counts_for_pods_without_one(
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """Value and preemption policy are written into the pod."""
    store = EmbeddedApiServer(kubelet=False, clock=ManualClock()).store
    store.create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "usual"},
            "value": 5,
            "globalDefault": True,
            "preemptionPolicy": "Never",
        }
    )
    spec = store.create(make_pod("a"))["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("usual", 5)
    assert spec["preemptionPolicy"] == "Never"


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        pytest.param({}, "BestEffort", id="nothing"),
        pytest.param({"requests": {"cpu": "1"}}, "Burstable", id="a request"),
        pytest.param({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed", id="both limits"),
        pytest.param({"limits": {"cpu": "1"}}, "Burstable", id="one limit"),
    ],
)
async def test_the_quality_of_service_follows_from_the_resources(
    resources: dict[str, Any],
    expected: str,
    server: EmbeddedApiServer,
    make_pod: Callable[..., dict[str, Any]],
) -> None:
    """A limit counts as a request of as much."""
    container = {"name": "c", "image": "i", "resources": resources}
    pod = server.store.create(make_pod("a", containers=[container]))
    assert pod["status"]["qosClass"] == expected


async def test_a_host_network_takes_its_ports_from_the_node(
    server: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """A container's port is a host port then."""
    container = {"name": "c", "image": "i", "ports": [{"containerPort": 80}]}
    pod = server.store.create(make_pod("a", containers=[container], hostNetwork=True))
    ports = pod["spec"]["containers"][0]["ports"]
    assert ports == [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]


async def test_an_event_has_two_forms(
    server: EmbeddedApiServer, api: Callable[..., Awaitable[tuple[int, Any]]]
) -> None:
    """One that was created as core/v1 is served as events.k8s.io/v1 too."""
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
        "reason": "Scheduled",
        "message": "m",
        "count": 1,
    }
    server.store.create(event)
    path = "/apis/events.k8s.io/v1/namespaces/default/events/e"
    _status, body = await api("GET", path)
    assert (body["note"], body["regarding"]["name"], body["deprecatedCount"]) == ("m", "p", 1)
    assert "message" not in body
