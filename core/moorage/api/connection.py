"""How to reach an API server, and as whom.

The library `kubernetes` reads kubeconfigs and service accounts; what it makes of them is kept
here as `Credentials`, read again every minute (tokens and certificates rotate) and whenever the
server answers 401. Its requests are not used: its models are too slow for a hundred thousand pods.
"""

from __future__ import annotations

import asyncio
import os
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self
from urllib.parse import urlsplit

from kubernetes.aio.client import Configuration
from kubernetes.aio.config.incluster_config import (
    SERVICE_CERT_FILENAME,
    SERVICE_HOST_ENV_NAME,
    SERVICE_TOKEN_FILENAME,
)

from moorage.api.kubeconfig import Kubeconfig
from moorage.api.kubeconfig_checks import is_server_url
from moorage.api.service_account import ServiceAccount
from moorage.api.tls import TlsContexts
from moorage.errors import KubeconfigError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

__all__ = ["Connection", "Credentials"]

_FRESH_SECONDS = 60.0
"""How long credentials are used before their files are read again, as in client-go."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request needs to reach the server and to be let in; immutable.

    `server` is the base URL without a slash at its end; `authorization` the value of that header;
    `tls` the context to verify with, True where the scheme is http and nothing is verified.
    """

    server: str
    authorization: str | None
    tls: ssl.SSLContext | bool
    tls_server_name: str | None
    proxy: str | None


class _CredentialSource(Protocol):
    """Where credentials come from."""

    async def read(self, *, anew: bool) -> Configuration:
        """Return them as they are now; `anew` forgets what was cached.

        Raises KubeconfigError where they cannot be used.
        """


class Connection:
    """One API server, by way of one source of credentials.

    `source` names it in errors: "kubeconfig /home/me/.kube/config", for instance.
    """

    def __init__(
        self,
        origin: _CredentialSource,
        *,
        source: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.source = source
        self._origin = origin
        self._clock = clock
        self._current: Credentials | None = None
        self._read_at = 0.0
        self._contexts = TlsContexts(source)
        self._reading = asyncio.Lock()

    @classmethod
    def from_kubeconfig(
        cls, path: str | None = None, *, context: str | None = None, server: str | None = None
    ) -> Self:
        """Use a kubeconfig; `path` None means $KUBECONFIG or else ~/.kube/config.

        `context` chooses one other than the current, `server` replaces the address in it.
        Raises KubeconfigError where a file is missing or cannot be read.
        """
        path = path or os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
        return cls(
            Kubeconfig(path, context=context, server=_checked_url(server) if server else None),
            source=f"kubeconfig {path}",
        )

    @classmethod
    def in_cluster(
        cls,
        *,
        token_file: str = SERVICE_TOKEN_FILENAME,
        ca_file: str = SERVICE_CERT_FILENAME,
        environ: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.monotonic,
    ) -> Self:
        """Use the service account of the pod that this process runs in."""
        origin = ServiceAccount(token_file, ca_file, environ)
        return cls(origin, source="the service account of this pod", clock=clock)

    @classmethod
    def to_url(cls, url: str) -> Self:
        """Use a server that asks for no credentials. Raises KubeconfigError where it is no URL."""
        return cls(_Anonymous(_checked_url(url)), source=f"--master {url}")

    @classmethod
    def find(
        cls,
        *,
        kubeconfig: str | None = None,
        context: str | None = None,
        master: str | None = None,
    ) -> Self:
        """Choose as kubectl does: what is named, else the default kubeconfig, else in-cluster."""
        if kubeconfig or context:
            return cls.from_kubeconfig(kubeconfig, context=context, server=master)
        if master:
            return cls.to_url(master)
        if os.environ.get("KUBECONFIG") or (Path.home() / ".kube" / "config").exists():
            return cls.from_kubeconfig()
        if os.environ.get(SERVICE_HOST_ENV_NAME):
            return cls.in_cluster()
        raise KubeconfigError(
            "found no cluster: name one with --kubeconfig FILE or --master URL, "
            "or run without one by --embedded"
        )

    async def credentials(self) -> Credentials:
        """Return what to use now; files are read again where they were read a minute ago.

        Raises KubeconfigError where the first reading fails. Later failures (a file that is being
        replaced) keep what was read before; the server has the last word.
        """
        current = self._current
        if current is not None and self._clock() - self._read_at < _FRESH_SECONDS:
            return current
        async with self._reading:
            if self._current is not current:
                return self._current or await self._read(anew=False)
            try:
                return await self._read(anew=False)
            except KubeconfigError:
                if current is None:
                    raise
                self._read_at = self._clock()
                return current

    async def renewed(self, rejected: Credentials) -> Credentials:
        """Return other credentials than those that the server rejected, if there are any.

        Many requests fail together when a token expires: the first renews for all of them.
        """
        async with self._reading:
            if self._current is not None and self._current is not rejected:
                return self._current
            return await self._read(anew=True)

    async def _read(self, *, anew: bool) -> Credentials:
        configuration = await self._origin.read(anew=anew)
        server = configuration.host.rstrip("/")
        self._current = Credentials(
            server=server,
            authorization=_authorization(configuration),
            tls=self._contexts.context(configuration) if server.startswith("https:") else True,
            tls_server_name=configuration.tls_server_name,
            proxy=configuration.proxy or _proxy_of_environment(server),
        )
        self._read_at = self._clock()
        return self._current


def _authorization(configuration: Configuration) -> str | None:
    value = configuration.api_key.get("BearerToken")
    # Token files end in a newline more often than not, and a header must not.
    return value.strip() if value else None


def _proxy_of_environment(server: str) -> str | None:
    """Return the proxy for a server by HTTPS_PROXY and its kin; loopback is never proxied, as in Go."""
    url = urlsplit(server)
    host = url.hostname or ""
    if host == "localhost" or host.startswith("127.") or host == "::1":
        return None
    if urllib.request.proxy_bypass(host):
        return None
    return urllib.request.getproxies().get(url.scheme)


def _checked_url(url: str) -> str:
    if not is_server_url(url):
        raise KubeconfigError(
            f"--master {url} is no address of an API server: "
            "write it as http://host:port or https://host:port"
        )
    return url.rstrip("/")


class _Anonymous:
    """A URL, and no credentials."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def read(self, *, anew: bool) -> Configuration:  # noqa: ARG002 - nothing is cached
        return Configuration(host=self._url)
