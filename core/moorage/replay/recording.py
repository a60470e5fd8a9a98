"""The format of recorded decisions: one scenario a line, plain or gzip-compressed JSON."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from moorage.errors import RecordingError
from moorage.model.devices import DeviceClass, ResourceClaim, ResourceSlice
from moorage.model.disruption import PodDisruptionBudget
from moorage.model.meta import Namespace
from moorage.model.nodes import Node
from moorage.model.pods import Pod
from moorage.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    StorageObject,
    VolumeAttachment,
)
from moorage.model.workloads import (
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    Workload,
)

__all__ = ["Objects", "RecordedStep", "Recording", "Scenario", "read_recording"]


class Objects(msgspec.Struct):
    """What was in the cluster before the first pod, by plural; other kinds are skipped."""

    nodes: tuple[Node, ...] = ()
    pods: tuple[Pod, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    services: tuple[Service, ...] = ()
    replicationcontrollers: tuple[ReplicationController, ...] = ()
    replicasets: tuple[ReplicaSet, ...] = ()
    statefulsets: tuple[StatefulSet, ...] = ()
    poddisruptionbudgets: tuple[PodDisruptionBudget, ...] = ()
    persistentvolumes: tuple[PersistentVolume, ...] = ()
    persistentvolumeclaims: tuple[PersistentVolumeClaim, ...] = ()
    storageclasses: tuple[StorageClass, ...] = ()
    csinodes: tuple[CSINode, ...] = ()
    csidrivers: tuple[CSIDriver, ...] = ()
    csistoragecapacities: tuple[CSIStorageCapacity, ...] = ()
    volumeattachments: tuple[VolumeAttachment, ...] = ()
    resourceclaims: tuple[ResourceClaim, ...] = ()
    resourceslices: tuple[ResourceSlice, ...] = ()
    deviceclasses: tuple[DeviceClass, ...] = ()

    @property
    def workloads(self) -> Iterator[Workload]:
        """Services and controllers of pods."""
        yield from self.services
        yield from self.replicationcontrollers
        yield from self.replicasets
        yield from self.statefulsets

    @property
    def storage(self) -> Iterator[StorageObject]:
        """Everything about storage."""
        yield from self.persistentvolumes
        yield from self.persistentvolumeclaims
        yield from self.storageclasses
        yield from self.csinodes
        yield from self.csidrivers
        yield from self.csistoragecapacities
        yield from self.volumeattachments


class RecordedClaim(msgspec.Struct):
    """A claim of a pod and its volume, as they were after the pod was bound."""

    claim: PersistentVolumeClaim
    volume: PersistentVolume | None = None


class RecordedStep(msgspec.Struct):
    """One pending pod and what became of it.

    `feasible` are names of nodes, or only their number; `scores` are weighted and normalised;
    `devices` those of each claim, by the pod's name for it.
    """

    pod: Pod
    outcome: str
    node: str | None = None
    feasible: list[str] | int | None = None
    scores: dict[str, dict[str, int]] | None = None
    total: dict[str, int] | None = None
    message: str = ""
    nominated: str | None = None
    victims: list[str] | None = None
    then_bound: str | None = None
    claims: dict[str, RecordedClaim] | None = None
    devices: dict[str, list[str]] | None = None


class Scenario(msgspec.Struct):
    """A cluster and the pods that came to it one after another."""

    scenario: str
    objects: Objects
    steps: list[RecordedStep]


class Recording:
    """A file of scenarios; its family is the file's name up to the first dot."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.family = path.name.partition(".")[0]

    def scenarios(self) -> Iterator[Scenario]:
        """Read scenario after scenario; RecordingError names the file and line at fault.

        A file without any is refused: comparing nothing would pass for equality.
        """
        decoder = msgspec.json.Decoder(Scenario)
        is_empty = True
        for number, line in enumerate(self._lines(), start=1):
            if not line.strip():
                continue
            try:
                scenario = decoder.decode(line)
            except msgspec.DecodeError as error:
                raise RecordingError(
                    f"{self.path}: line {number} is no scenario of recorded decisions: {error}"
                ) from error
            is_empty = False
            yield scenario
        if is_empty:
            raise RecordingError(f"{self.path}: holds no scenario, so there is nothing to compare")

    def plugins(self) -> frozenset[str]:
        """Return the plugins that have a recorded score."""
        return frozenset(
            plugin
            for scenario in self.scenarios()
            for step in scenario.steps
            for scores in (step.scores or {}).values()
            for plugin in scores
        )

    def _lines(self) -> Iterator[bytes]:
        try:
            if self.path.suffix == ".gz":
                with gzip.open(self.path) as lines:
                    yield from lines
            else:
                with self.path.open("rb") as lines:
                    yield from lines
        except (OSError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or error
            raise RecordingError(f"{self.path}: cannot be read: {reason}") from error


def read_recording(path: Path) -> Recording:
    """Open a recording; RecordingError where there is no such file."""
    if path.is_dir():
        raise RecordingError(f"{path}: is a folder; name the recordings in it, such as {path}/*.gz")
    if not path.is_file():
        raise RecordingError(f"{path}: no such file; name a recording such as resources.jsonl.gz")
    return Recording(path)
