"""Requests go the way, and under the identity, that kubectl would use with the same kubeconfig and environment."""

from __future__ import annotations

import base64
import dataclasses
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError
from pulumi_hosted_mesh.clusters.impersonation import impersonation_headers
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig, KubeconfigRequest, from_content, minimal
from pulumi_hosted_mesh.clusters.proxies import InvalidProxyError, proxy_of

from sandbox.clusters.credentials.certificates import issue, new_authority
from tests.support.proxies import ConnectingProxy, Socks5
from tests.support.serving import HttpsServer, serving

AUTHORITY = new_authority("company")
NAME = "api.example.com"
PATH = "/api/v1/namespaces/kube-system"
PASSWORD = "s3cr3t-s3cr3t"


class Server(HttpsServer):
    """Keeps the headers of each request."""

    def __init__(self, directory: Path, *names: str) -> None:
        super().__init__(issue(AUTHORITY, "server", names=names), directory, Handler)
        self.headers: list[list[tuple[str, str]]] = []


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.headers.append([(name.lower(), value) for name, value in self.headers.items()])
        body = b'{"metadata": {"name": "kube-system", "uid": "u"}}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture(autouse=True)
def no_proxies_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def config(server: str, user: Any = None, **cluster: Any) -> Kubeconfig:
    authority = AUTHORITY.certificate.decode()
    entry = {"server": server, "certificate-authority-data": base64.b64encode(AUTHORITY.certificate).decode()}
    text = minimal("c", entry | cluster, {"token": "t"} | (user or {}))
    return Kubeconfig("c", server, authority, text)


@pytest.mark.parametrize("place", ["proxy-url", "HTTPS_PROXY", "https_proxy without a scheme"])
def test_a_proxy_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    with serving(Server(tmp_path, NAME)) as server, serving(ConnectingProxy(server.server_port)) as proxy:
        url = f"http://me:{PASSWORD}@127.0.0.1:{proxy.server_port}"
        cluster = {}
        if place == "proxy-url":
            cluster = {"proxy-url": url}
            monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")  # the kubeconfig's comes first
        elif place == "HTTPS_PROXY":
            monkeypatch.setenv("HTTPS_PROXY", url)
        else:
            monkeypatch.setenv("https_proxy", url.removeprefix("http://"))
        found = ApiServer(config(f"https://{NAME}", **cluster)).get(PATH)
        assert found and found["metadata"]["uid"] == "u"
        login = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
        assert proxy.received == [(f"{NAME}:443", f"Basic {login}")]


def test_a_socks_proxy_resolves_the_name(tmp_path: Path) -> None:
    with serving(Server(tmp_path, NAME)) as server, serving(ConnectingProxy(server.server_port, Socks5)) as proxy:
        url = f"socks5://127.0.0.1:{proxy.server_port}"
        assert ApiServer(config(f"https://{NAME}:6443", **{"proxy-url": url})).get(PATH) is not None
        assert proxy.received == [(f"{NAME}:6443", None)]


def test_through_a_proxy_the_servers_certificate_is_verified_for_its_tls_name(tmp_path: Path) -> None:
    with serving(Server(tmp_path, NAME)) as server, serving(ConnectingProxy(server.server_port)) as proxy:
        cluster = {"proxy-url": f"http://127.0.0.1:{proxy.server_port}"}
        api = ApiServer(config("https://internal", **cluster, **{"tls-server-name": NAME}))
        assert api.get(PATH) is not None
        with pytest.raises(UnreachableError, match="certificate is rejected"):
            ApiServer(config("https://internal", **cluster)).get(PATH)
        assert len(server.headers) == 1


class Refusing(BaseHTTPRequestHandler):
    def do_CONNECT(self) -> None:
        self.send_error(407)

    def log_message(self, *arguments: Any) -> None:
        pass


def test_a_proxy_that_does_not_connect_is_one_line_without_its_password() -> None:
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Refusing)) as proxy:
        url = f"http://me:{PASSWORD}@127.0.0.1:{proxy.server_port}"
        with pytest.raises(UnreachableError, match=f"the proxy before {NAME}:443 does not connect") as caught:
            ApiServer(config(f"https://{NAME}", **{"proxy-url": url})).get(PATH)
    with pytest.raises(UnreachableError, match=f"does not answer at {NAME}:443 by its proxy: connection ref") as other:
        ApiServer(config(f"https://{NAME}", **{"proxy-url": url})).get(PATH)
    with pytest.raises(UnreachableError, match="the kubeconfig's proxy-url is no address") as third:
        ApiServer(config(f"https://{NAME}", **{"proxy-url": f"ftp://me:{PASSWORD}@x"}))
    assert not [one for one in (caught, other, third) if PASSWORD in str(one.value) or "\n" in str(one.value)]


EXCEPTED = [
    ("api.example.com", 443, "", False),
    ("api.example.com", 443, "*", True),
    ("api.example.com", 443, "example.com", True),
    ("api.example.com", 443, ".example.com", True),
    ("example.com", 443, ".example.com", False),
    ("api.example.com", 443, "*.example.com", True),
    ("anexample.com", 443, "example.com", False),
    ("api.example.com.", 443, "API.example.com", True),
    ("api.example.com", 6443, "api.example.com:6443", True),
    ("api.example.com", 443, "api.example.com:6443", False),
    ("10.1.2.3", 443, "other, 10.0.0.0/8", True),
    ("10.1.2.3", 443, "10.1.2.4", False),
    ("2001:db8::10", 443, "2001:0db8:0:0::10", True),
    ("2001:db8::10", 6443, "[2001:db8::10]:6443", True),
    ("2001:db8::10", 443, "2001:db8::/32", True),
    ("127.0.0.1", 443, "", True),
    ("::1", 443, "", True),
    ("localhost", 443, "", True),
    ("10.1.2.3", 443, "10.0.0.0/99, x:y, /, :", False),
]


