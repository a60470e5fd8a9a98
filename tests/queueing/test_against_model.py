"""The queue against a model that looks at every pod for everything."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from tests.queueing.queue_fakes import NODE_ADDED, NODE_LABEL, NODE_TAINT, World, node, pod, refusal

from moorage.framework.queued_pod import QueuedPod
from moorage.framework.requeue import RequeueRequest
from moorage.model.events import ALL, ClusterEvent
from moorage.model.pod_info import PodInfo
from moorage.queueing import Place

PLUGINS = st.frozensets(st.sampled_from(["Fit", "Taint", "External", "Own", "Deaf", "Unknown"]))
EVENTS = {"Fit": NODE_ADDED, "Taint": NODE_TAINT, "External": NODE_LABEL, "Gate": NODE_TAINT}
GATES = st.sampled_from(["", "", "Gate", "Deaf"])
TIMEOUT = 300.0


@dataclass(frozen=True)
class Happened:
    """An event, or an update of one pod (`own`), and whether its object helps."""

    event: ClusterEvent | None
    helps: bool
    own: str = ""

    def helps_plugin(self, plugin: str) -> bool:
        """Say what the plugin's hint answers."""
        if self.event == ALL or plugin == "Unknown":
            return True
        if self.own:
            return plugin == "Own" and self.helps
        return self.helps and EVENTS.get(plugin) == self.event


@dataclass
class Modelled:
    """What the model knows of one pod."""

    info: PodInfo
    timestamp: float
    place: Place = Place.OUTSIDE
    since: float = 0.0
    refused: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    refusals: int = 0
    errors: int = 0
    backoff_until: float = 0.0
    flushed: bool = False
    listens: bool = True
    heard: list[Happened] = field(default_factory=list)
    newest: PodInfo | None = None

    @property
    def gate(self) -> str:
        """The label that gates the pod."""
        return self.info.pod.metadata.labels.get("gate", "")

    @property
    def order(self) -> tuple[int, float]:
        """What active pods are sorted by."""
        return (-self.info.priority, self.timestamp)


