"""What the volume controller and a provisioner would do: objects in, writes out."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.volume_controller import VolumeController, WriteKind

Object = dict[str, Any]


class Objects:
    """Objects, and a controller that has its way with them until it has nothing more to do."""

    def __init__(self) -> None:
        self.all: dict[tuple[str, str, str], Object] = {}
        self.controller = VolumeController(lambda *key: self.all.get(key))

    def put(self, item: Object) -> None:
        """Store an object, and do whatever comes of it."""
        metadata = item["metadata"]
        self.all[item["kind"], metadata.get("namespace", ""), metadata["name"]] = item
        for write in self.controller.put(item):
            if write.kind is WriteKind.DELETE:
                self.drop(write.object["kind"], write.object["metadata"]["name"])
            else:
                self.put(write.object)

    def drop(self, kind: str, name: str) -> None:
        """Delete an object, and do whatever comes of it."""
        item = self.all.pop(next(key for key in self.all if key[0] == kind and key[2] == name))
        for write in self.controller.drop(item):
            if write.kind is WriteKind.DELETE:
                self.drop(write.object["kind"], write.object["metadata"]["name"])
            else:
                self.put(write.object)

    def phase(self, kind: str, name: str) -> str:
        """Return an object's phase, ``gone`` where there is none of that name."""
        found = [item for (of, _, one), item in self.all.items() if (of, one) == (kind, name)]
        return str(found[0]["status"]["phase"]) if found else "gone"


def volume(name: str, *, size: str = "5Gi", policy: str = "Retain", **spec: Any) -> Object:  # noqa: ANN401 - JSON
    """Make a volume of the class ``now``."""
    return {
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": policy,
            "storageClassName": "now",
            **spec,
        },
    }


def claim(
    name: str, *, size: str = "1Gi", annotations: Object | None = None, **spec: object
) -> Object:
    """Make a claim of the class ``now``."""
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"uid-{name}",
            "annotations": annotations or {},
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            "storageClassName": "now",
            **spec,
        },
        "status": {"phase": "Pending"},
    }


def storage_class(
    name: str = "now", *, provisioner: str = "kubernetes.io/no-provisioner", mode: str = "Immediate"
) -> Object:
    """Make a class."""
    return {
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
    }


def test_a_claim_that_is_bound_at_once_gets_the_smallest_volume_that_fits() -> None:
    """Whichever of the two comes first; both name each other then."""
    objects = Objects()
    objects.put(storage_class())
    objects.put(volume("large", size="20Gi"))
    objects.put(volume("small", size="500Mi"))
    objects.put(claim("c"))
    objects.put(claim("d"))
    objects.put(volume("right"))

    first = objects.all["PersistentVolumeClaim", "ns", "c"]
    second = objects.all["PersistentVolumeClaim", "ns", "d"]
    assert (first["spec"]["volumeName"], second["spec"]["volumeName"]) == ("large", "right")
    assert objects.phase("PersistentVolumeClaim", "c") == "Bound"
    assert objects.phase("PersistentVolume", "large") == "Bound"
    assert objects.phase("PersistentVolume", "small") == "Available"
    bound = objects.all["PersistentVolume", "", "large"]
    assert bound["spec"]["claimRef"]["uid"] == "uid-c"


def test_a_claim_that_waits_for_a_node_is_left_to_the_scheduler() -> None:
    """Until a volume names it."""
    objects = Objects()
    objects.put(storage_class(mode="WaitForFirstConsumer"))
    objects.put(volume("v"))
    objects.put(claim("c"))
    waiting = objects.phase("PersistentVolumeClaim", "c")
    reference = {"namespace": "ns", "name": "c", "uid": "uid-c"}
    chosen = objects.all["PersistentVolume", "", "v"]
    objects.put({**chosen, "spec": {**chosen["spec"], "claimRef": reference}})

    assert waiting == "Pending"
    assert objects.phase("PersistentVolumeClaim", "c") == "Bound"
    assert objects.phase("PersistentVolume", "v") == "Bound"


