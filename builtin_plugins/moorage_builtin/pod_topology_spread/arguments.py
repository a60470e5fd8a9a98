"""Arguments of PodTopologySpread, refused where kube-scheduler refuses them."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

import moorage
from moorage.model import is_label_key

__all__ = ["DefaultConstraint", "PodTopologySpreadArgs"]


class DefaultConstraint(moorage.PluginArgs):
    """A constraint of pods that have none of their own; their selector is deduced for each pod."""

    max_skew: int = Field(gt=0, description="By how many pods domains may differ.")
    topology_key: str = Field(description="The node label whose values are the domains.")
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"] = Field(
        description="Whether nodes that break the constraint are refused or only scored lower."
    )
    label_selector: Any = Field(default=None, description="Not allowed here.")
    min_domains: int | None = Field(
        default=None, gt=0, description="With fewer domains, the fewest pods count as 0."
    )
    node_affinity_policy: Literal["Honor", "Ignore"] | None = Field(
        default=None, description="Whether nodes that the pod's affinity excludes count. Honor."
    )
    node_taints_policy: Literal["Honor", "Ignore"] | None = Field(
        default=None, description="Whether nodes with untolerated taints are left out. Ignore."
    )
    match_label_keys: tuple[str, ...] = Field(
        default=(), description="Accepted, and without effect on a deduced selector."
    )

    @field_validator("topology_key")
    @classmethod
    def _is_a_label_key(cls, key: str) -> str:
        if not is_label_key(key):
            raise ValueError(f"{key!r} is no label key, such as topology.kubernetes.io/zone")
        return key

    @field_validator("label_selector")
    @classmethod
    def _has_no_selector(cls, selector: object) -> None:
        if selector is not None:
            raise ValueError("must not be set: the selector is deduced for each pod")


class PodTopologySpreadArgs(moorage.PluginArgs):
    """Arguments of PodTopologySpread."""

    default_constraints: tuple[DefaultConstraint, ...] = Field(
        default=(), description="Constraints of pods that have none; with defaultingType List."
    )
    defaulting_type: Literal["System", "List"] = Field(
        default="System",
        description="System: spread softly over hosts and zones. List: use defaultConstraints.",
    )

    @field_validator("default_constraints")
    @classmethod
    def _none_stands_twice(
        cls, constraints: tuple[DefaultConstraint, ...]
    ) -> tuple[DefaultConstraint, ...]:
        seen: set[tuple[str, str]] = set()
        for index, constraint in enumerate(constraints):
            pair = (constraint.topology_key, constraint.when_unsatisfiable)
            if pair in seen:
                raise ValueError(
                    f"constraint {index} repeats topologyKey {pair[0]!r} with "
                    f"whenUnsatisfiable {pair[1]}"
                )
            seen.add(pair)
        return constraints

    @model_validator(mode="after")
    def _system_has_its_own(self) -> Self:
        if self.defaulting_type == "System" and self.default_constraints:
            raise ValueError("defaultingType: must be List where defaultConstraints are given")
        return self
