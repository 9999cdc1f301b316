"""Addresses of API servers: which are good, and which are the same."""

from __future__ import annotations

from urllib.parse import urlsplit

from pulumi_hosted_mesh.vocabulary import HTTPS_PORT


def is_https(server: str) -> bool:
    """True for https://HOST[:PORT]; to anything else a credential would go in the clear."""
    try:
        url = urlsplit(server)
        return url.scheme == "https" and bool(url.hostname) and url.port != 0
    except ValueError:
        return False


def normal(server: str) -> str:
    """The address in one spelling: lower case, with its port, without a slash at its end."""
    try:
        url = urlsplit(server.strip())
        port = url.port or HTTPS_PORT
    except ValueError:
        return server.strip()
    host = (url.hostname or "").rstrip(".")
    return f"{url.scheme.lower()}://{f'[{host}]' if ':' in host else host}:{port}{url.path.rstrip('/')}"
