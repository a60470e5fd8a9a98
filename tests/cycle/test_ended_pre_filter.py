"""PreFilter ends before all were asked: who comes later has no notes when PostFilter begins."""

from __future__ import annotations

import pytest

from moorage import CycleState, Depends, Plugin, Pod, Verdict, hookimpl
from moorage.testing import Cluster, from_manifest, make_pod, schedule


class Notes(Plugin):
    """Writes a note in PreFilter, and says in PostFilter whether it is there."""

    @hookimpl
    def pre_filter(self, state: CycleState) -> None:
        """Write."""
        state["seen"] = True

    @hookimpl
    def post_filter(self, state: CycleState) -> Verdict:
        """Read."""
        return Verdict.unschedulable("asked" if "seen" in state else "not asked")


class Shares(Notes):
    """Does so for all pods at once: its notes are there before anybody is asked."""

    filter_depends = Depends()

    @hookimpl
    def sign(self) -> tuple[()]:
        """See nothing of a pod."""
        return ()


class Refuses(Plugin):
    """Ends PreFilter."""

    @hookimpl
    def pre_filter(self) -> Verdict:
        """Refuse for good."""
        return Verdict.unresolvable("never")


class NamesNone(Plugin):
    """Ends PreFilter, too: no node is left."""

    @hookimpl
    def pre_filter(self) -> tuple[str, ...]:
        """Name none."""
        return ()


@pytest.mark.parametrize("notes", [Notes, Shares])
@pytest.mark.parametrize("ends", [Refuses, NamesNone])
def test_notes_of_who_was_asked_are_there(notes: type[Plugin], ends: type[Plugin]) -> None:
    """Whether it shares or not makes no difference."""
    before = schedule(Cluster(["n1"]), make_pod(), plugins=[notes, ends])
    after = schedule(Cluster(["n1"]), make_pod(), plugins=[ends, notes])

    assert before.message.endswith(". asked")
    assert after.message.endswith(". not asked")


def test_default_plugins_come_before_those_that_a_profile_adds() -> None:
    """So they were asked, and say what they say of any pod that preemption cannot help."""
    decision = schedule(Cluster(["n1"]), make_pod(), plugins=[Refuses], profile="default")

    assert decision.message == (
        "0/1 nodes are available: never. no new claims to deallocate, preemption: 0/1 nodes are "
        "available: 1 Preemption is not helpful for scheduling."
    )


def test_a_default_plugin_may_end_it_for_another() -> None:
    """As in kube-scheduler, whose words they are."""
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "gone"}}
    pod = from_manifest(
        {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"volumes": [volume], "containers": []}}
    )
    assert isinstance(pod, Pod)

    decision = schedule(Cluster(["n1"]), pod, profile="default")

    assert decision.message == (
        '0/1 nodes are available: persistentvolumeclaim "gone" not found. not found'
    )
