"""What brings pods back that NodeVolumeLimits and VolumeRestrictions refused."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from tests.builtin.asking_about_storage import Asked, node
from tests.objects import make_pod
from tests.volumes_kit import (
    DRIVER,
    make_attachment,
    make_claim,
    make_csi_node,
    pod_with,
)

from moorage import PodInfo, QueueingHint
from moorage.model import ActionType, ClusterEvent, EventResource, Volume
from moorage.model.pods import EphemeralSource, GCEPersistentDisk

OWN = Volume(name="own", ephemeral=EphemeralSource())
DISK = Volume(name="d", gce_persistent_disk=GCEPersistentDisk(pd_name="x"))

# NodeVolumeLimits


@pytest.mark.parametrize(
    ("info", "attacher", "expected"),
    [
        pytest.param(pod_with("p", "c"), DRIVER, QueueingHint.QUEUE, id="a claim"),
        pytest.param(make_pod("p", volumes=(OWN,)), DRIVER, QueueingHint.QUEUE, id="its own"),
        pytest.param(
            make_pod("p", volumes=(DISK,)),
            "pd.csi.storage.gke.io",
            QueueingHint.QUEUE,
            id="a disk of the driver",
        ),
        pytest.param(
            make_pod("p", volumes=(DISK,)), DRIVER, QueueingHint.SKIP, id="a disk of another"
        ),
    ],
)
def test_a_detached_volume_brings_pods_with_claims_back(
    info: PodInfo, attacher: str, expected: QueueingHint
) -> None:
    """Whosever volume it was: the room is what counts."""
    asked = Asked("NodeVolumeLimits", info, [node()])
    deleted = ClusterEvent(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE)
    gone = make_attachment("a", node="n0", volume="w", attacher=attacher)

    assert asked.hint(deleted, gone, None) == [expected]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(1, 2, QueueingHint.QUEUE, id="rises"),
        pytest.param(2, 1, QueueingHint.SKIP, id="falls"),
        pytest.param(2, None, QueueingHint.QUEUE, id="is no longer said"),
        pytest.param(None, 1, QueueingHint.QUEUE, id="is said now"),
        pytest.param(None, 0, QueueingHint.SKIP, id="is said to be nothing"),
    ],
)
def test_a_limit_that_rises_brings_pods_back(
    before: int | None, after: int | None, expected: QueueingHint
) -> None:
    """A CSINode that comes does so too."""
    asked = Asked("NodeVolumeLimits", pod_with("p", "c"), [node()])
    event = ClusterEvent(EventResource.CSI_NODE, ActionType.UPDATE_OTHER)
    old, new = (make_csi_node("n0", {DRIVER: count}) for count in (before, after))

    assert asked.hint(event, old, new) == [expected]
    added = ClusterEvent(EventResource.CSI_NODE, ActionType.ADD)
    assert asked.hint(added, None, new) == [QueueingHint.QUEUE]


# VolumeRestrictions


def test_only_a_pod_with_the_same_disk_or_claim_brings_a_pod_back() -> None:
    """When it goes."""
    asked = Asked("VolumeRestrictions", pod_with("p", "c", volumes=[DISK]), [node()])
    deleted = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)

    def hint(*claims: str, volumes: Iterable[Volume] = ()) -> list[QueueingHint]:
        gone = pod_with("gone", *claims, node="n0", volumes=volumes).pod
        return asked.hint(deleted, gone, None)

    assert hint("c") == hint(volumes=[DISK]) == [QueueingHint.QUEUE]
    assert hint("other") == hint() == [QueueingHint.SKIP]


def test_a_claim_that_a_pod_names_brings_it_back() -> None:
    """One that is made for it is not what it was refused for."""
    asked = Asked("VolumeRestrictions", pod_with("p", "c", volumes=[OWN]), [node()])
    added = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD)

    assert asked.hint(added, None, make_claim("c")) == [QueueingHint.QUEUE]
    assert asked.hint(added, None, make_claim("p-own")) == [QueueingHint.SKIP]
