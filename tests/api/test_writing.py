"""What is written to pods, against what a kube-scheduler wrote; and answers that get lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from moorage.api.writing import Condition, bind, delete_pod, patch_pod_status, pod_status_patch
from moorage.errors import ApiError, LostAnswerError, UnreachableError

if TYPE_CHECKING:
    from tests.api.conftest import FakeServer, Naps

    from moorage.api.client import ApiClient

POD = "/api/v1/namespaces/default/pods/p"
UID = "9124ac9e-5f24-4145-b133-5bf1cb3b4023"
SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def writes(wire: list[dict[str, Any]], path_end: str) -> list[dict[str, Any]]:
    """Return the recorded writes to paths with an ending."""
    found = [write for write in wire if write["path"].endswith(path_end)]
    assert found
    return found


def pod(*, uid: str = UID, node: str | None = None) -> dict[str, Any]:
    """Make a pod as a server returns it."""
    spec = {"nodeName": node} if node else {}
    return {"kind": "Pod", "metadata": {"name": "p", "uid": uid}, "spec": spec}


async def bind_p(client: ApiClient, naps: Naps) -> None:
    """Bind the pod of these tests to node n1."""
    await bind(client, namespace="default", name="p", uid=UID, node="n1", sleep=naps)


def condition_of(recorded: dict[str, Any]) -> Condition:
    """Make a condition of plain values out of a recorded one."""
    [body] = recorded["body"]["status"]["conditions"]
    return Condition(
        type=body["type"],
        status=body["status"],
        reason=body["reason"],
        message=body["message"],
        observed_generation=body["observedGeneration"],
        last_transition_time=body["lastTransitionTime"],
    )


async def test_bindings_equal_the_recorded_ones(
    server: FakeServer, client: ApiClient, naps: Naps, wire: list[dict[str, Any]]
) -> None:
    """Path and body, down to the order of fields."""
    for recorded in writes(wire, "/binding"):
        server.on("POST", recorded["path"], server.json(SUCCESS, status=201))
        meta = recorded["body"]["metadata"]
        await bind(client, **meta, node=recorded["body"]["target"]["name"], sleep=naps)
        assert json.dumps(server.asked[-1].body) == json.dumps(recorded["body"])


async def test_status_patches_equal_the_recorded_ones(
    server: FakeServer, client: ApiClient, wire: list[dict[str, Any]]
) -> None:
    """A first condition, one with a nomination, and a second condition beside the first."""
    never, high, low2 = writes(wire, "/status")
    refused = [Condition(type="PodScheduled", status="True")]
    patches = [
        pod_status_patch([], condition_of(never)),
        pod_status_patch([], condition_of(high), nominated_node_name="n2"),
        pod_status_patch(refused, condition_of(low2)),
    ]
    for recorded, patch in zip((never, high, low2), patches, strict=True):
        assert patch is not None
        server.on("PATCH", recorded["path"], server.json({}))
        name = recorded["path"].split("/")[-2]
        await patch_pod_status(client, namespace="default", name=name, patch=patch)
        assert json.dumps(server.asked[-1].body) == json.dumps(recorded["body"])
        content_type = server.asked[-1].headers["Content-Type"]
        assert content_type == "application/strategic-merge-patch+json"


async def test_deletion_equals_the_recorded_one(
    server: FakeServer, client: ApiClient, wire: list[dict[str, Any]]
) -> None:
    """The audit log recorded its internal version; on the wire it is the API's."""
    [recorded] = [write for write in wire if write["verb"] == "delete"]
    server.on("DELETE", recorded["path"], server.json({}))
    await delete_pod(client, namespace="default", name=recorded["path"].split("/")[-1])
    assert server.asked[-1].body == recorded["body"] | {"apiVersion": "v1"}


