"""Which events are kept for pods in their cycle, and for how long."""

from __future__ import annotations

from tests.queueing.queue_fakes import NODE_ADDED, node, pod

from moorage.framework.queued_pod import QueuedPod
from moorage.queueing.in_flight import Happening, InFlight


def flying(name: str) -> QueuedPod:
    """Make a pod to fly."""
    return QueuedPod(pod(name), timestamp=0.0)


def happening(name: str) -> Happening:
    """Make an addition of a node."""
    return Happening(NODE_ADDED, None, node(name))


def test_nothing_is_kept_while_no_pod_is_in_flight() -> None:
    """Without a cycle there is nobody to miss an event."""
    in_flight = InFlight()
    in_flight.record(happening("n1"))
    assert in_flight.log_length == 0


def test_a_pod_hears_of_what_came_after_its_pop() -> None:
    """Each cycle has its own beginning in the log."""
    in_flight = InFlight()
    first, second = happening("n1"), happening("n2")
    in_flight.start(flying("p"))
    in_flight.record(first)
    in_flight.start(flying("q"))
    in_flight.record(second)
    assert in_flight.happenings("p") == (first, second)
    assert in_flight.happenings("q") == (second,)


def test_the_log_is_cut_when_the_oldest_cycle_ends() -> None:
    """Events live as long as somebody may ask for them."""
    in_flight = InFlight()
    in_flight.start(flying("p"))
    in_flight.record(happening("n1"))
    in_flight.start(flying("q"))
    in_flight.record(happening("n2"))
    in_flight.end("p")
    assert in_flight.log_length == 1
    in_flight.end("q")
    assert in_flight.log_length == 0
    in_flight.check_invariants()


def test_a_pod_that_stops_listening_keeps_nothing() -> None:
    """A pod that is being bound for minutes costs no memory."""
    in_flight = InFlight()
    in_flight.start(flying("p"))
    in_flight.record(happening("n1"))
    in_flight.stop_listening("p")
    in_flight.stop_listening("unknown")
    in_flight.record(happening("n2"))
    assert in_flight.log_length == 0
    assert in_flight.happenings("p") == ()
    assert len(in_flight) == 1


def test_events_of_one_pod_reach_that_pod_alone() -> None:
    """A change of a pending pod is kept with the pod."""
    in_flight = InFlight()
    in_flight.start(flying("p"))
    in_flight.start(flying("q"))
    in_flight.record_for("p", happening("n1"))
    assert in_flight.happenings("p") == (happening("n1"),)
    assert in_flight.happenings("q") == ()
