"""Everything that can happen to a scheduler, one thing at a time and at random."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from tests.faults.judging import overfilled
from tests.faults.simulated_api import SimulatedApi
from tests.faults.simulated_scheduler import (
    ANSWERED,
    LOST_AFTER,
    LOST_BEFORE,
    REFUSED,
    UNREACHABLE,
    Scheduler,
)

import moorage

__all__ = ["Mischief", "Moody"]

_FATES = (ANSWERED,) * 6 + (LOST_AFTER, LOST_BEFORE, UNREACHABLE, REFUSED)
_ZONES = ("a", "b")


class Moody(moorage.Plugin):
    """Raises, refuses or waits in any hook, as its dice say; `calm` ends that."""

    dice = random.Random(0)
    calm = False

    def _mood(self, *answers: moorage.Verdict | Exception) -> moorage.Verdict | None:
        if type(self).calm or self.dice.random() < 0.9:
            return None
        answer = self.dice.choice(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @moorage.hookimpl
    def events_to_register(self) -> list[moorage.EventHint]:
        """Register for everything: a mood may pass at any time."""
        return [moorage.EventHint(moorage.model.events.ALL)]

    @moorage.hookimpl
    def pre_filter(self) -> moorage.Verdict | None:
        """Raise."""
        return self._mood(ValueError("pre_filter"))

    @moorage.hookimpl
    def post_filter(self) -> moorage.Nomination | None:
        """Expect the pod somewhere, as preemption does."""
        names = [node.metadata.name for node in self.handle.nodes()]
        if type(self).calm or not names or self.dice.random() < 0.9:
            return None
        return moorage.Nomination(self.dice.choice([*names, ""]))

    @moorage.hookimpl
    def reserve(self) -> moorage.Verdict | None:
        """Raise."""
        return self._mood(ValueError("reserve"))

    @moorage.hookimpl
    def unreserve(self) -> None:
        """Raise."""
        self._mood(ValueError("unreserve"))

    @moorage.hookimpl
    def permit(self) -> moorage.Verdict | None:
        """Raise, or let the pod wait."""
        return self._mood(ValueError("permit"), moorage.Verdict.wait(5), moorage.Verdict.wait(30))

    @moorage.hookimpl
    async def pre_bind_pre_flight(self) -> moorage.Verdict | None:
        """Raise."""
        return self._mood(ValueError("pre_bind_pre_flight"))

    @moorage.hookimpl
    async def pre_bind(self) -> moorage.Verdict | None:
        """Raise."""
        return self._mood(ValueError("pre_bind"))


class Mischief:
    """Drives one scheduler on one API through random steps.

    With `neighbour`, another scheduler binds pods to the same nodes. `Moody` plugins are told by
    `dice`, so that a seed tells everything.
    """

    def __init__(self, seed: int, *, neighbour: bool = False, nodes: int = 5) -> None:
        self.dice = random.Random(seed)
        self.api = SimulatedApi()
        self.plugin: type[Moody] = type("Moody", (Moody,), {"dice": self.dice})
        self.made = 0
        self.most_over = 0
        self._seed = seed
        for _ in range(nodes):
            self._node_comes()
        self.scheduler = self._started()
        happenings: list[tuple[int, Callable[[], None]]] = [
            (80, self._pod_comes),
            (30, self._pod_goes),
            (20, self._pod_changes),
            (10, self._gate_opens),
            (3, self._node_comes),
            (3, self._node_goes),
            (15, self._node_changes),
            (150, self._hear),
            (20, self._hear_again),
            (5, self._relist),
            (200, self._attempt),
            (400, self._task_goes_on),
            (30, self._permit_is_settled),
            (50, self._time_passes),
            (2, self._restart),
        ]
        if neighbour:
            happenings.append((10, self._neighbour_binds))
        self._weights = [weight for weight, _ in happenings]
        self._happenings = [happening for _, happening in happenings]

    def run(self, steps: int) -> None:
        """Let so many things happen; `most_over` is by how much a node was ever overfilled."""
        for happening in self.dice.choices(self._happenings, self._weights, k=steps):
            happening()
            self.most_over = max(self.most_over, *overfilled(self.api).values(), 0)

    def settle(self) -> None:
        """Let faults end, and everything that goes on come to its end; less than the long timeout."""
        self.plugin.calm = True
        scheduler = self.scheduler
        for _ in range(100):
            scheduler.hear("nodes")
            scheduler.hear("pods")
            while scheduler.attempt():
                pass
            scheduler.settle_permits()
            while scheduler.flights:
                scheduler.step(0)
            scheduler.pass_time(1.0)

    def _started(self) -> Scheduler:
        return Scheduler(self.api, {"Moody": self.plugin}, seed=self._seed)

    # What users do

    def _pod_comes(self) -> None:
        self.made += 1
        self.api.create_pod(
            f"p{self.made}",
            cpu=self.dice.choice("1123"),
            gates=("wait",) if self.dice.random() < 0.1 else (),
            selector={"zone": self.dice.choice(_ZONES)} if self.dice.random() < 0.2 else {},
            priority=self.dice.choice((0, 0, 0, 10)),
        )

    def _pod_goes(self) -> None:
        uid = self._any(self.api.pods)
        if uid and self.api.pods[uid].spec.node_name and self.dice.random() < 0.7:
            self.api.finish_pod(uid)
        elif uid:
            self.api.delete_pod(uid)

    def _pod_changes(self) -> None:
        if uid := self._any(self.api.pods):
            self.api.change_pod(uid, metadata={"labels": {"mark": str(self.dice.random())}})

    def _gate_opens(self) -> None:
        gated = [uid for uid, pod in self.api.pods.items() if pod.spec.scheduling_gates]
        if gated:
            self.api.change_pod(self.dice.choice(gated), spec={"scheduling_gates": ()})

    def _node_comes(self) -> None:
        self.made += 1
        labels = {"zone": self.dice.choice(_ZONES)}
        self.api.create_node(f"n{self.made}", cpu=self.dice.choice("246"), labels=labels)

    def _node_goes(self) -> None:
        if (name := self._any(self.api.nodes)) and len(self.api.nodes) > 2:
            self.api.delete_node(name)
            for uid in [u for u, pod in self.api.pods.items() if pod.spec.node_name == name]:
                self.api.delete_pod(uid)

    def _node_changes(self) -> None:
        name = self._any(self.api.nodes)
        if not name:
            return
        node = self.api.nodes[name]
        what = self.dice.randrange(3)
        if what == 0:
            self.api.change_node(name, unschedulable=not node.spec.unschedulable)
        elif what == 1:
            self.api.change_node(name, labels={"zone": self.dice.choice(_ZONES)})
        else:  # it grows: one that shrinks may be over its allocatable by nobody's fault
            cpu = str(int(node.status.allocatable["cpu"]) + 1)
            self.api.change_node(name, allocatable={"cpu": cpu, "pods": "110"})

    def _neighbour_binds(self) -> None:
        waiting = [
            uid
            for uid, pod in self.api.pods.items()
            if not pod.spec.node_name and not pod.spec.scheduling_gates
        ]
        if waiting and self.api.nodes:
            self.api.bind(
                self.dice.choice(waiting), self.dice.choice(list(self.api.nodes)), by_us=False
            )

    # What the network does

    def _hear(self) -> None:
        self.scheduler.hear(self.dice.choice(("pods", "nodes")), self.dice.randint(1, 6))

    def _hear_again(self) -> None:
        stream = self.scheduler.streams[self.dice.choice(("pods", "nodes"))]
        stream.rewind(self.dice.randint(1, 6))

    def _relist(self) -> None:
        self.scheduler.relist(self.dice.choice(("pods", "nodes")))

    # What the scheduler does

    def _attempt(self) -> None:
        self.scheduler.attempt()

    def _task_goes_on(self) -> None:
        if self.scheduler.flights:
            index = self.dice.randrange(len(self.scheduler.flights))
            self.scheduler.step(index, self.dice.choice(_FATES))

    def _permit_is_settled(self) -> None:
        for waiting in self.scheduler.session.services.waiting:
            if self.dice.random() < 0.5:
                waiting.allow("Moody")
            elif self.dice.random() < 0.2:
                waiting.reject("Moody", "no")
        self.scheduler.settle_permits()

    def _time_passes(self) -> None:
        self.scheduler.pass_time(self.dice.choice((0.1, 0.5, 1.0, 3.0)))

    def _restart(self) -> None:
        """End the process; what it was about to write is never written."""
        self.scheduler = self._started()

    def _any(self, held: Mapping[str, object]) -> str:
        return self.dice.choice(list(held)) if held else ""
