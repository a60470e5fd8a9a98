"""`moorage run` on a cluster: how it is found, and what keeps it from starting."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from moorage.embedded import EmbeddedApiServer, apply_manifests

Command = Callable[..., tuple[int, str, str]]

TOKEN = "let-me-in"  # noqa: S105 - of a server of our own


def node(name: str) -> dict[str, Any]:
    """Make a node of two CPUs."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10"}},
    }


def pod(name: str, *, scheduler: str = "moorage", node_name: str = "") -> dict[str, Any]:
    """Make a pod, bound where it names a node."""
    placed = {"nodeName": node_name} if node_name else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": scheduler,
            "containers": [{"name": "main", "image": "web"}],
            **placed,
        },
    }


def lease() -> dict[str, Any]:
    """Make the Lease of a kube-scheduler at work."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "kube-scheduler", "namespace": "kube-system"},
        "spec": {
            "holderIdentity": "control-plane_5f",
            "leaseDurationSeconds": 15,
            "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        },
    }


@asynccontextmanager
async def _cluster() -> AsyncIterator[EmbeddedApiServer]:
    async with EmbeddedApiServer(token=TOKEN) as server:
        objects = [
            node("one"),
            pod("old", node_name="one"),
            pod("new"),
            pod("theirs", scheduler="default-scheduler"),
            lease(),
        ]
        await apply_manifests(server.store, objects)
        yield server


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedApiServer]:
    """Serve a cluster from a thread of its own, as the command has a loop of its own."""
    started: list[EmbeddedApiServer] = []
    loop = asyncio.new_event_loop()
    ready, over = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with _cluster() as server:
            started.append(server)
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert ready.wait(30)
    yield started[0]
    loop.call_soon_threadsafe(over.set)
    thread.join()
    loop.close()


@pytest.fixture
def kubeconfig(cluster: EmbeddedApiServer, tmp_path: Path) -> Path:
    """Write the cluster's kubeconfig to a file."""
    file = tmp_path / "kubeconfig"
    file.write_text(cluster.kubeconfig(), encoding="utf-8")
    return file


def test_the_pods_that_name_our_profile_are_scheduled(moorage: Command, kubeconfig: Path) -> None:
    """Neither pods that were on nodes before nor those of other schedulers are told about."""
    code, out, _ = moorage("run", "--kubeconfig", kubeconfig, "--until-idle", "-o", "json")

    assert code == 0
    names = {pod["name"]: pod["node"] for pod in json.loads(out)}
    assert names in ({"new": "one"}, {})  # empty: bound by another test of this file, before


@pytest.mark.parametrize("way", ["flag", "environment", "home", "configuration"])
def test_the_kubeconfig_is_found_where_kubectl_finds_it(
    moorage: Command,
    kubeconfig: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
) -> None:
    """And where the configuration says so."""
    argv: list[object] = ["run", "--until-idle"]
    if way == "flag":
        argv += [f"--kubeconfig={kubeconfig}"]
    elif way == "environment":
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    elif way == "home":
        (tmp_path / ".kube").mkdir()
        kubeconfig.rename(tmp_path / ".kube" / "config")
    else:
        file = tmp_path / "c.yaml"
        file.write_text(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
            f"clientConnection: {{kubeconfig: {kubeconfig}}}\n"
            "profiles: [{schedulerName: moorage}]\n",
            encoding="utf-8",
        )
        argv += ["--config", file]

    code, _, err = moorage(*argv)

    assert code == 0, err


def test_default_scheduler_is_not_served_beside_kube_scheduler(
    moorage: Command, kubeconfig: Path, tmp_path: Path
) -> None:
    """Two schedulers of one name would bind against each other."""
    file = tmp_path / "c.yaml"
    file.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
        encoding="utf-8",
    )

    code, _, err = moorage("run", "--kubeconfig", kubeconfig, "--config", file, "--until-idle")

    assert code == 2
    assert err.endswith(
        "Error: control-plane_5f holds the Lease kube-system/kube-scheduler, so kube-scheduler"
        " serves default-scheduler already; give the profile another schedulerName, or stop"
        " kube-scheduler first\n"
    )


