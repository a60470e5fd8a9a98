"""Renew the tokens of a kubeconfig's ``oidc`` auth-provider.

The library can do it too, but sends the client's secret and the refresh token over TLS that it
does not verify, and fails where the provider keeps the refresh token.
"""

from __future__ import annotations

import base64
import ssl
import time
from typing import TYPE_CHECKING

import aiohttp
import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

__all__ = ["expires_within", "refreshed_tokens"]

_SECONDS = 30.0


class _Discovery(msgspec.Struct, frozen=True):
    token_endpoint: str


class _Tokens(msgspec.Struct, frozen=True):
    id_token: str
    refresh_token: str = ""


class _Claims(msgspec.Struct, frozen=True):
    exp: float | None = None


def expires_within(token: str, margin: timedelta) -> bool:
    """Say whether a JWT has expired or is about to; True for what is empty or no JWT.

    The signature is the API server's affair.
    """
    try:
        payload = token.split(".")[1]
        padded = payload + "=" * (-len(payload) % 4)
        claims = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_Claims)
    except (IndexError, ValueError):  # binascii.Error and msgspec's errors are ValueErrors
        return True
    return claims.exp is not None and time.time() + margin.total_seconds() >= claims.exp


async def refreshed_tokens(settings: Mapping[str, str]) -> dict[str, str]:
    """Ask the provider for a new id-token, and return what changes in its settings.

    `settings` is ``users[].user.auth-provider.config``. Raises ValueError, saying what is missing
    there or what the provider did.
    """
    for key in ("idp-issuer-url", "client-id", "refresh-token"):
        if not settings.get(key):
            raise ValueError(f"auth-provider.config has no {key}")
    issuer = settings["idp-issuer-url"].rstrip("/")
    try:
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=_tls_context(settings)),
            timeout=aiohttp.ClientTimeout(total=_SECONDS),
            raise_for_status=True,
        ) as session:
            async with session.get(f"{issuer}/.well-known/openid-configuration") as response:
                discovery = msgspec.json.decode(await response.read(), type=_Discovery)
            async with session.post(
                discovery.token_endpoint,
                data={"grant_type": "refresh_token", "refresh_token": settings["refresh-token"]},
                headers={"Authorization": _basic(settings)},
            ) as response:
                tokens = msgspec.json.decode(await response.read(), type=_Tokens)
    except (aiohttp.ClientError, OSError, msgspec.DecodeError) as error:
        raise ValueError(f"{issuer}: {error or type(error).__name__}") from error
    return {
        "id-token": tokens.id_token,
        "refresh-token": tokens.refresh_token or settings["refresh-token"],
    }


def _basic(settings: Mapping[str, str]) -> str:
    pair = f"{settings['client-id']}:{settings.get('client-secret', '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _tls_context(settings: Mapping[str, str]) -> ssl.SSLContext:
    data = settings.get("idp-certificate-authority-data")
    return ssl.create_default_context(
        cafile=settings.get("idp-certificate-authority") or None,
        cadata=base64.b64decode(data).decode() if data else None,
    )
