"""TLS contexts from the certificates and keys of a cluster."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from moorage.errors import KubeconfigError

if TYPE_CHECKING:
    from kubernetes.aio.client import Configuration

__all__ = ["TlsContexts"]


class TlsContexts:
    """The TLS context for what was read last; a new one only where contents changed.

    Connections are pooled by context: a new one each minute would throw the pool away.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._contents: tuple[object, ...] | None = None
        self._context: ssl.SSLContext | None = None

    def context(self, configuration: Configuration) -> ssl.SSLContext:
        """Return the context to verify and identify with.

        Raises KubeconfigError where the certificates or the key cannot be used.
        """
        try:
            contents = _tls_contents(configuration)
            if self._context is None or contents != self._contents:
                self._context = _tls_context(configuration)
                self._contents = contents
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise KubeconfigError(
                f"{self._source}: the certificates or the key cannot be used ({error}); "
                "check certificate-authority, client-certificate and client-key"
            ) from error
        return self._context


def _tls_contents(configuration: Configuration) -> tuple[object, ...]:
    files = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
    contents = [Path(file).read_bytes() if file else None for file in files]
    return (configuration.verify_ssl, *contents)


def _tls_context(configuration: Configuration) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    # From Python 3.13 on, strict checking is on and refuses the CAs that many clusters run with,
    # for lack of an authority key identifier; Go's verification, thus kubectl's, never asked.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
