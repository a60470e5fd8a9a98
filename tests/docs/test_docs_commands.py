"""Every command on a page is typed, and every file is written, as a reader would.

By default in an environment that borrows this one's packages, with a stand-in for pip, so that it
is fast and needs no network; with ``-m packaging``, the tutorial once more with the real pip.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.docs import borrowed_environment
from tests.docs.doc_pages import DOCS, ROOT, Block, blocks, page_id, pages

TUTORIAL = DOCS / "tutorial" / "first-plugin.md"
TYPED = [
    page
    for page in pages()
    if DOCS in page.parents and any(block.mark == "run" for block in blocks(page))
]
SECONDS = 180


def as_script(marked: Sequence[Block], *, work: Path, outputs: Path) -> str:
    """Turn a page's blocks into one script: files are written, commands run, outputs kept."""
    # Whatever was left running in the background ends with the page.
    lines = ["set -eu", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT", f"cd {work}"]
    for number, block in enumerate(marked):
        if block.mark == "file":
            path = shlex.quote(block.argument)
            lines.append(f"mkdir -p \"$(dirname {path})\"; cat > {path} <<'END OF FILE'")
            lines += [block.text.rstrip("\n"), "END OF FILE"]
        elif block.mark == "run":
            if block.argument == "checkout":
                lines.append(f"cd {ROOT}")
            lines += ["{", block.text, f"}} > {outputs}/{number} 2>&1"]
            lines.append(f'if [ "$PWD" = {ROOT} ]; then cd {work}; fi')
    return "\n".join(lines)


def type_page(page: Path, tmp_path: Path, environ: Mapping[str, str]) -> None:
    """Do all that a page says, and compare what is printed."""
    work, outputs = tmp_path / "work", tmp_path / "outputs"
    work.mkdir()
    outputs.mkdir()
    marked = blocks(page)

    done = subprocess.run(
        ["/bin/bash", "-c", as_script(marked, work=work, outputs=outputs)],
        env={**environ, "HOME": str(work), "LC_ALL": "C.UTF-8", "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    printed = {int(path.name): path.read_text("utf-8") for path in outputs.iterdir()}
    last = printed[max(printed)] if printed else ""
    assert done.returncode == 0, f"{page_id(page)}: {done.stderr}{last}"
    assert [
        f"{line!r} is not in what was printed:\n{printed[before]}"
        for number, block in enumerate(marked)
        if block.mark == "output"
        for before in [max(found for found in printed if found < number)]
        for line in block.text.splitlines()
        if line.strip() != "..." and _words(line) not in _words(printed[before])
    ] == []


def _words(text: str) -> str:
    return " ".join(text.split())


def plain_environ(*path: Path) -> dict[str, str]:
    """Return what a fresh shell has, with folders before its PATH."""
    hidden = ("KUBE", "PYTHON", "VIRTUAL_ENV", "PYTEST", "CI")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    return {**kept, "PATH": os.pathsep.join([*map(str, path), os.environ["PATH"]])}


@pytest.mark.parametrize("page", TYPED, ids=page_id)
def test_commands_of_a_page_do_what_it_says(page: Path, tmp_path: Path) -> None:
    """One after another in one shell, with the files that the page gives."""
    ready, fresh = tmp_path / "ready", tmp_path / "fresh"
    borrowed_environment.make(ready)
    fresh.mkdir()
    maker = shlex.join([sys.executable, str(Path(borrowed_environment.__file__))])
    borrowed_environment.script(fresh / "python3", f'exec {maker} "$@"')

    type_page(page, tmp_path, plain_environ(fresh, ready / "bin"))


@pytest.mark.packaging
def test_the_tutorial_works_with_the_real_pip(tmp_path: Path) -> None:
    """From an empty environment, as a newcomer does it."""
    python = tmp_path / "python"
    python.mkdir()
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    (python / "python3").symlink_to(base if base.exists() else Path(sys.executable))

    type_page(TUTORIAL, tmp_path, plain_environ(python))


def test_the_tutorial_leaves_nothing_untyped() -> None:
    """A newcomer copies every block, so each is run, written, or compared."""
    assert [block.text for block in blocks(TUTORIAL) if not block.mark] == []
