"""What a plugin registers, and what is added to it."""

from __future__ import annotations

import pytest

from moorage.framework.hints import EventHint, QueueingHint, with_taint_changes
from moorage.model.events import ALL, ActionType, ClusterEvent, EventResource

TAINTS = EventHint(ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT))


def never(*_: object) -> QueueingHint:
    """Answer that nothing helps."""
    return QueueingHint.SKIP


def of_nodes(action: ActionType) -> EventHint:
    """Register for what happens to nodes."""
    return EventHint(ClusterEvent(EventResource.NODE, action), never)


@pytest.mark.parametrize(
    "hints",
    [
        (of_nodes(ActionType.ADD),),
        (of_nodes(ActionType.ADD | ActionType.UPDATE_NODE_LABEL),),
        (of_nodes(ActionType.UPDATE_NODE_ALLOCATABLE), of_nodes(ActionType.ADD)),
    ],
)
def test_changed_taints_help_whoever_waits_for_a_node(hints: tuple[EventHint, ...]) -> None:
    """Each such change, whatever the plugin's own hints say."""
    assert with_taint_changes(hints) == (*hints, TAINTS)


@pytest.mark.parametrize(
    "hints",
    [
        (),
        (of_nodes(ActionType.ADD | ActionType.UPDATE_NODE_TAINT),),
        (of_nodes(ActionType.ADD), of_nodes(ActionType.UPDATE)),
        (of_nodes(ActionType.DELETE | ActionType.UPDATE_NODE_LABEL),),
        (EventHint(ClusterEvent(EventResource.CSI_NODE, ActionType.ADD), never),),
        (EventHint(ALL, never),),
    ],
)
def test_other_hints_are_as_they_were_registered(hints: tuple[EventHint, ...]) -> None:
    """A plugin that waits for no new node, or that has a word on taints itself."""
    assert with_taint_changes(hints) == hints
