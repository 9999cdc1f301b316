"""The rows in the Pod's namespace, read from the API server."""

from __future__ import annotations

import http.client
import json
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

TIMEOUT_SECONDS: Final = 20.0
WATCH_SECONDS: Final = 300
PAGE_SIZE: Final = 500
ConfigMap = Mapping[str, Any]


class RowsApi:
    """ConfigMaps of one label selector. account: folder of the ServiceAccount's token.

    Each request reads the token again, so a rotated one takes effect at once.
    """

    def __init__(self, account: Path, selector: str) -> None:
        self._account, self._selector = account, selector

    def list(self) -> tuple[list[ConfigMap], str]:
        """All rows, read page by page, and the list's version. Raises OSError if any page fails."""
        found: list[ConfigMap] = []
        query = {"limit": str(PAGE_SIZE)}
        while True:
            with self._get(query, TIMEOUT_SECONDS) as response:
                page = json.load(response)
            found += page["items"]
            if not (more := page["metadata"].get("continue")):
                return found, page["metadata"]["resourceVersion"]
            query["continue"] = more

    def wait(self, version: str, seconds: int = WATCH_SECONDS) -> None:
        """Returns after a change of a row since this version, or after so many seconds. Raises OSError."""
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(seconds)}
        with self._get(query, seconds + TIMEOUT_SECONDS) as response:
            response.readline()

    @contextmanager
    def _get(self, query: Mapping[str, str], timeout: float) -> Iterator[http.client.HTTPResponse]:
        host, port = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
        tls = ssl.create_default_context(cafile=str(self._account / "ca.crt"))
        token, namespace = self._read("token"), self._read("namespace")
        path = f"/api/v1/namespaces/{namespace}/configmaps?{urlencode({'labelSelector': self._selector, **query})}"
        with closing(http.client.HTTPSConnection(host, port, timeout=timeout, context=tls)) as connection:
            try:
                connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
                response = connection.getresponse()
                if response.status != http.client.OK:
                    raise OSError(f"the API server responded {response.status}")
                yield response
            except (http.client.HTTPException, ValueError) as error:
                raise OSError(f"the answer of the API server cannot be read: {type(error).__name__}") from None

    def _read(self, name: str) -> str:
        return (self._account / name).read_text(encoding="utf-8").strip()
