"""`moorage run --embedded`: pods scheduled without a cluster, and what goes wrong on the way."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Command = Callable[..., tuple[int, str, str]]

NODE = """
apiVersion: v1
kind: Node
metadata: {name: %s}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
---
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: %s, annotations: {%s}}
spec:
  schedulerName: %s
  containers: [{name: main, image: web, resources: {requests: {cpu: "%s"}}}]
---
"""


def node(name: str) -> str:
    """Write a node of two CPUs."""
    return NODE % name


def pod(
    name: str, *, cpu: str = "1", scheduler: str = "default-scheduler", annotation: str = ""
) -> str:
    """Write a pod."""
    return POD % (name, annotation, scheduler, cpu)


def manifests(tmp_path: Path, *documents: str) -> Path:
    """Write documents to one file."""
    file = tmp_path / "objects.yaml"
    file.write_text("".join(documents), encoding="utf-8")
    return file


def outcome(moorage: Command, *argv: object) -> dict[str, dict[str, Any]]:
    """Run until idle, and return what became of each pod by name."""
    code, out, _ = moorage("run", "--embedded", "--until-idle", "-o", "json", *argv)
    assert code == 0
    return {pod["name"]: pod for pod in json.loads(out)}


def test_the_quickstart_binds_all_pods_but_the_one_that_cannot_fit(moorage: Command) -> None:
    """And says why that one is pending."""
    pods = outcome(moorage)

    assert len(pods) > 30
    assert [name for name, pod in pods.items() if not pod["node"]] == ["too-big"]
    assert pods["too-big"]["phase"] == "Pending"
    assert pods["too-big"]["reason"] == "Unschedulable"
    assert pods["too-big"]["message"].startswith("0/7 nodes are available: ")
    assert {pod["phase"] for pod in pods.values() if pod["node"]} == {"Running"}


def test_people_see_tables_and_a_summary(moorage: Command) -> None:
    """No escape sequence and no progress where nobody looks on."""
    code, out, err = moorage("run", "--embedded", "--until-idle")

    lines = out.splitlines()
    assert code == 0
    assert "\x1b" not in out + err
    assert lines[:2] == ["What went where", "NAMESPACE    POD          NODE"]
    assert "Pending, and why" in lines
    assert lines[-1].startswith("31 of 32 pods bound on ")
    assert lines[-1].endswith(" s, 1 pending")


def test_what_stands_on_stderr_are_notices(moorage: Command) -> None:
    """So that stdout can be piped into something."""
    _, _, err = moorage("run", "--embedded", "--until-idle", "-o", "json", "--cert-dir=x")

    assert all(line.startswith("Notice: ") for line in err.splitlines())
    assert err.endswith(
        "Notice: no effect: --cert-dir"
        " (this version serves plain HTTP, and all but health on loopback only)\n"
    )


def test_own_manifests_come_from_files_and_folders(moorage: Command, tmp_path: Path) -> None:
    """Given as often as one likes."""
    folder = tmp_path / "pods"
    folder.mkdir()
    (folder / "web.yaml").write_text(pod("web"), encoding="utf-8")
    document = yaml.safe_load(pod("api").removesuffix("---\n"))
    (folder / "api.json").write_text(json.dumps(document), encoding="utf-8")

    pods = outcome(moorage, "-f", manifests(tmp_path, node("only")), "--filename", folder)

    assert {name: one["node"] for name, one in pods.items()} == {"web": "only", "api": "only"}


def test_both_names_are_served(moorage: Command, tmp_path: Path) -> None:
    """Other names wait for somebody else, which is said."""
    pods = outcome(
        moorage,
        "-f",
        manifests(
            tmp_path,
            node("only"),
            pod("unnamed"),
            pod("named", scheduler="moorage"),
            pod("foreign", scheduler="theirs"),
        ),
    )

    assert (pods["unnamed"]["node"], pods["named"]["node"]) == ("only", "only")
    assert pods["foreign"]["reason"] == "SchedulerNotServed"
    assert pods["foreign"]["message"] == (
        "it asks for scheduler 'theirs', and the profiles here are named default-scheduler or"
        " moorage"
    )


def test_a_configuration_decides_which_names_are_served(moorage: Command, tmp_path: Path) -> None:
    """With it, there are no other profiles."""
    configuration = tmp_path / "c.yaml"
    configuration.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: mine}]\n",
        encoding="utf-8",
    )
    file = manifests(tmp_path, node("only"), pod("mine", scheduler="mine"), pod("unnamed"))

    pods = outcome(moorage, "-f", file, "--config", configuration)

    assert pods["mine"]["node"] == "only"
    assert pods["unnamed"]["reason"] == "SchedulerNotServed"


def test_room_that_a_finite_workload_frees_is_waited_for(moorage: Command, tmp_path: Path) -> None:
    """The second pod fits only when the first has ended."""
    finite = 'moorage.dev/run-seconds: "0.3"'
    file = manifests(
        tmp_path, node("only"), pod("first", cpu="2", annotation=finite), pod("second", cpu="2")
    )

    pods = outcome(moorage, "-f", file)

    assert (pods["first"]["phase"], pods["second"]["phase"]) == ("Succeeded", "Running")


def test_no_finite_workload_is_waited_for_in_vain(moorage: Command, tmp_path: Path) -> None:
    """A pod that is too big for every node stays so, whoever ends."""
    finite = 'moorage.dev/run-seconds: "3600"'
    file = manifests(tmp_path, node("only"), pod("first", annotation=finite), pod("huge", cpu="3"))

    assert outcome(moorage, "-f", file)["huge"]["reason"] == "Unschedulable"


def test_nothing_to_schedule_is_said(moorage: Command, tmp_path: Path) -> None:
    """Nodes alone make no table."""
    code, out, _ = moorage(
        "run", "--embedded", "--until-idle", "-f", manifests(tmp_path, node("only"))
    )

    assert code == 0
    assert out.endswith("There was no pod to schedule.\n")


def test_the_same_seed_breaks_ties_the_same_way(moorage: Command, tmp_path: Path) -> None:
    """Ten pods, one after the other, on two nodes that are the same to them."""
    documents = [node("a"), node("b"), *(pod(f"p{n}", cpu="100m") for n in range(10))]
    file = manifests(tmp_path, *documents)

    first, second = (outcome(moorage, "-f", file, "--seed", 7) for _ in range(2))

    assert first == second


def test_a_limit_on_requests_is_honoured(moorage: Command, tmp_path: Path) -> None:
    """To list, to watch and to bind takes more than ten requests, here at twenty a second."""
    begun = time.monotonic()

    outcome(
        moorage,
        "--kube-api-qps=20",
        "--kube-api-burst=1",
        "-f",
        manifests(tmp_path, node("only"), pod("web")),
    )

    assert time.monotonic() - begun > 0.5


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        pytest.param("a: [", "{file}: document 1 is not YAML: ", id="yaml"),
        pytest.param("kind: Pod", "{file}: document 1 has no apiVersion\n", id="no-version"),
        pytest.param(
            node("n") + "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {}}",
            '{file}: document 2: Pod web was refused: Pod "web" is invalid: spec.containers:'
            " Required value\n",
            id="refused",
        ),
        pytest.param(
            "{apiVersion: v1, kind: Ship, metadata: {name: web}}",
            '{file}: document 1: Ship web was refused: no matches for kind "Ship" in version "v1"\n',
            id="kind",
        ),
    ],
)
def test_a_bad_manifest_is_one_sentence(
    moorage: Command, tmp_path: Path, content: str, sentence: str
) -> None:
    """It names file, document and object; exit code 2."""
    file = manifests(tmp_path, content)

    code, out, err = moorage("run", "--embedded", "--until-idle", "-f", file)

    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith(f"Error: {sentence.format(file=file)}".rstrip("\n"))


def test_a_manifest_that_is_not_there_is_one_sentence(moorage: Command) -> None:
    """Exit code 2."""
    code, _, err = moorage("run", "--embedded", "--until-idle", "-f", "nowhere.yaml")

    assert code == 2
    assert err.endswith("Error: nowhere.yaml: cannot be read: No such file or directory\n")


def test_a_port_in_use_is_one_sentence(moorage: Command) -> None:
    """Exit code 2, and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = moorage("run", "--embedded", "--until-idle", "--port", port)

    assert code == 2
    assert err.splitlines()[-1] == (
        f"Error: the embedded API server cannot listen on 127.0.0.1:{port}"
        " (address already in use); choose another port, or 0 for any that is free"
    )


