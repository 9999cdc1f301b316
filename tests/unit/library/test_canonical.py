"""Values in different spellings are equal, and different values are not."""

from __future__ import annotations

import base64
from decimal import Decimal

import pytest
from pulumi_hosted_mesh import canonical

SAME_SERVERS = [
    ("https://[2001:db8::1]", "https://[2001:0DB8:0:0::1]:443/"),
    ("https://api.example.com", "HTTPS://API.example.com.:443"),
    ("https://10.0.0.1:6443", " https://10.0.0.1:6443/ "),
    ("https://rancher.example.com/k8s/clusters/c-1", "https://rancher.example.com:443/k8s/clusters/c-1/"),
]
OTHER_SERVERS = [
    ("https://[2001:db8::1]", "https://[2001:db8::10]"),
    ("https://api.example.com", "https://api.example.com:6443"),
    ("https://rancher.example.com/k8s/clusters/c-1", "https://rancher.example.com/k8s/clusters/c-2"),
]


@pytest.mark.parametrize(("one", "other"), SAME_SERVERS)
def test_one_server_in_two_spellings(one: str, other: str) -> None:
    assert canonical.server(one) == canonical.server(other)


@pytest.mark.parametrize(("one", "other"), OTHER_SERVERS)
def test_two_servers(one: str, other: str) -> None:
    assert canonical.server(one) != canonical.server(other)


NO_SERVERS = ["https://", "https://2001:db8::1", "https://[10.0.0.1]", "https://[::1", "https://h:99999", "https://h:0"]


@pytest.mark.parametrize("text", [*NO_SERVERS, "http://h", "https://[v1.x]", "https://a b", "h", ""])
def test_no_https_address(text: str) -> None:
    assert not canonical.is_https(text)
    assert canonical.server(text) is not None  # compared as the text itself, without an error


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("API.example.com.", "api.example.com"),
        ("[2001:0db8::0010]", "2001:db8::10"),
        ("2001:DB8:0:0:0:0:0:10", "2001:db8::10"),
        ("10.0.0.1", "10.0.0.1"),
        ("[10.0.0.1]", "[10.0.0.1]"),
    ],
)
def test_hosts(text: str, host: str) -> None:
    assert canonical.host(text) == host


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("traces.example.com:4317", ("traces.example.com", 4317)),
        ("10.0.0.1:1", ("10.0.0.1", 1)),
        ("[2001:db8::1]:65535", ("[2001:db8::1]", 65535)),
        *(
            (one, None)
            for one in ("2001:db8::1:443", "[2001:db8::1]", "h", "h:", ":1", "h:0", "h:65536", "h:x", "h:²", "")
        ),
    ],
)
def test_host_and_port(text: str, parts: tuple[str, int] | None) -> None:
    assert canonical.host_and_port(text) == parts


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("https://api.example.com", ("api.example.com", 443)),
        ("https://[2001:db8::1]:6443/k8s", ("2001:db8::1", 6443)),
        ("http://proxy.example.com:3128", ("proxy.example.com", 3128)),
    ],
)
def test_host_and_port_of_a_server(url: str, parts: tuple[str, int]) -> None:
    assert canonical.server_host_and_port(url) == parts


def pem(content: bytes, width: int = 64) -> str:
    text = base64.b64encode(content).decode()
    lines = "\n".join(text[at : at + width] for at in range(0, len(text), width))
    return f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n"


def test_bundles_are_sets_of_certificates() -> None:
    one, other = pem(b"one" * 40), pem(b"other" * 40)
    assert canonical.certificates(one + other) == canonical.certificates(f"# für alle\nCN=x\n{other}\r\n{one}{one}")
    assert canonical.certificates(pem(b"one" * 40, width=20)) == canonical.certificates(one.replace("\n", "\r\n"))
    assert canonical.certificates(one) < canonical.certificates(one + other)
    assert canonical.certificates("") == canonical.certificates(" \n") == frozenset()
    assert canonical.certificates("no PEM") != canonical.certificates("other text")


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("500m", "0.5"), ("0.5", "0.5"), ("1Ki", "1024"), ("1k", "1000"), ("1e3", "1000"), ("1E3", "1000"),
        ("1E", "1e18"), ("1Ei", str(2**60)), ("100n", "1e-7"), ("1.", "1"), (".5", "0.5"), ("+2", "2"),
        ("1x", None), ("", None), ("1 Ki", None), ("e3", None), ("1KiB", None),
    ],
)  # fmt: skip
def test_quantities(text: str, amount: str | None) -> None:
    assert canonical.quantity(text) == (None if amount is None else Decimal(amount))
