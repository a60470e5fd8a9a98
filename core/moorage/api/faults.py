"""What goes wrong between client and server, as exceptions with one sentence each."""

from __future__ import annotations

import os
import re
import ssl
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

import aiohttp
import msgspec

from moorage.errors import ApiError, LostAnswerError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Status", "StatusDetails", "refusal", "refusal_in_stream", "stranger", "translated"]


class StatusDetails(msgspec.Struct, frozen=True, rename="camel"):
    """What a Status says beyond its sentence, as far as a client acts on it."""

    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True):
    """The API's ``Status`` object, as far as a client acts on it."""

    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None


_FORBIDDEN = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) resource "(?P<resource>[^"]+)"'
    r' in API group "(?P<group>[^"]*)"(?: in the namespace "(?P<namespace>[^"]+)")?'
)
"""How every authorizer of a kube-apiserver words a refusal; admission uses other words."""

_SERVICE_ACCOUNT = re.compile(r"system:serviceaccount:(?P<namespace>[^:]+):(?P<name>.+)")


def refusal(code: int, body: bytes, *, source: str, retry_after: str | None = None) -> ApiError:
    """Turn an answer that refuses into an error.

    `source` says where the credentials come from, `retry_after` is the header's value. A body
    that is no Status (a proxy's page, ``404 page not found``) gives its first line.
    """
    try:
        status = msgspec.json.decode(body, type=Status)
    except msgspec.DecodeError:
        first_line = body.decode(errors="replace").strip().partition("\n")[0][:200]
        status = Status(message=first_line)
    message = status.message or f"the API server answered with HTTP status {code}"
    if code == HTTPStatus.UNAUTHORIZED:
        message = (
            f"the API server does not accept the credentials of {source} ({message}); "
            "log in again or name other credentials"
        )
    if code == HTTPStatus.FORBIDDEN:
        message = _with_missing_rule(message)
    return ApiError(
        message, code=code, reason=status.reason, retry_after=_seconds(code, status, retry_after)
    )


def stranger(server: str, path: str, error: ApiError, *, source: str) -> ApiError:
    """Return what to raise for `error`, which may come from something that is no API server.

    All of them serve the core group, and answer for it with a reason.
    """
    if error.code != HTTPStatus.NOT_FOUND or error.reason or not path.startswith("/api/v1/"):
        return error
    return ApiError(
        f"{server} does not look like a Kubernetes API server: it answers 404 to {path} "
        f"({error}); correct the address in {source}",
        code=error.code,
    )


def refusal_in_stream(status: Status) -> ApiError:
    """Turn the Status of an ERROR line of a watch into an error."""
    code = status.code or HTTPStatus.INTERNAL_SERVER_ERROR
    message = status.message or "the API server ended the watch with an error"
    return ApiError(
        message, code=code, reason=status.reason, retry_after=_seconds(code, status, None)
    )


def _seconds(code: int, status: Status, header: str | None) -> float | None:
    """Return how long the server asked to wait; Kubernetes does not use the form with a date."""
    if code != HTTPStatus.TOO_MANY_REQUESTS and code < HTTPStatus.INTERNAL_SERVER_ERROR:
        return None
    if header and header.strip().isdigit():
        return float(header)
    if status.details and status.details.retry_after_seconds > 0:
        return float(status.details.retry_after_seconds)
    return None


def _with_missing_rule(message: str) -> str:
    """Say which RBAC rule is missing, where it was an authorizer that refused.

    Admission (quota, a terminating namespace) answers 403 as well; no rule would help there.
    """
    found = _FORBIDDEN.search(message)
    if not found:
        return message
    namespace = found["namespace"]
    scope, role = (f" in namespace {namespace}", "Role") if namespace else ("", "ClusterRole")
    return (
        f"{_account(found['user'])} is not allowed to {found['verb']} {found['resource']}{scope}: "
        f"add a rule with apiGroups: [{_quoted(found['group'])}], "
        f"resources: [{_quoted(found['resource'])}], verbs: [{_quoted(found['verb'])}] "
        f"to a {role} that is bound to it"
    )


def _quoted(text: str) -> str:
    return f'"{text}"'


def _account(user: str) -> str:
    account = _SERVICE_ACCOUNT.fullmatch(user)
    if account:
        return f"service account {account['namespace']}/{account['name']}"
    return f'user "{user}"'


@contextmanager
def translated(url: str, source: str) -> Iterator[None]:
    """Turn what aiohttp raises into `UnreachableError` or `LostAnswerError`.

    `url` is what was asked, `source` says where its address and credentials come from.
    """
    try:
        yield
    except (aiohttp.ClientError, OSError) as error:
        raise _failure(url, source, error) from error


def _failure(url: str, source: str, error: Exception) -> UnreachableError:
    """Say why there is no answer; the type says whether the request can have arrived."""
    if isinstance(error, _NOTHING_SENT):
        return UnreachableError(f"cannot reach {url}: {_advice(source, error)}")
    if isinstance(error, TimeoutError):
        return LostAnswerError(
            f"{url} was not answered in time; if that goes on, check the API server, "
            f"and its address in {source}"
        )
    return LostAnswerError(
        f"the connection broke before {url} was answered ({_cause(error)}); "
        "it has to be asked again"
    )


_NOTHING_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ClientSSLError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.InvalidURL,
    aiohttp.ClientConnectorCertificateError,
)


_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG"})
"""What OpenSSL says of an answer in plain text, by version."""


def _advice(source: str, error: Exception) -> str:
    match error:
        case aiohttp.ClientConnectorDNSError():
            return f"there is no host {error.host}; correct the address in {source}"
        case aiohttp.ClientConnectorCertificateError():
            return f"{_certificate_fault(error)}; correct the certificate authority in {source}"
        case aiohttp.ClientConnectorSSLError() if _reason(error) in _NO_TLS:
            return (
                f"{error.host}:{error.port} does not speak TLS; write http:// instead of https:// "
                f"if that is meant, or correct the port, in {source}"
            )
        case aiohttp.ClientSSLError():
            return f"TLS failed ({_cause(error)}); check the certificates in {source}"
    return f"{_cause(error)}; check that the API server runs, and its address in {source}"


def _certificate_fault(error: aiohttp.ClientConnectorCertificateError) -> str:
    fault = error.certificate_error
    return str(getattr(fault, "verify_message", "") or fault)


def _reason(error: Exception) -> str:
    """Return OpenSSL's word for what went wrong, empty if that was not TLS.

    Its errno is none of the system's.
    """
    inner = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    return (inner.reason or "") if isinstance(inner, ssl.SSLError) else ""


def _cause(error: Exception) -> str:
    """Return the shortest text that names the cause: the system's, where there is a number."""
    reason = _reason(error)
    if reason:
        return reason.lower().replace("_", " ")
    if isinstance(error, OSError) and error.errno and error.errno > 0:
        return os.strerror(error.errno).lower()
    return str(error) or type(error).__name__
