"""All objects of the server: what create, update and delete mean, whatever they came by."""

from __future__ import annotations

import secrets
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from moorage.embedded.admission import add_default_tolerations, refuse_deletion, set_priority
from moorage.embedded.clock import timestamp
from moorage.embedded.custom_resources import (
    DEFINITIONS,
    resource_defined_by,
    set_established,
)
from moorage.embedded.defaults import gated_condition
from moorage.embedded.number_quantities import write_numbers
from moorage.embedded.revisions import (
    DROPPED,
    SERVER_OWNED,
    content_of,
    is_free,
    keep_server_owned,
    parts_written,
)
from moorage.embedded.rules.metadata import (
    check_metadata,
    check_metadata_change,
    check_metadata_types,
)
from moorage.embedded.shelf import Key, Shelf, Version, make_version
from moorage.embedded.status import (
    StatusError,
    already_exists,
    bad_request,
    conflict,
    invalid,
    not_found,
)

if TYPE_CHECKING:
    from moorage.embedded.clock import Clock
    from moorage.embedded.resources import Catalogue, Resource

__all__ = ["Deletion", "Registry"]

_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels: no words by accident
_SUFFIX_LENGTH = 5
_LONGEST_GENERATED = 63


class Deletion(NamedTuple):
    """The outcome of a delete: the object's last or present state, and whether it is gone."""

    version: Version
    gone: bool


