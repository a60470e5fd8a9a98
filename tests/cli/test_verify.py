"""`moorage verify`: recordings that cannot be replayed are told as such."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., tuple[int, str, str]]

CONFIGURATION = (
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{}]\n"
)


def _node(cpu: str) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": "1Gi", "pods": "9"}
    return {"metadata": {"name": "n1"}, "status": {"allocatable": amounts}}


def _pod(cpu: str) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    spec = {"schedulerName": "default-scheduler", "containers": [container]}
    return {"metadata": {"name": "web", "namespace": "shop"}, "spec": spec}


def _record(folder: Path, *, node_cpu: str = "1", pod_cpu: str = "1") -> Path:
    (folder / "config.yaml").write_text(CONFIGURATION, encoding="utf-8")
    scenario = {
        "scenario": "fruit",
        "objects": {"nodes": [_node(node_cpu)]},
        "steps": [{"pod": _pod(pod_cpu), "outcome": "bound", "node": "n1"}],
    }
    path = folder / "fruit.jsonl"
    path.write_text(json.dumps(scenario), encoding="utf-8")
    return path


def test_an_equal_decision_is_counted(moorage: Command, tmp_path: Path) -> None:
    """The recording that the others here are spoilt from is a good one."""
    code, out, err = moorage("verify", _record(tmp_path))

    assert (code, err) == (0, "")
    assert "fruit" in out


def test_a_pod_with_a_wrong_quantity_is_named(moorage: Command, tmp_path: Path) -> None:
    """File, scenario, step and pod."""
    path = _record(tmp_path, pod_cpu="banana")

    code, out, err = moorage("verify", path)

    assert (code, out) == (2, "")
    assert err.startswith(f"Error: {path}: scenario fruit, step 1: pod shop/web: ")
    assert "banana" in err


def test_a_node_with_a_wrong_quantity_is_named(moorage: Command, tmp_path: Path) -> None:
    """File, scenario and node."""
    path = _record(tmp_path, node_cpu="banana")

    code, _, err = moorage("verify", path)

    assert code == 2
    assert err.startswith(f"Error: {path}: scenario fruit: node n1: ")


@pytest.mark.parametrize(
    ("content", "what"), [("", "scenario"), ("\n", "scenario"), ("[]", "case")]
)
def test_an_empty_recording_is_refused(
    moorage: Command, tmp_path: Path, content: str, what: str
) -> None:
    """Nothing compared must not look like everything equal."""
    path = _record(tmp_path)
    path.write_text(content, encoding="utf-8")

    assert moorage("verify", path) == (
        2,
        "",
        f"Error: {path}: holds no {what}, so there is nothing to compare\n",
    )


def test_a_folder_is_called_a_folder(moorage: Command, tmp_path: Path) -> None:
    """And not a file that is missing."""
    code, _, err = moorage("verify", tmp_path)

    assert code == 2
    assert err.startswith(f"Error: {tmp_path}: is a folder; ")
