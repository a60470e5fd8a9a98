"""What a failed cycle hands back to the queue."""

from __future__ import annotations

import pytest

from moorage.framework.requeue import RequeueRequest
from moorage.framework.verdict import Code, Verdict

QUOTA = frozenset({"Quota"})


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        pytest.param(
            Verdict.unschedulable("full").of("Quota"),
            RequeueRequest(Code.UNSCHEDULABLE, QUOTA),
            id="refused",
        ),
        pytest.param(
            Verdict(Code.PENDING, ("later",)).of("Quota"),
            RequeueRequest(Code.PENDING, pending_plugins=QUOTA),
            id="pending",
        ),
        pytest.param(Verdict.unschedulable("gone"), RequeueRequest.error(), id="by-nobody"),
        pytest.param(Verdict.error("broken").of("Quota"), RequeueRequest.error(), id="failed"),
    ],
)
def test_pod_that_had_a_node_waits_for_the_plugin_that_turned_it_down(
    verdict: Verdict, expected: RequeueRequest
) -> None:
    """Without one, and after a fault, only time can help."""
    assert RequeueRequest.after(verdict) == expected
