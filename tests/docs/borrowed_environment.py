"""An environment that borrows this one's packages: made in a moment, without a network.

Run as ``borrowed_environment.py -m venv FOLDER``, it stands in for ``python3``.
"""

from __future__ import annotations

import sys
import sysconfig
import venv
from pathlib import Path

__all__ = ["make", "script"]

_COMMAND = "import sys; from moorage.cli import main; sys.exit(main())"


def make(folder: Path) -> None:
    """Make an environment in which everything installed here is there; its pip is a stand-in."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    paths = {"base": str(folder), "platbase": str(folder)}
    site = Path(sysconfig.get_path("purelib", "venv", vars=paths))
    ours = sysconfig.get_path("purelib")
    # addsitedir, so that the .pth files of editable installs count too
    (site / "borrowed.pth").write_text(f"import site; site.addsitedir({ours!r})\n", "utf-8")
    script(folder / "bin" / "moorage", f"exec {python} -c '{_COMMAND}' \"$@\"")
    script(folder / "bin" / "pip", f'exec {python} {Path(__file__).parent}/offline_pip.py "$@"')


def script(path: Path, line: str) -> None:
    """Write a shell script that can be run."""
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    path.chmod(0o755)


if __name__ == "__main__":
    if sys.argv[1:3] != ["-m", "venv"]:
        sys.exit(f"the stand-in for python3 does not know {' '.join(sys.argv[1:])}")
    make(Path(sys.argv[3]).absolute())
