"""Which cluster answers behind a kubeconfig: the uid of its kube-system namespace, if it can be asked right now."""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
import urllib.error
import urllib.request

from pulumi_hosted_mesh.kubeconfig import Kubeconfig

TIMEOUT_SECONDS = 2.0


def kube_system_uid(config: Kubeconfig) -> str | None:
    """The uid, which no two clusters share; None if the cluster cannot be reached or asked by plain HTTPS.

    Looks with a token or a client certificate only: a credential that a program would have to fetch (`exec`) is left
    to the provider plug-in.
    """
    content = json.loads(config.text)
    user, cluster = content["users"][0]["user"], content["clusters"][0]["cluster"]
    request = urllib.request.Request(f"{config.server}/api/v1/namespaces/kube-system")  # noqa: S310 (https, checked)
    if "token" in user:
        request.add_header("Authorization", f"Bearer {user['token']}")
    elif "client-certificate-data" not in user:
        return None
    try:
        context = ssl.create_default_context(cadata=config.certificate_authority)
        context.check_hostname = "tls-server-name" not in cluster
        if "client-certificate-data" in user:
            _present(context, user)
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        with opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
            return str(json.load(answer)["metadata"]["uid"])
    except (OSError, ValueError, KeyError):  # unreachable, refused, or not an answer of Kubernetes
        return None


def _present(context: ssl.SSLContext, user: dict[str, str]) -> None:
    """Makes the context present the client's certificate; the ssl module takes it from a file only (mode 0600)."""
    with tempfile.NamedTemporaryFile() as pair:
        for key in ("client-certificate-data", "client-key-data"):
            pair.write(base64.b64decode(user[key]) + b"\n")
        pair.flush()
        context.load_cert_chain(pair.name)
