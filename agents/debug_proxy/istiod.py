"""Reads debug pages of all istiods of a mesh, with the user's token.

istiod checks the token at the API server of the user's cluster (allowAuthenticatedOrLocalhost in
pilot/pkg/xds/debug.go). Its gRPC port answers debug requests only with the identity check of xDS, which requires the
right to read all Secrets of that cluster. Its HTTP port needs no such right.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from .refusals import Reason, RefusedError

TIMEOUT: Final = 20.0
LARGEST_PAGE: Final = 32 * 2**20
PROXY_PAGES: Final = ("config_dump", "edsz", "ndsz")
"""Pages about one proxy. All others are refused: some write (`adsz?push=true`, `cachez?clear=true`), and most show the
whole mesh."""
STATUS_PAGE: Final = "syncz"
_NUMBERED: Final = re.compile(r"(.+)-[0-9]+")
_SECRETS: Final = "envoy.admin.v3.SecretsConfigDump"


@dataclass(frozen=True)
class Proxy:
    """A connected proxy. istiod: the address of its istiod. status: its entry of `syncz`."""

    istiod: str
    status: dict[str, Any]

    @property
    def name(self) -> str:
        """`POD.NAMESPACE`."""
        return str(self.status.get("proxy", ""))

    @property
    def namespace(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def cluster(self) -> str:
        return str(self.status.get("cluster_id", ""))


class Istiods:
    """All istiods of a mesh. cluster: Istio's name of the user's; its API server reviews tokens."""

    def __init__(self, host: str, port: int, cluster: str) -> None:
        self.host, self.port, self.cluster = host, port, cluster

    @property
    def title(self) -> str:
        """For istioctl's column ISTIOD, which has one text for a whole answer: `istiod.NAMESPACE`."""
        return ".".join(["istiod", *self.host.split(".")[1:2]])

    def proxies(self, token: str) -> list[Proxy]:
        """The user's proxies, by name. Raises: RefusedError."""
        return sorted((one for one in self._connected(token) if self._is_own(one)), key=lambda one: one.name)

    def page(self, page: str, name: str, token: str) -> bytes:
        """A page of PROXY_PAGES about one of the user's proxies, as JSON. Raises: RefusedError."""
        connected = self._connected(token)
        own = [one for one in connected if one.name == name and self._is_own(one)]
        if not own:
            text = f"no proxy {name} of cluster {self.cluster} is connected: write it like POD.NAMESPACE"
            raise RefusedError(Reason.NOT_FOUND, text)
        if any(could_mean(name, one.name) for one in connected if not self._is_own(one)):
            text = f"{name} is also a part of the name of another cluster's proxy, and istiod could answer about that"
            raise RefusedError(Reason.PERMISSION_DENIED, text)
        path = f"/debug/{page}?proxyID={quote(name, safe='')}"
        return without_secrets(self._get(own[-1].istiod, path, token))

    def version(self) -> dict[str, str]:
        """istiod's version, by the names of Istio's BuildInfo. Raises: RefusedError."""
        text = self._get(self._addresses()[0], "/version", None).decode("utf-8", "replace").strip()
        # BuildInfo.String in pkg/version: VERSION-REVISION-STATUS. A version may contain dashes.
        version, revision, status = ["", *text.rsplit("-", 2)][-3:] if text.count("-") > 1 else (text, "", "")
        return {"version": version, "revision": revision, "status": status}

    def _is_own(self, proxy: Proxy) -> bool:
        return proxy.cluster == self.cluster

    def _connected(self, token: str) -> list[Proxy]:
        """All proxies of the mesh, also those of other clusters."""
        addresses = self._addresses()
        with ThreadPoolExecutor(max_workers=len(addresses)) as pool:
            pages = pool.map(lambda each: list(self._statuses(each, token)), addresses)
            return [one for found in pages for one in found]

    def _statuses(self, address: str, token: str) -> Iterator[Proxy]:
        try:
            found = _parsed(self._get(address, f"/debug/{STATUS_PAGE}", token))
        except RefusedError as error:
            if error.reason is not Reason.NOT_FOUND:
                raise
            text = "istiod's debug pages are off (ENABLE_DEBUG_ON_HTTP): your provider can turn them on"
            raise RefusedError(Reason.UNAVAILABLE, text) from None
        for one in found if isinstance(found, list) else ():
            if isinstance(one, dict):
                yield Proxy(address, one)

    def _addresses(self) -> list[str]:
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except OSError:
            raise RefusedError(Reason.UNAVAILABLE, "no istiod is ready") from None
        return sorted({str(one[4][0]) for one in found})

    def _get(self, address: str, path: str, token: str | None) -> bytes:
        # `clusterid` selects the API server for the review. istioctl does not send it, and must not choose.
        headers = {"Authorization": f"Bearer {token}", "clusterid": self.cluster} if token else {}
        connection = http.client.HTTPConnection(address, self.port, timeout=TIMEOUT)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            body = answer.read(LARGEST_PAGE + 1)
        except (OSError, http.client.HTTPException) as error:
            raise RefusedError(Reason.UNAVAILABLE, f"istiod did not answer ({type(error).__name__})") from None
        finally:
            connection.close()
        self._require_success(answer.status)
        if len(body) > LARGEST_PAGE:
            raise RefusedError(Reason.RESOURCE_EXHAUSTED, f"istiod's answer has more than {LARGEST_PAGE >> 20} MiB")
        return body

    def _require_success(self, status: int) -> None:
        if status == http.HTTPStatus.OK:
            return
        if status == http.HTTPStatus.UNAUTHORIZED:
            text = f"the API server of cluster {self.cluster} does not accept the token"
            raise RefusedError(Reason.UNAUTHENTICATED, text)
        if status == http.HTTPStatus.FORBIDDEN:
            raise RefusedError(Reason.PERMISSION_DENIED, "istiod does not admit the token's ServiceAccount")
        if status == http.HTTPStatus.NOT_FOUND:
            raise RefusedError(Reason.NOT_FOUND, "the proxy is not connected any more")
        raise RefusedError(Reason.UNAVAILABLE, f"istiod answered with HTTP status {status}")


def could_mean(name: str, other: str) -> bool:
    """Whether istiod could answer about another proxy: it takes any connection with the name in its id.

    An id is the proxy's name, a dash and a number (getProxyConnection, connectionID in pilot/pkg/xds).
    """
    start = _NUMBERED.fullmatch(name)
    return name in other or (start is not None and other.endswith(start[1]))


def without_secrets(page: bytes) -> bytes:
    """A page without the contents of Secrets. istiod redacts private keys; this does not depend on it."""
    found = _parsed(page)
    if not isinstance(found, dict):
        raise RefusedError(Reason.UNAVAILABLE, "istiod's answer is not a dump")
    configs = found.get("configs")
    for one in configs if isinstance(configs, list) else ():
        if isinstance(one, dict) and str(one.get("@type", "")).endswith(f"/{_SECRETS}"):
            for key in one.keys() - {"@type"}:
                one[key] = [{"name": each.get("name", "")} for each in one[key] if isinstance(each, dict)]
    return json.dumps(found).encode()


def _parsed(page: bytes) -> Any:
    try:
        return json.loads(page)
    except ValueError:
        raise RefusedError(Reason.UNAVAILABLE, "istiod's answer is not JSON") from None
