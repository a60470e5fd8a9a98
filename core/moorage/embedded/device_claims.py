"""A stand-in for the resource claim controller: claims come from templates, and devices come back.

In: claims for pods that name a template; pods that ended are no longer among the users of a claim,
a claim without users gives back its devices, and one that was made for a pod goes with it. Out: DRA
drivers; nobody prepares devices or publishes slices.
"""

from __future__ import annotations

import copy
import logging
from typing import TYPE_CHECKING, Any

from moorage.embedded.shelf import Key
from moorage.embedded.status import StatusError
from moorage.embedded.tasks import Tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.embedded.shelf import Version
    from moorage.embedded.store import Store

__all__ = ["DeviceClaimStandIn", "fill_claim", "fill_template"]

_log = logging.getLogger(__name__)

_CLAIMS = "resourceclaims.resource.k8s.io"
_TEMPLATES = "resourceclaimtemplates.resource.k8s.io"
_ANNOTATION = "resource.kubernetes.io/pod-claim-name"
_FINALIZER = "resource.kubernetes.io/delete-protection"
_WITH_CLAIMS = (b'"resourceClaims"', b'"extendedResourceClaimStatus"')
_ENDED = frozenset({"Succeeded", "Failed"})


def fill_claim(claim: dict[str, Any]) -> None:
    """One device is meant where a request does not say how many."""
    for request in (claim.get("spec") or {}).get("devices", {}).get("requests") or ():
        alternatives = request.get("firstAvailable") or ()
        for one in (request.get("exactly"), *alternatives):
            if isinstance(one, dict):
                one.setdefault("allocationMode", "ExactCount")
                if one["allocationMode"] == "ExactCount":
                    one.setdefault("count", 1)
                for toleration in one.get("tolerations") or ():
                    toleration.setdefault("operator", "Equal")


def fill_template(template: dict[str, Any]) -> None:
    """Fill in the claim that a template is for."""
    fill_claim(template.get("spec") or {})


