"""Objects from manifests, as the API has them, with the fields that a plugin wants besides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import yaml

from moorage.framework.plugin import Plugin
from moorage.model.decoding import Declaration, record_types
from moorage.model.meta import Namespace
from moorage.model.nodes import Node
from moorage.model.pods import Pod

__all__ = ["from_manifest"]


def from_manifest(manifest: str | Mapping[str, Any], *plugins: type[Plugin]) -> Any:  # noqa: ANN401 - a Pod, Node or Namespace
    """Read a Pod, Node or Namespace, from YAML or as a mapping.

    The fields that `plugins` declare in `extra_fields` are there as well. What an API server
    fills in is left out where the manifest does not say it, but for a pod's namespace and a uid.
    Raises ValueError for another kind, msgspec.ValidationError for a field of the wrong type.
    """
    document = dict(yaml.safe_load(manifest) if isinstance(manifest, str) else manifest)
    types = record_types(Declaration(plugin.__name__, plugin.extra_fields) for plugin in plugins)
    by_kind: dict[str, type[Pod | Node | Namespace]] = {
        "Pod": types.pod,
        "Node": types.node,
        "Namespace": types.namespace,
    }
    kind = str(document.get("kind"))
    if kind not in by_kind:
        raise ValueError(f"kind {kind!r} is not read here; there are {', '.join(by_kind)}")
    metadata = dict(document.get("metadata") or {})
    if kind == "Pod":
        metadata.setdefault("namespace", "default")
    metadata.setdefault("uid", f"{metadata.get('namespace', '')}/{metadata.get('name', '')}")
    return msgspec.convert({**document, "metadata": metadata}, by_kind[kind])
