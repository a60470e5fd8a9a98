"""Where a server is and who we are, from every source there is."""

from __future__ import annotations

import asyncio
import base64
import ssl
import stat
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from aiohttp import web

from moorage.api.client import ApiClient
from moorage.api.connection import Connection
from moorage.errors import ApiError, KubeconfigError, UnreachableError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.api.conftest import FakeServer

_PAIR = (("certificate", "pem"), ("key", "key"))


def kubeconfig(
    folder: Path,
    server: str,
    user: dict[str, Any] | None = None,
    **cluster: Any,  # noqa: ANN401 - any field of a cluster
) -> str:
    """Write a kubeconfig with one context and return its path."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [
            {"name": "here", "context": {"cluster": "c"} | ({} if user is None else {"user": "u"})}
        ],
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user}] if user is not None else [],
    }
    path = folder / "kubeconfig.yaml"
    path.write_text(yaml.safe_dump(content))
    return str(path)


def plugin(folder: Path, *, expires: str | None = None) -> dict[str, Any]:
    """Write a credential plugin whose every run gives another token."""
    script = folder / "plugin"
    status = {"expirationTimestamp": expires} if expires else {}
    script.write_text(
        f"#!{sys.executable}\n"
        "import json, os, pathlib\n"
        "asked = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "runs = pathlib.Path(os.environ['RUNS'])\n"
        "count = len(runs.read_text()) + 1 if runs.exists() else 1\n"
        "runs.write_text('x' * count)\n"
        f"status = {status!r} | {{'token': f'token-{{count}}'}}\n"
        "print(json.dumps({'apiVersion': asked['apiVersion'], 'kind': 'ExecCredential',"
        " 'status': status}))\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "./plugin",
            "env": [{"name": "RUNS", "value": str(folder / "runs")}],
        }
    }


async def authorizations(server: FakeServer, connection: Connection, times: int = 1) -> list[str]:
    """Return the Authorization headers with which requests arrive."""
    async with ApiClient(connection) as client:
        for _ in range(times):
            await client.request("GET", "/x")
    return [asked.headers.get("Authorization", "") for asked in server.asked]


async def test_url_sends_no_credentials(server: FakeServer) -> None:
    """--master alone is anonymous."""
    server.on("GET", "/x", server.json({}))
    assert await authorizations(server, Connection.to_url(server.url + "/")) == [""]


@pytest.mark.parametrize("url", ["", "10.0.0.1:6443", "ftp://host", "https://", "http://host:port"])
def test_what_is_no_url_is_refused(url: str) -> None:
    """The sentence shows what was written and how it is written."""
    with pytest.raises(KubeconfigError, match="write it as http://host:port or https://host:port"):
        Connection.to_url(url)


async def test_token_of_a_kubeconfig(server: FakeServer, tmp_path: Path) -> None:
    """A token is sent as a bearer."""
    server.on("GET", "/x", server.json({}))
    path = kubeconfig(tmp_path, server.url, {"token": "secret"})
    assert await authorizations(server, Connection.from_kubeconfig(path)) == ["Bearer secret"]


async def test_token_file_without_its_newline(server: FakeServer, tmp_path: Path) -> None:
    """A token file is relative to its kubeconfig; the newline at its end is no part of it."""
    server.on("GET", "/x", server.json({}))
    (tmp_path / "token").write_text("from-file\n")
    path = kubeconfig(tmp_path, server.url, {"tokenFile": "token"})
    assert await authorizations(server, Connection.from_kubeconfig(path)) == ["Bearer from-file"]


async def test_password_of_a_kubeconfig(server: FakeServer, tmp_path: Path) -> None:
    """User name and password go as basic authentication."""
    server.on("GET", "/x", server.json({}))
    path = kubeconfig(tmp_path, server.url, {"username": "a", "password": "b"})
    assert await authorizations(server, Connection.from_kubeconfig(path)) == ["Basic YTpi"]


async def test_master_replaces_the_address_of_a_kubeconfig(
    server: FakeServer, tmp_path: Path
) -> None:
    """--master beside --kubeconfig keeps the credentials."""
    server.on("GET", "/x", server.json({}))
    path = kubeconfig(tmp_path, "http://elsewhere.invalid", {"token": "t"})
    connection = Connection.find(kubeconfig=path, master=server.url)
    assert await authorizations(server, connection) == ["Bearer t"]


async def test_default_kubeconfig_is_found(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without flags, $KUBECONFIG is looked at when it is needed, not when Moorage is imported."""
    server.on("GET", "/x", server.json({}))
    monkeypatch.setenv("KUBECONFIG", kubeconfig(tmp_path, server.url, {"token": "env"}))
    assert await authorizations(server, Connection.find()) == ["Bearer env"]


