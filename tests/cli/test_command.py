"""The script `moorage`, before anything of the package is there."""

from __future__ import annotations

import subprocess
import sys

import pytest

INTERRUPTED_IMPORT = """
import builtins, os, signal, sys
import moorage_command

plainly = builtins.__import__

def importing(name, *rest):
    if name == "moorage.cli":
        os.kill(os.getpid(), signal.SIGINT)
    return plainly(name, *rest)

builtins.__import__ = importing
sys.exit(moorage_command.main())
"""


def test_ctrl_c_while_it_imports_is_quiet() -> None:
    """Exit code 130, as at any other time."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )

    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_it_is_the_command() -> None:
    """With this process's arguments, and its exit code."""
    code = "import sys, moorage_command; sys.exit(moorage_command.main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "sail"],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )

    assert done.returncode == 2
    assert done.stderr.startswith("Error: No such command 'sail'")


WITH_THREADS = """
import sys, threading, time
import moorage_command

sys.argv[1:] = ["version"]
moorage_command._PATIENCE_SECONDS = 0.05
threading.Thread(target=time.sleep, args=(%s,), name="acme-poller").start()
sys.exit(moorage_command.main())
"""


@pytest.mark.parametrize(
    ("seconds", "notice"),
    [
        pytest.param(
            3600,
            "Notice: ended without waiting for threads of plugins: acme-poller\n",
            id="for-ever",
        ),
        pytest.param(0, "", id="in-time"),
    ],
)
def test_threads_that_a_plugin_leaves_running_do_not_keep_the_process(
    seconds: int, notice: str
) -> None:
    """It has done its work: they get some seconds to end, and are named if they do not."""
    done = subprocess.run(
        [sys.executable, "-c", WITH_THREADS % seconds],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )

    assert (done.returncode, done.stderr) == (0, notice)
    assert done.stdout.startswith("moorage ")
