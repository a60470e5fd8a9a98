"""Coscheduling: that the host sees it, who waits for whom, and how waiting ends."""

from __future__ import annotations

from moorage_coscheduling import Coscheduling

from moorage import Pod, Registry
from moorage.testing import Cluster, Scheduler, make_pod, schedule

PLUGINS = ["NodeResourcesFit", Coscheduling]


def member(name: str, *, group: str = "g", size: str = "2", namespace: str = "default") -> Pod:
    """Make a pod of a group; two of them fill a node of the usual size."""
    labels = {"scheduling.example.com/group": group, "scheduling.example.com/size": size}
    return make_pod(name, cpu="2", labels=labels, namespace=namespace)


def test_the_host_sees_it(moorage_host: Registry) -> None:
    """It is installed, can be imported, and comes from this package."""
    assert moorage_host.load("Coscheduling") is Coscheduling
    assert moorage_host.source("Coscheduling").distribution == "moorage-coscheduling"


def test_pods_of_a_group_are_bound_when_enough_have_nodes() -> None:
    """The first waits for the second; pods of no group do not wait."""
    with Scheduler(Cluster(["n1"]), plugins=PLUGINS) as scheduler:
        assert scheduler.submit(member("a")) == {}
        assert scheduler.waiting == {"default/a": "n1"}

        assert scheduler.submit(member("b")) == {"default/a": "n1", "default/b": "n1"}

    with Scheduler(Cluster(["n1"]), plugins=PLUGINS) as scheduler:
        assert scheduler.submit(make_pod("alone")) == {"default/alone": "n1"}


def test_pods_of_other_groups_and_namespaces_do_not_count() -> None:
    """A group is a name within a namespace."""
    with Scheduler(Cluster(["n1", "n2"]), plugins=PLUGINS) as scheduler:
        scheduler.submit(member("a"), member("b", group="h"), member("c", namespace="other"))

        assert scheduler.placed == {}
        assert len(scheduler.waiting) == 3


def test_pods_that_are_bound_already_count() -> None:
    """One that was lost can be replaced alone."""
    running = member("a")
    cluster = Cluster(["n1"])
    cluster.bind(running, "n1")

    with Scheduler(cluster, plugins=PLUGINS) as scheduler:
        assert scheduler.submit(member("b")) == {"default/b": "n1"}


def test_after_the_time_is_over_nodes_are_given_back() -> None:
    """So that two halves of groups cannot block each other for ever."""
    with Scheduler(
        Cluster(["n1"]), plugins=PLUGINS, args={"Coscheduling": {"waitSeconds": 30}}
    ) as scheduler:
        scheduler.submit(member("a", size="3"))
        scheduler.advance(20)
        scheduler.submit(member("b", size="3"))
        assert len(scheduler.waiting) == 2

        scheduler.advance(11)

        assert scheduler.waiting == {}
        assert scheduler.cluster.pods == {}
        assert scheduler.messages.keys() == {"default/a", "default/b"}
        assert "of its group was given up" in scheduler.messages["default/b"]


def test_a_pod_that_waited_in_vain_says_how_long() -> None:
    """In kube-scheduler's words."""
    with Scheduler(Cluster(["n1"]), plugins=PLUGINS) as scheduler:
        scheduler.submit(member("a"))

        scheduler.advance(61)

        message = scheduler.messages["default/a"]
        assert "rejected due to timeout after waiting 1m0s at plugin Coscheduling" in message


def test_pods_that_timed_out_are_tried_again_when_one_of_their_group_comes() -> None:
    """A pod of another group does not help them."""
    with Scheduler(Cluster(["n1", "n2"]), plugins=PLUGINS) as scheduler:
        scheduler.submit(member("a"))
        scheduler.advance(61)
        scheduler.submit(member("c", group="h"))
        assert scheduler.waiting.keys() == {"default/c"}

        scheduler.submit(member("b"))

        assert set(scheduler.placed) == {"default/a", "default/b"}


def test_a_group_without_a_size_is_refused_and_says_so() -> None:
    """It would wait for nobody knows what."""
    decision = schedule(Cluster(["n1"]), member("a", size="two"), plugins=PLUGINS)

    assert decision.node is None
    assert "scheduling.example.com/size" in decision.reasons["n1"]