def test_nothing_to_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No flag, no file, no pod: the sentence says what can be named."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(KubeconfigError, match="--kubeconfig FILE or --master URL"):
        Connection.find()


async def test_exec_plugin_runs_once_and_again_after_401(
    server: FakeServer, tmp_path: Path
) -> None:
    """A plugin's token is kept until the server rejects it, then fetched once for everybody."""
    server.on("GET", "/x", server.json({}), server.json({}), server.refuse(401), server.json({}))
    path = kubeconfig(tmp_path, server.url, plugin(tmp_path))
    sent = await authorizations(server, Connection.from_kubeconfig(path), times=3)
    assert sent == ["Bearer token-1", "Bearer token-1", "Bearer token-1", "Bearer token-2"]


async def test_exec_plugin_runs_again_when_its_answer_expires(
    server: FakeServer, tmp_path: Path
) -> None:
    """An answer that is past its time is not used when credentials are read the next time."""
    server.on("GET", "/x", server.json({}))
    user = plugin(tmp_path, expires="2020-01-01T00:00:00Z")
    path = kubeconfig(tmp_path, server.url, user)
    connection = Connection.from_kubeconfig(path)
    now = 0.0
    connection._clock = lambda: now
    await authorizations(server, connection)
    now = 61.0
    assert await authorizations(server, connection) == ["Bearer token-1", "Bearer token-2"]


async def test_401_of_many_renews_once(server: FakeServer, tmp_path: Path) -> None:
    """Requests that fail together share one renewal."""

    async def answer(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.01)
        fresh = request.headers["Authorization"] == "Bearer token-2"
        return web.Response(status=200 if fresh else 401, text="{}")

    server.on("GET", "/x", answer)
    path = kubeconfig(tmp_path, server.url, plugin(tmp_path))
    async with ApiClient(Connection.from_kubeconfig(path)) as client:
        await asyncio.gather(*(client.request("GET", "/x") for _ in range(5)))
    assert (tmp_path / "runs").read_text() == "xx"


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        pytest.param("no-such-plugin-anywhere", "cannot be run .*; install it", id="missing"),
        pytest.param("false", "failed .*process returned 1", id="exit code"),
        pytest.param("true", "failed .*failed to decode process output", id="no JSON"),
    ],
)
async def test_failing_exec_plugin_is_named(tmp_path: Path, command: str, sentence: str) -> None:
    """A plugin that fails is an error at once, not an anonymous request later."""
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": command}}
    path = kubeconfig(tmp_path, "http://127.0.0.1:1", user)
    connection = Connection.from_kubeconfig(path)
    with pytest.raises(
        KubeconfigError, match=f"kubeconfig {path} .*credential plugin {command} {sentence}"
    ):
        await connection.credentials()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        pytest.param("a: [", "is not YAML", id="not YAML"),
        pytest.param("just text", "is not a kubeconfig", id="not a mapping"),
        pytest.param("{}", "has no current-context", id="empty"),
        pytest.param("current-context: x\n", "has no context x", id="no such context"),
        pytest.param(
            "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n",
            "contexts.name=x..context.cluster: there is no cluster c; there is: none",
            id="no such cluster",
        ),
        pytest.param(
            "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
            "clusters: [{name: c, cluster: {proxy-url: p}}]\n",
            "the cluster of context x has no server",
            id="no server",
        ),
        pytest.param(
            "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
            "clusters: [{name: c, cluster: {server: 'https://a', certificate-authority: nope}}]\n",
            "clusters.name=c..cluster.certificate-authority: there is no file .*nope",
            id="no such certificate",
        ),
        pytest.param(
            "current-context: x\ncontexts: [{name: x, context: {user: u}}]\nusers: [{name: u}]\n",
            "contexts.name=x..context.cluster: is missing",
            id="no cluster",
        ),
        pytest.param(
            "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: me}}]\n"
            "clusters: [{name: c, cluster: {server: 'https://a'}}]\nusers: [{name: you}]\n",
            "contexts.name=x..context.user: there is no user me; there is: you",
            id="no such user",
        ),
        *(
            pytest.param(
                f"current-context: x\ncontexts: [{{name: x, context: {{cluster: c}}}}]\n"
                f"clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n",
                f"clusters.name=c..cluster.server: '{server}' is no address of an API server",
                id=server,
            )
            for server in ("127.0.0.1:9", "ftp://x/", "https://")
        ),
        *(
            pytest.param(
                "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
                "clusters: [{name: c, cluster: {server: 'https://a'}}]\n"
                f"users: [{{name: u, user: {{{field}: nope}}}}]\n",
                f"users.name=u..user.{field}: there is no file .*nope",
                id=field,
            )
            for field in ("client-certificate", "client-key", "tokenFile")
        ),
        pytest.param(
            "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
            "clusters: [{name: c, cluster: {server: 'https://a',"
            " certificate-authority-data: bm8=}}]\n",
            "the certificates or the key cannot be used",
            id="no certificate",
        ),
    ],
)
async def test_unusable_kubeconfig_is_named(tmp_path: Path, content: str, sentence: str) -> None:
    """Whatever is wrong with the file, one sentence names the file and the fault."""
    path = tmp_path / "kubeconfig.yaml"
    path.write_text(content)

    async def use() -> None:
        await Connection.from_kubeconfig(str(path)).credentials()

    with pytest.raises(KubeconfigError, match=f"(?s)kubeconfig {path}.*{sentence}"):
        await use()


