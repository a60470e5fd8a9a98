"""Two pods never get one volume, nor one claim that is for a single pod, whatever goes wrong."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any, cast

import hypothesis.strategies as st
import numpy as np
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.builtin.simulated_storage import (
    ANSWERED,
    LOST_AFTER,
    LOST_BEFORE,
    REFUSED,
    SimulatedStorage,
)
from tests.loop_kit import Clock, make_framework
from tests.objects import make_node, requirement, term
from tests.volumes_kit import claim_volume, make_claim, make_class, make_volume

import moorage
from moorage.binding import Binder, DaemonThreads, Reservation
from moorage.framework.handle import Services
from moorage.model import ObjectMeta, Pod, PodSpec
from moorage.session import Failure, Session
from moorage_builtin.priority_sort import PrioritySort
from moorage_builtin.volume_binding import VolumeBinding
from moorage_builtin.volume_binding.ledger import Ledger
from moorage_builtin.volume_restrictions import VolumeRestrictions

if TYPE_CHECKING:
    from moorage.api.client import ApiClient

PROFILES = ("one", "two")
KINDS = {
    "PersistentVolume": "persistentvolumes",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "StorageClass": "storageclasses",
}
CLAIMS = ("s0", "s1", "s2", "only", "d0", "d1")
FATES = st.sampled_from([ANSWERED, ANSWERED, ANSWERED, LOST_AFTER, LOST_BEFORE, REFUSED])
places = st.integers(0, 7)


class Bind(moorage.Plugin):
    """Binds by a request whose fate others decide."""

    @moorage.hookimpl
    async def bind(self, pod: moorage.Pod, node_name: str) -> None:
        """Ask."""
        await self.handle.client.request("POST", f"/pods/{pod.metadata.name}", body=node_name)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes when told."""

    now = 1000.0

    def time(self) -> float:
        """Return the time."""
        return self.now


async def _announced(_: Reservation) -> None:
    """Write nothing: nominations are not the subject."""


