"""HTTP to one API server: pooled connections, API errors as exceptions.

urllib3 because it is the smallest thing that has what is needed, a thread-safe pool of kept-alive connections.
lightkube and httpx do the same work behind layers that take five times as long to import and to open the first
connection, in a process that lives for a second.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import urllib3

from sandbox.memory_file import memory_file
from sandbox.plugins.kubernetes.api_server.discovery import ClusterError
from sandbox.plugins.kubernetes.api_server.kubeconfig import Access, KubeconfigError
from sandbox.plugins.kubernetes.objects import Object

_POOL = 64
_TIMEOUT = urllib3.Timeout(connect=10, read=60)
# Repeated is what a server is too busy for, once it says (Retry-After), whatever was asked; no error on the way.
_WHILE_BUSY = urllib3.Retry(
    9, connect=False, read=False, other=False, allowed_methods=None, status_forcelist=[429], raise_on_status=False
)

JSON = "application/json"
APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"


class ApiError(ClusterError):
    """The API server answered with an error, which is in `status` (a metav1.Status)."""

    def __init__(self, code: int, status: Mapping[str, Any]) -> None:
        super().__init__(status.get("message") or f"the server answered with HTTP status {code}")
        self.code = code
        self.status = status
        self.reason = str(status.get("reason", ""))

    @property
    def is_not_found(self) -> bool:
        return self.code == 404

    @property
    def is_conflict(self) -> bool:
        return self.reason == "Conflict"

    @property
    def is_missing_namespace(self) -> bool:
        return self.code == 404 and (self.status.get("details") or {}).get("kind") == "namespaces"


class Unreachable(ClusterError):
    """No answer from the API server."""


class Client:
    """Requests to one API server. Safe for threads."""

    def __init__(self, access: Access) -> None:
        server = access.server if "//" in access.server else f"https://{access.server}"
        self._prefix = urlsplit(server).path.rstrip("/")
        self._headers = {"User-Agent": "hosted-mesh-standin", **access.headers}
        options: dict[str, Any] = {"maxsize": _POOL, "timeout": _TIMEOUT, "retries": _WHILE_BUSY}
        if server.startswith("https:"):
            options["ssl_context"] = _ssl_context(access)
            if access.server_name:
                options |= {"server_hostname": access.server_name, "assert_hostname": access.server_name}
            elif access.insecure:
                options["assert_hostname"] = False
        self._pool: Any = urllib3.connection_from_url(server, **options)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
        accept: str = JSON,
    ) -> Object:
        """One call. Waits and repeats while the server says that it is busy. Raises ApiError, Unreachable."""
        data = None if body is None else json.dumps(body).encode()
        headers = {**self._headers, "Accept": accept}
        if data is not None:
            headers["Content-Type"] = content_type
        response = self._send(method, path, query, body=data, headers=headers)
        try:
            answer = json.loads(response.data) if response.data else {}
        except ValueError:
            answer = {"message": response.data.decode(errors="replace").strip()}
        if response.status >= 400:
            raise ApiError(response.status, answer if isinstance(answer, dict) else {})
        return answer if isinstance(answer, dict) else {}

    def _send(self, method: str, path: str, query: Mapping[str, str] | None, **options: Any) -> Any:
        url = self._prefix + path + (f"?{urlencode(query)}" if query else "")
        for last in (False, True):
            try:
                return self._pool.urlopen(method, url, **options)
            except urllib3.exceptions.ProtocolError as error:
                # A kept-alive connection that the server has just closed. Safe to repeat: it read nothing of it.
                if last or "RemoteDisconnected" not in repr(error):
                    raise Unreachable(f"{method} {path}: {error}") from None
            except urllib3.exceptions.HTTPError as error:
                raise Unreachable(str(error)) from None
        raise AssertionError("unreachable")


def _ssl_context(access: Access) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=access.ca.decode() if access.ca else None)
        if access.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if access.client_certificate:
            # The ssl module reads client certificates from files only.
            with memory_file(access.client_certificate + b"\n" + access.client_key) as file:
                context.load_cert_chain(f"/dev/fd/{file}")
    except (ssl.SSLError, ValueError) as error:
        raise KubeconfigError(f"its certificates cannot be used: {type(error).__name__}") from None
    return context
