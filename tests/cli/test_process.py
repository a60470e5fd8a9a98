"""The command as a process: signals, pipes and terminals."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

COMMAND = (sys.executable, "-c", "import sys; from moorage.cli import main; sys.exit(main())")
PATIENCE = 30.0

Starter = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Starter]:
    """Start the command with arguments; whatever still runs at the end is killed."""
    processes: list[subprocess.Popen[str]] = []

    def begin(*argv: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*COMMAND, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        processes.append(process)
        return process

    yield begin
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


def kubeconfig_of(process: subprocess.Popen[str]) -> Path:
    """Read what the command prints up to the line that names the kubeconfig."""
    assert process.stdout is not None
    for line in process.stdout:
        if "export KUBECONFIG=" in line:
            return Path(line.strip().partition("=")[2])
    raise AssertionError("no kubeconfig was named")


def pods(server: str) -> dict[str, dict[str, Any]]:
    """Ask an API server for all pods, by name."""
    with urllib.request.urlopen(f"{server}/api/v1/pods", timeout=PATIENCE) as answer:  # noqa: S310 - loopback
        return {pod["metadata"]["name"]: pod for pod in json.load(answer)["items"]}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_embedded_cluster_runs_until_it_is_told_to_stop(
    start: Starter, number: signal.Signals
) -> None:
    """It prints how to reach it, schedules, and ends with exit code 0, its kubeconfig gone."""
    process = start("run", "--embedded")
    kubeconfig = kubeconfig_of(process)
    (cluster,) = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))["clusters"]
    server = cluster["cluster"]["server"]
    assert kubeconfig.stat().st_mode & 0o077 == 0

    deadline = time.monotonic() + PATIENCE
    while "nodeName" not in pods(server)["web-1"]["spec"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)

    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert all(line.startswith("Notice: ") for line in err.splitlines())
    assert not kubeconfig.exists()


def test_the_kubeconfig_may_be_asked_for_at_a_place(start: Starter, tmp_path: Path) -> None:
    """Then it stays there."""
    file = tmp_path / "here"
    process = start("run", "--embedded", "--kubeconfig-out", str(file))

    assert kubeconfig_of(process) == file
    process.terminate()
    process.communicate(timeout=PATIENCE)
    assert yaml.safe_load(file.read_text(encoding="utf-8"))["kind"] == "Config"


WAITS = """apiVersion: v1
kind: Node
metadata: {name: only}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: first, annotations: {moorage.dev/run-seconds: "3600"}}
spec: {containers: [{name: main, image: web, resources: {requests: {cpu: "2"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: second}
spec: {containers: [{name: main, image: web, resources: {requests: {cpu: "2"}}}]}
"""
"""A pod waits for the end of another, which takes an hour."""


def waiting(start: Starter, folder: Path) -> subprocess.Popen[str]:
    """Start a run until idle that has nothing to do for an hour."""
    file = folder / "objects.yaml"
    file.write_text(WAITS, encoding="utf-8")
    process = start("run", "--embedded", "--until-idle", "-f", str(file), "-v", "2")
    assert process.stderr is not None
    for line in process.stderr:
        if "Unable to schedule pod" in line:
            break
    return process


def test_ctrl_c_while_waiting_for_the_end_is_quiet(start: Starter, tmp_path: Path) -> None:
    """Exit code 130: what was asked for was not done."""
    process = waiting(start, tmp_path)

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert "Error" not in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_until_idle_winds_down_when_told(
    start: Starter, tmp_path: Path, number: signal.Signals
) -> None:
    """As one without an end does: exit code 0, and nothing printed that would look like the end."""
    process = waiting(start, tmp_path)

    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (0, "")
    assert f"Received {number.name}, shutting down" in err


def test_a_reader_that_went_away_is_no_error() -> None:
    """As with `moorage plugins | head -1`: not a word on stderr."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*COMMAND, "version"], stdout=write, stderr=subprocess.PIPE, check=False, timeout=PATIENCE
    )
    os.close(write)

    assert (done.returncode, done.stderr) == (1, b"")


def test_on_a_terminal_there_are_colours_and_no_line_is_too_long() -> None:
    """80 columns are enough for everything but long reasons, which are folded."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [*COMMAND, "run", "--embedded", "--until-idle"],
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    os.close(theirs)
    written = b""
    try:
        while chunk := os.read(ours, 65536):
            written += chunk
    except OSError:  # how Linux says that the other end of a terminal is closed
        pass
    os.close(ours)

    assert process.wait(timeout=PATIENCE) == 0
    text = written.decode()
    assert "\x1b[1;4mWhat went where" in text
    plain = [line for line in text.splitlines() if "\x1b" not in line]
    assert max(map(len, plain), default=0) <= 80
    assert "pods bound on" in text


def test_a_full_disk_is_one_sentence() -> None:
    """It is no fault of ours."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [*COMMAND, "version"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=PATIENCE,
        )

    assert done.returncode == 1
    assert done.stderr == "Error: stdout cannot be written to: No space left on device\n"


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_closed_stream_stops_nothing(number: int) -> None:
    """As with ``>&-`` in a shell: what would go there is lost."""
    script = f'exec "$@" {number}>&-'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *COMMAND, "run", "--embedded", "--until-idle"],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) is (number != 1)


