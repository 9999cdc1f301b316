"""The webhook configurations of a user's cluster: they call the controller by URL."""

from __future__ import annotations

import base64
from typing import Any, Final

from hosted_mesh_controller.watcher.names import GROUP, HOSTED_MESH, RESOURCE_KINDS, VERSION

Manifest = dict[str, Any]
_TIMEOUT: Final = 5  # seconds


def webhooks(url: str, cluster: str, authority: str, key: str) -> list[Manifest]:
    """The mutating and the validating configuration.

    url: the controller's address. cluster: the name in its settings. authority: PEM. key: a token of role `admission`.
    While the controller is away both are ignored: the definition's rules and the controller's own checks remain.
    """
    plural = HOSTED_MESH.plural
    kinds = {"mutate": ("MutatingWebhookConfiguration", ["CREATE"], [plural])}
    plurals = [one.plural for one in RESOURCE_KINDS]
    kinds["validate"] = ("ValidatingWebhookConfiguration", ["CREATE", "UPDATE"], plurals)
    return [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": f"{plural}.{GROUP}"},
            "webhooks": [
                {
                    "name": f"{act}.{plural}.{GROUP}",
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "failurePolicy": "Ignore",
                    "timeoutSeconds": _TIMEOUT,
                    "rules": [
                        {
                            "apiGroups": [GROUP],
                            "apiVersions": [VERSION],
                            "resources": resources,
                            "operations": operations,
                            "scope": "Cluster",
                        }
                    ],
                    "clientConfig": {
                        "url": f"{url.rstrip('/')}/admission/{key}/{cluster}/{act}",
                        "caBundle": base64.b64encode(authority.encode()).decode(),
                    },
                }
            ],
        }
        for act, (kind, operations, resources) in kinds.items()
    ]
