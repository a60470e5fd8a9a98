"""What a failed cycle hands back to the queue instead of touching the queue itself."""

from __future__ import annotations

from typing import NamedTuple, Self

from moorage.framework.verdict import Code, Verdict

__all__ = ["NO_NODES", "RequeueRequest"]

NO_NODES = "(no nodes)"
"""Stands for a plugin where there was no node that any could refuse; a node that comes helps."""


class RequeueRequest(NamedTuple):
    """A wish to have a popped pod tried again, and what may make that worth while.

    `code`: why the attempt failed. `plugins`: who refused the pod; `pending_plugins`: who refused
    it with `Code.PENDING`, waiting for something outside the scheduler. Only events that these
    registered bring the pod back; an event that helps a pending plugin spares the pod the backoff.
    """

    code: Code
    plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()

    @classmethod
    def error(cls) -> Self:
        """Something went wrong that no plugin decided: try again when the backoff is over."""
        return cls(Code.ERROR)

    @classmethod
    def after(cls, verdict: Verdict) -> Self:
        """Say what may help a pod that was turned down after it had a node."""
        if not verdict.is_rejection or not verdict.plugin:
            return cls.error()
        plugins = frozenset({verdict.plugin})
        if verdict.code is Code.PENDING:
            return cls(verdict.code, pending_plugins=plugins)
        return cls(verdict.code, plugins)

    @property
    def is_error(self) -> bool:
        """Whether the pod failed by fault: code Error, or nobody who refused it is known.

        Such a pod waits for time, not for an event: there is no plugin whose events could help it.
        """
        return self.code is Code.ERROR or not (self.plugins or self.pending_plugins)