class Promises(RuleBasedStateMachine):
    """Two profiles, three volumes, six claims, and pods that use them."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualLoop()
        self.threads = DaemonThreads()
        self.binder = Binder(self.threads, _announced)
        self.api = SimulatedStorage()
        self.clock = Clock()
        self.services = Services(
            clock=self.clock,
            client=cast("ApiClient", self.api),
            # Of equal nodes the same one each time: an example that is tried again must not differ.
            generator=np.random.default_rng(1),
        )
        plugins: dict[str, type[moorage.Plugin]] = {
            "PrioritySort": PrioritySort,
            "VolumeRestrictions": VolumeRestrictions,
            "VolumeBinding": VolumeBinding,
            "Bind": Bind,
        }
        frameworks = {
            name: make_framework(plugins, services=self.services, profile=name) for name in PROFILES
        }
        for framework in frameworks.values():
            framework.register_events()
        self.session = Session(frameworks, self.services)
        self.ledger: Ledger = self.services.shared["VolumeBinding"]
        self.pods: dict[str, Pod] = {}
        self.flights: dict[str, tuple[Reservation, asyncio.Task[Any]]] = {}
        self.numbers = itertools.count()
        self.versions = itertools.count(1)
        self._fill()

    def _fill(self) -> None:
        for name in ("n0", "n1"):
            self.session.nodes.put(make_node(name, labels={"kubernetes.io/hostname": name}))
        self.api.put(make_class("static", provisioner="kubernetes.io/no-provisioner"))
        self.api.put(make_class("dynamic"))
        near = [term(requirement("kubernetes.io/hostname", "In", "n0"))]
        self.api.put(make_volume("v0"))
        self.api.put(make_volume("v1", size="5Gi", terms=near))
        self.api.put(make_volume("v2", size="20Gi"))
        for name in CLAIMS:
            modes = ("ReadWriteOncePod",) if name == "only" else ("ReadWriteOnce",)
            class_name = "dynamic" if name.startswith("d") else "static"
            if name == "only":
                self.api.put(make_volume("vo", class_name="only", modes=modes))
                self.api.put(make_class("only", provisioner="kubernetes.io/no-provisioner"))
                class_name = "only"
            self.api.put(make_claim(name, class_name=class_name, modes=modes))
        for kind in KINDS:
            self._list(kind)

    # What happens

    @rule(
        claims=st.sampled_from([{"only"}, {"s0", "only"}])
        | st.sets(st.sampled_from(CLAIMS), min_size=1, max_size=2),
        profile=st.sampled_from(PROFILES),
    )
    def a_pod_comes(self, claims: set[str], profile: str) -> None:
        """Be told of a pod that uses claims."""
        name = f"p{next(self.numbers)}"
        pod = Pod(
            metadata=ObjectMeta(
                name=name, namespace="ns", uid=name, resource_version=str(next(self.versions))
            ),
            spec=PodSpec(scheduler_name=profile, volumes=tuple(map(claim_volume, sorted(claims)))),
        )
        self.pods[name] = pod
        self.session.pods.put(pod)

    @precondition(lambda self: self.pods)
    @rule(place=places)
    def a_pod_is_deleted(self, place: int) -> None:
        """Be told that a pod is gone, wherever it was on its way."""
        name = list(self.pods)[place % len(self.pods)]
        del self.pods[name]
        self.session.pods.drop(name)

    @rule()
    def a_pod_is_tried(self) -> None:
        """Try the next pod, and let its binding begin."""
        outcome = self.session.attempt()
        if outcome is None or isinstance(outcome, Failure):
            return
        reservation = outcome
        work = self.binder.bind(reservation, lambda: self.session.permitted(reservation))
        self.flights[reservation.info.uid] = (reservation, self.loop.create_task(work))
        self._go_on()

    @precondition(lambda self: self.api.calls)
    @rule(place=places, fate=FATES)
    def a_write_meets_its_fate(self, place: int, fate: int) -> None:
        """Settle a request."""
        self.api.settle(place % len(self.api.calls), fate)
        self._go_on()

    @rule(kind=st.sampled_from(sorted(KINDS)))
    def a_watch_tells(self, kind: str) -> None:
        """Be told how things are by now."""
        self._list(kind)
        self._go_on()

    @rule(place=places)
    def the_controller_acts(self, place: int) -> None:
        """Bind what names each other, and make volumes for claims whose node is selected."""
        self.api.control(list(self.api.objects)[place % len(self.api.objects)])

    @rule(name=st.sampled_from(["d0", "d1"]))
    def a_volume_cannot_be_made(self, name: str) -> None:
        """Take the selected node away from a claim, as a provisioner does that gives up."""
        for claim in self.api.all("PersistentVolumeClaim"):
            if claim.metadata.name == name and not claim.spec.volume_name:
                self.api.change("PersistentVolumeClaim", name, metadata={"annotations": {}})

    @rule(name=st.sampled_from(["v0", "v1", "v2", "vo"]))
    def a_volume_is_let_go(self, name: str) -> None:
        """Take the claim out of a volume that the controller has not bound."""
        for volume in self.api.all("PersistentVolume"):
            if volume.metadata.name == name and volume.status.phase == "Available":
                self.api.change("PersistentVolume", name, spec={"claimRef": None})

    @rule()
    def time_is_over(self) -> None:
        """Let every binding that still waits run into its timeout."""
        self.loop.now += 601
        self._go_on()

    @rule(seconds=st.sampled_from([2.0, 20.0, 301.0]))
    def time_passes(self, seconds: float) -> None:
        """Let backoffs end."""
        self.clock.now += seconds
        self.session.tick()

    # What must hold

    @invariant()
    def no_volume_is_promised_to_two_claims(self) -> None:
        """Of all pods on their way."""
        claim_of: dict[str, str] = {}
        for reservation, _ in self.flights.values():
            for state in reservation.states.values():
                for volume, claim in getattr(state.get("promised"), "static", ()):
                    assert claim_of.setdefault(volume, claim.metadata.name) == claim.metadata.name
        for volume, key in self.ledger.promised_volumes.items():
            assert claim_of.get(volume, key[1]) == key[1]

    @invariant()
    def no_pods_share_a_claim_for_one(self) -> None:
        """On nodes, bound or about to be."""
        users = list(self.services.cluster.volume_users.of_claim("ns", "only"))
        assert len(users) <= 1

    @invariant()
    def each_volume_has_one_claim(self) -> None:
        """As the API server has them."""
        bound = [
            claim.spec.volume_name
            for claim in self.api.all("PersistentVolumeClaim")
            if claim.spec.volume_name
        ]
        assert len(bound) == len(set(bound))

    @invariant()
    def bound_pods_have_their_volumes(self) -> None:
        """And can reach them."""
        claims = {one.metadata.name: one for one in self.api.all("PersistentVolumeClaim")}
        volumes = {one.metadata.name: one for one in self.api.all("PersistentVolume")}
        for info in self.services.cluster.pods():
            if info.uid in self.flights:
                continue
            for volume in info.pod.spec.volumes:
                claim = claims[str(volume.claim_of(info.pod.metadata.name))]
                assert claim.status.phase == "Bound"
                reference = volumes[claim.spec.volume_name].spec.claim_ref
                assert reference.uid == claim.metadata.uid
                if claim.spec.volume_name == "v1":
                    assert info.pod.spec.node_name == "n0"

    @invariant()
    def the_books_are_right(self) -> None:
        """Of cache and queue."""
        self.services.cluster.check_invariants()

    def teardown(self) -> None:
        """Let everything go well from here on: no promise is left, and nobody waits in vain."""
        try:
            for _ in range(12):
                self._settle_all()
            assert not self.flights
            assert self.ledger.promised_volumes == {}
            self._judge_who_waits()
        finally:
            for _, task in self.flights.values():
                task.cancel()
            self.loop.run_until_complete(asyncio.sleep(0))
            self.loop.close()
            self.threads.close()

    def _settle_all(self) -> None:
        while self.api.calls:
            self.a_write_meets_its_fate(0, ANSWERED)
        for key in list(self.api.objects):
            self.api.control(key)
        for kind in KINDS:
            self.a_watch_tells(kind)
        self.loop.now += 1
        self._go_on()
        self.clock.now += 20
        self.session.tick()
        for _ in range(len(self.pods) + 1):
            self.a_pod_is_tried()

    def _judge_who_waits(self) -> None:
        """Every pod that waits has a claim that cannot be had: all three volumes are in use."""
        waiting = [
            pod for name, pod in self.pods.items() if self.services.cluster.pod(name) is None
        ]
        claims = {one.metadata.name: one for one in self.api.all("PersistentVolumeClaim")}
        static = [claims[name] for name in ("s0", "s1", "s2")]
        taken = {one.spec.volume_name for one in static if one.spec.volume_name}
        one_user = list(self.services.cluster.volume_users.of_claim("ns", "only"))
        for pod in waiting:
            names = {str(volume.claim_of(pod.metadata.name)) for volume in pod.spec.volumes}
            placed = {
                claims[name].spec.volume_name for name in names if claims[name].spec.volume_name
            }
            may_wait = (
                ("only" in names and one_user)
                or len(names & {"s0", "s1", "s2"}) + len(taken) > 3
                or placed & {"v1"}
                or any(
                    "selected-node" in key
                    for name in names
                    for key in claims[name].metadata.annotations
                )
                or any(
                    volume.spec.claim_ref is not None and volume.status.phase == "Available"
                    for volume in self.api.all("PersistentVolume")
                )
            )
            assert may_wait, (pod.metadata.name, names, taken)

    def _list(self, kind: str) -> None:
        watched = self.session.watched(KINDS[kind])
        assert watched is not None
        watched.feed.take(self.api.listed(kind))

    def _go_on(self) -> None:
        """Let all bindings run until they wait, and note which have ended."""
        for _ in range(8):
            self.loop.run_until_complete(asyncio.sleep(0))
        for uid, (reservation, task) in list(self.flights.items()):
            if not task.done():
                continue
            del self.flights[uid]
            verdict = task.result()
            if verdict.is_success:
                self.session.bound(reservation)
            else:
                self.session.undo(reservation, verdict)


Promises.TestCase.settings = settings(max_examples=60, stateful_step_count=50)
TestPromises = Promises.TestCase
