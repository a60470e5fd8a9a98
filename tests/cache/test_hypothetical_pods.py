"""Pods found by priority, and rows that change step by step, against a look at every pod."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from tests.builtin.affinity import labelled, near, term
from tests.objects import make_node, make_pod, port

from moorage import NodesView, PodInfo
from moorage.cache import ClusterCache, PodsOnRows
from moorage.model import PodStatus, selector_of

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SEEDS = range(40)


class World:
    """Some nodes, and pods that came and went so that slots were used anew."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.cluster = ClusterCache()
        self.came: list[PodInfo] = []
        self.names = [f"n{number}" for number in range(self.random.randint(1, 5))]
        for name in self.names:
            self.cluster.set_node(make_node(name))
        for number in range(60):
            self.come(number)
            if self.random.random() < 0.3:
                gone = self.came.pop(self.random.randrange(len(self.came)))
                self.cluster.remove_pod(gone.uid)

    def pod(self, number: int, node: str = "") -> PodInfo:
        """Draw a pod."""
        choose = self.random.choice
        started = NOON + timedelta(seconds=self.random.randint(0, 2))
        return make_pod(
            f"p{number}",
            node=node,
            priority=choose((-5, 0, 3, 2_000_000_000)),
            labels=choose(({}, {"app": "a"})),
            requests=choose(({}, {"cpu": "1"}, {"memory": "1Gi", "example.com/gpu": "2"})),
            ports=choose(((), (port(80),))),
            affinity=choose((None, None, near(term(labelled(app="a"))))),
            status=PodStatus(start_time=choose((None, started))),
        )

    def come(self, number: int) -> None:
        """Have one more pod come to a node."""
        info = self.pod(number, self.random.choice(self.names))
        self.cluster.add_pod(info)
        self.came.append(info)

    def view(self) -> NodesView:
        """Return some of the nodes, in any order."""
        rows = self.random.sample(range(len(self.names)), self.random.randint(1, len(self.names)))
        return self.cluster.view_of(np.array(rows, dtype=np.intp))


def importance(info: PodInfo) -> tuple[int, datetime]:
    """Order pods as they would be asked whether they can stay."""
    return -info.priority, info.pod.status.start_time or NOON + timedelta(days=1)


@pytest.mark.parametrize("seed", SEEDS)
def test_pods_below_a_priority_are_found_in_order(seed: int) -> None:
    """By row, then the most important first; of equals who came first."""
    world = World(seed)
    view = world.view()
    found = view.pods_below(3)
    expected = [
        (position, info)
        for position in range(len(view))
        for info in sorted(
            (
                info
                for info in world.came
                if info.priority < 3 and info.pod.spec.node_name == view.name(position)
            ),
            key=importance,
        )
    ]
    assert list(zip(found.positions.tolist(), found, strict=True)) == expected
    looked_up = PodsOnRows.of(world.cluster.columns, expected)
    for attribute in ("priorities", "starts", "has_affinity"):
        assert getattr(found, attribute).tolist() == getattr(looked_up, attribute).tolist()
    assert np.array_equal(
        found.table.real[:, found.requests], looked_up.table.real[:, looked_up.requests]
    )
    world.cluster.check_invariants()


@pytest.mark.parametrize("seed", SEEDS)
def test_steps_come_to_what_the_pods_are_in_the_end(seed: int) -> None:
    """Whatever was added and taken off again, also what was not there before."""
    world = World(seed)
    view = world.view()
    on = [{info.uid: info for info in view.pod_infos(at)} for at in range(len(view))]
    for step in range(8):
        adds = world.random.random() < 0.5
        pairs = []
        for position, pods in enumerate(on):
            known = list(world.cluster.pods_on(int(view.rows[position])))
            back = [info for info in known if info.uid not in pods]
            new = [world.pod(1000 * step + position)]
            pool = [*back, *new] if adds else list(pods.values())
            pairs += [(position, info) for info in pool if world.random.random() < 0.5]
        change = PodsOnRows.of(world.cluster.columns, pairs)
        view = view.with_pods(change) if adds else view.without_pods(change)
        for position, info in pairs:
            if adds:
                on[position][info.uid] = info
            else:
                del on[position][info.uid]
    check(view, [list(pods.values()) for pods in on])


def check(view: NodesView, on: list[list[PodInfo]]) -> None:
    """Compare all that a view says of its pods."""
    for resource in ("cpu", "memory", "pods", "example.com/gpu"):
        requests = [
            len(pods) if resource == "pods" else sum(one.requests.get(resource) for one in pods)
            for pods in on
        ]
        assert view.requested(resource).tolist() == requests
    assert view.nonzero_requested.T.tolist() == [
        [
            sum(one.requests.nonzero_cpu for one in pods),
            sum(one.requests.nonzero_memory for one in pods),
        ]
        for pods in on
    ]
    selector = selector_of(labelled(app="a"))
    assert view.matching_pods(None, selector).tolist() == [
        sum(one.pod.metadata.labels.get("app") == "a" for one in pods) for pods in on
    ]
    wanted = make_pod("wanted", ports=[port(80)]).host_ports
    assert view.port_conflicts(wanted).tolist() == [
        any(one.host_ports for one in pods) for pods in on
    ]
    for position, pods in enumerate(on):
        assert {info.uid for info in view.pod_infos(position)} == {info.uid for info in pods}


def test_a_slice_of_pods_shares_their_arrays() -> None:
    """Rounds of a dry run cost no copies."""
    world = World(1)
    pods = world.view().pods_below(10)
    some = pods[1:3]
    assert list(some) == list(pods)[1:3]
    assert np.shares_memory(some.positions, pods.positions)
    assert pods[0] is next(iter(pods))
