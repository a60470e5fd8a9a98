"""Which events may help a pod that a plugin refused, and whether this one does (KEP-4247)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import Enum, auto
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from moorage.model.events import ActionType, ClusterEvent, EventResource
from moorage.model.pods import Pod

__all__ = ["EventHint", "HintFunction", "QueueingHint", "with_taint_changes", "wrong_event"]

_NAMED = frozenset(EventResource)
_OTHER_KIND = re.compile(r"[a-z0-9-]+\.v[0-9]+((alpha|beta)[0-9]+)?(\.[a-z0-9.-]+)?")
"""``plural.version.group``; the core group has no name."""

_TAINT_CHANGED = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)


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


def with_taint_changes(hints: Iterable[EventHint]) -> tuple[EventHint, ...]:
    """Return a plugin's hints; where it waits for new nodes, for changed taints of any node too.

    Not where it registered changed taints itself. kube-scheduler 1.36 does so for every plugin: a
    node that came tainted was once told of to nobody until its taints were gone (K#109437). 1.37
    no longer does.
    """
    hints = tuple(hints)
    actions = (hint.event.action for hint in hints if hint.event.resource == EventResource.NODE)
    of_nodes = reduce(or_, actions, ActionType(0))
    if ActionType.ADD in of_nodes and ActionType.UPDATE_NODE_TAINT not in of_nodes:
        return (*hints, EventHint(_TAINT_CHANGED))
    return hints


def wrong_event(resource: object, action: object) -> str:
    """Say what is wrong with a kind of event, empty: nothing; NamedTuples take anything.

    A pod would wait for an event that there never is until its five minutes are over.
    """
    if not isinstance(action, ActionType):
        return f"action {action!r}, which is not a moorage.ActionType"
    if isinstance(resource, str) and (resource in _NAMED or _OTHER_KIND.fullmatch(resource)):
        return ""
    return f"{resource!r}, which is neither a moorage.EventResource nor plural.version.group"