class DeviceClaimStandIn:
    """Follows the pods, templates and claims of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._registry = store.registry
        named = store.registry.catalogue.named
        self._pods, self._claims, self._templates = named("pods"), named(_CLAIMS), named(_TEMPLATES)
        self._waiting: set[Key] = set()
        """Pods whose template is not there."""
        self._tasks = Tasks()

    def start(self) -> None:
        """Begin on the running event loop, with what is there already."""
        followed = {"pods": self._take_pod, _TEMPLATES: self._take_template, _CLAIMS: self._tidy}
        for plural, take in followed.items():
            self._tasks.begin(self._follow(plural, take))

    async def stop(self) -> None:
        """Stop; everything stays as it is."""
        await self._tasks.stop()

    async def _follow(self, plural: str, take: Any) -> None:  # noqa: ANN401 - (version, gone: bool)
        shelf = self._registry.shelf(self._registry.catalogue.named(plural))
        while True:
            # Starting anew is right at any time: what has been done already is seen and left alone.
            watch = self._store.watch(plural, start=self._registry.version)
            for version in shelf.versions():
                self._try(take, version, gone=False)
            try:
                async for events in watch.batches():
                    for event in events:
                        self._try(take, event.version, gone=event.type == "DELETED")
            except StatusError as error:
                _log.info("the stand-in for claims fell behind and starts anew: %s", error)

    def _try(self, take: Any, version: Version, *, gone: bool) -> None:  # noqa: ANN401 - as above
        try:
            take(version, gone=gone)
        except StatusError as error:
            _log.warning("the stand-in for claims cannot follow %s: %s", version.key.name, error)

    # Pods

    def _take_pod(self, version: Version, *, gone: bool) -> None:
        # Nearly all pods have none: they are not worth being decoded.
        if not any(field in version.item for field in _WITH_CLAIMS):
            return
        pod = version.as_dict(self._pods)
        if gone or pod["status"].get("phase") in _ENDED:
            self._waiting.discard(version.key)
            for claim in self._claims_of(pod):
                self._leave(claim, pod)
        elif not pod["metadata"].get("deletionTimestamp"):
            self._make_claims(version.key, pod)

    def _make_claims(self, key: Key, pod: dict[str, Any]) -> None:
        known = {one["name"] for one in pod["status"].get("resourceClaimStatuses") or ()}
        made = []
        for reference in pod["spec"].get("resourceClaims") or ():
            name = reference.get("resourceClaimTemplateName")
            if name is None or reference["name"] in known:
                continue
            template = self._registry.shelf(self._templates).get(Key(key.namespace, name))
            if template is None:
                self._waiting.add(key)
                continue
            claim = self._make_claim(pod, reference["name"], template.as_dict(self._templates))
            made.append({"name": reference["name"], "resourceClaimName": claim.key.name})
        present = self._registry.shelf(self._pods).get(key)
        if made and present is not None and present.uid == pod["metadata"]["uid"]:
            item = present.as_dict(self._pods)
            statuses = [*(item["status"].get("resourceClaimStatuses") or ()), *made]
            item["status"]["resourceClaimStatuses"] = statuses
            self._registry.replace(self._pods, present, item, subresource="status")

    def _make_claim(self, pod: dict[str, Any], name: str, template: dict[str, Any]) -> Version:
        metadata = pod["metadata"]
        for claim in self._claims_of(pod):
            present = claim.as_dict(self._claims)["metadata"]
            if (present.get("annotations") or {}).get(_ANNOTATION) == name:
                return claim
        made = copy.deepcopy(template["spec"].get("metadata") or {})
        made["generateName"] = f"{metadata['name']}-{name}-"
        made["annotations"] = {**(made.get("annotations") or {}), _ANNOTATION: name}
        made["ownerReferences"] = [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": metadata["name"],
                "uid": metadata["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
        item = {"metadata": made, "spec": copy.deepcopy(template["spec"]["spec"])}
        return self._registry.create(self._claims, item, namespace=metadata["namespace"])

    def _take_template(self, version: Version, *, gone: bool) -> None:
        if gone:
            return
        for key in [key for key in self._waiting if key.namespace == version.key.namespace]:
            self._waiting.discard(key)
            pod = self._registry.shelf(self._pods).get(key)
            if pod is not None:
                self._take_pod(pod, gone=False)

    # Claims

    def _claims_of(self, pod: dict[str, Any]) -> Iterator[Version]:
        """Return the claims that a pod uses or that were made for it."""
        uid = pod["metadata"]["uid"].encode()
        for version in self._registry.shelf(self._claims).versions(pod["metadata"]["namespace"]):
            if uid in version.item:
                yield version

    def _leave(self, version: Version, pod: dict[str, Any]) -> None:
        """Take a pod that has ended out of a claim; delete the claim if it was the pod's own."""
        uid = pod["metadata"]["uid"]
        claim = version.as_dict(self._claims)
        users = claim.get("status", {}).get("reservedFor") or []
        kept = [one for one in users if one["uid"] != uid]
        if len(kept) < len(users):
            claim["status"]["reservedFor"] = kept
            if not kept:
                for name in ("reservedFor", "allocation", "devices"):
                    claim["status"].pop(name, None)
            version = self._registry.replace(self._claims, version, claim, subresource="status")
        owners = claim["metadata"].get("ownerReferences") or ()
        if any(one["uid"] == uid for one in owners):
            self._registry.delete(self._claims, version.key, uid=version.uid)

    def _tidy(self, version: Version, *, gone: bool) -> None:
        """Take the finalizer off a claim that protects nothing any more."""
        present = self._registry.shelf(self._claims).get(version.key)
        if gone or present is not version:
            return
        claim = version.as_dict(self._claims)
        metadata, status = claim["metadata"], claim.get("status") or {}
        finalizers = metadata.get("finalizers") or []
        if not metadata.get("deletionTimestamp") or _FINALIZER not in finalizers:
            return
        if status.get("reservedFor"):
            return
        if status.get("allocation"):
            claim["status"] = {}
            version = self._registry.replace(self._claims, version, claim, subresource="status")
            claim = version.as_dict(self._claims)
        claim["metadata"]["finalizers"] = [one for one in finalizers if one != _FINALIZER]
        self._registry.replace(self._claims, version, claim)
