"""LicencePool: that the host sees it, and that no licence is handed out twice or lost."""

from __future__ import annotations

from moorage_licence_pool import LicencePool

import moorage
from moorage import Registry
from moorage.testing import Cluster, Scheduler, SinglePlugin, make_pod, schedule

ARGS = {"LicencePool": {"licences": {"solver": 1}}}


def wants(name: str, licence: str = "solver") -> moorage.Pod:
    """Make a pod that needs a licence."""
    return make_pod(name, labels={"licences.example.com/name": licence})


class Fails(moorage.Plugin):
    """Refuses to bind pods, after LicencePool has reserved, as long as it is told to."""

    failing = True

    @moorage.hookimpl
    def pre_bind(self) -> moorage.Verdict | None:
        """Fail."""
        return moorage.Verdict.error("no network") if self.failing else None


def test_the_host_sees_it(moorage_host: Registry) -> None:
    """It is installed, can be imported, and comes from this package."""
    assert moorage_host.load("LicencePool") is LicencePool
    assert moorage_host.source("LicencePool").distribution == "moorage-licence-pool"


def test_no_more_pods_run_than_there_are_licences() -> None:
    """Pods that need none are not counted."""
    with Scheduler(Cluster(["n1", "n2"]), plugins=[LicencePool], args=ARGS) as scheduler:
        placed = scheduler.submit(wants("a"), wants("b"), make_pod("c"))

        assert len({"default/a", "default/b"} & placed.keys()) == 1
        assert "default/c" in placed
        assert "all 1 licences 'solver' are taken" in next(iter(scheduler.messages.values()))


def test_a_licence_is_free_again_when_its_pod_has_ended() -> None:
    """The pod that waited for it is tried again by that event."""
    first = wants("a")
    with Scheduler(Cluster(["n1"]), plugins=[LicencePool], args=ARGS) as scheduler:
        scheduler.submit(first)
        scheduler.submit(wants("b"))
        assert set(scheduler.placed) == {"default/a"}

        scheduler.remove_pod(first)

        assert scheduler.advance(10) == {"default/b": "n1"}


def test_a_licence_is_given_back_when_the_pod_is_not_bound_after_all() -> None:
    """Whatever failed after Reserve."""
    with Scheduler(Cluster(["n1"]), plugins=[LicencePool, Fails], args=ARGS) as scheduler:
        scheduler.submit(wants("a"))
        plugin = scheduler.plugin("LicencePool")

        assert isinstance(plugin, LicencePool)
        assert plugin.pool.holders == {"solver": set()}
        assert scheduler.placed == {}


def test_pods_that_ran_before_the_scheduler_did_count() -> None:
    """State in memory is gone after a restart; the cluster is not."""
    cluster = Cluster(["n1"])
    cluster.bind(wants("a"), "n1")

    decision = schedule(cluster, wants("b"), plugins=[LicencePool], args=ARGS)

    assert decision.reasons == {"n1": "all 1 licences 'solver' are taken"}


def test_giving_back_twice_is_giving_back_once() -> None:
    """Unreserve must be idempotent, and may come without Reserve."""
    single = SinglePlugin(LicencePool, Cluster(["n1"]), args=ARGS["LicencePool"])
    pod, other = wants("a"), wants("b")

    single.unreserve(pod, "n1")
    assert single.reserve(pod, "n1").is_success
    assert not single.reserve(other, "n1").is_success
    single.unreserve(pod, "n1")
    single.unreserve(pod, "n1")
    assert single.reserve(other, "n1").is_success
    assert not single.pre_bind(pod, "n1").is_success


def test_a_licence_that_nobody_has_is_refused_by_name() -> None:
    """No event can help; the configuration must."""
    decision = schedule(Cluster(["n1"]), wants("a", "slover"), plugins=[LicencePool], args=ARGS)

    assert decision.reasons == {"n1": "there is no licence 'slover'"}