def test_credentials_that_are_not_accepted_are_one_sentence(
    moorage: Command, kubeconfig: Path
) -> None:
    """It names where they come from; exit code 2."""
    text = kubeconfig.read_text(encoding="utf-8").replace(TOKEN, "let-me-out")
    kubeconfig.write_text(text, encoding="utf-8")

    code, _, err = moorage("run", "--kubeconfig", kubeconfig, "--secure-port=0")

    assert code == 2
    assert err.splitlines()[-1] == (
        f"Error: the API server does not accept the credentials of kubeconfig {kubeconfig}"
        " (Unauthorized); log in again or name other credentials"
    )


class _Forbidding(BaseHTTPRequestHandler):
    """Answers as an API server does to an account without rights."""

    def do_GET(self) -> None:
        resource = self.path.partition("?")[0].rpartition("/")[2]
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "message": f'{resource} is forbidden: User "system:serviceaccount:apps:sched" cannot'
            f' list resource "{resource}" in API group "" at the cluster scope',
            "reason": "Forbidden",
            "code": 403,
        }
        body = json.dumps(status).encode()
        self.send_response(403)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def test_a_refusal_at_the_start_names_the_missing_rule(moorage: Command) -> None:
    """Exit code 2."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Forbidding) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            code, _, err = moorage("run", "--master", url, "--secure-port=0")
        finally:
            server.shutdown()
            thread.join()

    assert code == 2
    assert err.splitlines()[-1] == (
        "Error: service account apps/sched is not allowed to list pods: add a rule with"
        ' apiGroups: [""], resources: ["pods"], verbs: ["list"] to a ClusterRole that is bound'
        " to it"
    )


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        pytest.param(
            [],
            "found no cluster: name one with --kubeconfig FILE or --master URL, or run without one"
            " by --embedded",
            id="none",
        ),
        pytest.param(
            ["--kubeconfig", "nowhere"],
            "kubeconfig nowhere does not exist; name another with --kubeconfig FILE",
            id="kubeconfig",
        ),
        pytest.param(
            ["--master", "nonsense"],
            "--master nonsense is no address of an API server: write it as http://host:port or"
            " https://host:port",
            id="address",
        ),
        pytest.param(
            ["--master", "http://127.0.0.1:1"],
            "cannot reach GET http://127.0.0.1:1/api/v1/pods: connection refused; check that the"
            " API server runs, and its address in --master http://127.0.0.1:1",
            id="unreachable",
        ),
        pytest.param(
            ["--config", "nowhere.yaml"],
            "nowhere.yaml: cannot be read: No such file or directory",
            id="configuration",
        ),
        pytest.param(
            ["-f", "pods.yaml"],
            "-f is for --embedded; without it, a cluster is served; see moorage run --help",
            id="manifest",
        ),
        pytest.param(
            ["--port", "0"],
            "--port is for --embedded; without it, a cluster is served; see moorage run --help",
            id="port",
        ),
        pytest.param(
            ["--embedded", "--master", "http://127.0.0.1:1"],
            "--master names a cluster, and --embedded runs without one; see moorage run --help",
            id="both",
        ),
        pytest.param(
            ["--embedded", "-o", "json"],
            "-o is for --until-idle; without it, there is no end to print at; see moorage run"
            " --help",
            id="no-end",
        ),
    ],
)
def test_what_keeps_it_from_starting_is_one_sentence(
    moorage: Command, argv: list[str], sentence: str
) -> None:
    """Exit code 2, no traceback."""
    code, out, err = moorage("run", "--secure-port=0", *argv)

    told = [line for line in err.splitlines() if not line.startswith("Notice: ")]
    assert (code, out, told) == (2, "", [f"Error: {sentence}"])


def test_an_unknown_context_is_answered_with_those_there_are(
    moorage: Command, kubeconfig: Path
) -> None:
    """Exit code 2."""
    code, _, err = moorage("run", "--kubeconfig", kubeconfig, "--context", "other")

    assert code == 2
    assert err.endswith(
        f"Error: kubeconfig {kubeconfig} has no context other; it has: moorage-embedded\n"
    )


def test_inside_a_cluster_the_service_account_is_used(
    moorage: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here there is none, which is one sentence too; exit code 2."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")

    code, _, err = moorage("run")

    assert code == 2
    assert err.splitlines()[-1].startswith(
        "Error: the service account of this pod cannot be used ("
    )
