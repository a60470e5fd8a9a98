"""The pages about what an operator sees say what the code does."""

from __future__ import annotations

import pytest
from tests.docs.doc_pages import DOCS

from moorage.metrics import Metrics
from moorage.metrics.families import Family
from moorage.serving import PATHS

METRICS = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
ENDPOINTS = (DOCS / "reference" / "endpoints.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("family", list(Metrics().families()), ids=lambda family: str(family.name))
def test_every_metric_is_on_its_page(family: Family) -> None:
    """With type and labels."""
    labels = ", ".join(f"`{label}`" for label in family.labels)

    assert f"| `{family.name}` | {family.kind} | {labels} | " in METRICS


@pytest.mark.parametrize("path", PATHS)
def test_every_path_is_on_its_page(path: str) -> None:
    """A path that nobody reads about might as well not be served."""
    assert f"`{path}" in ENDPOINTS
