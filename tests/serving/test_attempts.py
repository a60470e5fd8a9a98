"""The log of last attempts."""

from __future__ import annotations

from tests.loop_kit import make_pod

from moorage.framework.queued_pod import QueuedPod
from moorage.model.pod_info import PodInfo
from moorage.serving import AttemptLog


def note(log: AttemptLog, name: str) -> None:
    """Note an attempt."""
    queued = QueuedPod(PodInfo(make_pod(name)), timestamp=0.0)
    log.note(queued, result="scheduled", message="", node_name="n1", seconds=0.1)


def test_the_oldest_are_forgotten() -> None:
    """Memory is bounded; a pod that is tried again counts as new."""
    log = AttemptLog(most=2)
    for name in ("a", "b", "a", "c"):
        note(log, name)
    assert len(log) == 2
    assert log.get("ns/b") is None
    assert list(log.newest(5)) == ["ns/c", "ns/a"]
    assert log.newest(0) == {}
