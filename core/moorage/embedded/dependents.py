"""What a workload's controller would make, made as soon as the workload is, and gone with it.

In: the objects of `moorage.embedded.workloads`, created on a store, and the garbage collector's
part in their end. Out: keeping up their number meanwhile.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from moorage.embedded.shelf import Key
from moorage.embedded.status import StatusError
from moorage.embedded.workloads import dependents_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from moorage.embedded.store import Store

__all__ = ["create_dependents", "delete_dependents"]

_OWNED = ("replicasets.apps", "pods")
"""What goes with its owner; the claims of a StatefulSet stay."""


def _plainly(_one: Mapping[str, Any]) -> AbstractContextManager[None]:
    return nullcontext()


def create_dependents(
    store: Store,
    workload: Mapping[str, Any],
    *,
    around: Callable[[Mapping[str, Any]], AbstractContextManager[None]] = _plainly,
) -> None:
    """Create a stored workload's objects, and theirs; each within `around` of it.

    `StatusError` is what the first that is refused was refused for.
    """
    nodes = store.list("nodes") if workload["kind"] == "DaemonSet" else ()
    for dependent in dependents_of(workload, nodes=nodes):
        with around(dependent):
            created = store.create(dependent)
        create_dependents(store, created, around=around)


def delete_dependents(store: Store, uid: str, *, namespace: str) -> None:
    """Delete what the workload with this UID owns, and what that owns."""
    for plural in _OWNED:
        resource = store.registry.catalogue.named(plural)
        for version in list(store.registry.shelf(resource).versions()):
            # Nearly all objects have other owners: they are not worth being decoded.
            if version.key.namespace != namespace or uid.encode() not in version.item:
                continue
            owners = version.as_dict(resource)["metadata"].get("ownerReferences") or ()
            if any(owner["uid"] == uid for owner in owners):
                _delete(store, plural, version.key)
                delete_dependents(store, version.uid, namespace=namespace)


def _delete(store: Store, plural: str, key: Key) -> None:
    try:
        store.delete(plural, key.name, namespace=key.namespace)
    except StatusError as error:
        if error.code != 404:  # noqa: PLR2004 - Not Found: somebody was faster
            raise
