"""Plain HTTPS to an API server, for the few questions that no Pulumi resource answers."""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
import urllib.error
import urllib.request
from typing import Any

from pulumi_hosted_mesh.kubeconfig import Kubeconfig

TIMEOUT_SECONDS = 2.0
NOT_FOUND = 404


class UnreachableError(Exception):
    """The API server did not answer, or not to this credential. The message holds no secret."""


class ApiServer:
    """The API server of a kubeconfig, asked with a token or a client certificate.

    A credential that a program would have to fetch (`exec`) is left to the provider plug-in: UnreachableError.
    """

    def __init__(self, config: Kubeconfig) -> None:
        content = json.loads(config.text)
        user, cluster = content["users"][0]["user"], content["clusters"][0]["cluster"]
        self._server = config.server
        self._headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
        if not self._headers and "client-certificate-data" not in user:
            raise UnreachableError("the kubeconfig has neither a token nor a client certificate")
        try:
            context = ssl.create_default_context(cadata=config.certificate_authority)
            context.check_hostname = "tls-server-name" not in cluster
            if "client-certificate-data" in user:
                _present(context, user)
        except (OSError, ValueError):
            raise UnreachableError("the kubeconfig's certificates cannot be read") from None
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )

    def get(self, path: str) -> Any | None:
        """The object at a path, `/api/v1/namespaces/kube-system`; None if there is none."""
        return self._call("GET", path)

    def delete(self, path: str) -> None:
        """Deletes the object at a path; that it is gone already is fine."""
        self._call("DELETE", path)

    def _call(self, method: str, path: str) -> Any | None:
        request = urllib.request.Request(self._server + path, method=method, headers=self._headers)  # noqa: S310 (https)
        try:
            with self._opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == NOT_FOUND:
                return None
            raise UnreachableError(f"the API server answered {error.code}") from None
        except (OSError, ValueError):
            raise UnreachableError("the API server does not answer") from None


def kube_system_uid(config: Kubeconfig) -> str | None:
    """The uid of the kube-system namespace, which no two clusters share; None if it cannot be asked right now."""
    try:
        namespace = ApiServer(config).get("/api/v1/namespaces/kube-system")
    except UnreachableError:
        return None
    return str(namespace["metadata"]["uid"]) if namespace else None


def _present(context: ssl.SSLContext, user: dict[str, str]) -> None:
    """Makes the context present the client's certificate; the ssl module takes it from a file only (mode 0600)."""
    with tempfile.NamedTemporaryFile() as pair:
        for key in ("client-certificate-data", "client-key-data"):
            pair.write(base64.b64decode(user[key]) + b"\n")
        pair.flush()
        context.load_cert_chain(pair.name)
