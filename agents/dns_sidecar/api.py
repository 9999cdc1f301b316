"""Clients of Kubernetes API servers: DNSEndpoints of an edge or of the Pod's namespace, and its Leases."""

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
# Short: a Lease without a renewal in time is lost.
LEASE_TIMEOUT_SECONDS = 5.0
# An API server sends a bookmark about each minute. A longer silence means a lost connection.
SILENCE_SECONDS = 180.0
WATCH_SECONDS = 3600
# TCP keep-alive of watches, with the values of client-go.
KEEP_ALIVE = {socket.TCP_KEEPIDLE: 30, socket.TCP_KEEPINTVL: 5, socket.TCP_KEEPCNT: 3}
# Shorter than the idle limits of servers and load balancers.
IDLE_SECONDS = 20.0
PAGE_SIZE = 500
Object = dict[str, Any]


class ApiError(OSError):
    """An error response of the API server. status: of HTTP."""

    def __init__(self, status: int, method: str, path: str) -> None:
        super().__init__(f"{method} {path.partition('?')[0]}: the API server responded {status}")
        self.status = status


class Api:
    """An API server. Each request reads the credential again, so a rotated token takes effect at once."""

    timeout = TIMEOUT_SECONDS

    def __init__(self) -> None:
        self._threads = threading.local()
        self._streams, self._lock = set[socket.socket](), threading.Lock()

    def call(self, method: str, path: str, body: Object | None = None) -> Any:
        """The parsed response. Raises ApiError for an error response, another OSError without a response.

        Each thread keeps its connection: TLS handshakes would take most of the time of many small requests.
        """
        connection, used = getattr(self._threads, "kept", (None, 0.0))
        if connection is None or time.monotonic() - used > IDLE_SECONDS:
            connection = self._connection(self.timeout)
        self._threads.kept = None, 0.0
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, self._headers() | {"Content-Type": "application/json"})
            response = connection.getresponse()
            content = response.read()
            if response.status < http.client.MULTIPLE_CHOICES:
                found = json.loads(content)
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            raise OSError(f"{method} {path.partition('?')[0]}: {type(error).__name__}") from None
        self._threads.kept = connection, time.monotonic()
        if response.status >= http.client.MULTIPLE_CHOICES:
            raise ApiError(response.status, method, path)
        return found

    def open(
        self, path: str, headers: Mapping[str, str], timeout: float = SILENCE_SECONDS
    ) -> tuple[http.client.HTTPResponse, Callable[[], None]]:
        """A streamed response of any status, and the function that closes it. Raises OSError."""
        connection = self._connection(timeout)
        try:
            connection.connect()
            used = connection.sock
            used.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in KEEP_ALIVE.items():
                used.setsockopt(socket.IPPROTO_TCP, option, value)
            connection.request("GET", path, headers={**headers, **self._headers()})
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise OSError(f"GET {path.partition('?')[0]}: {type(error).__name__}") from None

        def close() -> None:
            with self._lock:
                self._streams.discard(used)
            response.close()
            used.close()

        with self._lock:
            self._streams.add(used)
        return response, close

    def cut(self) -> None:
        """Ends all open streams."""
        with self._lock:
            for one in self._streams:
                with suppress(OSError):  # already closed
                    one.shutdown(socket.SHUT_RDWR)

    def _connection(self, timeout: float) -> http.client.HTTPSConnection:
        raise NotImplementedError

    def _headers(self) -> dict[str, str]:
        raise NotImplementedError


class InClusterApi(Api):
    """The API server of the Pod's cluster. account: folder of the ServiceAccount's token."""

    def __init__(self, account: Path) -> None:
        super().__init__()
        self._account = account

    def namespace(self) -> str:
        """The Pod's namespace."""
        return (self._account / "namespace").read_text(encoding="utf-8")

    def _connection(self, timeout: float) -> http.client.HTTPSConnection:
        host, port = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
        tls = ssl.create_default_context(cafile=str(self._account / "ca.crt"))
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=tls)

    def _headers(self) -> dict[str, str]:
        token = (self._account / "token").read_text(encoding="utf-8").strip()
        return {"Authorization": f"Bearer {token}"}


