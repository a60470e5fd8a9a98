"""How many pods wait, by the plugins that refused them: ``scheduler_unschedulable_pods``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from moorage.framework.queued_pod import QueuedPod

__all__ = ["Refusals"]


class Refusals:
    """Counts the pods that each plugin refused or gates, until they are tried again or go.

    A plugin that once refused a pod keeps its count, also of 0. Everything is O(plugins).
    """

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._noted: dict[str, set[tuple[str, str]]] = {}

    def note(self, queued: QueuedPod, plugins: Iterable[str]) -> None:
        """Note that plugins refused a pod; one that did already counts once."""
        profile = queued.pod.spec.scheduler_name
        new = {(profile, plugin) for plugin in plugins}
        if not new:
            return
        noted = self._noted.setdefault(queued.info.uid, set())
        self._counts.update(new - noted)
        noted |= new

    def forget(self, queued: QueuedPod) -> None:
        """Note that a pod waits no more."""
        noted = self._noted.pop(queued.info.uid, None)
        if noted:
            self._counts.subtract(noted)

    def counts(self) -> Counter[tuple[str, str]]:
        """Return the counts by (profile, plugin); may be called in another thread.

        A RuntimeError then means: ask again.
        """
        return self._counts.copy()

    def check_invariants(self) -> None:
        """Raise `AssertionError` where a count is not that of the pods noted."""
        noted = Counter(key for keys in self._noted.values() for key in keys)
        if +self._counts != noted or min(self._counts.values(), default=0) < 0:
            raise AssertionError(f"{self._counts} pods are counted, {noted} were noted")
