"""What `moorage run` serves, and by which flags."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from moorage.cli.observing import plan_serving

Process: TypeAlias = "subprocess.Popen[str]"
MOORAGE = Path(sys.executable).with_name("moorage")
PATIENCE = 30.0


def free_port() -> int:
    """Return a port that nobody has."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def get(url: str) -> tuple[int, str]:
    """Ask; status 0 where nobody listens yet."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - loopback
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except OSError:
        return 0, ""


@pytest.fixture
def port() -> Iterator[int]:
    """Run on the embedded cluster, serving and electing."""
    port = free_port()
    argv = [str(MOORAGE), "run", "--embedded", f"--secure-port={port}", "--leader-elect", "-v=2"]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        yield port
        process.terminate()
        assert process.wait(PATIENCE) == 0


def test_a_run_is_ready_counts_and_tells_how_it_was_started(port: int) -> None:
    """Health, metrics, configuration and flags of a process that schedules."""
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + PATIENCE
    scheduled = 'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"}'
    while get(f"{url}/readyz")[0] != 200 or scheduled not in get(f"{url}/metrics")[1]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    _, verbose = get(f"{url}/readyz?verbose")
    for check in ("leaderElection", "shutdown", "sched-handler-sync"):
        assert f"[+]{check} ok\n" in verbose
    metrics = get(f"{url}/metrics")[1]
    assert 'leader_election_master_status{name="moorage"} 1.0' in metrics
    assert 'kubernetes_feature_enabled{name="AllAlpha",stage="ALPHA"} 0.0' in metrics
    assert 'rest_client_requests_total{code="201"' in metrics
    assert "_created" not in metrics
    document = json.loads(get(f"{url}/configz")[1])["componentconfig"]
    assert document["leaderElection"]["resourceName"] == "moorage"
    flags = get(f"{url}/flagz")[1]
    assert f"\nsecure-port={port}\n" in flags
    assert "\nleader-elect=true\n" in flags
    assert "\nleader-elect-lease-duration=15s\n" in flags
    assert json.loads(get(f"{url}/debug/comparison")[1])["equal"]


def test_port_in_use_is_one_sentence() -> None:
    """Exit code 2."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        argv = [str(MOORAGE), "run", "--embedded", f"--secure-port={port}"]
        done = subprocess.run(
            [*argv, "--bind-address=127.0.0.1"], capture_output=True, text=True, check=False
        )
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"Error: cannot serve health and metrics on 127.0.0.1:{port} (address")
    assert last.endswith("choose another --secure-port, or 0 to serve none")


@pytest.mark.parametrize(
    ("flags", "by_default", "port"),
    [
        ({}, True, 10259),
        ({}, False, None),
        ({"secure-port": 0}, True, None),
        ({"secure-port": 7}, False, 7),
    ],
)
def test_where_is_said_by_the_flags(
    flags: dict[str, int], port: int | None, *, by_default: bool
) -> None:
    """On a cluster kube-scheduler's port; embedded, or until idle, only where it is asked for."""
    plan = plan_serving(flags, {}, by_default=by_default)
    assert (None if plan is None else plan.port) == port
