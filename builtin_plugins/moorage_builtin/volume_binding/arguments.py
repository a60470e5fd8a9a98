"""Arguments of VolumeBinding."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

import moorage
from moorage_builtin.utilization import UtilizationShapePoint, check_rising

__all__ = ["VolumeBindingArgs"]


class VolumeBindingArgs(moorage.PluginArgs):
    """Arguments of VolumeBinding."""

    bind_timeout_seconds: int = Field(
        default=600,
        ge=0,
        description="How long a pod waits for its claims to be bound before it is tried anew.",
    )
    shape: Annotated[tuple[UtilizationShapePoint, ...], AfterValidator(check_rising)] = Field(
        default=(),
        description="The score over how full volumes would be; none: volumes are not scored.",
    )
