"""Hands out a bounded number of licences to pods: a plugin with state between its hooks.

Reserve takes a licence, Unreserve gives it back, PreBind makes sure of it. The state belongs to the
process, not to a profile, or two profiles would hand out the same licence.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

import moorage

__all__ = ["LicencePool", "Pool"]


class Pool:
    """Who holds which licence, by the pods' uids; `bound` have been seen on a node."""

    def __init__(self) -> None:
        self.holders: dict[str, set[str]] = {}
        self.bound: set[str] = set()

    def take(self, licence: str, uid: str, most: int) -> bool:
        """Take a licence; False where all are taken. A pod that has one keeps it."""
        holders = self.holders.setdefault(licence, set())
        if uid not in holders and len(holders) >= most:
            return False
        holders.add(uid)
        return True

    def give_back(self, uid: str) -> None:
        """Give back all that a pod holds; nothing happens where it holds none."""
        for holders in self.holders.values():
            holders.discard(uid)
        self.bound.discard(uid)

    def holds(self, licence: str, uid: str) -> bool:
        """Say whether a pod holds a licence."""
        return uid in self.holders.get(licence, ())


class LicencePool(moorage.Plugin):
    """Hands out a bounded number of licences to pods, over all profiles."""

    class Args(moorage.PluginArgs):
        """Arguments, as a profile gives them in ``pluginConfig``."""

        label: str = Field(
            "licences.example.com/name", description="The label that names a pod's licence."
        )
        licences: dict[str, int] = Field(description="How many there are of each licence.")

    def __init__(self, args: Any, handle: moorage.Handle) -> None:  # noqa: ANN401 - of type Args
        super().__init__(args, handle)
        self.pool: Pool = handle.shared("LicencePool", Pool)

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Try refused pods again when a pod with a licence has ended."""
        event = moorage.ClusterEvent(moorage.EventResource.ASSIGNED_POD, moorage.ActionType.DELETE)
        return [moorage.EventHint(event, self._frees_licence)]

    @moorage.hookimpl
    def pre_filter(self, pod: moorage.Pod) -> moorage.Verdict | None:
        """Refuse a pod at once where its licence is used up, or is none; look who has ended."""
        licence = self._licence(pod)
        if licence is None:
            return moorage.SKIP
        most = self.args.licences.get(licence)
        if most is None:
            return moorage.Verdict.unresolvable(f"there is no licence {licence!r}")
        self._collect()
        if len(self.pool.holders.get(licence, ())) >= most:
            return moorage.Verdict.unschedulable(f"all {most} licences {licence!r} are taken")
        return None

    @moorage.hookimpl
    def reserve(self, pod: moorage.Pod) -> moorage.Verdict | None:
        """Take a licence."""
        licence = self._licence(pod)
        if licence is None:
            return None
        most = self.args.licences.get(licence, 0)
        if not self.pool.take(licence, pod.metadata.uid, most):
            return moorage.Verdict.unschedulable(f"all {most} licences {licence!r} are taken")
        return None

    @moorage.hookimpl
    def unreserve(self, pod: moorage.Pod) -> None:
        """Give the licence back, however often this is called."""
        self.pool.give_back(pod.metadata.uid)

    @moorage.hookimpl
    def pre_bind(self, pod: moorage.Pod) -> moorage.Verdict | None:
        """Make sure that the pod still holds its licence."""
        licence = self._licence(pod)
        if licence is not None and not self.pool.holds(licence, pod.metadata.uid):
            return moorage.Verdict.error(f"the licence {licence!r} was given back meanwhile")
        return None

    @moorage.hookimpl
    def post_bind(self, pod: moorage.Pod) -> None:
        """Note that the pod is on its node: from now on it can end."""
        if self._licence(pod) is not None:
            self.pool.bound.add(pod.metadata.uid)

    def _licence(self, pod: moorage.Pod) -> str | None:
        return pod.metadata.labels.get(self.args.label)

    def _collect(self) -> None:
        """Give back what pods hold that have ended, and count those that others bound."""
        running = {pod.metadata.uid: self._licence(pod) for pod in self.handle.pods()}
        for uid in self.pool.bound - running.keys():
            self.pool.give_back(uid)
        for uid, licence in running.items():
            if licence is not None and not self.pool.holds(licence, uid):
                self.pool.holders.setdefault(licence, set()).add(uid)
                self.pool.bound.add(uid)

    def _frees_licence(
        self, pod: moorage.Pod, old: moorage.Pod | None, _: moorage.Pod | None
    ) -> moorage.QueueingHint:
        frees = old is not None and self._licence(old) == self._licence(pod)
        return moorage.QueueingHint.QUEUE if frees else moorage.QueueingHint.SKIP
