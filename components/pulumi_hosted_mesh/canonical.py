"""Values in one spelling each, for comparison: hosts, API servers' addresses, certificates, quantities. Pure."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from decimal import Decimal
from urllib.parse import SplitResult, urlsplit

from pulumi_hosted_mesh.vocabulary import HTTPS_PORT

PEM_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----\s(.*?)-----END CERTIFICATE-----", re.DOTALL)
QUANTITY = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:[eE]([+-]?[0-9]{1,3})|([numkMGTPE]|[KMGTPE]i))?")
SCALES = {"n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("0.001"), None: Decimal(1)}
SCALES |= {suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", 1)}
SCALES |= {f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", 1)}


def address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address in a text, with or without brackets; None for any other text, such as a host name."""
    is_bracketed = text.startswith("[") and text.endswith("]")
    try:
        found = ipaddress.ip_address(text[1:-1] if is_bracketed else text)
    except ValueError:
        return None
    return None if is_bracketed and found.version == 4 else found


def host(text: str) -> str:
    """A host name in lower case without its final dot, or an IP address in its shortest form without brackets."""
    plain = text.strip()
    found = address(plain)
    return plain.lower().removesuffix(".") if found is None else str(found)


def in_url(text: str) -> str:
    """A host as a URL has it: an IPv6 address in brackets."""
    found = host(text)
    return f"[{found}]" if ":" in found else found


def host_and_port(text: str) -> tuple[str, int] | None:
    """The parts of `HOST:PORT`; None for any other text. An IPv6 address has brackets, and keeps them."""
    name, _, port = text.rpartition(":")
    if address(text) is not None or not name or not (port.isascii() and port.isdigit()):
        return None
    return (name, int(port)) if 0 < int(port) < 65536 else None


def split_server(server: str) -> SplitResult:
    """The parts of an API server's address. Raises: ValueError without a host, or with an invalid port or address.

    Python's parser accepts an address in brackets that is none of IPv6, and a bare one with a part of it as the port.
    """
    url = urlsplit(server.strip())
    name = url.hostname or ""
    if not name or url.port == 0 or any(letter.isspace() or not letter.isprintable() for letter in name):
        raise ValueError("no host, or an invalid port")
    bare = url.netloc.rpartition("@")[2]
    if ":" in name and not (bare.startswith("[") and address(name)):
        raise ValueError("no IPv6 address in brackets")
    if bare.startswith("[") and ":" not in name:
        raise ValueError("brackets around another host")
    if not bare.startswith("[") and bare.count(":") > 1:
        raise ValueError("an IPv6 address without brackets")
    return url


def server(text: str) -> str:
    """An API server's address with port, without a final slash; the text itself if it is no address."""
    try:
        url = split_server(text)
        port = url.port or HTTPS_PORT
    except ValueError:
        return text.strip()
    return f"{url.scheme.lower()}://{in_url(url.hostname or '')}:{port}{url.path.rstrip('/')}"


def server_host_and_port(url: str) -> tuple[str, int]:
    """Host and port of an https address, without brackets. Raises: ValueError for an invalid port."""
    parts = urlsplit(url)
    return str(parts.hostname), parts.port or HTTPS_PORT


def is_https(text: str) -> bool:
    """True for https://HOST[:PORT]; over another scheme a credential would not be encrypted."""
    try:
        return split_server(text).scheme == "https"
    except ValueError:
        return False


def certificates(pem: str) -> frozenset[bytes]:
    """The certificates in a PEM text, DER: without order, repetition, line breaks and the text between them.

    Text without certificates is equal to itself alone; empty text has none.
    """
    blocks = PEM_CERTIFICATE.findall(pem)
    found = set() if blocks or not pem.strip() else {pem.strip().encode()}
    for block in blocks:
        try:
            found.add(base64.b64decode("".join(block.split()), validate=True))
        except binascii.Error:
            found.add(block.encode())  # an unreadable block is equal to itself alone
    return frozenset(found)


def quantity(text: str) -> Decimal | None:
    """A Kubernetes quantity in its base unit: `500m` is 0.5, `1Ki` is 1024, `1e3` is 1000; None for other text."""
    match = QUANTITY.fullmatch(text)
    if not match:
        return None
    number, exponent, suffix = match.groups()
    return Decimal(number).scaleb(int(exponent)) if exponent else Decimal(number) * SCALES[suffix]
