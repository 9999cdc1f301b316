"""DNSEndpoints of one edge, over plain HTTPS."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

GROUP = "/apis/externaldns.k8s.io/v1alpha1"
TIMEOUT_SECONDS = 20.0
PAGE = 500
Object = dict[str, Any]


class ApiError(OSError):
    """The API server answered with an error. status: HTTP's."""

    def __init__(self, status: int, method: str, path: str) -> None:
        super().__init__(f"{method} {path.partition('?')[0]}: the API server answered {status}")
        self.status = status


class EdgeApi:
    """The API server of a kubeconfig with a token. It is read anew for each request: a rotated one is used at once."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig

    def list(self, namespace: str = "", selector: str = "") -> tuple[list[Object], str]:
        """DNSEndpoints and the version of the list, page by page. Raises OSError: never half of a list."""
        found: list[Object] = []
        query = {"limit": str(PAGE)} | ({"labelSelector": selector} if selector else {})
        while True:
            page = self._call("GET", f"{path_of(namespace)}?{urlencode(query)}")
            found += page["items"]
            if not (more := page["metadata"].get("continue")):
                return found, page["metadata"]["resourceVersion"]
            query["continue"] = more

    def watch(self, version: str, seconds: int) -> Iterator[Object]:
        """Events of DNSEndpoints after a version, until the time is over. Raises OSError."""
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(seconds)}
        connection, headers = self._connection(timeout=seconds + TIMEOUT_SECONDS)
        try:
            path = f"{path_of('')}?{urlencode(query)}"
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            if answer.status != http.client.OK:
                raise ApiError(answer.status, "GET", path)
            while line := answer.readline():
                yield json.loads(line)
        finally:
            connection.close()

    def create(self, item: Object) -> None:
        self._call("POST", path_of(item["metadata"]["namespace"]), item)

    def replace(self, item: Object) -> None:
        self._call("PUT", path_to(item), item)

    def replace_status(self, item: Object) -> None:
        self._call("PUT", f"{path_to(item)}/status", item)

    def delete(self, item: Object) -> None:
        """Deletes just this version of an object; that it is gone already is fine."""
        conditions = {key: item["metadata"][key] for key in ("uid", "resourceVersion")}
        try:
            self._call(
                "DELETE", path_to(item), {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": conditions}
            )
        except ApiError as error:
            if error.status != http.client.NOT_FOUND:
                raise

    def _call(self, method: str, path: str, body: Object | None = None) -> Any:
        connection, headers = self._connection(TIMEOUT_SECONDS)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, headers | {"Content-Type": "application/json"})
            answer = connection.getresponse()
            if answer.status >= http.client.MULTIPLE_CHOICES:
                raise ApiError(answer.status, method, path)
            return json.load(answer)
        except (http.client.HTTPException, ValueError) as error:
            raise OSError(f"{method} {path.partition('?')[0]}: {type(error).__name__}") from None
        finally:
            connection.close()

    def _connection(self, timeout: float) -> tuple[http.client.HTTPSConnection, dict[str, str]]:
        content = json.loads(self._kubeconfig.read_text(encoding="utf-8"))
        cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode("ascii", "ignore")
        server, tls = urlsplit(cluster["server"]), ssl.create_default_context(cadata=authority)
        connection = http.client.HTTPSConnection(str(server.hostname), server.port, timeout=timeout, context=tls)
        return connection, {"Authorization": f"Bearer {user['token']}"}


def path_of(namespace: str) -> str:
    """Of the DNSEndpoints of a namespace, or of all."""
    return f"{GROUP}/namespaces/{namespace}/dnsendpoints" if namespace else f"{GROUP}/dnsendpoints"


def path_to(item: Object) -> str:
    return f"{path_of(item['metadata']['namespace'])}/{item['metadata']['name']}"
