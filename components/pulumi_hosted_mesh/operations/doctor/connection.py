"""The way to gateways from the machine that doctor runs on: names are looked up, and TLS is begun and left."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

SECONDS: Final = 3.0
# X509_V_ERR_CERT_NOT_YET_VALID and _HAS_EXPIRED of OpenSSL.
OUT_OF_TIME: Final = (9, 10)


@dataclass(frozen=True)
class Reached:
    """cause: a word for what went wrong; None if a certificate was shown and verified. seen: in words.

    identity: the SPIFFE ID of who answered; empty if nobody did, or nobody with one.
    """

    cause: str | None
    seen: str
    identity: str = ""


Resolve = Callable[[str], tuple[str, ...]]
Reach = Callable[[Sequence[str], int, str, str], Reached | None]


def resolved(host: str) -> tuple[str, ...]:
    """The addresses of a name by this machine's resolver; none if it has none."""
    try:
        return tuple(sorted({str(one[4][0]) for one in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}))
    except OSError:
        return ()


def reached(addresses: Sequence[str], port: int, server_name: str, root: str) -> Reached | None:
    """The first address at which something is wrong, else the last. None if the root is no certificate.

    The gateway shows its certificate before it asks for the caller's (TLS 1.3), so none is needed here.
    server_name: of a host that is exported there, without which the gateway has nothing to answer with. root: PEM.
    """
    found: Reached | None = Reached("unreachable", "there is no address")
    for address in addresses:
        found = _reached(address, port, server_name, root)
        if found is None or found.cause is not None:
            break
    return found


def _reached(address: str, port: int, server_name: str, root: str) -> Reached | None:
    where = f"{address}:{port}"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # Istio's certificates have no host names
    try:
        context.load_verify_locations(cadata=root)
    except (ssl.SSLError, ValueError, TypeError):
        return None
    try:
        with socket.create_connection((address, port), SECONDS) as plain:
            return _shown(context, plain, server_name, where)
    except ConnectionRefusedError:
        return Reached("refused", f"nothing listens at {where}")
    except TimeoutError:
        return Reached("time-out", f"{where} does not answer within {SECONDS:.0f} s")
    except OSError as error:
        return Reached("unreachable", f"no way to {where}: {error.strerror or 'the connection failed'}")


def _shown(context: ssl.SSLContext, plain: socket.socket, server_name: str, where: str) -> Reached:
    try:
        with context.wrap_socket(plain, server_hostname=server_name) as secured:
            shown: Any = secured.getpeercert() or {}
    except ssl.SSLCertVerificationError as error:
        if error.verify_code in OUT_OF_TIME:
            return Reached("expired", f"the certificate that {where} shows is out of its time")
        seen = f"the certificate that {where} shows is under another root: {error.verify_message}"
        return Reached("another-root", seen)
    except (ssl.SSLError, ConnectionError):
        return Reached("no-tls", f"{where} closes the connection without a certificate for {server_name}")
    identity = next((str(name) for kind, name in shown.get("subjectAltName", ()) if kind == "URI"), "")
    return Reached(None, where, identity)


@dataclass(frozen=True)
class Here:
    """How this machine finds and reaches gateways."""

    resolve: Resolve = resolved
    reach: Reach = reached