async def test_deletion_of_one_pod_and_no_namesake(server: FakeServer, client: ApiClient) -> None:
    """With a uid, the server checks that it is that pod."""
    server.on("DELETE", POD, server.json({}))
    await delete_pod(client, namespace="default", name="p", uid=UID)
    assert server.asked[-1].body["preconditions"] == {"uid": UID}


def test_no_patch_where_nothing_changed() -> None:
    """The same refusal again is not written again."""
    before = Condition(type="PodScheduled", status="False", reason="R", message="m")
    again = Condition(
        type="PodScheduled",
        status="False",
        reason="R",
        message="m",
        last_transition_time="2026-11-30T18:21:48Z",
        observed_generation=2,
    )
    assert pod_status_patch([before], again) is None
    assert pod_status_patch([before], again, nominated_node_name="n", nominated_before="n") is None


def test_patch_of_a_condition_that_is_there_holds_what_changed() -> None:
    """Another message, the same status: the time of transition stays, the rest is not repeated."""
    before = Condition(type="PodScheduled", status="False", reason="R", message="old")
    other = Condition(type="DisruptionTarget", status="True")
    after = Condition(
        type="PodScheduled",
        status="False",
        reason="R",
        message="new",
        last_transition_time="2026-11-30T18:21:48Z",
        observed_generation=1,
    )
    assert pod_status_patch([before, other], after) == {
        "status": {
            "$setElementOrder/conditions": [{"type": "PodScheduled"}, {"type": "DisruptionTarget"}],
            "conditions": [{"message": "new", "observedGeneration": 1, "type": "PodScheduled"}],
        }
    }


def test_patch_of_a_status_that_changed_moves_the_time() -> None:
    """Another status comes with its time; a reason that went is taken away."""
    before = Condition(type="PodScheduled", status="False", reason="R", message="m")
    after = Condition(
        type="PodScheduled",
        status="True",
        message="m",
        last_transition_time="2026-11-30T18:21:48Z",
    )
    assert pod_status_patch([before], after) == {
        "status": {
            "$setElementOrder/conditions": [{"type": "PodScheduled"}],
            "conditions": [
                {
                    "lastTransitionTime": "2026-11-30T18:21:48Z",
                    "reason": None,
                    "status": "True",
                    "type": "PodScheduled",
                }
            ],
        }
    }


def test_nomination_alone_and_its_removal() -> None:
    """A nomination may come or go without a condition."""
    assert pod_status_patch([], nominated_node_name="n") == {"status": {"nominatedNodeName": "n"}}
    assert pod_status_patch([], nominated_node_name="", nominated_before="n") == {
        "status": {"nominatedNodeName": None}
    }
    assert pod_status_patch([], nominated_node_name=None, nominated_before="n") is None


async def test_lost_answer_of_a_binding_that_happened(
    server: FakeServer, client: ApiClient, naps: Naps
) -> None:
    """The pod is read: it is where it should be, and the binding is not sent again."""
    server.on("POST", f"{POD}/binding", server.break_off())
    server.on("GET", POD, server.json(pod(node="n1")))
    await bind_p(client, naps)
    assert len(server.requests("POST")) == 1


async def test_lost_answer_of_a_binding_that_did_not_happen(
    server: FakeServer, client: ApiClient, naps: Naps
) -> None:
    """The pod is still free: raised, for the queue to try anew; not sent again here."""
    server.on("POST", f"{POD}/binding", server.break_off())
    server.on("GET", POD, server.json(pod()))
    with pytest.raises(
        UnreachableError, match="the binding of pod default/p to node n1 did not happen"
    ) as caught:
        await bind_p(client, naps)
    assert not isinstance(caught.value, LostAnswerError)
    assert len(server.requests("POST")) == 1


async def test_lost_answer_while_another_bound_it(
    server: FakeServer, client: ApiClient, naps: Naps
) -> None:
    """On another node: a conflict, as the server would have said."""
    server.on("POST", f"{POD}/binding", server.break_off())
    server.on("GET", POD, server.json(pod(node="n2")))
    with pytest.raises(ApiError, match="came too late: it is on node n2") as caught:
        await bind_p(client, naps)
    assert (caught.value.code, caught.value.reason) == (409, "Conflict")


