"""The table of places, its picture, and the code that obeys it."""

from __future__ import annotations

import pytest
from tests.queueing.queue_fakes import pod

from moorage.framework.queued_pod import QueuedPod
from moorage.queueing import places
from moorage.queueing.ledger import Ledger
from moorage.queueing.places import TRANSITIONS, Place


def drawn() -> set[tuple[Place, Place]]:
    """Read the table out of the module's docstring: an x stands under the place it leads to."""
    lines = (places.__doc__ or "").split("```")[3].strip("\n").splitlines()
    columns = {lines[0].index(name): Place[name] for name in lines[0].split()}
    return {
        (Place[line.split()[0]], columns[position])
        for line in lines[1:]
        for position, letter in enumerate(line)
        if letter == "x"
    }


def put(ledger: Ledger, queued: QueuedPod, place: Place) -> None:
    """Bring a new pod to a place by ways that the table allows."""
    ways = {
        Place.OUTSIDE: [],
        Place.ACTIVE: [Place.ACTIVE],
        Place.GATED: [Place.GATED],
        Place.IN_FLIGHT: [Place.ACTIVE, Place.IN_FLIGHT],
        Place.BACKOFF: [Place.ACTIVE, Place.IN_FLIGHT, Place.BACKOFF],
        Place.UNSCHEDULABLE: [Place.ACTIVE, Place.IN_FLIGHT, Place.UNSCHEDULABLE],
    }
    for step in ways[place]:
        ledger.transfer(queued, step)


def test_the_picture_shows_the_table() -> None:
    """Docstring and table name the same transitions."""
    assert drawn() == set(TRANSITIONS)


@pytest.mark.parametrize("to", Place)
@pytest.mark.parametrize("source", Place)
def test_the_code_makes_the_transitions_of_the_table_and_no_other(source: Place, to: Place) -> None:
    """Each pair either works and leaves the books in order, or is refused and changes nothing."""
    ledger = Ledger(sort_key=lambda queued: queued.timestamp, clock=lambda: 0.0)
    queued = QueuedPod(pod("p"), timestamp=0.0)
    put(ledger, queued, source)
    if (source, to) in TRANSITIONS:
        ledger.transfer(queued, to)
        assert ledger.place(queued) is to
    else:
        with pytest.raises(RuntimeError, match="ns/p cannot go from"):
            ledger.transfer(queued, to)
        assert ledger.place(queued) is source
    ledger.check_invariants()
