"""The search, with all that it shares and leaves out, against trying everything in order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import hypothesis.strategies as st
from hypothesis import given, settings
from tests.builtin.dynamic_resources.devices_kit import (
    DRIVER,
    claim,
    decide,
    device,
    device_class,
    gpu_slice,
    pod,
    request,
)

from moorage.testing import Cluster

NODES = ("n0", "n1", "n2")
TAINT = {"key": "broken", "effect": "NoSchedule"}


class Gpu(NamedTuple):
    """A device, as far as these tests go."""

    model: str
    numa: int | None
    is_tainted: bool
    share: int
    """What it takes of the 4 that its pool has."""
    in_use: bool


class Asked(NamedTuple):
    """A request, as far as these tests go."""

    model: str
    number: int
    tolerates: bool


gpus = st.builds(
    Gpu,
    st.sampled_from(["a", "b"]),
    st.sampled_from([None, 0, 1]),
    st.sampled_from([False, False, False, True]),
    st.integers(0, 2),
    st.sampled_from([False, False, True]),
)
requests = st.builds(Asked, st.sampled_from(["", "a", "b"]), st.integers(1, 2), st.booleans())


def fits(gpu: Gpu, asked: Asked) -> bool:
    """Say whether a device is for a request."""
    return (
        not gpu.in_use
        and asked.model in {"", gpu.model}
        and (asked.tolerates or not gpu.is_tainted)
    )


def solutions(
    node: list[Gpu], wanted: list[Asked], constraint: str, taken: tuple[int, ...] = ()
) -> Iterator[tuple[int, ...]]:
    """Yield all ways to meet all requests, in order; a set of devices of one request comes once."""
    if not wanted:
        values = [node[index].numa for index in taken]
        if constraint and None in values:
            return
        if constraint == "matchAttribute" and len(set(values)) > 1:
            return
        if constraint == "distinctAttribute" and len(set(values)) < len(values):
            return
        used = [gpu for index, gpu in enumerate(node) if gpu.in_use or index in taken]
        needs_nothing = not any(node[index].share for index in taken)
        if needs_nothing or sum(gpu.share for gpu in used) <= 4:
            yield taken
        return
    places = [
        index for index, gpu in enumerate(node) if index not in taken and fits(gpu, wanted[0])
    ]
    for chosen in combinations(places, wanted[0].number):
        yield from solutions(node, wanted[1:], constraint, (*taken, *chosen))


def written(gpu: Gpu, name: str) -> dict[str, Any]:
    """Write a device, with an attribute that nobody else's has."""
    attributes: dict[str, Any] = {"model": gpu.model, "uuid": name}
    if gpu.numa is not None:
        attributes["numa"] = gpu.numa
    counters = {"left": {"value": str(gpu.share)}}
    return device(
        name.rpartition("-")[2],
        attributes=attributes,
        taints=[TAINT] if gpu.is_tainted else [],
        consumesCounters=[{"counterSet": "all", "counters": counters}] if gpu.share else [],
    )


@settings(deadline=None)
@given(
    st.lists(st.lists(gpus, max_size=5), min_size=len(NODES), max_size=len(NODES)),
    st.lists(requests, min_size=1, max_size=3),
    st.sampled_from(["", "", "matchAttribute", "distinctAttribute"]),
)
def test_first_solution_is_found_where_there_is_one(
    nodes: list[list[Gpu]], wanted: list[Asked], constraint: str
) -> None:
    """On every node, the same devices as by trying everything."""
    cluster = Cluster(NODES)
    cluster.add(device_class())
    for name, node in zip(NODES, nodes, strict=True):
        counters = [{"name": "all", "counters": {"left": {"value": "4"}}}]
        cluster.add(
            gpu_slice(name, name=f"{name}-counters", count=2, sharedCounters=counters),
            gpu_slice(
                name,
                *(written(gpu, f"{name}-g{index}") for index, gpu in enumerate(node)),
                name=f"{name}-devices",
                count=2,
            ),
        )
        for index, gpu in enumerate(node):
            if gpu.in_use:
                result = {"driver": DRIVER, "pool": name, "device": f"g{index}"}
                status = {"allocation": {"devices": {"results": [result]}}}
                cluster.add(claim(f"{name}-{index}", status=status))
    asked = [
        request(
            f"r{index}",
            where=f"device.attributes['{DRIVER}'].model == '{one.model}'" if one.model else "",
            count=one.number,
            tolerations=[{"key": "broken", "operator": "Exists"}] if one.tolerates else [],
        )
        for index, one in enumerate(wanted)
    ]
    constraints = [{constraint: f"{DRIVER}/numa"}] if constraint else []
    cluster.add(claim("c", *asked, constraints=constraints))

    decision = decide(cluster, pod("p", "c")).decision

    expected = {
        name: next(solutions(node, wanted, constraint), None)
        for name, node in zip(NODES, nodes, strict=True)
    }
    assert decision.details is not None
    assert set(decision.details.feasible) == {
        name for name, found in expected.items() if found is not None
    }
    for state in decision.states.values():
        for note in state.values():
            for name in decision.details.feasible:
                found = [device for _, _, device in note.devices_on(name)["c"]]
                assert found == [f"g{index}" for index in expected[name] or ()]
