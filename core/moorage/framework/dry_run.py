"""A pod's filters, asked about nodes with other pods than they have."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from moorage.cache.pods_on_rows import PodsOnRows
from moorage.cache.view import NodesView

__all__ = ["DryRun"]


class DryRun(Protocol):
    """n nodes, each with hypothetical pods of its own, and what the filters say of each.

    Made by `moorage.Diagnosis.dry_run`, and good until the hook returns. Nothing real changes;
    neither does a dry run: `with_pods` and `without_pods` return another one. All rows go in
    lockstep, so that a step costs about as much for five hundred rows as for one. As in the cycle
    itself, a node passes only with the pods added that are nominated to it and no less important,
    and without them; `add_pods` and `remove_pods` of the plugins hear of every change.
    """

    @property
    def nodes(self) -> NodesView:
        """The rows with their pods as they are in this run, nominated ones not added."""

    @property
    def passes(self) -> NDArray[np.bool_]:
        """Which rows every filter lets pass; (n,) bool, asked when first read."""

    def reasons(self, positions: NDArray[np.intp]) -> dict[str, int]:
        """Count the reasons why rows at positions (k,) intp do not pass."""

    def with_pods(self, pods: PodsOnRows) -> DryRun:
        """Add pods to the rows at their positions."""

    def without_pods(self, pods: PodsOnRows) -> DryRun:
        """Take pods off the rows at their positions, which have them."""
