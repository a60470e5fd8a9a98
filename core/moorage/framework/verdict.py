"""What a hook answers about a pod: kube-scheduler's status codes as values.

An expected "no" is a verdict; an exception is a fault and is treated as code `Code.ERROR`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, Self

__all__ = ["SKIP", "SUCCESS", "Code", "Verdict", "wrong_timeout"]


class Code(IntEnum):
    """Status codes of kube-scheduler's framework; the numbers order them as it does."""

    SUCCESS = 0
    """The pod passes."""
    ERROR = 1
    """Something went wrong; the pod goes to backoff and is tried again."""
    UNSCHEDULABLE = 2
    """The pod does not fit; preempting others may help."""
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    """The pod does not fit, and preempting others cannot help."""
    WAIT = 4
    """Permit only: the pod waits until it is allowed, rejected or timed out."""
    SKIP = 5
    """PreFilter, PreScore, Bind: this plugin has nothing to say about this pod."""
    PENDING = 6
    """The pod does not fit and waits for something outside the scheduler."""

    @property
    def label(self) -> str:
        """The code as kube-scheduler writes it: ``UnschedulableAndUnresolvable``."""
        return _LABELS[self]


_LABELS = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
    Code.PENDING: "Pending",
}


class Verdict(NamedTuple):
    """A status code, the reasons for it, and the plugin that gave it (filled in by the host).

    `timeout` belongs to `Code.WAIT`: how long, in seconds, the pod may wait.
    """

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    timeout: float = 0.0

    @classmethod
    def unschedulable(cls, *reasons: str) -> Self:
        """Refuse; preempting others may help."""
        return cls(Code.UNSCHEDULABLE, reasons)

    @classmethod
    def unresolvable(cls, *reasons: str) -> Self:
        """Refuse; preempting others cannot help."""
        return cls(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)

    @classmethod
    def pending(cls, *reasons: str) -> Self:
        """Refuse until something outside the scheduler has happened."""
        return cls(Code.PENDING, reasons)

    @classmethod
    def error(cls, *reasons: str) -> Self:
        """Report a fault without raising."""
        return cls(Code.ERROR, reasons)

    @classmethod
    def wait(cls, timeout: float) -> Self:
        """Let the pod wait in Permit, for `timeout` seconds at most, 0 or more; ValueError else."""
        if wrong_timeout(timeout):
            raise ValueError(f"Verdict.wait takes seconds from 0 on, not {timeout!r}")
        return cls(Code.WAIT, timeout=timeout)

    @property
    def is_success(self) -> bool:
        """Whether the pod passes."""
        return self.code is Code.SUCCESS

    @property
    def is_rejection(self) -> bool:
        """Whether the pod was refused by decision, not by fault."""
        return self.code in {
            Code.UNSCHEDULABLE,
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            Code.PENDING,
        }

    @property
    def message(self) -> str:
        """The reasons as one text."""
        return ", ".join(self.reasons)

    def of(self, plugin: str) -> Self:
        """Return the same verdict, said by `plugin`."""
        return self._replace(plugin=plugin)

    def __str__(self) -> str:
        return f"{self.code.label}: {self.message}" if self.reasons else self.code.label


SUCCESS = Verdict()
SKIP = Verdict(Code.SKIP)


def wrong_timeout(timeout: object) -> bool:
    """Say whether something is no time to wait: seconds, 0 or more, perhaps infinite."""
    # Written so that NaN is wrong as well.
    return not isinstance(timeout, (int, float)) or not timeout >= 0
