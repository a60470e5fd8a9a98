"""Manifests: read from files and folders, and created on the embedded server."""

from __future__ import annotations

import asyncio
import json
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from moorage.embedded.status import StatusError
from moorage.embedded.workloads import CONTROLLED_KINDS, dependents_of
from moorage.errors import ManifestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from moorage.embedded.store import Store

__all__ = ["QUICKSTART", "Manifest", "apply_manifests", "load_manifests"]

# The manifests that the wheel carries, for a first look without any of one's own.
QUICKSTART = Path(__file__).parent / "quickstart"

_SUFFIXES = frozenset({".json", ".yaml", ".yml"})
# What a real server writes itself: dropped, so that the output of `kubectl get -o yaml` can be used.
_SERVER_OWNED = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)
_YamlLoader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where it was built so
# Objects created between two chances for others to run on the event loop.
_BATCH = 200


class Manifest(dict[str, Any]):
    """An object read from a file; `origin` says where it stands, for messages."""

    def __init__(self, content: Mapping[str, Any], origin: str) -> None:
        super().__init__(content)
        self.origin = origin


def load_manifests(paths: Iterable[Path | str]) -> list[Manifest]:
    """Read all objects of files and folders, in order; folders by file name, not recursively.

    YAML and JSON may hold several documents; a ``kind: List`` is expanded. `ManifestError` names
    the file and the document, counted from 1.
    """
    return [item for path in paths for file in _files(Path(path)) for item in _read(file)]


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES)
    if not files:
        raise ManifestError(f"{path}: no *.yaml, *.yml or *.json file is in this folder")
    return files


def _read(file: Path) -> Iterator[Manifest]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ManifestError(f"{file}: cannot be read: {reason}") from error
    documents = _json_documents if file.suffix == ".json" else _yaml_documents
    number = 0
    try:
        for document in documents(text):
            number += 1
            if document is not None:
                yield from _objects(document, f"{file}: document {number}")
    except yaml.YAMLError as error:
        raise ManifestError(
            f"{file}: document {number + 1} is not YAML: {_one_line(error)}"
        ) from error
    except json.JSONDecodeError as error:
        raise ManifestError(f"{file}: document {number + 1} is not JSON: {error}") from error


def _yaml_documents(text: str) -> Iterator[Any]:
    yield from yaml.load_all(text, Loader=_YamlLoader)


def _json_documents(text: str) -> Iterator[Any]:
    decoder, position = json.JSONDecoder(), 0
    while rest := text[position:].lstrip():
        position = len(text) - len(rest)
        document, position = decoder.raw_decode(text, position)
        yield document


def _one_line(error: yaml.YAMLError) -> str:
    return " ".join(str(error).split())


def _objects(document: object, origin: str) -> Iterator[Manifest]:
    if not isinstance(document, dict):
        raise ManifestError(f"{origin} is no object: a manifest has apiVersion, kind and metadata")
    for name in ("apiVersion", "kind"):
        if not isinstance(document.get(name), str) or not document[name]:
            raise ManifestError(f"{origin} has no {name}")
    if document["kind"].endswith("List") and isinstance(document.get("items"), list):
        kind = document["kind"].removesuffix("List")
        head = {"apiVersion": document["apiVersion"], "kind": kind} if kind else {}
        for number, item in enumerate(document["items"], start=1):
            whole = {**head, **item} if isinstance(item, dict) else item
            yield from _objects(whole, f"{origin}, item {number}")
        return
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        raise ManifestError(f"{origin} ({document['kind']}) has no metadata")
    if not (metadata.get("name") or metadata.get("generateName")):
        raise ManifestError(f"{origin} ({document['kind']}) has no metadata.name")
    kept = {name: value for name, value in metadata.items() if name not in _SERVER_OWNED}
    yield Manifest({**document, "metadata": kept}, origin)


async def apply_manifests(store: Store, objects: Iterable[Mapping[str, Any]]) -> None:
    """Create objects: namespaces, what is cluster-wide, nodes, then the rest in the order given.

    Namespaces that objects name and nobody creates are created. Workloads get their pods, unless
    the objects hold some that they own. `ManifestError` names file, object and the server's reason.
    """
    items = list(objects)
    owned = {
        (owner.get("kind"), owner.get("name"))
        for item in items
        for owner in (item.get("metadata") or {}).get("ownerReferences") or ()
    }
    for number, item in enumerate(_in_order(store, items)):
        created = _create(store, item)
        identity = (created["kind"], created["metadata"]["name"])
        if created["kind"] in CONTROLLED_KINDS and identity not in owned:
            _create_dependents(store, created, item)
        if number % _BATCH == _BATCH - 1:
            await asyncio.sleep(0)


def _in_order(store: Store, items: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    ranked: list[list[Mapping[str, Any]]] = [[], [], [], []]
    for item in items:
        with _naming(item):
            resource = store.resource_of(item)
        ranks = {"namespaces": 0, "nodes": 2}
        ranked[ranks.get(resource.qualified, 3 if resource.namespaced else 1)].append(item)
    given = {item["metadata"]["name"] for item in ranked[0]}
    present = {item["metadata"]["name"] for item in store.list("namespaces")}
    wanted = dict.fromkeys(item["metadata"].get("namespace") or "default" for item in ranked[3])
    missing = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in wanted
        if name not in given | present
    ]
    # A namespace that is there from the start may be in the manifests too.
    fresh = [item for item in ranked[0] if item["metadata"]["name"] not in present]
    return chain(missing, fresh, *ranked[1:])


class _naming:  # noqa: N801 - reads as a statement: with _naming(item)
    """Turns a refusal into a `ManifestError` that names where the object stands and what it is."""

    def __init__(self, item: Mapping[str, Any]) -> None:
        self._item = item

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, StatusError):
            metadata = self._item.get("metadata") or {}
            name = metadata.get("name") or metadata.get("generateName")
            place = f"{metadata['namespace']}/{name}" if metadata.get("namespace") else name
            origin = getattr(self._item, "origin", "")
            raise ManifestError(
                f"{origin + ': ' if origin else ''}{self._item.get('kind')} {place} was refused: "
                f"{error}"
            ) from error


def _create(store: Store, item: Mapping[str, Any]) -> dict[str, Any]:
    with _naming(item):
        created = store.create(item)
        status = item.get("status")
        resource = store.resource_of(item)
        if isinstance(status, dict) and status and resource.has_status and _lasting(item, status):
            # A real server's controllers would arrive at this status in time.
            return store.update({**created, "status": status}, subresource="status")
    return created


def _lasting(item: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    """Whether a status is to be kept: a pod's only if it has ended, since kubelets write the rest."""
    return item["kind"] != "Pod" or status.get("phase") in {"Succeeded", "Failed"}


def _create_dependents(store: Store, workload: dict[str, Any], item: Mapping[str, Any]) -> None:
    names = (
        [node["metadata"]["name"] for node in store.list("nodes")]
        if (workload["kind"] == "DaemonSet")
        else []
    )
    for dependent in dependents_of(workload, nodes=names):
        with _naming(Manifest(dependent, getattr(item, "origin", ""))):
            created = store.create(dependent)
        _create_dependents(store, created, item)