async def test_lost_answer_and_a_pod_that_is_gone(
    server: FakeServer, client: ApiClient, naps: Naps
) -> None:
    """Deleted meanwhile, or replaced by a namesake: neither is our pod."""
    server.on("POST", f"{POD}/binding", server.break_off())
    server.on("GET", POD, server.refuse(404, "NotFound"), server.json(pod(uid="other", node="n1")))
    with pytest.raises(ApiError) as caught:
        await bind_p(client, naps)
    assert caught.value.code == 404
    with pytest.raises(ApiError, match="was replaced by another"):
        await bind_p(client, naps)


async def test_lost_answer_from_a_server_that_restarts(
    server: FakeServer, client: ApiClient, naps: Naps
) -> None:
    """The question what happened is repeated until there is an answer."""
    server.on("POST", f"{POD}/binding", server.break_off())
    server.on("GET", POD, server.refuse(503), server.refuse(500), server.json(pod(node="n1")))
    await bind_p(client, naps)
    assert naps.taken == [0.0, 0.5, 1.0]


async def test_lost_answer_from_a_server_that_stays_away(
    server: FakeServer, client: ApiClient, naps: Naps, caplog: pytest.LogCaptureFixture
) -> None:
    """It is asked for ever, since who gives up frees a node that may be taken; a warning says so."""
    server.on("POST", f"{POD}/binding", server.break_off())
    away = [server.refuse(503), server.refuse(429)] * 6
    server.on("GET", POD, *away, server.json(pod(node="n1")))
    await bind_p(client, naps)
    assert naps.taken == [0.0, 0.5, 1.0, 2.0, 4.0, *[8.0] * 8]
    assert caplog.text.count("Nobody knows yet whether the binding of pod default/p") == 1
    assert len(server.requests("POST")) == 1


async def test_unclear_server_error_is_cleared_up(
    server: FakeServer, client: ApiClient, naps: Naps
) -> None:
    """A 504 says nothing about the store."""
    server.on("POST", f"{POD}/binding", server.refuse(504, "Timeout", "request did not complete"))
    server.on("GET", POD, server.json(pod(node="n1")), server.json(pod()))
    await bind_p(client, naps)
    with pytest.raises(ApiError, match="request did not complete"):
        await bind_p(client, naps)


async def test_conflict_with_our_own_binding_is_success(
    server: FakeServer, client: ApiClient, naps: Naps
) -> None:
    """A retry that the server asked for may find the first attempt done."""
    server.on(
        "POST",
        f"{POD}/binding",
        server.refuse(500, "ServerTimeout", retry_after=1),
        server.refuse(409, "Conflict", "already assigned"),
    )
    server.on("GET", POD, server.json(pod(node="n1")))
    await bind_p(client, naps)


@pytest.mark.parametrize(
    "found",
    [pod(node="n2"), pod(uid="other", node="n1"), pod()],
    ids=["elsewhere", "other", "free"],
)
async def test_conflict_with_another_is_said_as_the_server_says_it(
    server: FakeServer, client: ApiClient, naps: Naps, found: dict[str, Any]
) -> None:
    """It is what people know from kube-scheduler."""
    sentence = 'pod p is already assigned to node "n2"'
    server.on("POST", f"{POD}/binding", server.refuse(409, "Conflict", sentence))
    server.on("GET", POD, server.json(found))
    with pytest.raises(ApiError, match=sentence):
        await bind_p(client, naps)


async def test_refused_binding_is_raised_without_a_read(
    server: FakeServer, client: ApiClient, naps: Naps
) -> None:
    """What the server says clearly needs no second look."""
    server.on("POST", f"{POD}/binding", server.refuse(403, "Forbidden"))
    with pytest.raises(ApiError):
        await bind_p(client, naps)
    assert not server.requests("GET")
