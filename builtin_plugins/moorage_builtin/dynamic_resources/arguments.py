"""Arguments of DynamicResources."""

from __future__ import annotations

from pydantic import Field, field_validator

import moorage
from moorage.config.durations import GoDuration

__all__ = ["DynamicResourcesArgs"]


class DynamicResourcesArgs(moorage.PluginArgs):
    """Arguments of DynamicResources; lengths of time are written as 10s or 1m30s."""

    filter_timeout: GoDuration = Field(
        default=10.0,
        description="How long devices are searched for on one node; 0s: without a bound.",
    )
    binding_timeout: GoDuration = Field(
        default=600.0,
        description="How long a pod waits until its devices are ready to be used, 1s at least.",
    )

    @field_validator("filter_timeout")
    @classmethod
    def _not_negative(cls, seconds: float) -> float:
        if seconds < 0:
            raise ValueError("must be zero or positive")
        return seconds

    @field_validator("binding_timeout")
    @classmethod
    def _one_second(cls, seconds: float) -> float:
        if seconds < 1:
            raise ValueError("must be at least 1 second")
        return seconds