def test_a_kubeconfig_that_cannot_be_written_is_one_sentence(moorage: Command) -> None:
    """Exit code 2, before anything runs."""
    code, _, err = moorage("run", "--embedded", "--kubeconfig-out", "/nowhere/file")

    assert code == 2
    assert err.endswith(
        "Error: --kubeconfig-out /nowhere/file: cannot be written: No such file or directory\n"
    )


def test_a_kubeconfig_that_was_asked_for_is_written_in_a_run_that_ends_too(
    moorage: Command, tmp_path: Path
) -> None:
    """It serves while the run lasts; to leave it out without a word would puzzle everybody."""
    file = tmp_path / "kubeconfig"

    code, _, _ = moorage("run", "--embedded", "--until-idle", "--kubeconfig-out", file)

    assert code == 0
    assert "server: http://127.0.0.1:" in file.read_text(encoding="utf-8")


def test_an_empty_path_is_no_manifest(moorage: Command) -> None:
    """It is a variable that was not set, not this folder."""
    code, _, err = moorage("run", "--embedded", "--until-idle", "-f", "")

    assert code == 2
    assert err.endswith(
        "the path of a manifest is empty; name a file or a folder, . for this one\n"
    )


def test_an_empty_configuration_flag_counts_as_none(moorage: Command) -> None:
    """As in kube-scheduler, whose manifests are often templates."""
    code, _, err = moorage("run", "--embedded", "--until-idle", "--config=", "--kubeconfig=")

    assert (code, err) == (0, "")


def test_a_seed_below_zero_is_refused(moorage: Command) -> None:
    """There are none."""
    code, _, err = moorage("run", "--embedded", "--until-idle", "--seed", "-1")

    assert code == 2
    assert "Invalid value for '--seed': -1 is not in the range x>=0" in err
