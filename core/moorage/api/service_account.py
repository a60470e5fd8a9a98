"""The service account that kubelet mounts into a pod."""
# mypy: allow-untyped-calls
# (the library's half that reads configurations has no types)

from __future__ import annotations

from typing import TYPE_CHECKING

from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException
from kubernetes.aio.config.incluster_config import InClusterConfigLoader

from moorage.errors import KubeconfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ServiceAccount"]


class ServiceAccount:
    """Token, CA and address as files and variables; kubelet replaces the token before it expires."""

    def __init__(self, token_file: str, ca_file: str, environ: Mapping[str, str]) -> None:
        self._token_file = token_file
        self._ca_file = ca_file
        self._environ = environ

    async def read(self, *, anew: bool) -> Configuration:  # noqa: ARG002 - nothing is cached
        """Return address and credentials; raise KubeconfigError where this is no pod."""
        configuration = Configuration()
        try:
            InClusterConfigLoader(
                self._token_file, self._ca_file, try_refresh_token=False, environ=self._environ
            ).load_and_set(configuration)
        except (ConfigException, OSError, ValueError) as error:
            raise KubeconfigError(
                f"the service account of this pod cannot be used ({error}); "
                "run inside a cluster, or name one with --kubeconfig FILE or --master URL"
            ) from error
        return configuration
