"""Which events may help a pod that a plugin refused, and whether this one does (KEP-4247)."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Any, NamedTuple

from moorage.model.events import ClusterEvent
from moorage.model.pods import Pod

__all__ = ["EventHint", "HintFunction", "QueueingHint"]


class QueueingHint(Enum):
    """What a hint function answers."""

    SKIP = auto()
    """This event cannot make the pod schedulable."""
    QUEUE = auto()
    """This event may make the pod schedulable: try it again."""


HintFunction = Callable[[Pod, Any, Any], QueueingHint]
"""Called with the waiting pod, the object before (None: added) and after (None: deleted)."""


class EventHint(NamedTuple):
    """A kind of event that a plugin wants its refused pods to be retried on.

    `hint` looks at the objects; None means that every such event may help. It runs inline, must
    not block, and an exception in it counts as `QueueingHint.QUEUE`.
    """

    event: ClusterEvent
    hint: HintFunction | None = None
