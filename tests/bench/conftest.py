"""Benchmarks run alone: ``pytest -m bench -n 0 -s``."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def settled_memory() -> Iterator[None]:
    """Collect what other tests left, so that its collection is not measured here."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