@pytest.mark.parametrize(("host", "port", "excepted", "is_direct"), EXCEPTED)
def test_no_proxy_is_read_as_gos_clients_read_it(host: str, port: int, excepted: str, is_direct: bool) -> None:
    environment = {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": excepted}
    assert (proxy_of({}, host, port, environment) is None) is is_direct
    assert proxy_of({"proxy-url": "http://own:1"}, host, port, environment) == "http://own:1"


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://[::1", "http://x:99999", "http://x:0", "http://a\nb"])
def test_no_address_of_a_proxy(url: str) -> None:
    with pytest.raises(InvalidProxyError, match=r"^\$HTTPS_PROXY is no address"):
        proxy_of({}, "h", 443, {"HTTPS_PROXY": url})


def test_the_kubeconfigs_user_is_impersonated(tmp_path: Path) -> None:
    user = {
        "as": "auditor",
        "as-uid": "1234",
        "as-groups": ["readers", "system:authenticated"],
        "as-user-extra": {"acme.com/Project": ["a", "b"]},
    }
    with serving(Server(tmp_path, "127.0.0.1")) as server:
        given = {
            "clusters": [
                {"name": "c", "cluster": {"server": server.address, "certificate-authority-data": _encoded()}}
            ],
            "users": [{"name": "u", "user": {"token": "t", **user}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        ApiServer(from_content(given, KubeconfigRequest())).get(PATH)
        sent = [pair for pair in server.headers[0] if pair[0].startswith("impersonate")]
    assert sent == [
        ("impersonate-user", "auditor"),
        ("impersonate-uid", "1234"),
        ("impersonate-group", "readers"),
        ("impersonate-group", "system:authenticated"),
        ("impersonate-extra-acme.com%2fproject", "a"),
        ("impersonate-extra-acme.com%2fproject", "b"),
    ]


def test_a_user_may_have_a_name_in_any_language(tmp_path: Path) -> None:
    """Sent as UTF-8, as Go's clients do."""
    with serving(Server(tmp_path, "127.0.0.1")) as server:
        cluster = {"server": server.address, "certificate-authority-data": _encoded()}
        user = {"token": "t", "as": "M\u00fcller", "as-user-extra": {"Gr\u00f6\u00dfe": ["\u4e2d"]}}
        given = {
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        ApiServer(from_content(given, KubeconfigRequest())).get(PATH)
        sent = {name: value.encode("latin-1").decode() for name, value in server.headers[0]}
    assert sent["impersonate-user"] == "M\u00fcller"
    assert sent["impersonate-extra-gr%c3%b6%c3%9fe"] == "\u4e2d"


def _encoded() -> str:
    return base64.b64encode(AUTHORITY.certificate).decode()


@pytest.mark.parametrize("user", [{}, {"as": ""}, {"as-groups": 5}, {"as-user-extra": [1]}, {"as-groups": None}])
def test_without_a_user_no_header_of_impersonation(user: dict[str, Any]) -> None:
    assert [name for name, _ in impersonation_headers(user) if name != "Impersonate-Group"] == []


@pytest.mark.parametrize("of", ["server", "tls-server-name"])
def test_a_final_dot_is_no_part_of_the_certificates_name(tmp_path: Path, of: str) -> None:
    with serving(Server(tmp_path, NAME)) as server, serving(ConnectingProxy(server.server_port)) as proxy:
        cluster = {"proxy-url": f"http://127.0.0.1:{proxy.server_port}"}
        if of == "tls-server-name":
            cluster["tls-server-name"] = f"{NAME}."
        assert ApiServer(config(f"https://{NAME}.", **cluster)).get(PATH) is not None


def test_an_ipv6_server_without_a_port_is_at_443(tmp_path: Path) -> None:
    with serving(Server(tmp_path, "2001:db8::10")) as server, serving(ConnectingProxy(server.server_port)) as proxy:
        by_proxy = {"proxy-url": f"http://127.0.0.1:{proxy.server_port}"}
        for address in ("https://[2001:db8::10]", "https://[2001:0DB8::10]/"):
            assert ApiServer(config(address, **by_proxy)).get(PATH) is not None
        assert [target for target, _ in proxy.received] == ["[2001:db8::10]:443"] * 2
    with pytest.raises(UnreachableError, match=r"does not answer at \[2001:db8::1\]:443"):
        ApiServer(config("https://[2001:db8::1]")).get(PATH)


def test_a_name_and_a_password(tmp_path: Path) -> None:
    with serving(Server(tmp_path, "127.0.0.1")) as server:
        given = config(server.address)
        text = given.text.replace('{"token": "t"}', f'{{"username": "me", "password": "{PASSWORD}"}}')
        ApiServer(dataclasses.replace(given, text=text)).get(PATH)
        login = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
        assert ("authorization", f"Basic {login}") in server.headers[0]


def test_each_request_opens_a_connection(tmp_path: Path) -> None:
    with serving(Server(tmp_path, NAME)) as server, serving(ConnectingProxy(server.server_port)) as proxy:
        api = ApiServer(config(f"https://{NAME}", **{"proxy-url": f"http://127.0.0.1:{proxy.server_port}"}))
        api.get(PATH), api.get(PATH)
        assert len(proxy.received) == 2
