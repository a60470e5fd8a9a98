"""PodDisruptionBudgets by the pods that they are about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from moorage.model.disruption import PodDisruptionBudget
from moorage.model.selectors import InvalidSelectorError, Selector, selector_of

__all__ = ["BudgetStore"]


class BudgetStore:
    """All budgets of the cluster; those of a pod are found by its namespace, then by selector.

    `invalid` says, by (namespace, name), what is wrong with the selector of a budget that
    therefore protects no pod.
    """

    def __init__(self) -> None:
        self._budgets: dict[str, dict[str, tuple[PodDisruptionBudget, Selector]]] = {}
        self.invalid: dict[tuple[str, str], str] = {}

    def __len__(self) -> int:
        return sum(map(len, self._budgets.values()))

    def __iter__(self) -> Iterator[PodDisruptionBudget]:
        for budgets in self._budgets.values():
            for budget, _ in budgets.values():
                yield budget

    def get(self, namespace: str, name: str) -> PodDisruptionBudget | None:
        """Return one budget, None where there is none of that name."""
        found = self._budgets.get(namespace, {}).get(name)
        return None if found is None else found[0]

    def put(self, budget: PodDisruptionBudget) -> None:
        """Add a budget, or replace it by its newer version."""
        namespace, name = budget.metadata.namespace, budget.metadata.name
        self.invalid.pop((namespace, name), None)
        try:
            selector = selector_of(budget.spec.selector, field="spec.selector")
        except InvalidSelectorError as error:
            self.invalid[namespace, name] = str(error)
            selector = Selector(nothing=True)
        if not selector.requirements:
            # Elsewhere an empty selector means everything; an empty budget protects nothing.
            selector = Selector(nothing=True)
        self._budgets.setdefault(namespace, {})[name] = (budget, selector)

    def drop(self, namespace: str, name: str) -> None:
        """Forget a budget, if it is known."""
        self.invalid.pop((namespace, name), None)
        budgets = self._budgets.get(namespace, {})
        if budgets.pop(name, None) is not None and not budgets:
            del self._budgets[namespace]

    def selecting(self, namespace: str, labels: Mapping[str, str]) -> list[PodDisruptionBudget]:
        """Return the budgets that pods of a namespace with these labels are under.

        O(budgets of the namespace). A pod without labels is under none.
        """
        if not labels:
            return []
        return [
            budget
            for budget, selector in self._budgets.get(namespace, {}).values()
            if selector.matches(labels)
        ]
