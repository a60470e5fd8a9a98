"""The answers that a profile's plugins gave, kept within a budget of bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from moorage.cache import ClusterCache
from moorage.cycle.answers import PluginAnswers
from moorage.cycle.asking import Asker
from moorage.cycle.combined import CombinedAnswers
from moorage.cycle.steps import Plan, Step
from moorage.model.pod_info import PodInfo

__all__ = ["KeptAnswers"]


class Signature:
    """The fragments by which the plugins know a pod, hashed once; TypeError where one cannot be."""

    __slots__ = ("_hash", "fragments")

    def __init__(self, fragments: tuple[Hashable | None, ...]) -> None:
        self.fragments = fragments
        self._hash = hash(fragments)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Signature) and self.fragments == other.fragments


class KeptAnswers:
    """Answers by plugin and fragment, and their sums by signature; the oldest are dropped.

    A plugin that cannot sign a pod (its fragment is None) has no part in the sum for it.
    """

    def __init__(self, plan: Plan, asker: Asker, cluster: ClusterCache, budget: int) -> None:
        self._plan = plan
        self._asker = asker
        self._cluster = cluster
        self._budget = budget
        self._answers: dict[tuple[Step, Hashable], PluginAnswers] = {}
        self._last: Signature | None = None
        self._combined: OrderedDict[Signature, tuple[Signature, CombinedAnswers]] = OrderedDict()
        self.found = False
        """Whether answers about pods like the last one were at hand."""

    @property
    def nbytes(self) -> int:
        """Bytes held in arrays."""
        return sum(entry.nbytes for entry in self._answers.values()) + sum(
            entry.nbytes for _, entry in self._combined.values()
        )

    def combined(self, info: PodInfo) -> CombinedAnswers:
        """Return the answers about pods like this one; PluginError where a plugin fails to sign.

        A pod is signed at each attempt: a fragment may depend on what is in the cluster. The caller
        brings the answers up to date, and forgets them if a plugin fails meanwhile.
        """
        self._last = None
        signature = self._last = self._sign(info)
        kept = self._combined.get(signature)
        self.found = kept is not None
        if kept is not None:
            # By the key that is there: that it equals this one need not be found out again.
            self._combined.move_to_end(kept[0])
            return kept[1]
        combined = self._combine(signature)
        self._combined[signature] = signature, combined
        self._make_room()
        return combined

    def _sign(self, info: PodInfo) -> Signature:
        fragments = self._asker.sign(self._plan.signs, info)
        try:
            return Signature(fragments)
        except TypeError as error:
            raise self._asker.unhashable(self._plan.signs, fragments) from error

    def forget(self) -> None:
        """Drop all that was kept for the last pod: a plugin failed half-way."""
        if self._last is None:
            return
        for step, fragment in zip(self._plan.shared, self._last.fragments, strict=True):
            self._answers.pop((step, fragment), None)
        # Other signatures share the answers that were dropped.
        self._combined.clear()

    def _combine(self, signature: Signature) -> CombinedAnswers:
        answers: dict[Step, PluginAnswers] = {}
        for step, fragment in zip(self._plan.shared, signature.fragments, strict=True):
            if fragment is not None:
                key = (step, fragment)
                if key not in self._answers:
                    self._answers[key] = PluginAnswers(step, self._asker, self._cluster)
                answers[step] = self._answers[key]
        return CombinedAnswers(self._plan, self._asker, self._cluster, answers)

    def _make_room(self) -> None:
        """Drop what was used longest ago; sizes are estimated, so that this costs O(1)."""
        capacity = self._cluster.columns.capacity
        room = max(1, self._budget // 2 // (capacity * (9 + 8 * len(self._plan.scores))))
        while len(self._combined) > room:
            self._combined.popitem(last=False)
        # Twice what can be in use, so that it is not looked through each time.
        if len(self._answers) > 2 * room * max(1, len(self._plan.shared)):
            used = {
                id(entry)
                for _, combined in self._combined.values()
                for entry in combined.answers.values()
            }
            self._answers = {
                key: entry for key, entry in self._answers.items() if id(entry) in used
            }
