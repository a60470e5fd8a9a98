"""What the embedded server has not, and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

NOTHING_RUNS = "nothing runs in the pods of the embedded API server, so there is nothing to "
NO_SCALE = (
    "the embedded API server makes the pods of a workload once, when it is created, and does not "
    "scale it afterwards: delete it, and apply it with other replicas"
)
POD = "/api/v1/namespaces/default/pods/a"


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", f"{POD}/log?container=c", f"{NOTHING_RUNS}read logs of"),
        ("POST", f"{POD}/exec?command=ls", f"{NOTHING_RUNS}execute a command in"),
        ("POST", f"{POD}/attach", f"{NOTHING_RUNS}attach to"),
        ("POST", f"{POD}/portforward", f"{NOTHING_RUNS}forward a port to"),
        (
            "PATCH",
            "/apis/apps/v1/namespaces/default/deployments/w/scale",
            NO_SCALE,
        ),
    ],
)
async def test_what_is_not_there_is_told_in_a_sentence(
    method: str, path: str, message: str, api: Callable[..., Awaitable[tuple[int, Any]]]
) -> None:
    """A bare 404 would send people looking for the mistake in what they typed."""
    code, status = await api(method, path)

    assert code == 405
    assert (status["kind"], status["reason"], status["message"]) == (
        "Status",
        "MethodNotAllowed",
        message,
    )
