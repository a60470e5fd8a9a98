"""The node on which a pod is expected to be placed later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from moorage.model.pod_info import PodInfo

__all__ = ["Nomination"]


def _none() -> Sequence[Nomination]:
    return ()


class Nomination(NamedTuple):
    """What a `post_filter` answers that found a node, or that finds an earlier nomination void.

    With a `node_name`, no other plugin is asked. An empty name clears the pod's nomination,
    `reasons` are added to its message, and the next plugin is asked. `victims` are the pods that go
    for this one, the most important first; `equals` returns the nominations that would have been as
    good. Both are for tests and for people: the plugin itself sees to the victims.
    """

    node_name: str
    reasons: tuple[str, ...] = ()
    victims: tuple[PodInfo, ...] = ()
    equals: Callable[[], Sequence[Nomination]] = _none
