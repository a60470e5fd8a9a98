"""The pytest plugin: its fixtures, and that it costs nothing to those who do not use it."""

from __future__ import annotations

import subprocess
import sys

from moorage import Registry
from moorage.testing import Cluster


def test_the_host_is_what_is_installed(moorage_host: Registry) -> None:
    """By name, without importing anything."""
    assert "NodeResourcesFit" in moorage_host
    assert "NoSuchPlugin" not in moorage_host


def test_the_cluster_has_three_nodes(moorage_cluster: Cluster) -> None:
    """Of the usual size, without pods."""
    assert list(moorage_cluster.nodes) == ["n1", "n2", "n3"]


def test_nothing_is_imported_before_a_test_asks_for_it() -> None:
    """It is loaded in every run of pytest wherever Moorage is installed."""
    code = (
        "import sys, moorage_pytest; "
        "print(sorted({'moorage', 'numpy', 'pydantic', 'hypothesis'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_the_kit_can_be_imported_without_hypothesis() -> None:
    """Only strategies, and checks that draw, need it; they say what to type."""
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "import moorage.testing\n"
        "import moorage.testing.strategies"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    last = done.stderr.strip().splitlines()[-1]
    assert last == (
        "ModuleNotFoundError: moorage.testing.strategies needs hypothesis; "
        "type: pip install 'moorage[testing]'"
    )
