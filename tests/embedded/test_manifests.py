"""Reading manifests and creating what they hold."""

from __future__ import annotations

import io
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from moorage.embedded import (
    QUICKSTART,
    EmbeddedApiServer,
    ManualClock,
    apply_manifests,
    load_manifests,
)
from moorage.errors import ManifestError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n"


def names_in(paths: list[Path]) -> list[str]:
    """Return the names of the objects that files hold."""
    return [item["metadata"]["name"] for item in load_manifests(paths)]


def test_a_file_may_hold_several_documents(tmp_path: Path) -> None:
    """Empty ones are passed over."""
    file = tmp_path / "a.yaml"
    file.write_text("---\n" + NAMESPACE % "a" + "---\n---\n" + NAMESPACE % "b")
    assert names_in([file]) == ["a", "b"]


def test_a_folder_is_read_by_file_name(tmp_path: Path) -> None:
    """YAML and JSON; other files and folders within are left alone."""
    (tmp_path / "b.yml").write_text(NAMESPACE % "b")
    (tmp_path / "a.json").write_text(
        '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}'
    )
    (tmp_path / "c.txt").write_text("no manifest")
    (tmp_path / "d.yaml.d").mkdir()
    assert names_in([tmp_path]) == ["a", "b"]


def test_json_may_hold_several_documents(tmp_path: Path) -> None:
    """One after the other, as a stream."""
    documents = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in "ab"
    ]
    file = tmp_path / "a.json"
    file.write_text("\n".join(json.dumps(document, indent=1) for document in documents) + "\n")
    assert names_in([file]) == ["a", "b"]


def test_lists_are_expanded(tmp_path: Path) -> None:
    """``List`` and lists of one kind, whose items may leave the kind out."""
    item = {"metadata": {"name": "a"}}
    whole = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b"}}
    file = tmp_path / "a.json"
    listed = {"apiVersion": "v1", "kind": "NamespaceList", "items": [item]}
    file.write_text(
        json.dumps(listed) + json.dumps({"apiVersion": "v1", "kind": "List", "items": [whole]})
    )
    found = load_manifests([file])
    assert [(one["kind"], one["metadata"]["name"]) for one in found] == [
        ("Namespace", "a"),
        ("Namespace", "b"),
    ]


def test_what_a_cluster_wrote_is_dropped(tmp_path: Path) -> None:
    """The output of ``kubectl get -o yaml`` can be used as it is."""
    file = tmp_path / "a.yaml"
    file.write_text(
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  uid: x\n  resourceVersion: '7'\n"
        "  creationTimestamp: 2026-01-01T00:00:00Z\n"
    )
    assert load_manifests([file])[0]["metadata"] == {"name": "a"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("a: [", "a.yaml: document 1 is not YAML", id="no YAML"),
        pytest.param(NAMESPACE % "a" + "---\n}", "a.yaml: document 2 is not YAML", id="second"),
        pytest.param("a: [", "in {file}, line 2, column 1", id="place"),
        pytest.param("- a", "a.yaml: document 1 is no object", id="a list"),
        pytest.param(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: 5}",
            "a.yaml: document 1 (Pod) has a metadata.name that is no text: 5; put it in quotes",
            id="number as name",
        ),
        pytest.param("just text", "a.yaml: document 1 is no object", id="text"),
        pytest.param("kind: Pod", "a.yaml: document 1 has no apiVersion", id="no version"),
        pytest.param("apiVersion: v1\nkind: [x]", "a.yaml: document 1 has no kind", id="kind"),
        pytest.param(
            "apiVersion: v1\nkind: Pod", "a.yaml: document 1 (Pod) has no metadata", id="metadata"
        ),
        pytest.param(
            "apiVersion: v1\nkind: Pod\nmetadata: {}",
            "a.yaml: document 1 (Pod) has no metadata.name",
            id="name",
        ),
        pytest.param(
            "apiVersion: v1\nkind: List\nitems: [1]", "a.yaml: document 1, item 1 is no", id="item"
        ),
        pytest.param(b"\xff\xfe\x00", "a.yaml: cannot be read: it is not UTF-8 text", id="bytes"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_named(
    content: str | bytes, message: str, tmp_path: Path
) -> None:
    """File, document and what is wrong, in one line."""
    file = tmp_path / "a.yaml"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ManifestError) as error:
        load_manifests([file])
    assert message.replace("{file}", str(file)) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["deep.json", "deep.yaml"])