HANGS = """
import asyncio
import time
import moorage

class Stuck(moorage.Plugin):
    @moorage.hookimpl
    def pre_filter(self):
        print("hangs", flush=True)
        while True:
            try:
                time.sleep(3600)
            except BaseException:
                pass

class Lingering(moorage.Plugin):
    @moorage.hookimpl
    def pre_filter(self):
        print("works", flush=True)

    @moorage.hookimpl
    def close(self):
        time.sleep(3600)

class Stubborn(moorage.Plugin):
    @moorage.hookimpl
    async def pre_bind(self):
        print("hangs", flush=True)
        while True:
            try:
                await asyncio.sleep(3600)
            except BaseException:
                pass
"""
IMPATIENT = (
    "import sys, moorage.runner.process as process; from moorage.cli import main;"
    " process.%s_SECONDS = 0.2; sys.exit(main())"
)


def hanging(
    folder: Path, *argv: str, plugin: str = "Stuck", impatient: str = "PATIENCE"
) -> subprocess.Popen[str]:
    """Start a run with a plugin that hangs, and without one of the two kinds of patience."""
    (folder / "stuck.py").write_text(HANGS, encoding="utf-8")
    info = folder / "stuck-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stuck\nVersion: 1.2\n", "utf-8")
    entry_points = f"[moorage.plugins]\n{plugin} = stuck:{plugin}\n"
    (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")
    configuration = folder / "stuck.yaml"
    configuration.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        f"profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: {plugin}}}]}}}}}}]\n",
        encoding="utf-8",
    )
    paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    command = (sys.executable, "-c", IMPATIENT % impatient, "run", "--embedded")
    return subprocess.Popen(
        [*command, "--config", str(configuration), *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
        text=True,
    )


def read_up_to(process: subprocess.Popen[str], text: str) -> None:
    """Read what a process prints up to a line that begins like this."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(text):
            return
    raise AssertionError(text)


@pytest.mark.parametrize("argv", [(), ("--until-idle",)])
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 1), (signal.SIGHUP, 1), (signal.SIGINT, 130)]
)
def test_a_plugin_that_hangs_keeps_no_process(
    tmp_path: Path, argv: tuple[str, ...], number: signal.Signals, code: int
) -> None:
    """Nor does Ctrl-C cost one pod its turn instead; the plugin is named."""
    process = hanging(tmp_path, *argv)
    try:
        read_up_to(process, "hangs")
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()

    assert process.returncode == code
    *_, last = err.splitlines()
    assert last.startswith(
        f"Received {number.name}, but plugin 'Stuck' is in its hook pre_filter about pod default/"
    )
    assert last.endswith(": ended without it")


def test_a_plugin_that_hangs_keeps_no_process_whose_stderr_nobody_reads(tmp_path: Path) -> None:
    """As where the collector of its logs has ended: the sentence is lost, and no more."""
    process = hanging(tmp_path)
    try:
        read_up_to(process, "hangs")
        assert process.stderr is not None
        process.stderr.close()
        process.terminate()
        assert process.wait(timeout=PATIENCE) == 1
    finally:
        process.kill()
        process.communicate()


def test_a_second_ctrl_c_waits_for_nothing(tmp_path: Path) -> None:
    """Whatever the first one left to do."""
    process = hanging(tmp_path, plugin="Stubborn", impatient="NO")
    try:
        read_up_to(process, "hangs")
        while process.poll() is None:  # two that come at once are one to the kernel
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        _, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()

    assert process.returncode == 130
    assert err.splitlines()[-1] == (
        "Received SIGINT, but something does not end at once: ended without it"
    )


@pytest.mark.parametrize(("plugin", "sign"), [("Lingering", "works"), ("Stubborn", "hangs")])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 1), (signal.SIGINT, 130)])
def test_a_plugin_that_does_not_end_keeps_no_process(
    tmp_path: Path, plugin: str, sign: str, number: signal.Signals, code: int
) -> None:
    """One that hangs when it is closed, and one that will not be cancelled."""
    process = hanging(tmp_path, plugin=plugin, impatient="ENDING")
    try:
        read_up_to(process, sign)
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()

    assert process.returncode == code
    assert err.splitlines()[-1] == (
        f"Received {number.name}, but a hook of a plugin, such as pre_bind or close, does not end:"
        " ended without it"
    )
