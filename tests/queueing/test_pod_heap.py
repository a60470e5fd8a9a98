"""The heap of pods, against a sorted list."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.queueing.queue_fakes import pod

from moorage.framework.queued_pod import QueuedPod
from moorage.queueing.pod_heap import PodHeap

PODS = [QueuedPod(pod(f"p{number}"), timestamp=0.0) for number in range(8)]
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["push", "push", "discard", "first"]),
        st.sampled_from(PODS),
        st.integers(0, 5),
    ),
    max_size=300,
)


@given(OPERATIONS)
def test_a_heap_answers_as_a_sorted_list_does(
    operations: list[tuple[str, QueuedPod, int]],
) -> None:
    """Whatever is pushed, pushed again and removed, the smallest key comes first, then the oldest."""
    heap = PodHeap()
    expected: dict[str, tuple[int, int, QueuedPod]] = {}
    for step, (operation, queued, key) in enumerate(operations):
        if operation == "push":
            heap.push(queued, key)
            expected[queued.key] = (key, step, queued)
        elif operation == "discard":
            heap.discard(queued)
            expected.pop(queued.key, None)
        else:
            first = min(expected.values(), key=lambda entry: entry[:2], default=None)
            assert heap.first() is (first and first[2])
        heap.check_invariants()
        assert len(heap) == len(expected)


def test_iteration_is_in_order() -> None:
    """People read the heap as it will be popped."""
    heap = PodHeap()
    for key, queued in zip((3, 1, 2), PODS, strict=False):
        heap.push(queued, key)
    assert list(heap) == [PODS[1], PODS[2], PODS[0]]


def test_stale_entries_do_not_pile_up() -> None:
    """A pod that is sorted in again and again costs no memory."""
    heap = PodHeap()
    for key in range(10_000):
        heap.push(PODS[0], -key)
    assert len(heap._heap) < 200
