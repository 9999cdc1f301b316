"""Helm values of an ordinary istiod, and its validation of objects without a revision. Pure and plain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh.charts.merge import merged
from pulumi_hosted_mesh.control_plane.istiod_values import (
    environment,
    identity,
    joined_environment,
    lifetime,
    typed_values,
)
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.reserved import DEFAULTS, LISTS, SPLITS_ARGUMENTS
from pulumi_hosted_mesh.spec.revision import Revision
from pulumi_hosted_mesh.vocabulary import (
    DEFAULT_REVISION,
    DEFAULT_TAG,
    HTTPS_PORT,
    REVISION_LABEL,
    XDS_PORT,
    chart_revision,
    suffixed,
)

OF_THE_SPLIT: Final = frozenset(
    {
        "ISTIOD_CUSTOM_HOST",
        "INJECTION_WEBHOOK_CONFIG_NAME",
        "VALIDATION_WEBHOOK_CONFIG_NAME",
        "PILOT_MULTICLUSTER_KUBECONFIG_PATH",
        "USE_REMOTE_CERTS",
    }
)
"""Variables for an istiod outside of the data plane's cluster. Here istiod itself writes the webhooks' CA bundles."""
FAILS: Final = "Fail"
ISTIO_GROUPS: Final = ("security", "networking", "telemetry", "extensions")


def single_cluster_values(mesh: Mesh, revision: Revision) -> dict[str, Any]:
    """The values of the istiod chart: the document's `chartValues` with those that the library sets."""
    values = merged(_required(mesh, revision), typed_values(revision))
    return merged(merged({"seccompProfile": {"type": "RuntimeDefault"}}, revision.chart_values), values, joined=LISTS)


def _required(mesh: Mesh, revision: Revision) -> dict[str, Any]:
    (member,) = mesh.memberships
    own = {key: value for key, value in environment(mesh, revision).items() if key not in OF_THE_SPLIT}
    return {
        "revision": chart_revision(revision.name),
        "revisionTags": list(mesh.tags_of(revision)),
        "istiodRemote": {"enabled": False},
        # istiod changes `Ignore` to `Fail` once it answers, and each `pulumi up` would change it back.
        "base": {"validationFailurePolicy": FAILS},
        "extraContainerArgs": list(SPLITS_ARGUMENTS),
        "env": {**DEFAULTS, **revision.istiod.environment, **joined_environment(mesh, revision), **own},
        "meshConfig": {
            "trustDomain": mesh.domain,
            "ingressControllerMode": "OFF",
            "defaultConfig": {
                "discoveryAddress": f"{mesh.host_of(revision)}:{XDS_PORT}",
                "proxyMetadata": {"SECRET_TTL": lifetime(mesh)},
            },
        },
        "global": {
            "istioNamespace": mesh.namespace,
            "operatorManageWebhooks": False,
            "configValidation": True,
            "enableReaderRBAC": False,
            **identity(mesh, member),
        },
    }


@dataclass(frozen=True)
class DefaultValidation:
    """A validating webhook configuration: its name, labels and webhooks."""

    name: str
    labels: dict[str, str]
    webhooks: list[dict[str, Any]]


def default_validation(mesh: Mesh, revision: Revision) -> DefaultValidation | None:
    """Validation of objects without a revision; None for a revision that is not the default one.

    istiod finds the configuration by its labels and writes the CA bundle (pilot/pkg/webhooks/validation/controller).
    """
    if revision.name != DEFAULT_REVISION and mesh.tags.get(DEFAULT_TAG) != revision.name:
        return None
    rule = {
        "operations": ["CREATE", "UPDATE"],
        "apiGroups": [f"{one}.istio.io" for one in ISTIO_GROUPS],
        "apiVersions": ["*"],
        "resources": ["*"],
        "scope": "*",
    }
    service = {"name": suffixed("istiod", revision.name), "namespace": mesh.namespace, "path": "/validate"}
    webhook = {
        "name": "validation.istio.io",
        "clientConfig": {"service": {**service, "port": HTTPS_PORT}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": FAILS,
        "rules": [rule],
        "objectSelector": {"matchExpressions": [{"key": REVISION_LABEL, "operator": "DoesNotExist"}]},
    }
    labels = {"app": "istiod", "istio": "istiod", REVISION_LABEL: revision.name}
    return DefaultValidation(f"istio-default-validator-{mesh.namespace}", labels, [webhook])
