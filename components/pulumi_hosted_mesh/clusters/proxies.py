"""The proxy between this machine and an API server, chosen as kubectl does: `proxy-url`, else the environment."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from pulumi_hosted_mesh import canonical

SCHEMES: Final = ("http", "https", "socks5", "socks5h")
KUBECONFIG_FIELD: Final = "the kubeconfig's proxy-url"


class InvalidProxyError(ValueError):
    """A proxy's address cannot be used. The message names its place and has no part of it: it may hold a password."""


def proxy_of(
    cluster: Mapping[str, Any], host: str, port: int, environment: Mapping[str, str] | None = None
) -> str | None:
    """The URL of the proxy to an API server, a secret if it has a password; None without one.

    cluster: of the kubeconfig. Raises: InvalidProxyError.
    """
    if given := cluster.get("proxy-url"):
        return _checked(str(given), KUBECONFIG_FIELD)
    variables = os.environ if environment is None else environment
    for name in ("HTTPS_PROXY", "https_proxy"):
        if given := variables.get(name):
            excepted = variables.get("NO_PROXY") or variables.get("no_proxy") or ""
            return None if _is_direct(canonical.host(host), port, excepted) else _checked(given, f"${name}")
    return None


def _checked(written: str, place: str) -> str:
    """A proxy's URL. Without a scheme it is http, as in Go's httpproxy."""
    url = written if "://" in written else f"http://{written}"
    try:
        parts = urlsplit(url)
        fits = parts.scheme in SCHEMES and bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:
        fits = False
    if not fits:
        raise InvalidProxyError(f"{place} is no address of a proxy. Write it like http://proxy.example.com:3128")
    return url


def _is_direct(host: str, port: int, excepted: str) -> bool:
    """Whether the environment excepts a host (golang.org/x/net/http/httpproxy): also this machine, and by ranges."""
    address = canonical.address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    for one in (part.strip().lower() for part in excepted.split(",")):
        if one == "*":
            return True
        if not one:
            continue
        if address is not None and "/" in one:
            try:
                if address in ipaddress.ip_network(one, strict=False):
                    return True
            except ValueError:
                pass
            continue
        name, wanted = canonical.host_and_port(one) or (one, None)
        if wanted is not None and wanted != port:
            continue
        if address is not None:
            if canonical.address(name) == address:
                return True
            continue
        name = name.removeprefix("*").removesuffix(".")
        if host.endswith(name if name.startswith(".") else f".{name}") or host == name:
            return True
    return False
