"""The status of disruption budgets follows the pods that they select."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.embedded import EmbeddedApiServer
from moorage.embedded.disruption import budget_status


def pod(
    name: str, *, ready: bool = True, phase: str = "Running", app: str = "web"
) -> dict[str, Any]:
    """Make a pod as far as a budget looks at it."""
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {
        "metadata": {"name": name, "labels": {"app": app}},
        "status": {"phase": phase, "conditions": conditions},
    }


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        pytest.param({"minAvailable": 1}, 2, id="min"),
        pytest.param({"minAvailable": "50%"}, 1, id="min-percent"),
        pytest.param({"maxUnavailable": 1}, 0, id="max"),
        pytest.param({"maxUnavailable": "50%"}, 1, id="max-percent"),
    ],
)
def test_as_many_may_go_as_are_healthy_beyond_those_desired(
    spec: dict[str, Any], allowed: int
) -> None:
    """Three of four are healthy; pods of others and pods that ended do not count."""
    pods = [
        pod("a"),
        pod("b"),
        pod("c"),
        pod("d", ready=False),
        pod("done", phase="Succeeded"),
        pod("other", app="db"),
    ]
    budget = {"metadata": {}, "spec": spec | {"selector": {"matchLabels": {"app": "web"}}}}
    status = budget_status(budget, list(pods))
    assert status["expectedPods"] == 4
    assert status["currentHealthy"] == 3
    assert status["disruptionsAllowed"] == allowed


def test_a_budget_with_an_invalid_selector_lets_nobody_go() -> None:
    """It cannot be said whom it protects."""
    selector = {"matchExpressions": [{"key": "app", "operator": "Maybe"}]}
    budget = {"metadata": {}, "spec": {"minAvailable": 0, "selector": selector}}
    assert budget_status(budget, [pod("a")])["disruptionsAllowed"] == 0


async def test_the_server_keeps_the_status_right() -> None:
    """Bound pods become ready, and the budget says how many of them may go."""
    async with EmbeddedApiServer() as server:
        store = server.store
        store.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
        store.create(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "web", "namespace": "default"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
            }
        )
        for name in ("a", "b"):
            store.create(
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                }
            )
            store.bind(name, "n1", namespace="default")

        async def allowed() -> int:
            budget = store.get("poddisruptionbudgets.policy", "web", namespace="default")
            found: int = (budget.get("status") or {}).get("disruptionsAllowed", 0)
            return found

        for _ in range(200):
            if await allowed() == 1:
                break
            await asyncio.sleep(0.02)
        assert await allowed() == 1