def test_a_manifest_that_is_nested_too_deeply_is_named(name: str, tmp_path: Path) -> None:
    """Rather than a traceback, or worse."""
    file = tmp_path / name
    file.write_text("[" * 100_000)
    with pytest.raises(ManifestError, match=rf"{name}: document 1 is .*(deeply|maximum nesting)"):
        load_manifests([file])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(NAMESPACE % "a" + "---\n" + NAMESPACE % "b", id="YAML"),
        pytest.param(
            "".join(
                json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
                for name in "ab"
            ),
            id="JSON",
        ),
    ],
)
def test_manifests_can_come_from_stdin(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the path ``-``, as kubectl has it."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert [item["metadata"]["name"] for item in load_manifests(["-"])] == ["a", "b"]


def test_what_is_wrong_with_stdin_is_said_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of a file's name."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a: [")))
    with pytest.raises(ManifestError, match=r"stdin: document 1 is not YAML: .* in stdin, line 2"):
        load_manifests(["-"])


def test_a_pipe_in_a_folder_is_refused(tmp_path: Path) -> None:
    """Reading it could take for ever."""
    os.mkfifo(tmp_path / "a.yaml")
    with pytest.raises(ManifestError, match=r"a\.yaml: is no regular file; move it out"):
        load_manifests([tmp_path])


def test_a_folder_named_as_a_manifest_is_refused(tmp_path: Path) -> None:
    """Somebody may think that what is in it is read."""
    (tmp_path / "a.yaml").mkdir()
    with pytest.raises(ManifestError, match=r"a\.yaml: is a folder, and folders within a folder"):
        load_manifests([tmp_path])


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With the system's reason."""
    with pytest.raises(ManifestError, match=r"nope\.yaml: cannot be read: No such file"):
        load_manifests([tmp_path / "nope.yaml"])


def test_a_folder_without_manifests_is_an_error(tmp_path: Path) -> None:
    """It is most likely the wrong folder."""
    with pytest.raises(ManifestError, match=r"no \*\.yaml"):
        load_manifests([tmp_path])


def test_broken_json_is_named(tmp_path: Path) -> None:
    """The second document, in this case."""
    file = tmp_path / "a.json"
    file.write_text('{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}} {')
    with pytest.raises(ManifestError, match=r"a\.json: document 2 is not JSON"):
        load_manifests([file])


async def test_namespaces_that_are_only_named_are_created(
    server: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """Those that the manifests hold keep their labels, wherever they stand."""
    pods = [make_pod("a"), make_pod("b")]
    pods[0]["metadata"]["namespace"] = "implied"
    pods[1]["metadata"]["namespace"] = "given"
    metadata = {"name": "given", "labels": {"team": "x"}}
    given = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    await apply_manifests(server.store, [*pods, given])
    assert len(server.store.list("pods", namespace="implied")) == 1
    labels = server.store.get("namespaces", "given")["metadata"]["labels"]
    assert labels == {"team": "x", "kubernetes.io/metadata.name": "given"}


async def test_a_class_may_stand_behind_the_pods_that_use_it(
    server: EmbeddedApiServer, make_pod: Callable[..., dict[str, Any]]
) -> None:
    """What is cluster-wide is created first."""
    pod = make_pod("a", priorityClassName="high")
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 7,
    }
    await apply_manifests(server.store, [pod, high])
    assert server.store.list("pods")[0]["spec"]["priority"] == 7


async def test_a_refused_object_is_named_with_its_file(
    server: EmbeddedApiServer, tmp_path: Path
) -> None:
    """And with the server's message."""
    file = tmp_path / "a.yaml"
    file.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: n}\nspec: {}\n")
    with pytest.raises(ManifestError) as error:
        await apply_manifests(server.store, load_manifests([file]))
    assert str(error.value) == (
        f'{file}: document 1: Pod n/p was refused: Pod "p" is invalid: spec.containers: '
        "Required value"
    )


