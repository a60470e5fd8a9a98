"""PodDisruptionBudgets, as far as preemption reads them (policy/v1)."""

from __future__ import annotations

from datetime import datetime

import msgspec

from moorage.model.meta import LabelSelector, ObjectMeta
from moorage.model.record import Record

__all__ = ["PodDisruptionBudget", "PodDisruptionBudgetSpec", "PodDisruptionBudgetStatus"]


class PodDisruptionBudgetSpec(Record, frozen=True):
    """Which pods a budget is about; None and an empty selector: none."""

    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(Record, frozen=True):
    """How many more pods may go now.

    `disrupted_pods` are the names of pods whose eviction was granted already, with its time.
    """

    disruptions_allowed: int = 0
    disrupted_pods: dict[str, datetime] = msgspec.field(default_factory=dict)


class PodDisruptionBudget(Record, frozen=True):
    """A budget of voluntary disruptions of pods in its namespace."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
