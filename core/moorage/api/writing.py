"""All that a scheduler writes to pods: bindings, conditions and nominations, deletions.

Bodies are those of a recorded kube-scheduler 1.36 (``kube-scheduler-writes-1.36.json``), field by
field and in its order. Nothing is ever written back whole.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import contextmanager
from http import HTTPStatus
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec

from moorage.api.client import STRATEGIC_MERGE_PATCH
from moorage.api.resources import PODS
from moorage.errors import ApiError, LostAnswerError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from moorage.api.client import ApiClient

__all__ = ["Condition", "bind", "delete_pod", "patch_pod_status", "pod_status_patch"]

_logger = logging.getLogger(__name__)

_READ_DELAYS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each attempt to learn what became of a binding; the last one for all after it."""


class Condition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A condition of a pod as it is on the wire; times are RFC 3339 texts.

    Of a condition that is already there, only what is known needs to be filled in.
    """

    # The fields stand in the order of a Go map that is written as JSON, which a patch is.
    last_probe_time: None = None
    last_transition_time: str = ""
    message: str = ""
    observed_generation: int = 0
    reason: str = ""
    status: str
    type: str


class _PodMeta(msgspec.Struct, frozen=True):
    uid: str = ""


class _PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct, frozen=True):
    metadata: _PodMeta = _PodMeta()
    spec: _PodSpec = _PodSpec()


async def bind(
    client: ApiClient,
    *,
    namespace: str,
    name: str,
    uid: str,
    node: str,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Bind a pod to a node; return only when it is known to be bound there.

    Where no clear answer comes back, the pod is read to learn what happened; the binding is never
    sent again, and until the server can be asked this does not return. Raises ApiError where it is
    refused, or the pod is gone or on another node; UnreachableError where it is known not to have
    happened.
    """
    with _counted(client, "pod_binding"):
        await _bind(client, namespace=namespace, name=name, uid=uid, node=node, sleep=sleep)


async def _bind(
    client: ApiClient,
    *,
    namespace: str,
    name: str,
    uid: str,
    node: str,
    sleep: Callable[[float], Awaitable[None]],
) -> None:
    body = {
        "kind": "Binding",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": namespace, "uid": uid},
        "target": {"kind": "Node", "name": node},
    }
    try:
        await client.request("POST", PODS.path(namespace, name, "binding"), body=body)
    except LostAnswerError as error:
        await _settle(
            client, body, UnreachableError(f"{_what(body)} did not happen: {error}"), sleep
        )
    except ApiError as error:
        # A conflict may be with our own binding, where the client obeyed a Retry-After; a 5xx
        # says nothing about what reached the store.
        unclear = (
            error.code == HTTPStatus.CONFLICT or error.code >= HTTPStatus.INTERNAL_SERVER_ERROR
        )
        if not unclear:
            raise
        await _settle(client, body, error, sleep)


def pod_status_patch(
    existing: Sequence[Condition],
    condition: Condition | None = None,
    *,
    nominated_node_name: str | None = None,
    nominated_before: str = "",
) -> dict[str, Any] | None:
    """Return the strategic merge patch that sets a condition and a nomination, None if none is due.

    As kube-scheduler's: the difference to the conditions that the pod has, and no patch where
    status, reason and message are what they were. The time of transition stays where the status
    does. A nomination of None leaves it alone, an empty one removes it.
    """
    status: dict[str, Any] = {}
    if condition is not None:
        present = {one.type: one for one in existing}
        before = present.get(condition.type)
        difference = _difference(before, condition)
        if difference:
            if present:
                order = [*present, *([] if before else [condition.type])]
                status["$setElementOrder/conditions"] = [{"type": kind} for kind in order]
            status["conditions"] = [difference]
    if nominated_node_name is not None and nominated_node_name != nominated_before:
        status["nominatedNodeName"] = nominated_node_name or None
    return {"status": status} if status else None


async def patch_pod_status(
    client: ApiClient, *, namespace: str, name: str, patch: dict[str, Any]
) -> None:
    """Send a patch made by `pod_status_patch`. Raises ApiError, UnreachableError."""
    with _counted(client, "pod_status_patch"):
        await client.request(
            "PATCH",
            PODS.path(namespace, name, "status"),
            body=patch,
            content_type=STRATEGIC_MERGE_PATCH,
        )


