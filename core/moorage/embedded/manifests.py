"""Manifests: read from files and folders, and created on the embedded server."""

from __future__ import annotations

import asyncio
import codecs
import json
import logging
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from moorage.embedded.dependents import create_dependents
from moorage.embedded.status import StatusError
from moorage.embedded.unknown_fields import unknown_fields
from moorage.embedded.workloads import CONTROLLED_KINDS
from moorage.errors import ManifestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from moorage.embedded.store import Store

__all__ = ["QUICKSTART", "STDIN", "Manifest", "apply_manifests", "load_manifests"]

_log = logging.getLogger(__name__)

# The manifests that the wheel carries, for a first look without any of one's own.
QUICKSTART = Path(__file__).parent / "quickstart"

STDIN = "-"
"""The path that stands for stdin."""

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


class _TwinError(ValueError):
    """An object has a key twice: which of the two counts is anybody's guess."""


def _construct_mapping(loader: Any, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: ANN401, FBT001, FBT002 - PyYAML's signature
    seen = set()
    for key_node, _ in node.value:
        if isinstance(key_node, yaml.ScalarNode):
            if key_node.value in seen:
                line = key_node.start_mark.line + 1
                raise _TwinError(f"line {line}: the key {key_node.value!r} is here already")
            seen.add(key_node.value)
    made: dict[Any, Any] = yaml.constructor.SafeConstructor.construct_mapping(loader, node, deep)
    return made


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twin = next(key for key in keys if keys.count(key) > 1)
        raise _TwinError(f"the key {twin!r} stands twice in one object")
    return made


_YamlLoader: type = type(  # in C where it was built so
    "_YamlLoader",
    (getattr(yaml, "CSafeLoader", yaml.SafeLoader),),
    {"construct_mapping": _construct_mapping},
)
# Objects created between two chances for others to run on the event loop.
_BATCH = 200


class Manifest(dict[str, Any]):
    """An object read from a file; `origin` says where it stands, for messages."""

    def __init__(self, content: Mapping[str, Any], origin: str) -> None:
        super().__init__(content)
        self.origin = origin


def load_manifests(paths: Iterable[Path | str]) -> list[Manifest]:
    """Read all objects of files and folders, in order; folders by file name, not recursively.

    The path ``-`` is stdin. YAML and JSON may hold several documents; a ``kind: List`` is expanded.
    `ManifestError` names the file and the document, counted from 1.
    """
    return [item for path in paths for item in _of_path(path)]


def _of_path(path: Path | str) -> Iterator[Manifest]:
    if str(path) == STDIN:
        # YAML's reader takes JSON too, but for several JSON documents one after the other.
        data = sys.stdin.buffer.read()
        is_json = data.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{")
        yield from _read("stdin", data, is_json=is_json)
        return
    if not str(path):
        raise ManifestError(
            "the path of a manifest is empty; name a file or a folder, . for this one"
        )
    for file in _files(Path(path)):
        yield from _read(str(file), _bytes_of(file), is_json=file.suffix == ".json")


def _files(path: Path) -> list[Path]:
    """Return the files that a path stands for; `ManifestError` if one is no regular file."""
    if not path.is_dir():
        return [path]  # which may be a pipe: `-f <(kubectl get nodes -o yaml)`
    files = sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES)
    if not files:
        raise ManifestError(f"{path}: no *.yaml, *.yml or *.json file is in this folder")
    for file in files:
        if file.is_dir():
            raise ManifestError(
                f"{file}: is a folder, and folders within a folder are not read; rename it, or name "
                f"its files or itself with -f of its own"
            )
        if file.exists() and not file.is_file():
            raise ManifestError(f"{file}: is no regular file; move it out of the folder")
    return files


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ManifestError(f"{file}: cannot be read: {error.strerror}") from error


def _read(name: str, data: bytes, *, is_json: bool) -> Iterator[Manifest]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ManifestError(f"{name}: cannot be read: it is not UTF-8 text") from error
    documents = _json_documents if is_json else _yaml_documents
    number = 0
    try:
        for document in documents(text):
            number += 1
            if document is not None:
                yield from _objects(document, f"{name}: document {number}")
    except yaml.YAMLError as error:
        raise ManifestError(
            f"{name}: document {number + 1} is not YAML: {_one_line(error, name)}"
        ) from error
    except json.JSONDecodeError as error:
        raise ManifestError(f"{name}: document {number + 1} is not JSON: {error}") from error
    except _TwinError as error:
        raise ManifestError(f"{name}: document {number + 1}: {error}") from error
    except RecursionError as error:
        raise ManifestError(f"{name}: document {number + 1} is nested too deeply") from error


def _yaml_documents(text: str) -> Iterator[Any]:
    yield from yaml.load_all(text, Loader=_YamlLoader)


def _json_documents(text: str) -> Iterator[Any]:
    decoder, position = json.JSONDecoder(object_pairs_hook=_without_twins), 0
    while rest := text[position:].lstrip():
        position = len(text) - len(rest)
        document, position = decoder.raw_decode(text, position)
        yield document


def _one_line(error: yaml.YAMLError, name: str) -> str:
    return " ".join(str(error).replace('"<unicode string>"', name).split())


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
    for name in ("name", "generateName", "namespace"):
        if not isinstance(metadata.get(name), str | None):
            raise ManifestError(
                f"{origin} ({document['kind']}) has a metadata.{name} that is no text: "
                f"{metadata[name]!r}; put it in quotes"
            )
    if not (metadata.get("name") or metadata.get("generateName")):
        raise ManifestError(f"{origin} ({document['kind']}) has no metadata.name")
    kept = {name: value for name, value in metadata.items() if name not in _SERVER_OWNED}
    yield Manifest({**document, "metadata": kept}, origin)


async def apply_manifests(store: Store, objects: Iterable[Mapping[str, Any]]) -> None:
    """Create objects: kinds of objects, namespaces, what is cluster-wide, nodes, then the rest.

    Namespaces that objects name and nobody creates are created. Workloads get their pods, unless
    the objects hold some that they own. `ManifestError` names file, object and the server's reason.
    Unknown fields of what decides placement are warned of in the log.
    """
    items = list(objects)
    owned = {
        (owner.get("kind"), owner.get("name"))
        for item in items
        for owner in (item.get("metadata") or {}).get("ownerReferences") or ()
    }
    definitions = [item for item in items if item.get("kind") == "CustomResourceDefinition"]
    for item in definitions:
        _create(store, item)
    others = [item for item in items if item.get("kind") != "CustomResourceDefinition"]
    for number, item in enumerate(_in_order(store, others)):
        created = _create(store, item)
        for field in unknown_fields(item):
            where = getattr(item, "origin", "") or "a manifest"
            name = created["metadata"]["name"]
            _log.warning("%s: %s %s: unknown field %s", where, item["kind"], name, field)
        identity = (created["kind"], created["metadata"]["name"])
        if created["kind"] in CONTROLLED_KINDS and identity not in owned:
            _create_dependents(store, created, origin=getattr(item, "origin", ""))
        if number % _BATCH == _BATCH - 1:
            await asyncio.sleep(0)


def _create_dependents(store: Store, workload: Mapping[str, Any], *, origin: str) -> None:
    create_dependents(store, workload, around=lambda one: _naming(Manifest(one, origin)))


def _in_order(store: Store, items: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    ranked: list[list[Mapping[str, Any]]] = [[], [], [], []]
    for item in items:
        with _naming(item):
            resource = store.resource_of(item)
        ranks = {"namespaces": 0, "nodes": 2}
        ranked[ranks.get(resource.qualified, 3 if resource.namespaced else 1)].append(item)
    given = {item["metadata"]["name"] for item in ranked[0]}
    present = {item["metadata"]["name"] for item in store.list("namespaces")}
    wanted = {item["metadata"].get("namespace") or "default": item for item in reversed(ranked[3])}
    missing = [
        _ImpliedNamespace(name, item)
        for name, item in reversed(wanted.items())
        if name not in given | present
    ]
    # A namespace that is there from the start may be in the manifests too.
    fresh = [item for item in ranked[0] if item["metadata"]["name"] not in present]
    return chain(missing, fresh, *ranked[1:])


class _ImpliedNamespace(Manifest):
    """A namespace that no manifest holds and `item`, the first of its objects, names."""

    def __init__(self, name: str, item: Mapping[str, Any]) -> None:
        content = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        super().__init__(content, getattr(item, "origin", ""))


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
            if isinstance(self._item, _ImpliedNamespace):
                # Its name is all that can be wrong, and is there already.
                _field, _colon, reason = str(error).partition("metadata.name: ")
                raise ManifestError(
                    f"{origin + ': ' if origin else ''}namespace {name!r} was refused: "
                    f"{reason or error}"
                ) from error
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
