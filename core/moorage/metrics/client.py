"""What the client of the API server tells: ``rest_client_...``, as client-go has it."""

from __future__ import annotations

import threading

from moorage.metrics.buckets import CLIENT_BYTES, CLIENT_SECONDS, ROTATION_SECONDS
from moorage.metrics.families import Counter, Gauge, Histogram

__all__ = ["ClientMetrics"]


class ClientMetrics:
    """The families by their names in Python; several clients, each in its thread, may share them."""

    def __init__(self) -> None:
        self.requests = Counter(
            "rest_client_requests_total",
            "Requests answered, by status code; <error>: no answer.",
            "code",
            "method",
            "host",
        )
        self.seconds = Histogram(
            "rest_client_request_duration_seconds",
            "Seconds until an answer began.",
            "verb",
            "host",
            bounds=CLIENT_SECONDS,
        )
        self.request_bytes = Histogram(
            "rest_client_request_size_bytes",
            "Bytes of request bodies.",
            "verb",
            "host",
            bounds=CLIENT_BYTES,
        )
        self.response_bytes = Histogram(
            "rest_client_response_size_bytes",
            "Bytes of answers, watches apart.",
            "verb",
            "host",
            bounds=CLIENT_BYTES,
        )
        self.throttled_seconds = Histogram(
            "rest_client_rate_limiter_duration_seconds",
            "Seconds that a request waited for --kube-api-qps.",
            "verb",
            "host",
            bounds=CLIENT_SECONDS,
        )
        self.certificate_age = Histogram(
            "rest_client_exec_plugin_certificate_rotation_age",
            "Seconds that a credential plugin's certificate lived.",
            bounds=ROTATION_SECONDS,
        )
        self.credential_ttl = Gauge(
            "rest_client_exec_plugin_ttl_seconds",
            "Seconds that a credential plugin's answer is good for.",
        )
        # What client-go says where no plugin gives credentials that end.
        self.credential_ttl.set(float("inf"))
        self.transports = Gauge(
            "rest_client_transport_cache_entries", "Pools of connections that are open."
        )
        self.transport_calls = Counter(
            "rest_client_transport_create_calls_total", "Pools of connections opened.", "result"
        )
        self.transport_collections = Counter(
            "rest_client_transport_cert_rotation_gc_calls_total",
            "Pools given up for new certificates.",
        )
        self._lock = threading.Lock()
        self._open = 0

    def answered(self, method: str, host: str, *, code: str, seconds: float) -> None:
        """Note a request and its answer, or that there was none."""
        with self._lock:
            self.requests.inc(code, method, host)
        self.seconds.observe(seconds, method, host)

    def opened(self) -> None:
        """Note a new pool of connections."""
        with self._lock:
            self.transport_calls.inc("miss")
            self._open += 1
            self.transports.set(self._open)

    def closed(self) -> None:
        """Note that a pool of connections was closed."""
        with self._lock:
            self._open -= 1
            self.transports.set(self._open)
