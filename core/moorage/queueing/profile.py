"""What the queue needs to know of a profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from moorage.framework.hints import EventHint
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.verdict import Verdict
from moorage.model.pods import Pod

__all__ = ["QueueProfile"]


class QueueProfile(Protocol):
    """A profile as its queue sees it; none of its methods raises or blocks.

    All profiles of one queue sort by the same plugin (the configuration is refused otherwise), so
    that their keys compare with each other.
    """

    def sort_key(self, queued: QueuedPod) -> Any:  # noqa: ANN401 - whatever the plugin compares by
        """Return what orders active pods: the smallest is tried first."""

    def pre_enqueue(self, pod: Pod) -> Verdict:
        """Return the first refusal of a PreEnqueue plugin, with `plugin` set, or success."""

    @property
    def hints(self) -> Mapping[str, tuple[EventHint, ...]]:
        """What each plugin registered, by its name.

        A plugin that is not in here is retried on everything; one with an empty tuple on nothing.
        """
