"""Whether the process lives and is ready, check by check, as Kubernetes' components answer it.

``/livez`` says whether to restart it, ``/readyz`` whether it does its work, ``/healthz`` is the old
name of the first. ``?verbose`` lists the checks, ``?exclude=NAME`` leaves one out, ``/livez/NAME``
asks for one alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from http import HTTPStatus
from typing import NamedTuple

from moorage.metrics import Counter, Gauge

__all__ = ["Answer", "Check", "Health"]


class Check(NamedTuple):
    """One thing to look at; `fault` says what is wrong with it, in any thread; empty: nothing."""

    name: str
    fault: Callable[[], str]


class Answer(NamedTuple):
    """What is sent: HTTP status and text."""

    status: HTTPStatus
    text: str


def _nothing() -> str:
    return ""


_PING = Check("ping", _nothing)
"""That somebody answers at all."""


class Health:
    """The checks of a process, and how often each was passed: ``kubernetes_healthcheck...``."""

    def __init__(self, *, livez: Sequence[Check] = (), readyz: Sequence[Check] = ()) -> None:
        self._checks = {
            "healthz": (_PING, *livez),
            "livez": (_PING, *livez),
            "readyz": (_PING, *readyz),
        }
        self.passed = Gauge(
            "kubernetes_healthcheck", "Whether a check was passed when last asked.", "name", "type"
        )
        self.results = Counter(
            "kubernetes_healthchecks_total",
            "How often a check was passed or not.",
            "name",
            "type",
            "status",
        )

    def kinds(self) -> Iterator[str]:
        """Yield the names of the endpoints."""
        return iter(self._checks)

    def answer(self, kind: str, *, verbose: bool = False, exclude: Sequence[str] = ()) -> Answer:
        """Answer for all checks of an endpoint."""
        lines, faults, left = [], [], list(exclude)
        for check in self._checks[kind]:
            if check.name in exclude:
                left = [name for name in left if name != check.name]
                lines.append(f"[+]{check.name} excluded: ok")
                continue
            fault = self._ask(kind, check)
            if fault:
                faults.append(f"{check.name}: {fault}")
            # As in Kubernetes: anybody may ask, so reasons are for the log and the single check.
            lines.append(
                f"[-]{check.name} failed: reason withheld" if fault else f"[+]{check.name} ok"
            )
        if left:
            names = ", ".join(f'"{name}"' for name in left)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        if faults:
            lines.append(f"{kind} check failed")
            return Answer(HTTPStatus.INTERNAL_SERVER_ERROR, "\n".join(lines) + "\n")
        lines.append(f"{kind} check passed")
        return Answer(HTTPStatus.OK, "\n".join(lines) + "\n" if verbose else "ok")

    def answer_one(self, kind: str, name: str) -> Answer | None:
        """Answer for one check; None: there is none of that name."""
        check = next((check for check in self._checks[kind] if check.name == name), None)
        if check is None:
            return None
        fault = self._ask(kind, check)
        if fault:
            return Answer(HTTPStatus.INTERNAL_SERVER_ERROR, f"internal server error: {fault}\n")
        return Answer(HTTPStatus.OK, "ok")

    def _ask(self, kind: str, check: Check) -> str:
        fault = check.fault()
        self.passed.set(0 if fault else 1, check.name, kind)
        self.results.inc(check.name, kind, "error" if fault else "success")
        return fault
