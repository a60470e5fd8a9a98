"""Public reports of pods that nobody retried (decision-bugs, Q entries): each retried at once here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from tests.faults.simulated_api import SimulatedApi
from tests.faults.simulated_scheduler import Scheduler
from tests.loop_kit import Answers, scripted

import moorage
from moorage.api.decoding import Added, Deleted
from moorage.api.watching import Changes
from moorage.model.meta import Namespace
from moorage.model.nodes import Node
from moorage.model.pods import Pod
from moorage.queueing import Place
from moorage_builtin.inter_pod_affinity import InterPodAffinity

HOSTNAME = "kubernetes.io/hostname"


class Story:
    """A scheduler with InterPodAffinity, told of objects as JSON."""

    def __init__(self, **plugins: type[moorage.Plugin]) -> None:
        more: dict[str, type[moorage.Plugin]] = {"InterPodAffinity": InterPodAffinity, **plugins}
        self.scheduler = Scheduler(SimulatedApi(), more)
        self.session = self.scheduler.session
        self.versions = 0

    def namespace(self, name: str, labels: Mapping[str, str]) -> None:
        """Create or change a namespace."""
        self._tell("namespaces", {"metadata": {"name": name, "labels": labels}}, Namespace)

    def node(self, name: str, **spec: object) -> None:
        """Create or change a node with room for one hundred pods."""
        metadata = {"name": name, "labels": {HOSTNAME: name}}
        status = {"allocatable": {"cpu": "100", "pods": "100"}}
        self._tell("nodes", {"metadata": metadata, "spec": spec, "status": status}, Node)

    def pod(
        self,
        name: str,
        *,
        namespace: str = "a",
        labels: Mapping[str, str] | None = None,
        node: str = "",
        affinity: Mapping[str, Any] | None = None,
        cpu: str = "1",
    ) -> None:
        """Create or change a pod."""
        container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
        spec = {"containers": [container], "nodeName": node, "affinity": affinity}
        metadata = {"name": name, "namespace": namespace, "uid": name, "labels": labels or {}}
        self._tell("pods", {"metadata": metadata, "spec": spec, "status": {}}, Pod)

    def gone(self, name: str) -> None:
        """Delete a pod."""
        pod = self.session.pods.known(name)
        assert pod is not None
        self.session.pods.take(Changes([Deleted(pod.pod)]))

    def refused(self, name: str) -> None:
        """Try all pods; this one is refused, and its backoff passes."""
        self._attempt()
        assert self.session.queue.place(name) is Place.UNSCHEDULABLE
        self.scheduler.pass_time(20.0)
        assert self.session.queue.place(name) is Place.UNSCHEDULABLE

    def is_placed(self, name: str) -> bool:
        """Say whether the pod gets a node at once, without time passing."""
        self._attempt()
        return self.session.cluster.pod(name) is not None

    def _attempt(self) -> None:
        while self.scheduler.attempt():
            pass

    def _tell(self, plural: str, item: dict[str, Any], record: type[Any]) -> None:
        self.versions += 1
        item["metadata"]["resourceVersion"] = str(self.versions)
        watched = self.session.watched(plural)
        assert watched is not None
        watched.feed.take(Changes([Added(msgspec.convert(item, record))]))


def near(labels: Mapping[str, str], **term: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Require pods with labels on the node."""
    required = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": labels}, **term}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [required]}}


def apart(labels: Mapping[str, str], **term: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Require that there be none."""
    [required] = near(labels, **term)["podAffinity"].values()
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


TEAM_X = {"namespaceSelector": {"matchLabels": {"team": "x"}}}


def test_q1_pod_that_comes_in_a_selected_namespace() -> None:
    """K#141953: podAffinity with a namespaceSelector; 1.36 waits for five minutes."""
    story = Story()
    story.namespace("a", {"team": "x"})
    story.namespace("b", {})
    story.node("n1")
    story.pod("p", namespace="b", affinity=near({"app": "db"}, **TEAM_X))
    story.refused("p")
    story.pod("db", labels={"app": "db"}, node="n1")
    assert story.is_placed("p")


@pytest.mark.parametrize("happening", ["deleted", "relabelled"])
def test_q1_blocker_in_a_selected_namespace_that_goes_or_changes(happening: str) -> None:
    """K#141953: the same for podAntiAffinity, where the blocker is deleted or relabelled."""
    story = Story()
    story.namespace("a", {"team": "x"})
    story.namespace("b", {})
    story.node("n1")
    story.pod("db", labels={"app": "db"}, node="n1")
    story.pod("p", namespace="b", affinity=apart({"app": "db"}, **TEAM_X))
    story.refused("p")
    if happening == "deleted":
        story.gone("db")
    else:
        story.pod("db", labels={"app": "other"}, node="n1")
    assert story.is_placed("p")


def test_q1_namespace_that_begins_to_be_selected() -> None:
    """The pod was there before; its namespace gets the label."""
    story = Story()
    story.namespace("a", {})
    story.namespace("b", {})
    story.node("n1")
    story.pod("db", labels={"app": "db"}, node="n1")
    story.pod("p", namespace="b", affinity=near({"app": "db"}, **TEAM_X))
    story.refused("p")
    story.namespace("a", {"team": "x"})
    assert story.is_placed("p")


def test_q2_first_of_a_self_affine_series_when_the_last_one_is_gone() -> None:
    """K#141354: a cordoned node keeps the replacement away until the old pod is really gone."""
    story = Story()
    story.node("n1", unschedulable=True)
    story.node("n2")
    story.pod("old", labels={"app": "a"}, node="n1")
    story.pod("new", labels={"app": "a"}, affinity=near({"app": "a"}))
    story.refused("new")
    story.gone("old")
    assert story.is_placed("new")


def test_q3_pod_whose_own_anti_affinity_repelled_the_waiting_one() -> None:
    """K#134393: it is not the waiting pod that has the term."""
    story = Story()
    story.node("n1")
    story.pod("loner", labels={"app": "loner"}, node="n1", affinity=apart({"app": "p"}))
    story.pod("p", labels={"app": "p"})
    story.refused("p")
    story.gone("loner")
    assert story.is_placed("p")


def test_q6_room_that_a_failed_binding_gives_back() -> None:
    """K#122444: refused for the sake of an assumed pod, and tried again when that one is forgotten."""
    left = [1]

    def fail_once(pod: moorage.Pod, plugin: moorage.Plugin) -> None:
        if left:
            left.pop()
            raise ValueError("no luck")

    answers: Answers = {"pre_bind": fail_once}
    story = Story(Failing=scripted(("pre_bind",), answers, [], asynchronous=True))
    story.node("n1")
    story.pod("a", cpu="100")
    story.scheduler.attempt()  # its nomination is being written
    story.pod("b", cpu="100")
    story.scheduler.api.create_pod("a")
    story.refused("b")
    story.scheduler.step(0)
    assert story.session.queue.place("a") is Place.BACKOFF
    assert story.is_placed("b")
