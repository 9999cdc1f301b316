"""DNSEndpoints of one edge or of the Pod's namespace, and Leases of that namespace, over plain HTTPS."""

from __future__ import annotations

import base64
import http.client
import json
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

GROUP = "/apis/externaldns.k8s.io/v1alpha1"
LEASES = "/apis/coordination.k8s.io/v1"
TIMEOUT_SECONDS = 20.0
# A Lease that is not renewed in time is lost, so waiting long for an answer is of no use.
OWN_TIMEOUT_SECONDS = 5.0
# An API server sends a bookmark about every minute; a watch that is silent for longer has lost its connection.
QUIET_SECONDS = 180.0
WATCH_SECONDS = 3600
# Of a connection that is read as long as it lasts: whether the other end is still there is asked as client-go asks.
ALIVE = {socket.TCP_KEEPIDLE: 30, socket.TCP_KEEPINTVL: 5, socket.TCP_KEEPCNT: 3}
# Shorter than what servers and what is between keep a connection without requests.
IDLE_SECONDS = 20.0
PAGE = 500
Object = dict[str, Any]


class ApiError(OSError):
    """The API server answered with an error. status: HTTP's."""

    def __init__(self, status: int, method: str, path: str) -> None:
        super().__init__(f"{method} {path.partition('?')[0]}: the API server answered {status}")
        self.status = status


class Api:
    """An API server. Who one is, is read anew for each request: a rotated token is used at once."""

    timeout = TIMEOUT_SECONDS

    def __init__(self) -> None:
        self._threads = threading.local()
        self._read, self._changing = set[socket.socket](), threading.Lock()

    def call(self, method: str, path: str, body: Object | None = None) -> Any:
        """What it answers. Raises OSError: ApiError if it answered with an error.

        Each thread keeps its connection: with a new one for each of many objects, most of the time would be TLS'.
        """
        connection, used = getattr(self._threads, "kept", (None, 0.0))
        if connection is None or time.monotonic() - used > IDLE_SECONDS:
            connection = self._connection(self.timeout)
        self._threads.kept = None, 0.0
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, self._headers() | {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
            if answer.status < http.client.MULTIPLE_CHOICES:
                found = json.loads(content)
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            raise OSError(f"{method} {path.partition('?')[0]}: {type(error).__name__}") from None
        self._threads.kept = connection, time.monotonic()
        if answer.status >= http.client.MULTIPLE_CHOICES:
            raise ApiError(answer.status, method, path)
        return found

    def open(
        self, path: str, headers: Mapping[str, str], timeout: float = QUIET_SECONDS
    ) -> tuple[http.client.HTTPResponse, Callable[[], None]]:
        """An answer of any status that is read as it comes, and what ends it. Raises OSError."""
        connection = self._connection(timeout)
        try:
            connection.connect()
            used = connection.sock
            used.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in ALIVE.items():
                used.setsockopt(socket.IPPROTO_TCP, option, value)
            connection.request("GET", path, headers={**headers, **self._headers()})
            answer = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise OSError(f"GET {path.partition('?')[0]}: {type(error).__name__}") from None

        def close() -> None:
            with self._changing:
                self._read.discard(used)
            answer.close()
            used.close()

        with self._changing:
            self._read.add(used)
        return answer, close

    def cut(self) -> None:
        """Ends all answers that are being read."""
        with self._changing:
            for one in self._read:
                with suppress(OSError):  # it ended by itself
                    one.shutdown(socket.SHUT_RDWR)

    def _connection(self, timeout: float) -> http.client.HTTPSConnection:
        raise NotImplementedError

    def _headers(self) -> dict[str, str]:
        raise NotImplementedError


class InClusterApi(Api):
    """That of the cluster that this Pod runs in. account: where the ServiceAccount's token is mounted."""

    def __init__(self, account: Path) -> None:
        super().__init__()
        self._account = account

    def namespace(self) -> str:
        """The Pod's."""
        return (self._account / "namespace").read_text(encoding="utf-8")

    def _connection(self, timeout: float) -> http.client.HTTPSConnection:
        host, port = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
        tls = ssl.create_default_context(cafile=str(self._account / "ca.crt"))
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=tls)

    def _headers(self) -> dict[str, str]:
        token = (self._account / "token").read_text(encoding="utf-8").strip()
        return {"Authorization": f"Bearer {token}"}