def test_a_volume_is_made_once_a_node_is_selected() -> None:
    """For that node, of the size that is asked for."""
    objects = Objects()
    objects.put(storage_class(provisioner="csi.example.com", mode="WaitForFirstConsumer"))
    objects.put(claim("c", size="3Gi"))
    before = [key for key in objects.all if key[0] == "PersistentVolume"]
    objects.put(claim("c", size="3Gi", annotations={"volume.kubernetes.io/selected-node": "n0"}))

    made = objects.all["PersistentVolume", "", "pvc-uid-c"]
    assert before == []
    assert made["spec"]["capacity"] == {"storage": "3Gi"}
    assert made["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
    assert objects.phase("PersistentVolumeClaim", "c") == "Bound"


def test_a_volume_whose_claim_goes_is_kept_or_deleted_as_it_says() -> None:
    """And a claim whose volume goes is lost."""
    objects = Objects()
    objects.put(storage_class())
    for name, policy in (("kept", "Retain"), ("deleted", "Delete"), ("lost", "Retain")):
        objects.put(volume(name, policy=policy))
        objects.put(claim(f"c-{name}"))

    objects.drop("PersistentVolumeClaim", "c-kept")
    objects.drop("PersistentVolumeClaim", "c-deleted")
    objects.drop("PersistentVolume", "lost")

    assert objects.phase("PersistentVolume", "kept") == "Released"
    assert objects.phase("PersistentVolume", "deleted") == "gone"
    assert objects.phase("PersistentVolumeClaim", "c-lost") == "Lost"


def test_a_claim_without_a_class_gets_the_default_one() -> None:
    """When there is one; an empty class is a class."""
    objects = Objects()
    objects.put(claim("c", storageClassName=None))
    objects.put(claim("none", storageClassName=""))
    default = storage_class("std", provisioner="csi.example.com")
    annotated = {"storageclass.kubernetes.io/is-default-class": "true"}
    default["metadata"]["annotations"] = annotated
    objects.put(default)

    assert objects.all["PersistentVolumeClaim", "ns", "c"]["spec"]["storageClassName"] == "std"
    assert objects.phase("PersistentVolumeClaim", "c") == "Bound"
    assert objects.phase("PersistentVolumeClaim", "none") == "Pending"


def test_a_volume_that_a_user_keeps_for_a_claim_goes_to_no_other() -> None:
    """Also where the claim comes later."""
    objects = Objects()
    objects.put(storage_class())
    objects.put(volume("v", claimRef={"namespace": "ns", "name": "mine"}))
    objects.put(claim("other"))
    waiting = objects.phase("PersistentVolumeClaim", "other")
    objects.put(claim("mine"))

    assert waiting == "Pending"
    assert objects.phase("PersistentVolumeClaim", "mine") == "Bound"
    reference = objects.all["PersistentVolume", "", "v"]["spec"]["claimRef"]
    assert reference["uid"] == "uid-mine"


def test_volumes_for_fewer_modes_of_access_go_first() -> None:
    """However large they are."""
    objects = Objects()
    objects.put(storage_class())
    objects.put(volume("many", accessModes=["ReadWriteOnce", "ReadOnlyMany"]))
    objects.put(volume("few", size="9Gi"))
    objects.put(claim("c"))

    assert objects.phase("PersistentVolume", "many") == "Available"
    assert objects.phase("PersistentVolume", "few") == "Bound"


@pytest.mark.parametrize(
    "unlike",
    [
        {"capacity": {"storage": "1Mi"}},
        {"volumeMode": "Block"},
        {"accessModes": ["ReadOnlyMany"]},
        {"volumeAttributesClassName": "fast"},
    ],
    ids=lambda unlike: next(iter(unlike)),
)
@pytest.mark.parametrize("named_by", ["nobody", "volume", "claim"])
def test_a_claim_gets_no_volume_that_is_unlike_it(unlike: Object, named_by: str) -> None:
    """Not even if one names the other; the volume is there for others, or for a better claim."""
    objects = Objects()
    objects.put(storage_class())
    kept = {"claimRef": {"namespace": "ns", "name": "c"}} if named_by == "volume" else {}
    wanted: Object = {"volumeName": "v"} if named_by == "claim" else {}
    objects.put(claim("c", **wanted))
    objects.put(volume("v", **{**kept, **unlike}))

    assert objects.phase("PersistentVolumeClaim", "c") == "Pending"
    assert objects.phase("PersistentVolume", "v") == "Available"


def test_a_claim_gets_no_volume_of_another_class_that_it_names() -> None:
    """But one of another class that names the claim."""
    objects = Objects()
    objects.put(storage_class())
    objects.put(volume("v", storageClassName="other"))
    reference = {"namespace": "ns", "name": "d"}
    objects.put(volume("w", storageClassName="other", claimRef=reference))
    objects.put(claim("c", volumeName="v"))
    objects.put(claim("d"))

    assert objects.phase("PersistentVolumeClaim", "c") == "Pending"
    assert objects.phase("PersistentVolumeClaim", "d") == "Bound"


def test_of_several_default_classes_the_newest_counts() -> None:
    """Then the first by name; the older annotation says default as well."""
    objects = Objects()
    for name, key, made in [
        ("b", "storageclass.kubernetes.io/is-default-class", "2026-02-01T00:00:00Z"),
        ("a", "storageclass.beta.kubernetes.io/is-default-class", "2026-02-01T00:00:00Z"),
        ("old", "storageclass.kubernetes.io/is-default-class", "2026-01-01T00:00:00Z"),
    ]:
        default = storage_class(name)
        default["metadata"] |= {"annotations": {key: "true"}, "creationTimestamp": made}
        objects.put(default)
    objects.put(claim("c", storageClassName=None))

    assert objects.all["PersistentVolumeClaim", "ns", "c"]["spec"]["storageClassName"] == "a"