class Registry:
    """The shelves of all resources, one resourceVersion counter, and the rules of writing.

    Reads hand out immutable `Version`s. A dict handed to a write belongs to the registry from then
    on. Every refusal is a `StatusError`; a refused write changes nothing.
    """

    def __init__(self, catalogue: Catalogue, *, clock: Clock, history: int) -> None:
        self.catalogue = catalogue
        self.clock = clock
        self.version = 0
        self._history = history
        self._shelves: dict[str, Shelf] = {}

    def compact(self) -> None:
        """Drop the history of all resources."""
        for shelf in self._shelves.values():
            shelf.compact()

    def shelf(self, resource: Resource) -> Shelf:
        """Return the shelf that holds a resource's objects."""
        stored = self.catalogue.stored(resource)
        shelf = self._shelves.get(stored.qualified)
        if shelf is None:
            shelf = Shelf(stored, history=self._history, floor=self.version)
            self._shelves[stored.qualified] = shelf
        return shelf

    def shelves(self) -> list[Shelf]:
        """Return every shelf that was ever used."""
        return list(self._shelves.values())

    def open_shelves(self, version: int) -> None:
        """Start the history of every resource at this version, or at the present one if later."""
        self.version = max(self.version, version)
        for resource in self.catalogue:
            self.shelf(resource).floor = self.version

    def get(self, resource: Resource, key: Key) -> Version:
        """Return the present version of an object; 404 if there is none."""
        version = self.shelf(resource).get(key)
        if version is None:
            raise not_found(resource, key.name)
        return version

    # ------------------------------------------------------------------ create

    def create(self, resource: Resource, item: dict[str, Any], *, namespace: str) -> Version:
        """Create an object; `namespace` is empty for a cluster-wide one."""
        stored = self.catalogue.stored(resource)
        item = self._read(resource, item)
        metadata = item["metadata"]
        self._place(stored, metadata, namespace)
        write_numbers(item)
        stored.check_types(item)
        if metadata.get("resourceVersion"):
            raise StatusError(
                "resourceVersion should not be set on objects to be created", code=500, reason=""
            )
        for name in (*SERVER_OWNED, *DROPPED, "resourceVersion"):
            metadata.pop(name, None)
        self._name(stored, metadata)
        metadata["uid"] = str(uuid.uuid4())
        metadata["creationTimestamp"] = timestamp(self.clock.now())
        if stored.generation:
            metadata["generation"] = 1
        self._prepare(stored, item)
        key = Key(namespace, metadata["name"])
        causes = check_metadata(stored, metadata) + resource.check(item)
        if causes:
            raise invalid(stored.kind, stored.group, key.name, causes)
        if self.shelf(stored).get(key) is not None:
            raise already_exists(stored, key.name)
        if stored.qualified == DEFINITIONS:
            self._serve(item)
        return self.put(stored, key, item)

    def _serve(self, definition: dict[str, Any]) -> None:
        """Serve the kind of objects that a new definition brings."""
        resource = resource_defined_by(definition)
        is_kind_taken = self.catalogue.of_kind(resource.api_version, resource.kind) is not None
        if is_kind_taken or self.catalogue.has(resource.qualified):
            raise already_exists(self.catalogue.named(DEFINITIONS), resource.qualified)
        self.catalogue.add(resource)
        set_established(definition)

    def _read(self, resource: Resource, item: dict[str, Any]) -> dict[str, Any]:
        """Return an object in its stored form, with kind and apiVersion, its metadata checked."""
        for name, expected in (("kind", resource.kind), ("apiVersion", resource.api_version)):
            if item.get(name) not in {None, "", expected}:
                raise bad_request(
                    f"{resource.kind} in version {resource.version!r} cannot be handled as a "
                    f"{resource.kind}: its {name} is {item[name]!r}, not {expected!r}"
                )
        stored = self.catalogue.stored(resource)
        head = {"kind": stored.kind, "apiVersion": stored.api_version}
        read = {**resource.to_stored(item), **head}
        check_metadata_types(stored, read)
        return read

    def _place(self, resource: Resource, metadata: dict[str, Any], namespace: str) -> None:
        if not resource.namespaced:
            metadata.pop("namespace", None)
            return
        if metadata.get("namespace") not in {None, "", namespace}:
            raise bad_request(
                f"the namespace of the provided object does not match the namespace sent on the "
                f"request: {metadata['namespace']} is not {namespace}"
            )
        metadata["namespace"] = namespace
        namespaces = self.catalogue.named("namespaces")
        if self.shelf(namespaces).get(Key("", namespace)) is None:
            raise not_found(namespaces, namespace)

    def _name(self, resource: Resource, metadata: dict[str, Any]) -> None:
        if metadata.get("name"):
            return
        stem = (metadata.get("generateName") or "")[: _LONGEST_GENERATED - _SUFFIX_LENGTH]
        if not stem:
            raise StatusError(
                f"{resource.qualified} cannot be created: metadata.name: Required value: name or "
                "generateName is required",
                code=422,
                reason="Invalid",
            )
        namespace, shelf = metadata.get("namespace") or "", self.shelf(resource)
        while True:
            letters = (secrets.choice(_SUFFIX_ALPHABET) for _ in range(_SUFFIX_LENGTH))
            metadata["name"] = stem + "".join(letters)
            if shelf.get(Key(namespace, metadata["name"])) is None:
                return

    def _prepare(self, resource: Resource, item: dict[str, Any]) -> None:
        """Defaults, admission and the initial status, in the order of a real server."""
        resource.fill(item)
        if resource.qualified == "pods":
            classes = self.catalogue.named("priorityclasses.scheduling.k8s.io")
            by_name = {one.key.name: one.as_dict(classes) for one in self.shelf(classes).versions()}
            set_priority(resource, item, by_name)
            add_default_tolerations(item["spec"])
        resource.reset_status(item)
        if resource.qualified == "pods" and item["spec"].get("schedulingGates"):
            condition = gated_condition(item["metadata"]["creationTimestamp"])
            item["status"]["conditions"] = [condition]

    # ------------------------------------------------------------------ update

    def update(
        self, resource: Resource, key: Key, item: dict[str, Any], *, subresource: str = ""
    ) -> Version:
        """Replace an object, or with a subresource (``status``, ``resize``) that part of it."""
        old = self.get(resource, key)
        item = self._read(resource, item)
        name, uid = item["metadata"].get("name"), item["metadata"].get("uid")
        if name not in {None, "", key.name}:
            raise bad_request(
                f"the name of the object ({name}) does not match the name on the URL ({key.name})"
            )
        if uid not in {None, "", old.uid}:
            raise conflict(resource, key.name, uid_mismatch(resource, key, uid, old.uid))
        return self.replace(resource, old, item, subresource=subresource)

    def replace(
        self, resource: Resource, old: Version, item: dict[str, Any], *, subresource: str = ""
    ) -> Version:
        """Write `item`, in the stored form, in place of the present version `old`.

        Returns `old` itself if nothing would change: such a write gets no version and no event.
        """
        stored = self.catalogue.stored(resource)
        present = old.as_dict(stored)
        check_metadata_types(stored, item)
        self._check_version(resource, old, item["metadata"])
        keep_server_owned(item["metadata"], present["metadata"])
        write_numbers(item)
        stored.check_types(item)
        item = parts_written(stored, item, present, subresource)
        stored.fill(item)
        causes = [
            *check_metadata_change(item["metadata"], present["metadata"]),
            *check_metadata(stored, item["metadata"]),
            *resource.check(item),
        ]
        if not subresource:
            causes += stored.check_change(item, present)
        if causes:
            raise invalid(stored.kind, stored.group, old.key.name, causes)
        if item == present:
            return old
        if stored.generation and content_of(item) != content_of(present):
            item["metadata"]["generation"] = present["metadata"].get("generation", 0) + 1
        version = self.put(stored, old.key, item)
        if item["metadata"].get("deletionTimestamp") and is_free(item["metadata"]):
            return self._remove(stored, version)
        return version

    def _check_version(self, resource: Resource, old: Version, metadata: dict[str, Any]) -> None:
        wanted = metadata.get("resourceVersion")
        if wanted not in {None, "", "0", str(old.number)}:
            raise conflict(resource, old.key.name)
        metadata["resourceVersion"] = str(old.number)

    # ------------------------------------------------------------------ delete

    def delete(
        self,
        resource: Resource,
        key: Key,
        *,
        grace: int | None = None,
        uid: str | None = None,
        number: str | None = None,
    ) -> Deletion:
        """Delete an object, unless `uid` or `number` (its resourceVersion) are not the present ones.

        A pod on a node that is still running stays, marked, until its grace period (seconds) is
        over and its kubelet deletes it with a grace of 0; so does any object with finalizers.
        """
        stored = self.catalogue.stored(resource)
        refuse_deletion(stored, key.name)
        old = self.get(resource, key)
        _check_preconditions(stored, old, uid=uid, number=number)
        item = old.as_dict(stored)
        metadata = item["metadata"]
        seconds = _grace(item, grace) if stored.qualified == "pods" else 0
        if stored.qualified == "namespaces":
            self._empty(key.name)
            item["status"] = {"phase": "Terminating"}
        marked = metadata.get("deletionTimestamp") is not None
        if marked and seconds >= metadata.get("deletionGracePeriodSeconds", 0) > 0:
            return Deletion(old, gone=False)
        if stored.qualified == "pods" or metadata.get("finalizers"):
            if not marked and stored.generation:
                metadata["generation"] = metadata.get("generation", 0) + 1
            metadata["deletionTimestamp"] = timestamp(self.clock.now() + seconds)
            metadata["deletionGracePeriodSeconds"] = seconds
            old = self.put(stored, key, item)
        if seconds or metadata.get("finalizers"):
            return Deletion(old, gone=False)
        return Deletion(self._remove(stored, old), gone=True)

    def _empty(self, namespace: str) -> None:
        """Take everything out of a namespace at once; a real server's controllers need a while."""
        for shelf in self.shelves():
            if shelf.resource.namespaced:
                for version in shelf.versions(namespace):
                    self._remove(shelf.resource, version)

    def _remove(self, resource: Resource, version: Version) -> Version:
        if resource.qualified == DEFINITIONS:
            defined = self.catalogue.named(version.key.name)
            for one in self.shelf(defined).versions():
                self._remove(defined, one)
            self.catalogue.remove(defined)
            self._shelves.pop(defined.qualified)
        self.version += 1
        last = make_version(resource, version.key, version.as_dict(resource), self.version)
        self.shelf(resource).remove(last)
        return last

    def put(self, resource: Resource, key: Key, item: dict[str, Any]) -> Version:
        """Write an object in the stored form as it stands, unchecked: for the server's own parts."""
        for name in ("labels", "annotations", "finalizers", "ownerReferences"):
            if name in item["metadata"] and not item["metadata"][name]:
                del item["metadata"][name]
        self.version += 1
        version = make_version(resource, key, item, self.version)
        self.shelf(resource).put(version)
        return version


