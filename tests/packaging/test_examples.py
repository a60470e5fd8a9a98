"""The example packages: each installed for real, and its own tests run there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.packaging.conftest import ROOT, pip, run

pytestmark = pytest.mark.packaging

EXAMPLES = sorted((ROOT / "examples" / "plugins").iterdir())


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """Make an environment with the wheel and all examples, as their readers would."""
    folder = tmp_path_factory.mktemp("examples")
    assert run(sys.executable, "-m", "venv", folder).returncode == 0
    found = folder / "bin" / "python"
    pip(found, "install", f"{wheel}[testing]", *EXAMPLES)
    return found


def test_there_are_four_examples() -> None:
    """A score, a permit, an informer, state between hooks."""
    assert [example.name for example in EXAMPLES] == [
        "moorage-coscheduling",
        "moorage-licence-pool",
        "moorage-node-metadata",
        "moorage-node-power",
    ]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_passes_its_tests_where_it_is_installed(example: Path, python: Path) -> None:
    """From its own folder, with the wheel alone."""
    done = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=example)

    assert done.returncode == 0, done.stdout + done.stderr
