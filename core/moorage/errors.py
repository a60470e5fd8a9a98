"""One tree of exceptions: faults, never verdicts.

Every message is one sentence that names the file, field, plugin or pod and says what to do. The
command line turns a `MoorageError` at start-up into that sentence and exit code 2; library errors
are wrapped at the edge with ``raise ... from``.
"""

from __future__ import annotations

__all__ = [
    "ApiError",
    "ConfigurationError",
    "KubeconfigError",
    "LeadershipLostError",
    "LostAnswerError",
    "ManifestError",
    "MoorageError",
    "NotLeadingError",
    "NotServedError",
    "PluginError",
    "RecordingError",
    "UnreachableError",
]


class MoorageError(Exception):
    """Whatever goes wrong in Moorage; its text is meant for the user.

    `exit_code` is the process's where this ends it.
    """

    exit_code = 2


class ConfigurationError(MoorageError):
    """A configuration that cannot be used; names the file and the field."""


class KubeconfigError(MoorageError):
    """Credentials or an address of a cluster that cannot be used."""


class ManifestError(MoorageError):
    """A manifest that cannot be read, or an object in it that the API server refuses."""


class RecordingError(MoorageError):
    """A recording that `moorage verify` cannot read."""


class PluginError(MoorageError):
    """A plugin that cannot be loaded, or that broke its contract in a hook."""


class UnreachableError(MoorageError):
    """An API server that does not answer: refused, timed out, no such host, bad certificate."""


class NotLeadingError(UnreachableError):
    """A write that was not sent, since the Lease does not hold (any more)."""


class LeadershipLostError(MoorageError):
    """The Lease could not be renewed in time, so that another replica may take it: the end."""

    exit_code = 1


class LostAnswerError(UnreachableError):
    """A request that may have reached the API server, whose answer never came back whole.

    Whether a write happened is unknown. Any other `UnreachableError` says that nothing was sent.
    """


class ApiError(MoorageError):
    """An API server's refusal: a ``Status`` object with its HTTP code.

    `code` is the HTTP status, `reason` the machine-readable reason of the Kubernetes API
    (``NotFound``, ``Conflict``, ...; empty where the body was no Status), `retry_after` the seconds
    that the server asked the client to wait, if it did.
    """

    def __init__(
        self, message: str, *, code: int, reason: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.retry_after = retry_after


class NotServedError(ApiError):
    """A group, version or resource that the API server does not serve (404 on its list)."""
