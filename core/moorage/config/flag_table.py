"""kube-scheduler 1.36's flags as data: type, default, and what becomes of each in Moorage.

All are accepted, so that a manifest that starts kube-scheduler needs another image and command
only. A flag that changes nothing says why, in `FlagSpec.without_effect`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["FLAGS", "FlagSpec", "FlagType"]

FlagType = Literal[
    "bool",
    "duration",
    "feature_gates",
    "float32",
    "int",
    "int32",
    "int32_list",
    "ip",
    "map",
    "quantity",
    "string",
    "strings",
]
"""How a value is written; `moorage.config.flags.parse_flag` reads each."""


@dataclass(frozen=True, slots=True)
class FlagSpec:
    """One flag. `name` has no dashes before it, `default` is spelt as on the command line.

    An empty `default` means not set. `without_effect` says why the flag changes nothing; empty: it
    does what `help` says. `short` is a one-letter form.
    """

    name: str
    type: FlagType
    help: str
    group: str
    default: str = ""
    without_effect: str = ""
    short: str = ""
    deprecated: bool = False

    @property
    def repeatable(self) -> bool:
        """Whether the flag may be given several times, each adding to the others."""
        return self.type in {"feature_gates", "int32_list", "map", "strings"}


_Row = tuple[str, FlagType, str, str]


def _flags(
    group: str, *rows: _Row, without_effect: str = "", deprecated: bool = False
) -> tuple[FlagSpec, ...]:
    """Make flags that share group and fate from rows of name, type, help and default."""
    return tuple(
        FlagSpec(name, kind, text, group, default, without_effect, deprecated=deprecated)
        for name, kind, text, default in rows
    )


_PLAIN_HTTP: Final = "this version serves plain HTTP, and all but health on loopback only"
_ALL_METRICS: Final = "this version serves all of its metrics"
_NO_PROFILER: Final = "it is for the profiler of the Go runtime; use py-spy on the process"
_LOG_AT_ONCE: Final = "log lines are written at once, and to stderr"
_ONE_MINOR: Final = "Moorage equals one minor of Kubernetes, 1.36"

_MISC = (
    FlagSpec("config", "string", "The KubeSchedulerConfiguration to run with.", "Misc"),
    FlagSpec("master", "string", "Address of the API server, instead of the kubeconfig's.", "Misc"),
    FlagSpec(
        "unsupported-kube-api-over-localhost",
        "bool",
        "Reach the API server over localhost.",
        "Misc",
        without_effect="name the API server with --master instead",
    ),
    FlagSpec(
        "write-config-to",
        "string",
        "Write the configuration, defaults filled in, to this file, and exit.",
        "Misc",
    ),
)

_SERVING = (
    *_flags(
        "Secure serving",
        ("bind-address", "ip", "Address to serve on.", "0.0.0.0"),  # noqa: S104 - kube-scheduler's
        ("permit-port-sharing", "bool", "Listen with SO_REUSEPORT.", ""),
        (
            "secure-port",
            "int",
            "Port of health and metrics, in plain HTTP; 0: none. Embedded: only if given.",
            "10259",
        ),
    ),
    *_flags(
        "Secure serving",
        ("permit-address-sharing", "bool", "Listen with SO_REUSEADDR.", ""),
        without_effect="SO_REUSEADDR is always set",
    ),
    *_flags(
        "Secure serving",
        ("cert-dir", "string", "Folder of the serving certificate.", ""),
        ("disable-http2-serving", "bool", "Serve HTTP/1.1 only.", ""),
        ("http2-max-streams-per-connection", "int", "Streams in one HTTP/2 connection.", ""),
        ("tls-cert-file", "string", "Serving certificate, PEM.", ""),
        ("tls-cipher-suites", "strings", "Cipher suites to offer.", ""),
        ("tls-curve-preferences", "int32_list", "Key exchange curves to offer.", ""),
        ("tls-min-version", "string", "Oldest version of TLS to accept.", ""),
        ("tls-private-key-file", "string", "Key of the serving certificate, PEM.", ""),
        ("tls-sni-cert-key", "string", "Certificate and key for one host name.", ""),
        without_effect=_PLAIN_HTTP,
    ),
)

_AUTHENTICATION = _flags(
    "Authentication",
    ("authentication-kubeconfig", "string", "Credentials to check callers' tokens with.", ""),
    ("authentication-skip-lookup", "bool", "Do not look up missing settings.", ""),
    ("authentication-token-webhook-cache-ttl", "duration", "How long to trust a token.", "10s"),
    ("authentication-tolerate-lookup-failure", "bool", "Start without settings.", "true"),
    ("client-ca-file", "string", "Authorities whose client certificates to accept.", ""),
    ("requestheader-allowed-names", "strings", "Names that a front proxy may have.", ""),
    ("requestheader-client-ca-file", "string", "Authorities of front proxies.", ""),
    (
        "requestheader-extra-headers-prefix",
        "strings",
        "Headers that carry extra facts about the caller.",
        "x-remote-extra-",
    ),
    ("requestheader-group-headers", "strings", "Headers with groups.", "x-remote-group"),
    ("requestheader-uid-headers", "strings", "Headers with the caller's UID.", ""),
    ("requestheader-username-headers", "strings", "Headers with the name.", "x-remote-user"),
    without_effect=_PLAIN_HTTP,
)

_AUTHORIZATION = _flags(
    "Authorization",
    (
        "authorization-always-allow-paths",
        "strings",
        "Paths that anybody may read.",
        "/healthz,/readyz,/livez",
    ),
    ("authorization-kubeconfig", "string", "Credentials to ask what callers may do.", ""),
    ("authorization-webhook-cache-authorized-ttl", "duration", "How long a yes holds.", "10s"),
    ("authorization-webhook-cache-unauthorized-ttl", "duration", "How long a no holds.", "10s"),
    without_effect=_PLAIN_HTTP,
)

_DEPRECATED = (
    *_flags(
        "Deprecated",
        ("contention-profiling", "bool", "Profile lock contention.", "true"),
        ("profiling", "bool", "Serve profiles under /debug/pprof.", "true"),
        without_effect=_NO_PROFILER,
        deprecated=True,
    ),
    *_flags(
        "Deprecated",
        (
            "kube-api-content-type",
            "string",
            "Encoding to ask the API server for.",
            "application/json",
        ),
        without_effect="Moorage speaks JSON",
        deprecated=True,
    ),
    *_flags(
        "Deprecated",
        ("kube-api-burst", "int32", "Requests at once above --kube-api-qps.", "100"),
        ("kube-api-qps", "float32", "Requests a second; below 0: no limit.", "-1"),
        ("kubeconfig", "string", "Credentials and address of the cluster.", ""),
        (
            "pod-max-in-unschedulable-pods-duration",
            "duration",
            "Try an unschedulable pod again after this long, whatever happened.",
            "5m0s",
        ),
        deprecated=True,
    ),
)

_LEADER_ELECTION = _flags(
    "Leader election",
    (
        "leader-elect",
        "bool",
        "Schedule only while holding the Lease. Embedded: only if given.",
        "true",
    ),
    ("leader-elect-lease-duration", "duration", "When others may take the Lease.", "15s"),
    ("leader-elect-renew-deadline", "duration", "When a leader gives up renewing.", "10s"),
    ("leader-elect-resource-lock", "string", "Kind of the lock.", "leases"),
    ("leader-elect-resource-name", "string", "Name of the Lease.", "moorage"),
    ("leader-elect-resource-namespace", "string", "Its namespace.", "kube-system"),
    ("leader-elect-retry-period", "duration", "Time between two tries.", "2s"),
)

_FEATURE_GATES = (
    FlagSpec("emulated-version", "strings", "Act as this version.", "Feature gate", "", _ONE_MINOR),
    FlagSpec(
        "feature-gates",
        "feature_gates",
        "Switch features: A=true,B=false. The gates of kube-scheduler 1.36 are known; none of them"
        " changes what Moorage does.",
        "Feature gate",
        without_effect="Moorage has no feature gates; names and values are checked",
    ),
    FlagSpec(
        "min-compatibility-version",
        "strings",
        "Oldest version of a peer to work with.",
        "Feature gate",
        without_effect=_ONE_MINOR,
    ),
)

_METRICS = _flags(
    "Metrics",
    ("allow-metric-labels", "map", "Values that a metric's label may have.", ""),
    ("allow-metric-labels-manifest", "string", "The same, from a file.", ""),
    ("disabled-metrics", "strings", "Metrics to leave out.", ""),
    ("show-hidden-metrics-for-version", "string", "Show what this version still had.", ""),
    without_effect=_ALL_METRICS,
)

_LOGS = (
    *_flags(
        "Logs",
        ("log-flush-frequency", "duration", "Longest time a line is held back.", "5s"),
        ("log-json-info-buffer-size", "quantity", "Buffer of JSON lines.", ""),
        ("log-json-split-stream", "bool", "JSON errors to stderr, the rest to stdout.", ""),
        ("log-text-info-buffer-size", "quantity", "Buffer of text lines.", ""),
        ("log-text-split-stream", "bool", "Errors to stderr, the rest to stdout.", ""),
        without_effect=_LOG_AT_ONCE,
    ),
    FlagSpec("logging-format", "string", "How log lines look: text or json.", "Logs", "text"),
    FlagSpec("v", "int32", "How much to log, in klog's levels: 0 to 10.", "Logs", "0", short="v"),
    FlagSpec(
        "vmodule",
        "string",
        "How much to log of some files of the Go source.",
        "Logs",
        without_effect="there are no Go files; -v says how much is logged of everything",
    ),
)

_GLOBAL = (FlagSpec("help", "bool", "Show the flags and exit.", "Global", short="h"),)

FLAGS: Final[tuple[FlagSpec, ...]] = (
    *_MISC,
    *_SERVING,
    *_AUTHENTICATION,
    *_AUTHORIZATION,
    *_DEPRECATED,
    *_LEADER_ELECTION,
    *_FEATURE_GATES,
    *_METRICS,
    *_LOGS,
    *_GLOBAL,
)
"""Every flag of kube-scheduler 1.36, by the groups of its ``--help``."""