def test_missing_kubeconfig_is_named(tmp_path: Path) -> None:
    """A file that is not there is refused at once."""
    with pytest.raises(KubeconfigError, match=f"kubeconfig {tmp_path}/none does not exist"):
        Connection.from_kubeconfig(f"{tmp_path}/none")


async def test_service_account_token_is_read_again(server: FakeServer, tmp_path: Path) -> None:
    """Kubelet rotates the token; a minute later the new one is sent."""
    now = 0.0
    (tmp_path / "token").write_text("first\n")
    (tmp_path / "ca").write_text("unread")
    host, port = server.url.removeprefix("http://").split(":")
    connection = Connection.in_cluster(
        token_file=str(tmp_path / "token"),
        ca_file=str(tmp_path / "ca"),
        environ={"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port},
        clock=lambda: now,
    )
    connection._contexts.context = lambda configuration: ssl.create_default_context()  # type: ignore[method-assign]
    assert (await connection.credentials()).authorization == "bearer first"
    (tmp_path / "token").write_text("second\n")
    assert (await connection.credentials()).authorization == "bearer first"
    now = 61.0
    assert (await connection.credentials()).authorization == "bearer second"
    (tmp_path / "token").write_text("")
    now = 122.0
    assert (await connection.credentials()).authorization == "bearer second"


async def test_no_service_account(tmp_path: Path) -> None:
    """Outside a pod, the sentence says what to name instead."""
    connection = Connection.in_cluster(environ={})
    with pytest.raises(KubeconfigError, match="service account of this pod cannot be used"):
        await connection.credentials()


async def test_certificates_of_a_kubeconfig(
    tls_server: FakeServer, data: Path, tmp_path: Path
) -> None:
    """The CA is verified and the client certificate shown."""
    tls_server.on("GET", "/x", tls_server.json({}))
    files = {f"client-{kind}": str(data / "tls" / f"client.{suffix}") for kind, suffix in _PAIR}
    path = kubeconfig(
        tmp_path,
        tls_server.url,
        files,
        **{"certificate-authority": str(data / "tls" / "ca.pem")},
    )
    assert await authorizations(tls_server, Connection.from_kubeconfig(path)) == [""]


async def test_certificates_within_a_kubeconfig(
    tls_server: FakeServer, data: Path, tmp_path: Path
) -> None:
    """The same as base64 data, and a server that goes by another name."""
    tls_server.on("GET", "/x", tls_server.json({}))
    ca, *pair = (
        base64.b64encode((data / "tls" / name).read_bytes()).decode()
        for name in ("ca.pem", "client.pem", "client.key")
    )
    user = {"client-certificate-data": pair[0], "client-key-data": pair[1]}
    cluster: dict[str, Any] = {"certificate-authority-data": ca, "tls-server-name": "localhost"}
    path = kubeconfig(tmp_path, tls_server.url, user, **cluster)
    assert await authorizations(tls_server, Connection.from_kubeconfig(path)) == [""]


async def test_unknown_authority_is_not_trusted(tls_server: FakeServer, tmp_path: Path) -> None:
    """A server that nobody vouches for is no server; the sentence says where to look."""
    path = kubeconfig(tmp_path, tls_server.url)
    async with ApiClient(Connection.from_kubeconfig(path)) as client:
        with pytest.raises(
            UnreachableError, match=f"correct the certificate authority in kubeconfig {path}"
        ):
            await client.request("GET", "/x")


async def test_plain_http_behind_an_https_address_is_told(
    server: FakeServer, tmp_path: Path
) -> None:
    """And nothing about certificates, which are not to blame."""
    path = kubeconfig(tmp_path, server.url.replace("http://", "https://"))
    async with ApiClient(Connection.from_kubeconfig(path)) as client:
        with pytest.raises(
            UnreachableError, match=f"does not speak TLS; write http:// .* in kubeconfig {path}"
        ):
            await client.request("GET", "/x")


async def test_some_other_web_server_is_told_apart(server: FakeServer, tmp_path: Path) -> None:
    """Every API server serves nodes."""
    path = kubeconfig(tmp_path, server.url)
    async with ApiClient(Connection.from_kubeconfig(path)) as client:
        with pytest.raises(
            ApiError,
            match=f"^{server.url} does not look like a Kubernetes API server: .*kubeconfig {path}$",
        ):
            await client.request("GET", "/api/v1/nodes")


async def test_verification_can_be_skipped(
    tls_server: FakeServer, data: Path, tmp_path: Path
) -> None:
    """insecure-skip-tls-verify does what it says."""
    tls_server.on("GET", "/x", tls_server.json({}))
    files = {f"client-{kind}": str(data / "tls" / f"client.{suffix}") for kind, suffix in _PAIR}
    path = kubeconfig(tmp_path, tls_server.url, files, **{"insecure-skip-tls-verify": True})
    assert await authorizations(tls_server, Connection.from_kubeconfig(path)) == [""]


async def test_connections_outlive_a_reading_of_the_same_certificates(
    data: Path, tmp_path: Path
) -> None:
    """Reading files that did not change keeps the TLS context, and with it the connections."""
    now = 0.0
    authority: dict[str, Any] = {"certificate-authority": str(data / "tls" / "ca.pem")}
    path = kubeconfig(tmp_path, "https://127.0.0.1:1", **authority)
    connection = Connection.from_kubeconfig(path)
    connection._clock = lambda: now
    first = await connection.credentials()
    now = 61.0
    second = await connection.credentials()
    assert second is not first
    assert second.tls is first.tls


async def test_proxies_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """HTTPS_PROXY counts, save for NO_PROXY and for what is on this machine."""
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "inside.example")
    proxies = {
        url: (await Connection.to_url(url).credentials()).proxy
        for url in ("https://a.example", "https://inside.example", "https://127.0.0.1:6443")
    }
    assert proxies == {
        "https://a.example": "http://proxy.example:3128",
        "https://inside.example": None,
        "https://127.0.0.1:6443": None,
    }


async def test_error_of_the_server_is_no_error_of_the_kubeconfig(
    server: FakeServer, tmp_path: Path
) -> None:
    """A rejected token names the kubeconfig that it is from."""
    server.on("GET", "/x", server.refuse(401, "Unauthorized", "Unauthorized"))
    path = kubeconfig(tmp_path, server.url, {"token": "stale"})
    async with ApiClient(Connection.from_kubeconfig(path)) as client:
        with pytest.raises(ApiError, match=f"credentials of kubeconfig {path} "):
            await client.request("GET", "/x")