class LeaseApi(InClusterApi):
    """Leases in the Pod's namespace."""

    timeout = LEASE_TIMEOUT_SECONDS

    def lease(self, name: str) -> Object:
        found: Object = self.call("GET", self._path(name))
        return found

    def replace_lease(self, lease: Object) -> None:
        """Raises ApiError if another client changed the Lease after it was read."""
        self.call("PUT", self._path(lease["metadata"]["name"]), lease)

    def labelled(self, label: str, value: str) -> list[Object]:
        """The Leases of all namespaces with a label."""
        query = urlencode({"labelSelector": f"{label}={value}"})
        found: list[Object] = self.call("GET", f"{LEASES}/leases?{query}")["items"]
        return found

    def _path(self, lease: str) -> str:
        return f"{LEASES}/namespaces/{self.namespace()}/leases/{lease}"


class EndpointsApi(Api):
    """DNSEndpoints of an API server."""

    def _namespace_limit(self) -> str:
        """The only accessible namespace; empty for all."""
        return ""

    def list(self, namespace: str = "", **selectors: str) -> tuple[list[Object], str]:
        """All DNSEndpoints, read page by page, and the list's version. Raises OSError if any page fails.

        selectors: `labelSelector`, `fieldSelector`.
        """
        found: list[Object] = []
        query = {"limit": str(PAGE_SIZE), **selectors}
        while True:
            page = self.call("GET", f"{path_of(namespace or self._namespace_limit())}?{urlencode(query)}")
            found += page["items"]
            if not (more := page["metadata"].get("continue")):
                return found, page["metadata"]["resourceVersion"]
            query["continue"] = more

    def watch(self, version: str, seconds: int, namespace: str = "", **selectors: str) -> Iterator[Object]:
        """Events of DNSEndpoints after a version, with bookmarks, for so many seconds. Raises OSError."""
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(seconds), **selectors}
        query["allowWatchBookmarks"] = "true"
        path = f"{path_of(namespace or self._namespace_limit())}?{urlencode(query)}"
        response, close = self.open(path, {}, min(seconds + TIMEOUT_SECONDS, SILENCE_SECONDS))
        try:
            if response.status != http.client.OK:
                raise ApiError(response.status, "GET", path)
            while line := response.readline():
                yield json.loads(line)
        except (http.client.HTTPException, ValueError) as error:
            raise OSError(f"a watch ended: {type(error).__name__}") from None
        finally:
            close()

    def create(self, item: Object) -> Object:
        """The object as stored."""
        stored: Object = self.call("POST", path_of(item["metadata"]["namespace"]), item)
        return stored

    def replace(self, item: Object) -> Object:
        """The object as stored."""
        stored: Object = self.call("PUT", path_to(item), item)
        return stored

    def replace_status(self, item: Object) -> Object:
        """The object as stored."""
        stored: Object = self.call("PUT", f"{path_to(item)}/status", item)
        return stored

    def delete(self, item: Object) -> None:
        """Deletes this version of an object. A missing object is no error."""
        conditions = {key: item["metadata"][key] for key in ("uid", "resourceVersion")}
        try:
            self.call(
                "DELETE", path_to(item), {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": conditions}
            )
        except ApiError as error:
            if error.status != http.client.NOT_FOUND:
                raise


class OwnEndpointsApi(InClusterApi, EndpointsApi):
    """DNSEndpoints in the Pod's namespace, which the Pulumi program created."""

    def _namespace_limit(self) -> str:
        return self.namespace()


class EdgeApi(EndpointsApi):
    """DNSEndpoints of an edge. kubeconfig: a JSON file with a token."""

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
    """Path of a namespace's DNSEndpoints, or of all."""
    return f"{GROUP}/namespaces/{namespace}/dnsendpoints" if namespace else f"{GROUP}/dnsendpoints"


def path_to(item: Object) -> str:
    return f"{path_of(item['metadata']['namespace'])}/{item['metadata']['name']}"
