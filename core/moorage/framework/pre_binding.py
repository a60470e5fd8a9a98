"""Pods that PreBind plugins work for: it may take minutes, and can be called off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["PodInPreBind", "PodsInPreBind"]


class PodInPreBind:
    """A pod that has a node and for which something is done before it is bound.

    at work --cancel--> called off: it gives its node back, and is tried again after its backoff
            --finish--> about to be bound: to call it off is too late
    """

    def __init__(self) -> None:
        self.called_off = ""
        self.on_called_off: Callable[[], object] | None = None
        self._finished = False

    def cancel(self, reason: str) -> bool:
        """Have the pod give its node back; False: it is too late, the pod has to be deleted."""
        if self._finished:
            return False
        if not self.called_off:
            self.called_off = reason
            if self.on_called_off is not None:
                self.on_called_off()
        return True

    def finish(self) -> None:
        """Note that everything is done: the pod is about to be bound."""
        self._finished = True


class PodsInPreBind:
    """The pods that PreBind plugins work for, by uid; shared by all profiles of a process."""

    def __init__(self) -> None:
        self._pods: dict[str, PodInPreBind] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, uid: str) -> PodInPreBind | None:
        """Return a pod that is worked for, None where there is none."""
        return self._pods.get(uid)

    @contextmanager
    def working_for(self, uid: str) -> Iterator[PodInPreBind]:
        """Have a pod found here until the work for it has ended, and it is bound or is not."""
        pod = self._pods[uid] = PodInPreBind()
        try:
            yield pod
        finally:
            del self._pods[uid]