class QueueAgainstModel(RuleBasedStateMachine):
    """Do the same to the queue and to a dictionary of pods, and compare after every step."""

    flying: Bundle[QueuedPod] = Bundle("flying")

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.pods: dict[str, Modelled] = {}
        self.versions = 0

    # What the model does

    def let_in(self, modelled: Modelled, *, at_once: bool) -> None:
        """Put a pod into active or backoff, unless it is gated."""
        now = self.world.clock.now
        if modelled.gate and self.world.profile.closed:
            modelled.place, modelled.since, modelled.flushed = Place.GATED, now, False
        elif at_once or modelled.backoff_until <= now:
            modelled.place = Place.ACTIVE
        else:
            modelled.place = Place.BACKOFF

    def hear(self, modelled: Modelled, happened: Happened) -> None:
        """Wake a waiting pod if the event helps it."""
        if modelled.place is Place.UNSCHEDULABLE:
            if happened.event == ALL:
                self.let_in(modelled, at_once=False)
            elif any(map(happened.helps_plugin, modelled.pending)):
                self.let_in(modelled, at_once=True)
            elif any(map(happened.helps_plugin, modelled.refused)):
                self.let_in(modelled, at_once=False)
        elif modelled.place is Place.GATED:
            if happened.own or happened.helps_plugin(modelled.gate):
                self.let_in(modelled, at_once=False)
        elif modelled.place is Place.IN_FLIGHT:
            modelled.heard.append(happened)

    def pass_time(self) -> None:
        """Move what is due."""
        now = self.world.clock.now
        for modelled in self.pods.values():
            if modelled.place is Place.BACKOFF and modelled.backoff_until <= now:
                modelled.place = Place.ACTIVE
            elif (
                modelled.place in {Place.UNSCHEDULABLE, Place.GATED}
                and modelled.since + TIMEOUT <= now
            ):
                modelled.flushed = True
                self.let_in(modelled, at_once=False)

    def fail(self, modelled: Modelled, heard: list[Happened]) -> None:
        """Put a pod back after its counts were raised."""
        wait = min(2.0 ** ((modelled.errors or modelled.refusals) - 1), 10.0)
        now = self.world.clock.now
        modelled.timestamp, modelled.flushed = now, False
        modelled.backoff_until = math.ceil(now + wait)
        modelled.info, modelled.newest = modelled.newest or modelled.info, None
        modelled.place, modelled.since = Place.UNSCHEDULABLE, now
        at_once = any(
            event.event != ALL and event.helps_plugin(plugin)
            for event in heard
            for plugin in modelled.pending
        )
        for event in heard:
            if at_once or event.event == ALL:
                self.let_in(modelled, at_once=at_once)
                return
            if any(map(event.helps_plugin, modelled.refused)):
                self.let_in(modelled, at_once=False)
                return

    # What is done to both

    @rule(number=st.integers(0, 5), priority=st.integers(0, 2), gate=GATES)
    def add(self, number: int, priority: int, gate: str) -> None:
        """Add a pod that is not there yet."""
        uid = f"p{number}"
        if uid in self.pods:
            return
        info = pod(uid, priority=priority, labels={"gate": gate} if gate else {})
        self.world.queue.add(info)
        self.pods[uid] = Modelled(info, self.world.clock.now)
        self.let_in(self.pods[uid], at_once=True)

    @rule(target=flying)
    def pop(self) -> Any:  # noqa: ANN401 - a pod, or the mark that there was none
        """Pop: the best active pod, or the best refused one in backoff."""
        self.pass_time()
        active = [m for m in self.pods.values() if m.place is Place.ACTIVE]
        backoff = [m for m in self.pods.values() if m.place is Place.BACKOFF and not m.errors]
        queued = self.world.queue.pop()
        if queued is None:
            assert not active
            assert not backoff
            return None
        popped = self.pods[queued.info.uid]
        if active:
            assert popped in active
            assert popped.order == min(m.order for m in active)
        else:
            best = min((m.backoff_until, m.order) for m in backoff)
            assert (popped.backoff_until, popped.order) == best
        popped.place, popped.heard, popped.listens = Place.IN_FLIGHT, [], True
        return queued

    @rule(queued=consumes(flying), refused=PLUGINS, pending=PLUGINS)
    def refuse(
        self, queued: QueuedPod | None, refused: frozenset[str], pending: frozenset[str]
    ) -> None:
        """Hand a pod back: refused, or by fault where nobody refused it."""
        if queued is None:
            return
        modelled = self.in_flight(queued)
        place = self.world.queue.requeue(queued, refusal(*refused, pending=tuple(pending)))
        if modelled is None:
            assert place is Place.OUTSIDE
            return
        if not refused | pending:
            self.model_error(modelled)
            return
        modelled.refused, modelled.pending = refused - pending, pending
        modelled.refusals, modelled.errors = modelled.refusals + 1, 0
        self.fail(modelled, modelled.heard if modelled.listens else [Happened(ALL, helps=True)])

    @rule(queued=consumes(flying))
    def err(self, queued: QueuedPod | None) -> None:
        """Hand a pod back after a fault."""
        if queued is None:
            return
        modelled = self.in_flight(queued)
        self.world.queue.requeue(queued, RequeueRequest.error())
        if modelled is not None:
            self.model_error(modelled)

    def in_flight(self, queued: QueuedPod) -> Modelled | None:
        """Return the model of a pod that was popped, unless that one was deleted since."""
        modelled = self.pods.get(queued.info.uid)
        same = self.world.queue.find(queued.info.uid) is queued
        return modelled if modelled is not None and same else None

    def model_error(self, modelled: Modelled) -> None:
        """Send a pod to backoff."""
        modelled.refused = modelled.pending = frozenset()
        modelled.errors += 1
        self.fail(modelled, [Happened(ALL, helps=True)])

    @rule(queued=consumes(flying))
    def finish(self, queued: QueuedPod | None) -> None:
        """Bind a pod."""
        if queued is None or self.in_flight(queued) is None:
            return
        self.world.queue.done(queued.info.uid)
        del self.pods[queued.info.uid]

    @rule(queued=flying)
    def stop_listening(self, queued: QueuedPod | None) -> None:
        """Let go of a pod's events."""
        if queued is None or self.in_flight(queued) is None:
            return
        self.world.queue.stop_listening(queued.info.uid)
        self.pods[queued.info.uid].listens = False

    @rule(event=st.sampled_from([NODE_ADDED, NODE_TAINT, NODE_LABEL, ALL]), helps=st.booleans())
    def move(self, event: ClusterEvent, helps: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
        """Let something happen in the cluster."""
        self.world.queue.move(event, None, node(**({"helps": "yes"} if helps else {})))
        for modelled in self.pods.values():
            self.hear(modelled, Happened(event, helps))

    @rule(number=st.integers(0, 5), helps=st.booleans(), gate=GATES, alike=st.booleans())
    def update(self, number: int, helps: bool, gate: str, alike: bool) -> None:  # noqa: FBT001 - hypothesis passes them by name
        """Change a pod's labels, or (`alike`) its status alone."""
        modelled = self.pods.get(f"p{number}")
        if modelled is None:
            return
        self.versions += 1
        old = modelled.newest or modelled.info
        labels = {"gate": gate, "helps": "yes" if helps else ""}
        labels = {name: value for name, value in labels.items() if value}
        if alike:
            labels = dict(old.pod.metadata.labels)
        new = pod(old.uid, priority=old.priority, labels=labels, version=self.versions)
        self.world.queue.update(old, new)
        if modelled.place is Place.IN_FLIGHT:
            modelled.newest = new
        else:
            modelled.info = new
        if old.pod.metadata.labels != labels:
            self.hear(modelled, Happened(None, "helps" in labels, own=old.uid))

    @rule(number=st.integers(0, 5))
    def delete(self, number: int) -> None:
        """Delete a pod, wherever it is."""
        modelled = self.pods.pop(f"p{number}", None)
        if modelled is not None:
            self.world.queue.delete(modelled.info)

    @rule(number=st.integers(0, 5))
    def activate(self, number: int) -> None:
        """Activate a pod, wherever it is."""
        self.world.queue.activate([f"ns/p{number}"])
        modelled = self.pods.get(f"p{number}")
        if modelled is None:
            return
        if modelled.place is Place.BACKOFF:
            modelled.place = Place.ACTIVE
        elif modelled.place is Place.IN_FLIGHT:
            modelled.heard.append(Happened(ALL, helps=True))
        elif modelled.place is not Place.ACTIVE:
            self.let_in(modelled, at_once=True)

    @rule(seconds=st.sampled_from([0.25, 1.0, 3.0, 10.0, 150.0, 300.0]))
    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.world.clock.now += seconds
        self.world.queue.tick()
        self.pass_time()

    @rule()
    def turn_the_gate(self) -> None:
        """Open or close the gate for pods that knock from now on."""
        self.world.profile.closed = not self.world.profile.closed

    # What holds after every step

    @invariant()
    def agrees(self) -> None:
        """Each pod is where the model says, with the same counts."""
        for uid, modelled in self.pods.items():
            queued = self.world.queue.find(uid)
            assert queued is not None
            assert self.world.place(uid) is modelled.place, uid
            assert queued.info is modelled.info
            assert queued.unschedulable_count == modelled.refusals
            assert queued.error_count == modelled.errors
            assert queued.backoff_until == modelled.backoff_until
            assert queued.was_flushed == modelled.flushed
        assert sum(self.world.queue.counts().values()) == len(self.pods)

    @invariant()
    def is_sound(self) -> None:
        """Find the books in order, and nothing waiting that time does not reach."""
        self.world.queue.check_invariants()
        waits = {Place.BACKOFF, Place.UNSCHEDULABLE, Place.GATED}
        if any(modelled.place in waits for modelled in self.pods.values()):
            due = self.world.queue.next_ready_at()
            assert due is not None
            assert due <= self.world.clock.now + TIMEOUT


TestQueueAgainstModel = QueueAgainstModel.TestCase
TestQueueAgainstModel.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)
