"""Tokens of OpenID Connect, renewed when they expire."""

from __future__ import annotations

import base64
import json
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from moorage.api.client import ApiClient
from moorage.api.connection import Connection
from moorage.api.oidc import expires_within, refreshed_tokens
from moorage.errors import KubeconfigError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.api.conftest import FakeServer


def token(expires_in: float) -> str:
    """Make what looks like a JWT; nobody here checks its signature."""
    claims = json.dumps({"exp": int(time.time() + expires_in)}).encode()
    return f"head.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.signature"


def kubeconfig(folder: Path, server: FakeServer, id_token: str, **settings: str) -> str:
    """Write a kubeconfig whose user logs in by OIDC."""
    provider = {"idp-issuer-url": server.url, "client-id": "me", "id-token": id_token, **settings}
    content: dict[str, Any] = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server.url}}],
        "users": [{"name": "u", "user": {"auth-provider": {"name": "oidc", "config": provider}}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return str(path)


def provide(server: FakeServer, **tokens: str) -> None:
    """Let the fake server be the identity provider as well."""
    discovery = {"token_endpoint": f"{server.url}/token"}
    server.on("GET", "/.well-known/openid-configuration", server.json(discovery))
    server.on("POST", "/token", server.json(tokens))


async def sent_token(server: FakeServer, path: str) -> str:
    """Return the header of a request."""
    server.on("GET", "/x", server.json({}))
    async with ApiClient(Connection.from_kubeconfig(path)) as client:
        await client.request("GET", "/x")
    return server.asked[-1].headers["Authorization"]


async def test_valid_token_is_sent(server: FakeServer, tmp_path: Path) -> None:
    """As long as it holds, nobody is asked."""
    valid = token(3600)
    assert await sent_token(server, kubeconfig(tmp_path, server, valid)) == f"Bearer {valid}"
    assert len(server.asked) == 1


async def test_expired_token_is_renewed(server: FakeServer, tmp_path: Path) -> None:
    """The provider is asked with the refresh token, and keeps it where it gives no other."""
    provide(server, id_token="fresh")  # noqa: S106 - a test's
    path = kubeconfig(
        tmp_path, server, token(-10), **{"refresh-token": "again", "client-secret": "s"}
    )
    assert await sent_token(server, path) == "Bearer fresh"
    [asked] = server.requests("POST")
    assert asked.body == "grant_type=refresh_token&refresh_token=again"
    assert asked.headers["Authorization"] == "Basic bWU6cw=="


@pytest.mark.parametrize("id_token", ["", "opaque", "a.b.c", "a.bm8.c"])
def test_what_is_no_jwt_counts_as_expired(id_token: str) -> None:
    """Nothing can be said of it, so another one is asked for."""
    assert expires_within(id_token, timedelta())


async def test_rotated_refresh_token_is_kept(server: FakeServer) -> None:
    """A provider that gives a new refresh token wants it the next time."""
    provide(server, id_token="a", refresh_token="second")  # noqa: S106 - a test's
    settings = {"idp-issuer-url": server.url, "client-id": "me", "refresh-token": "first"}
    assert await refreshed_tokens(settings) == {"id-token": "a", "refresh-token": "second"}


async def test_token_that_cannot_be_renewed(server: FakeServer, tmp_path: Path) -> None:
    """Without a refresh token, or with a provider that refuses, one has to log in again."""
    lacking = kubeconfig(tmp_path, server, token(-10))
    with pytest.raises(KubeconfigError, match=r"has no refresh-token.; log in again"):
        await Connection.from_kubeconfig(lacking).credentials()
    refused = kubeconfig(tmp_path, server, token(-10), **{"refresh-token": "old"})
    with pytest.raises(KubeconfigError, match=r"cannot be renewed .*404"):
        await Connection.from_kubeconfig(refused).credentials()


async def test_provider_is_verified(tls_server: FakeServer) -> None:
    """Secrets are sent to nobody whom no authority vouches for."""
    settings = {"idp-issuer-url": tls_server.url, "client-id": "me", "refresh-token": "r"}
    with pytest.raises(ValueError, match="certificate"):
        await refreshed_tokens(settings)
    assert not tls_server.asked
