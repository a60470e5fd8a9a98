"""MoorageConfiguration: what is Moorage's own about plugins, a second document in the same file.

Unknown fields of a KubeSchedulerConfiguration are refused, by kube-scheduler and here, so what it
has no place for stands beside it.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from packaging.requirements import InvalidRequirement, Requirement
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictStr, model_validator
from pydantic.alias_generators import to_camel

__all__ = ["MOORAGE_API_VERSION", "MOORAGE_KIND", "MoorageConfiguration", "check_requirement"]

MOORAGE_API_VERSION: Final = "moorage.dev/v1alpha1"
MOORAGE_KIND: Final = "MoorageConfiguration"


def check_requirement(text: str) -> str:
    """Return a requirement such as ``ZoneCost>=0.2``; ValueError where it is none."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        requirement = None
    if requirement is None or requirement.url or requirement.extras or requirement.marker:
        raise ValueError(
            f"{text!r} is no plugin or package with versions, such as ZoneCost>=0.2 or "
            "moorage-zone-cost"
        )
    return text


Name = Annotated[StrictStr, Field(min_length=1)]
RequirementText = Annotated[StrictStr, AfterValidator(check_requirement)]


class MoorageConfiguration(BaseModel):
    """Which plugins must, may and must not be there. Frozen; refuses fields it does not know."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
    )

    api_version: Literal["moorage.dev/v1alpha1"] = MOORAGE_API_VERSION
    kind: Literal["MoorageConfiguration"] = MOORAGE_KIND
    required_plugins: tuple[RequirementText, ...] = ()
    """Plugins or packages without which nothing starts, each with versions: ``ZoneCost>=0.2``."""
    plugin_distributions: dict[Name, Name] = Field(default_factory=dict)
    """Which package a plugin's name means, where several offer it: plugin -> package."""
    disabled_plugins: tuple[Name, ...] = ()
    """Plugins, or packages with all their plugins, that run in no profile."""

    @model_validator(mode="before")
    @classmethod
    def _null_is_not_set(cls, data: object) -> object:
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if value is not None}

    def document(self) -> dict[str, Any]:
        """Return it as it is written, without what is not set."""
        written = self.model_dump(mode="json", by_alias=True)
        return {key: value for key, value in written.items() if value}
