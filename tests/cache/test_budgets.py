"""Disruption budgets by the pods that are under them."""

from __future__ import annotations

from tests.builtin.affinity import expression, labelled

from moorage.cache import BudgetStore
from moorage.model import LabelSelector, ObjectMeta
from moorage.model.disruption import PodDisruptionBudget, PodDisruptionBudgetSpec


def budget(name: str, selector: LabelSelector | None, namespace: str = "ns") -> PodDisruptionBudget:
    """Make a budget."""
    return PodDisruptionBudget(
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=PodDisruptionBudgetSpec(selector=selector),
    )


def names(store: BudgetStore, namespace: str, **labels: str) -> list[str]:
    """Name the budgets that a pod is under."""
    return [found.metadata.name for found in store.selecting(namespace, labels)]


def test_pods_are_under_the_budgets_of_their_namespace_that_select_them() -> None:
    """Under several, if several do."""
    store = BudgetStore()
    store.put(budget("a", labelled(app="a")))
    store.put(budget("has-app", labelled(expression("app", "Exists"))))
    store.put(budget("elsewhere", labelled(app="a"), namespace="other"))
    assert names(store, "ns", app="a") == ["a", "has-app"]
    assert names(store, "ns", app="b") == ["has-app"]
    assert names(store, "other", app="a") == ["elsewhere"]
    assert names(store, "nobody", app="a") == []
    assert len(store) == len(list(store)) == 3


def test_selectors_that_protect_nobody() -> None:
    """None and an empty one; and a pod without labels is under none at all."""
    store = BudgetStore()
    store.put(budget("none", None))
    store.put(budget("empty", labelled()))
    store.put(budget("lacks-app", labelled(expression("app", "DoesNotExist"))))
    assert names(store, "ns", tier="x") == ["lacks-app"]
    assert names(store, "ns") == []


def test_an_invalid_selector_protects_nobody_until_it_is_mended() -> None:
    """The store says which field is at fault."""
    store = BudgetStore()
    store.put(budget("a", labelled(expression("app", "Like", "a"))))
    assert store.invalid.keys() == {("ns", "a")}
    assert "spec.selector.matchExpressions[0].operator" in store.invalid["ns", "a"]
    assert names(store, "ns", app="a") == []
    store.put(budget("a", labelled(app="a")))
    assert store.invalid == {}
    assert names(store, "ns", app="a") == ["a"]


def test_budgets_that_are_gone_protect_nobody() -> None:
    """Unknown ones are no mistake."""
    store = BudgetStore()
    store.put(budget("a", labelled(app="a")))
    store.drop("ns", "a")
    store.drop("ns", "a")
    assert store.get("ns", "a") is None
    assert names(store, "ns", app="a") == []
