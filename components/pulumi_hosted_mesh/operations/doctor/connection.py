"""Connections to gateways from the machine that runs doctor: it resolves names, and starts and closes TLS."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pulumi_hosted_mesh import canonical

SECONDS: Final = 3.0
# X509_V_ERR_CERT_NOT_YET_VALID and _HAS_EXPIRED of OpenSSL.
NOT_YET_VALID, EXPIRED = 9, 10
# This machine has no route to the address, or no address of its family.
NO_ROUTE: Final = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


@dataclass(frozen=True)
class GatewayConnection:
    """cause: identifier of the fault; None if the presented certificate was verified. seen: finding.

    identity: SPIFFE ID of the server; empty without an answer or an ID. without_route: addresses of a family for which
    this machine has no route, if another family answers.
    """

    cause: str | None
    seen: str
    identity: str = ""
    without_route: tuple[str, ...] = ()


NO_ROUTE_CAUSE: Final = "no-route"
Resolve = Callable[[str], tuple[str, ...]]
Reach = Callable[[Sequence[str], int, str, str], GatewayConnection | None]


def resolved(host: str) -> tuple[str, ...]:
    """Addresses of a name, from this machine's resolver; empty if it does not resolve."""
    try:
        return tuple(sorted({str(one[4][0]) for one in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}))
    except OSError:
        return ()


def reached(addresses: Sequence[str], port: int, server_name: str, root: str) -> GatewayConnection | None:
    """The connection to the first faulty address, else to the last. None if the root is no certificate.

    The gateway presents its certificate before it requires the caller's (TLS 1.3), so this check needs none.
    server_name: TLS server name of a host that is exported there; for other names the gateway has no certificate. root:
    PEM.
    """
    found: GatewayConnection | None = GatewayConnection("unreachable", "there is no address")
    silent: dict[str, GatewayConnection] = {}
    answering = set()
    for address in addresses:
        one = _reached(address, port, server_name, root)
        if one is not None and one.cause == NO_ROUTE_CAUSE:
            silent[address] = replace(one, cause="unreachable")
            continue
        found = one
        if one is None or one.cause is not None:
            return one
        answering.add(_family(address))
    if silent and (not answering or answering & {_family(address) for address in silent}):
        return next(iter(silent.values()))
    return found and replace(found, without_route=tuple(silent))


def _family(address: str) -> int:
    return 6 if ":" in address else 4


def _reached(address: str, port: int, server_name: str, root: str) -> GatewayConnection | None:
    where = f"{canonical.in_url(address)}:{port}"
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
        return GatewayConnection("refused", f"nothing listens at {where}")
    except TimeoutError:
        return GatewayConnection("time-out", f"{where} does not answer within {SECONDS:.0f} s")
    except OSError as error:
        cause = NO_ROUTE_CAUSE if error.errno in NO_ROUTE else "unreachable"
        return GatewayConnection(cause, f"no way to {where}: {error.strerror or 'the connection failed'}")


def _shown(context: ssl.SSLContext, plain: socket.socket, server_name: str, where: str) -> GatewayConnection:
    try:
        with context.wrap_socket(plain, server_hostname=server_name) as secured:
            shown: Any = secured.getpeercert() or {}
    except ssl.SSLCertVerificationError as error:
        if error.verify_code == EXPIRED:
            return GatewayConnection("expired", f"the certificate of {where} has expired")
        if error.verify_code == NOT_YET_VALID:
            return GatewayConnection("not-yet-valid", f"the certificate of {where} is not yet valid by this machine")
        seen = f"the certificate of {where} is under another root: {error.verify_message}"
        return GatewayConnection("another-root", seen)
    except (ssl.SSLError, ConnectionError):
        return GatewayConnection("no-tls", f"{where} closes the connection without a certificate for {server_name}")
    identity = next((str(name) for kind, name in shown.get("subjectAltName", ()) if kind == "URI"), "")
    return GatewayConnection(None, where, identity)


@dataclass(frozen=True)
class LocalNetwork:
    """Functions that resolve and reach gateways from this machine."""

    resolve: Resolve = resolved
    reach: Reach = reached
