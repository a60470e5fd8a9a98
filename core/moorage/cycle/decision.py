"""What a cycle comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.nomination import Nomination
from moorage.framework.verdict import SUCCESS, Verdict
from moorage.model.pod_info import PodInfo

__all__ = ["Decision", "Details"]


class Details(NamedTuple):
    """Which nodes passed and what they scored, by name; made only when asked for.

    `scores` are weighted and normalised, node -> plugin -> score; None where nothing was scored,
    since one node passed or no plugin had a say.
    """

    feasible: Sequence[str]
    scores: Mapping[str, Mapping[str, int]] | None

    @property
    def totals(self) -> dict[str, int]:
        """Return the sum of the scores of each node."""
        return {name: sum(parts.values()) for name, parts in (self.scores or {}).items()}

    @classmethod
    def of(cls, names: Sequence[str], parts: Mapping[str, NDArray[np.int64]] | None) -> Details:
        """Turn arrays (n,) by plugin into details of n nodes."""
        if parts is None:
            return cls(names, None)
        columns = {plugin: scores.tolist() for plugin, scores in parts.items()}
        return cls(
            names,
            {
                name: {plugin: column[index] for plugin, column in columns.items()}
                for index, name in enumerate(names)
            },
        )


class Decision(NamedTuple):
    """One pod's outcome.

    `node_name` and `row` where it goes, -1 and empty where nowhere; then `verdict` says whether it
    was refused or something went wrong, and `diagnosis` why. `feasible_count` nodes passed of
    `evaluated_count` looked at. `nomination`: the node it is to be tried on later (empty: an
    earlier nomination is void; None: nothing changes), and `made_room` all that the plugin said that
    chose it. `states`: each plugin's notes by place in
    the profile, for Reserve and what follows.
    """

    info: PodInfo
    row: int = -1
    node_name: str = ""
    verdict: Verdict = SUCCESS
    diagnosis: Diagnosis | None = None
    feasible_count: int = 0
    evaluated_count: int = 0
    nomination: str | None = None
    made_room: Nomination | None = None
    states: Mapping[int, CycleState] = {}
    details: Details | None = None

    @property
    def message(self) -> str:
        """The text of the PodScheduled condition for a pod that was not placed."""
        return self.verdict.message if self.diagnosis is None else self.diagnosis.message()