def uid_mismatch(resource: Resource, key: Key, wanted: str, present: str) -> str:
    """Return the storage's sentence about a uid that is not the present object's."""
    place = f"{key.namespace}/{key.name}" if key.namespace else key.name
    return (
        f"StorageError: invalid object, Code: 4, Key: /registry/{resource.plural}/{place}, "
        f"ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: "
        f"{wanted}, UID in object meta: {present}"
    )


def _grace(pod: dict[str, Any], asked: int | None) -> int:
    """Return the seconds that a pod is given: none if no kubelet has it or it has ended."""
    phase = (pod.get("status") or {}).get("phase")
    if not pod["spec"].get("nodeName") or phase in {"Succeeded", "Failed"}:
        return 0
    return asked if asked is not None else int(pod["spec"]["terminationGracePeriodSeconds"])


def _check_preconditions(
    resource: Resource, old: Version, *, uid: str | None, number: str | None
) -> None:
    name = old.key.name
    if uid is not None and uid != old.uid:
        raise conflict(
            resource,
            name,
            f"the UID in the precondition ({uid}) does not match the UID in record ({old.uid}). "
            "The object might have been deleted and then recreated",
            named=resource.kind,
        )
    if number is not None and number != str(old.number):
        raise conflict(
            resource,
            name,
            f"the ResourceVersion in the precondition ({number}) does not match the "
            f"ResourceVersion in record ({old.number}). The object might have been modified",
            named=resource.kind,
        )