async def delete_pod(client: ApiClient, *, namespace: str, name: str, uid: str = "") -> None:
    """Delete a pod with its own grace period; with `uid`, only that pod and no later namesake.

    Raises ApiError (404: it is gone already; 409: it is another pod), UnreachableError.
    """
    body: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if uid:
        body["preconditions"] = {"uid": uid}
    await client.request("DELETE", PODS.path(namespace, name), body=body)


@contextmanager
def _counted(client: ApiClient, kind: str) -> Iterator[None]:
    """Tell the metrics of a write, and whether it failed."""
    begun, failed = time.perf_counter(), True
    try:
        yield
        failed = False
    finally:
        if client.metrics is not None:
            seconds = time.perf_counter() - begun
            client.metrics.scheduling.api_call(kind, seconds, failed=failed)


def _difference(before: Condition | None, after: Condition) -> dict[str, Any]:
    """Return what to write of a condition; empty where it says the same as before."""
    written: dict[str, Any] = msgspec.to_builtins(after)
    if not after.observed_generation:
        del written["observedGeneration"]
    if before is None:
        return {key: value for key, value in written.items() if value != ""}
    if (before.status, before.reason, before.message) == (
        after.status,
        after.reason,
        after.message,
    ):
        return {}
    known = msgspec.to_builtins(before)
    if before.status == after.status:
        written["lastTransitionTime"] = known["lastTransitionTime"]
    return {
        # What Go leaves out when empty is taken away by null.
        key: None if value == "" else value
        for key, value in written.items()
        if value != known[key] or key == "type"
    }


def _what(body: dict[str, Any]) -> str:
    meta = body["metadata"]
    return f"the binding of pod {meta['namespace']}/{meta['name']} to node {body['target']['name']}"


async def _settle(
    client: ApiClient,
    body: dict[str, Any],
    unbound: Exception,
    sleep: Callable[[float], Awaitable[None]],
) -> None:
    """Return if the pod is on the node by now, raise `unbound` if it is on none.

    Also where the server has refused, in its own words, and it was not our binding that was there.
    """
    pod = await _read_pod(client, body, sleep)
    meta, node = body["metadata"], body["target"]["name"]
    is_ours = pod.metadata.uid == meta["uid"]
    if is_ours and pod.spec.node_name == node:
        return
    if isinstance(unbound, ApiError) and unbound.code == HTTPStatus.CONFLICT:
        raise unbound
    if not is_ours:
        raise ApiError(
            f"pod {meta['namespace']}/{meta['name']} was replaced by another of the same name",
            code=HTTPStatus.CONFLICT,
            reason="Conflict",
        )
    if not pod.spec.node_name:
        raise unbound
    raise ApiError(
        f"{_what(body)} came too late: it is on node {pod.spec.node_name}",
        code=HTTPStatus.CONFLICT,
        reason="Conflict",
    )


async def _read_pod(
    client: ApiClient, body: dict[str, Any], sleep: Callable[[float], Awaitable[None]]
) -> _Pod:
    """Read a pod from the store, for as long as that takes. Raises ApiError.

    Who gives up would have to free the node, and it may be taken.
    """
    path = PODS.path(body["metadata"]["namespace"], body["metadata"]["name"])
    for attempt in count():
        await sleep(_READ_DELAYS[min(attempt, len(_READ_DELAYS) - 1)])
        try:
            # Without a resourceVersion, the answer is no older than the question.
            return msgspec.json.decode(await client.request("GET", path), type=_Pod)
        except (UnreachableError, msgspec.DecodeError) as error:
            failure: Exception = error
        except ApiError as error:
            overloaded = error.code == HTTPStatus.TOO_MANY_REQUESTS
            if error.code < HTTPStatus.INTERNAL_SERVER_ERROR and not overloaded:
                raise
            failure = error
        if attempt == len(_READ_DELAYS):
            _logger.warning("Nobody knows yet whether %s happened: %s", _what(body), failure)
    raise AssertionError("it is asked for ever")
