"""`moorage version`."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from importlib import metadata

Command = Callable[..., tuple[int, str, str]]


def test_says_what_it_is_and_which_kubernetes_it_equals(moorage: Command) -> None:
    """Three lines to paste into a report."""
    code, out, err = moorage("version")

    assert (code, err) == (0, "")
    assert out.splitlines()[:2] == [
        f"moorage {metadata.version('moorage')}",
        "decides as kube-scheduler 1.36",
    ]


def test_as_json(moorage: Command) -> None:
    """For programs."""
    _, out, _ = moorage("version", "-o", "json")

    assert json.loads(out) == {
        "moorage": metadata.version("moorage"),
        "kubernetes": "1.36",
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
    }