class OwnApi(InClusterApi):
    """Its Leases."""

    timeout = OWN_TIMEOUT_SECONDS

    def lease(self, name: str) -> Object:
        found: Object = self.call("GET", self._path(name))
        return found

    def replace_lease(self, lease: Object) -> None:
        """Raises ApiError if somebody else changed it since it was read."""
        self.call("PUT", self._path(lease["metadata"]["name"]), lease)

    def _path(self, lease: str) -> str:
        return f"{LEASES}/namespaces/{self.namespace()}/leases/{lease}"


class EndpointsApi(Api):
    """Its DNSEndpoints, as far as the account may see them."""

    def _within(self) -> str:
        """The one namespace whose DNSEndpoints there are; empty for all."""
        return ""

    def list(self, namespace: str = "", **selectors: str) -> tuple[list[Object], str]:
        """DNSEndpoints and the version of the list, page by page. Raises OSError: never half of a list.

        selectors: `labelSelector`, `fieldSelector`.
        """
        found: list[Object] = []
        query = {"limit": str(PAGE), **selectors}
        while True:
            page = self.call("GET", f"{path_of(namespace or self._within())}?{urlencode(query)}")
            found += page["items"]
            if not (more := page["metadata"].get("continue")):
                return found, page["metadata"]["resourceVersion"]
            query["continue"] = more

    def watch(self, version: str, seconds: int, namespace: str = "", **selectors: str) -> Iterator[Object]:
        """Events of DNSEndpoints after a version, bookmarks among them, until the time is over. Raises OSError."""
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(seconds), **selectors}
        query["allowWatchBookmarks"] = "true"
        path = f"{path_of(namespace or self._within())}?{urlencode(query)}"
        answer, close = self.open(path, {}, min(seconds + TIMEOUT_SECONDS, QUIET_SECONDS))
        try:
            if answer.status != http.client.OK:
                raise ApiError(answer.status, "GET", path)
            while line := answer.readline():
                yield json.loads(line)
        except (http.client.HTTPException, ValueError) as error:
            raise OSError(f"a watch ended: {type(error).__name__}") from None
        finally:
            close()

    def create(self, item: Object) -> Object:
        """What it became, as `replace`."""
        made: Object = self.call("POST", path_of(item["metadata"]["namespace"]), item)
        return made

    def replace(self, item: Object) -> Object:
        made: Object = self.call("PUT", path_to(item), item)
        return made

    def replace_status(self, item: Object) -> Object:
        made: Object = self.call("PUT", f"{path_to(item)}/status", item)
        return made

    def delete(self, item: Object) -> None:
        """Deletes just this version of an object; that it is gone already is fine."""
        conditions = {key: item["metadata"][key] for key in ("uid", "resourceVersion")}
        try:
            self.call(
                "DELETE", path_to(item), {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": conditions}
            )
        except ApiError as error:
            if error.status != http.client.NOT_FOUND:
                raise


class OwnEndpointsApi(InClusterApi, EndpointsApi):
    """Those of the Pod's namespace, which the program wrote."""

    def _within(self) -> str:
        return self.namespace()


class EdgeApi(EndpointsApi):
    """Those of the cluster of a kubeconfig with a token."""

    def __init__(self, kubeconfig: Path) -> None:
        super().__init__()
        self._kubeconfig = kubeconfig

    def _connection(self, timeout: float) -> http.client.HTTPSConnection:
        cluster = self._content()["clusters"][0]["cluster"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode("ascii", "ignore")
        server, tls = urlsplit(cluster["server"]), ssl.create_default_context(cadata=authority)
        return http.client.HTTPSConnection(str(server.hostname), server.port, timeout=timeout, context=tls)

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._content()['users'][0]['user']['token']}"}

    def _content(self) -> Any:
        return json.loads(self._kubeconfig.read_text(encoding="utf-8"))


def path_of(namespace: str) -> str:
    """Of the DNSEndpoints of a namespace, or of all."""
    return f"{GROUP}/namespaces/{namespace}/dnsendpoints" if namespace else f"{GROUP}/dnsendpoints"


def path_to(item: Object) -> str:
    return f"{path_of(item['metadata']['namespace'])}/{item['metadata']['name']}"