async def test_a_namespace_that_is_only_named_and_invalid_is_named_with_its_file(
    server: EmbeddedApiServer, tmp_path: Path
) -> None:
    """With the first object that names it, and the reason once."""
    file = tmp_path / "a.yaml"
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: Bad_NS}\n"
    file.write_text(NAMESPACE % "n" + "---\n" + pod % "p" + "---\n" + pod % "q")
    with pytest.raises(ManifestError) as error:
        await apply_manifests(server.store, load_manifests([file]))
    start = (
        f"{file}: document 2: namespace 'Bad_NS' was refused: Invalid value: \"Bad_NS\": a lower"
    )
    assert str(error.value).startswith(start)


async def test_a_kind_that_is_not_served_is_named_with_its_file(
    server: EmbeddedApiServer, tmp_path: Path
) -> None:
    """Before anything is created."""
    file = tmp_path / "a.yaml"
    file.write_text(NAMESPACE % "a" + "---\napiVersion: x/v1\nkind: Boat\nmetadata: {name: b}\n")
    with pytest.raises(ManifestError, match=r"a\.yaml: document 2: Boat b was refused: no matches"):
        await apply_manifests(server.store, load_manifests([file]))
    assert len(server.store.list("namespaces")) == 4


async def test_dates_and_whole_numbers_of_yaml_are_read_as_the_api_has_them(
    server: EmbeddedApiServer, tmp_path: Path
) -> None:
    """YAML knows types that JSON does not."""
    file = tmp_path / "a.yaml"
    file.write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus:\n  capacity: {cpu: 4}\n"
        "  conditions: [{type: Ready, status: 'True', lastTransitionTime: 2026-01-01T00:00:00Z}]\n"
    )
    await apply_manifests(server.store, load_manifests([file]))
    status = server.store.get("nodes", "n")["status"]
    assert status["capacity"] == {"cpu": "4"}
    assert status["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"


async def test_the_status_of_claims_is_kept(server: EmbeddedApiServer) -> None:
    """Nothing here would bring it about; a create alone drops it, as on a real server."""
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c"},
        "status": {"phase": "Bound"},
    }
    await apply_manifests(server.store, [claim])
    assert server.store.list("persistentvolumeclaims")[0]["status"] == {"phase": "Bound"}


async def test_the_quickstart_shows_what_the_readme_promises() -> None:
    """At least six nodes in three zones and thirty pods of several kinds, one of them too big."""
    server = EmbeddedApiServer(kubelet=False, clock=ManualClock())
    manifests = load_manifests([QUICKSTART])
    assert all("schedulerName" not in item.get("spec", {}) for item in manifests)
    await apply_manifests(server.store, manifests)
    nodes, pods = server.store.list("nodes"), server.store.list("pods")
    zones = {node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes}
    assert len(nodes) >= 6
    assert len(zones) == 3
    assert len(pods) >= 30
    largest = max(int(node["status"]["capacity"]["cpu"]) for node in nodes)
    asked = {
        pod["metadata"]["name"]: pod["spec"]["containers"][0]["resources"]
        .get("requests", {})
        .get("cpu", "0")
        for pod in pods
    }
    too_big = [name for name, cpu in asked.items() if cpu.isdecimal() and int(cpu) > largest]
    assert too_big == ["too-big"]


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        (
            "twins.yaml",
            f"{NAMESPACE % 'a'}---\nkind: Pod\nspec: {{}}\nspec: {{nodeName: b}}\n",
            "document 2: line 7: the key 'spec' is here already",
        ),
        (
            "twins.json",
            '{"kind": "Pod", "metadata": {"name": "a", "name": "b"}}',
            "document 1: the key 'name' stands twice in one object",
        ),
    ],
)
def test_a_key_that_stands_twice_is_refused(
    file: str, text: str, problem: str, tmp_path: Path
) -> None:
    """One of the two would be dropped without a word."""
    path = tmp_path / file
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ManifestError) as refused:
        load_manifests([path])

    assert str(refused.value) == f"{path}: {problem}"
