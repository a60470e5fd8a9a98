"""Random interleavings of everything that can go wrong, in virtual time."""

from __future__ import annotations

import pytest
from tests.faults.judging import check_everything, overfilled
from tests.faults.mischief import Mischief


def run(seed: int, steps: int) -> None:
    """Let one seed's mischief happen, and judge."""
    mischief = Mischief(seed)
    mischief.run(steps)
    mischief.settle()
    check_everything(mischief.scheduler)
    assert not mischief.most_over
    assert not overfilled(mischief.api)


@pytest.mark.parametrize("seed", range(40))
def test_no_interleaving_loses_a_pod_or_binds_it_twice(seed: int) -> None:
    """Whatever comes late, twice, never or in another order; and no node is overfilled."""
    run(seed, 400)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 3000, 100))
def test_no_interleaving_of_many_does(first: int) -> None:
    """The same, for thousands of seeds."""
    for seed in range(first, first + 100):
        run(seed, 500)
