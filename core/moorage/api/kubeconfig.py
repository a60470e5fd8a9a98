"""Kubeconfig files: found, checked, and read by the library `kubernetes`, with clear errors."""
# mypy: allow-untyped-calls
# (the library's half that reads configurations has no types)

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException
from kubernetes.aio.config.dateutil import parse_rfc3339
from kubernetes.aio.config.exec_provider import ExecProvider
from kubernetes.aio.config.kube_config import (
    ConfigNode,
    FileOrData,
    KubeConfigLoader,
    KubeConfigMerger,
)

from moorage.api.kubeconfig_checks import check_context
from moorage.api.oidc import expires_within, refreshed_tokens
from moorage.errors import KubeconfigError

__all__ = ["Kubeconfig"]

_EXPIRY_MARGIN = timedelta(minutes=1)
"""A credential is fetched anew this long before it expires, so that no request meets the end."""


class Kubeconfig:
    """One kubeconfig, or several joined by the path separator as in $KUBECONFIG.

    `context` None means the current one; `server` replaces the address of its cluster.
    Raises KubeconfigError at once where no file can be read.
    """

    def __init__(self, path: str, *, context: str | None = None, server: str | None = None) -> None:
        self._path = path
        self._context = context
        self._server = server
        self._loader: _Loader | None = None
        _check_files(path)

    async def read(self, *, anew: bool) -> Configuration:
        """Return address and credentials; `anew` runs credential plugins and reads the file again.

        Raises KubeconfigError, naming the file and what to do.
        """
        if anew:
            self._loader = None
        configuration = Configuration()
        try:
            if self._loader is None:
                self._loader = self._load()
            await self._loader.load_and_set(configuration)
        except (
            ConfigException,
            AttributeError,
            KeyError,
            OSError,
            TypeError,
            ValueError,
        ) as error:  # the library checks little of a file's shape; any of these means bad shape
            raise KubeconfigError(f"kubeconfig {self._path} cannot be used: {error}") from error
        if self._server:
            configuration.host = self._server
        elif "host" not in vars(self._loader):
            raise KubeconfigError(
                f"kubeconfig {self._path}: the cluster of context {self._loader.context_name} "
                "has no server; write its address there"
            )
        return configuration

    def _load(self) -> _Loader:
        merged = KubeConfigMerger(self._path).config
        chosen = self._context or merged.value.get("current-context")
        known = [item["name"] for item in merged.value.get("contexts") or []]
        if not chosen:
            raise KubeconfigError(
                f"kubeconfig {self._path} has no current-context; choose one with "
                f"`kubectl config use-context` out of: {', '.join(known) or 'none'}"
            )
        if chosen not in known:
            raise KubeconfigError(
                f"kubeconfig {self._path} has no context {chosen}; "
                f"it has: {', '.join(known) or 'none'}"
            )
        check_context(merged, chosen, path=self._path, server=self._server)
        return _Loader(merged, chosen)


def _check_files(path: str) -> None:
    """Refuse what the library would take for an empty configuration, or die on without a name."""
    files = [Path(part).expanduser() for part in path.split(os.pathsep) if part]
    existing = [file for file in files if file.exists()]
    if not existing:
        raise KubeconfigError(
            f"kubeconfig {path} does not exist; name another with --kubeconfig FILE"
        )
    for file in existing:
        try:
            content = yaml.safe_load(file.read_bytes())
        except OSError as error:
            raise KubeconfigError(
                f"kubeconfig {file} cannot be read: {error.strerror or error}"
            ) from error
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            text = " ".join(str(error).split())
            raise KubeconfigError(f"kubeconfig {file} is not YAML: {text}") from error
        if not isinstance(content, dict) or not isinstance(content.get("clusters", []), list):
            raise KubeconfigError(
                f"kubeconfig {file} is not a kubeconfig: it needs clusters, users and contexts"
            )


class _Loader(KubeConfigLoader):
    """The library's loader, made to report what its own would only log.

    It also runs a credential plugin only when the last answer expired, lets a context go without a
    user, and renews OIDC tokens by `moorage.api.oidc`.
    """

    def __init__(self, merged: ConfigNode, context: str) -> None:
        self._answered = False
        super().__init__(config_dict=merged, active_context=context, config_base_path=None)
        self.context_name = context
        # The library looks into the user of https servers even where a context has none.
        self._user: ConfigNode = self._user or ConfigNode("user", {}, merged.path)

    async def load_from_exec_plugin(self) -> bool:
        """Fill in token or client certificate from the plugin's answer; raise where it fails."""
        expiry = getattr(self, "exec_plugin_expiry", None)
        if self._answered and (expiry is None or datetime.now(UTC) < expiry - _EXPIRY_MARGIN):
            return True
        status = await self._run_plugin()
        if "token" in status:
            self.token = f"Bearer {status['token']}"
        if "clientCertificateData" in status:
            self.cert_file = self._temporary(status, "clientCertificateData")
            self.key_file = self._temporary(status, "clientKeyData")
        if "expirationTimestamp" in status:
            self.exec_plugin_expiry = parse_rfc3339(status["expirationTimestamp"])
        self._answered = True
        return True

    async def _load_oid_token(self) -> None:
        """Use the OIDC token, renewed where it expires; new ones live as long as this loader."""
        settings: dict[str, str] = self._user["auth-provider"]["config"].value
        try:
            if expires_within(settings.get("id-token", ""), _EXPIRY_MARGIN):
                settings.update(await refreshed_tokens(settings))
        except ValueError as error:
            raise ConfigException(
                f"its OIDC token cannot be renewed ({error}); log in again"
            ) from error
        self.token = f"Bearer {settings['id-token']}"

    async def _run_plugin(self) -> dict[str, str]:
        provider = ExecProvider(self._user["exec"])
        command = provider.args[0]
        if os.sep in command:  # relative to the file that names it, as kubectl has it
            provider.args[0] = str(Path(self._get_base_path(self._user.path)) / command)
        try:
            status = await provider.run()
        except OSError as error:
            raise ConfigException(
                f"its credential plugin {command} cannot be run ({error.strerror}); "
                "install it or correct users[].user.exec.command"
            ) from error
        except ConfigException as error:
            raise ConfigException(f"its credential plugin {command} failed ({error})") from error
        if "token" not in status and not {"clientCertificateData", "clientKeyData"} <= set(status):
            raise ConfigException(
                f"its credential plugin {command} answered with neither a token "
                "nor a client certificate with its key"
            )
        return dict(status)

    def _temporary(self, status: dict[str, str], key: str) -> str:
        """Write what came as text to a file that only we can read: TLS takes nothing else."""
        made = FileOrData(status, None, data_key_name=key, base64_file_content=False).as_file()
        return str(made)
