"""Disruption budgets as the API server tells of them."""

from __future__ import annotations

import logging

import pytest
from tests.builtin.affinity import expression, labelled
from tests.loop_kit import added, deleted, listed

from moorage.cache import ClusterCache
from moorage.feed import BudgetFeed
from moorage.model import LabelSelector, ObjectMeta
from moorage.model.disruption import PodDisruptionBudget, PodDisruptionBudgetSpec


def budget(name: str, selector: LabelSelector) -> PodDisruptionBudget:
    """Make a budget."""
    return PodDisruptionBudget(
        metadata=ObjectMeta(name=name, namespace="ns"),
        spec=PodDisruptionBudgetSpec(selector=selector),
    )


def names(cluster: ClusterCache) -> list[str]:
    """Name all budgets."""
    return [known.metadata.name for known in cluster.budgets]


def test_budgets_come_and_go() -> None:
    """A new list is all there is."""
    cluster = ClusterCache()
    feed = BudgetFeed(cluster)
    one, two = budget("one", labelled(app="a")), budget("two", labelled(app="b"))
    feed.take(listed(one))
    feed.take(added(two))
    assert names(cluster) == ["one", "two"]
    feed.take(deleted(one))
    assert names(cluster) == ["two"]
    feed.take(listed(one))
    assert names(cluster) == ["one"]


def test_a_budget_with_an_invalid_selector_is_named(caplog: pytest.LogCaptureFixture) -> None:
    """It protects nobody, and somebody should know."""
    feed = BudgetFeed(ClusterCache())
    with caplog.at_level(logging.ERROR):
        feed.take(added(budget("broken", labelled(expression("app", "Like", "a")))))
    assert "PodDisruptionBudget ns/broken protects no pod: spec.selector" in caplog.text
