"""What a kubeconfig's context leads to: a cluster with an address, a user, files that are there.

The library would take some of this for something else, and names neither file nor field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from kubernetes.aio.config.kube_config import ConfigNode

from moorage.errors import KubeconfigError

__all__ = ["check_context", "is_server_url"]

_USER_FILES: Final = (
    ("client-certificate", "client-certificate-data"),
    ("client-key", "client-key-data"),
    ("tokenFile", "token"),
)
"""Fields that name a file, each with the field that goes before it."""


class _Entry(NamedTuple):
    """One named entry of a list: its content, its field for errors, and the file it stands in."""

    content: Mapping[str, Any]
    field: str
    file: str


def check_context(merged: ConfigNode, context: str, *, path: str, server: str | None) -> None:
    """Refuse a context that cannot be used; `server` replaces the address of its cluster.

    Raises KubeconfigError that names the file and the field.
    """
    chosen = _entry(merged, "contexts", context, path)
    if chosen is None:
        return
    cluster = _named(merged, chosen, "cluster", path)
    user = _named(merged, chosen, "user", path)
    if cluster is None:
        raise KubeconfigError(f"kubeconfig {chosen.file}: {chosen.field}.cluster: is missing")
    address = server or cluster.content.get("server")
    if address and not is_server_url(address):
        raise KubeconfigError(
            f"kubeconfig {cluster.file}: {cluster.field}.server: {address!r} is no address of an "
            "API server: write it as http://host:port or https://host:port"
        )
    if str(address).startswith("https:"):
        _check_file(cluster, "certificate-authority", "certificate-authority-data")
    if user is not None:
        for field, before in _USER_FILES:
            _check_file(user, field, before)


def is_server_url(url: object) -> bool:
    """Say whether something is ``http://host`` or ``https://host``, with or without a port."""
    try:
        parts = urlsplit(str(url))
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _named(merged: ConfigNode, chosen: _Entry, kind: str, path: str) -> _Entry | None:
    """Find the cluster or user that a context names; None where it names none."""
    name = chosen.content.get(kind)
    if not name:
        return None
    found = _entry(merged, f"{kind}s", name, path)
    if found is None:
        known = ", ".join(str(item["name"]) for item in _items(merged, f"{kind}s")) or "none"
        raise KubeconfigError(
            f"kubeconfig {chosen.file}: {chosen.field}.{kind}: there is no {kind} {name}; "
            f"there is: {known}"
        )
    return found


def _items(merged: ConfigNode, plural: str) -> Sequence[Any]:
    return merged.value.get(plural) or []


def _entry(merged: ConfigNode, plural: str, name: str, path: str) -> _Entry | None:
    for item in _items(merged, plural):
        if item["name"] == name:
            singular = plural.removesuffix("s")
            value = item.value if isinstance(item, ConfigNode) else item
            file = getattr(item, "path", None) or path
            content = value.get(singular)
            if content is not None and not isinstance(content, dict):
                field = f"{plural}[name={name}].{singular}"
                raise KubeconfigError(f"kubeconfig {file}: {field}: must be a mapping")
            return _Entry(content or {}, f"{plural}[name={name}].{singular}", file)
    return None


def _check_file(entry: _Entry, field: str, before: str) -> None:
    named = entry.content.get(field)
    if not named or entry.content.get(before):
        return
    file = Path(entry.file).absolute().parent / named
    if not file.is_file():
        raise KubeconfigError(
            f"kubeconfig {entry.file}: {entry.field}.{field}: there is no file {file}"
        )
