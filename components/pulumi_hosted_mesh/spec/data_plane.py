"""The `dataPlane` part of the document: what the user's cluster gets, and how istiod reads it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from pulumi_hosted_mesh.problems import RuleBrokenError
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.fields import ApiServer, DnsLabel, LabelValue, Model, PemCertificate, Text

LONGEST_RELEASE_NAME = 53


class WebhookManagement(StrEnum):
    """Who installs the webhook configurations in the user's cluster."""

    MANAGED = "managed"
    UNMANAGED = "unmanaged"


class FailurePolicy(StrEnum):
    """What the API server does with a request when a webhook does not answer."""

    FAIL = "Fail"
    IGNORE = "Ignore"


class Webhooks(Model):
    """The user's API server asks the provider's istiod, by URL: about Pods (injection), Istio objects (validation)."""

    management: WebhookManagement = WebhookManagement.MANAGED
    """`unmanaged` creates none; the stack's output `webhook_manifests` is then exactly what to install."""
    timeout_seconds: Annotated[int, Field(strict=True, ge=1, le=30)] = 10
    """How long the API server waits for an answer, in seconds."""
    injection_failure_policy: FailurePolicy = FailurePolicy.FAIL
    """`Fail`: no Pod of the mesh starts without its sidecar. `Ignore`: Pods start, but outside the mesh."""
    validation_failure_policy: FailurePolicy = FailurePolicy.FAIL
    """`Fail`: Istio objects cannot be changed while istiod is down. `Ignore`: they are accepted unchecked."""


class Access(Model):
    """istiod's credential on the user's cluster."""

    api_server: ApiServer
    """Address of the user's API server as istiod's Pods reach it, `https://HOST:PORT`."""
    certificate_authority: PemCertificate | None = None
    """PEM certificates that verify that address; by default those in the kubeconfig."""
    token_generation: Annotated[int, Field(strict=True, ge=1)] = 1
    """Raise it by one to replace istiod's token: the new one is in use before the old one is removed."""
    keep_previous_token: Annotated[bool, Field(strict=True)] = False
    """True keeps the last generation's token valid: for a rotation in steps, stack by stack."""


class Crds(Model):
    """Istio's custom resource definitions, one set per cluster. They are the cluster's, not the mesh's."""

    install: Annotated[bool, Field(strict=True)] = True
    """False where somebody else installs them."""
    keep_on_destroy: Annotated[bool, Field(strict=True)] = True
    """False removes them with the stack, and with them every Istio object in the cluster."""


def gateway_name(value: str) -> str:
    """The gateway chart names a Deployment, a Service and a ServiceAccount by it."""
    if not value[0].isalpha():
        raise RuleBrokenError("must begin with a letter, for its Service is named after it", "Choose another name")
    if len(value) > LONGEST_RELEASE_NAME:
        rule = f"must have at most {LONGEST_RELEASE_NAME} characters, for it is also the name of a Helm release"
        raise RuleBrokenError(rule, "Choose a shorter name")
    # In the mesh's namespace istiod's ServiceAccount is `istiod`, and the Service that leads to it `istiod` or
    # `istiod-<revision>`. `default` is the ServiceAccount that Kubernetes makes in every namespace.
    if value in ("istiod", "default") or value.startswith("istiod-"):
        rule = "is taken: `istiod`, all that begins with `istiod-`, and `default` name other objects of the namespace"
        raise RuleBrokenError(rule, "Choose another name, for example ingress")
    return value


class Gateway(Model):
    """A gateway in the user's cluster, by Istio's gateway chart. It runs a proxy and nothing of the control plane."""

    name: Annotated[DnsLabel, AfterValidator(gateway_name)]
    """Name of the Deployment, Service and ServiceAccount, unique within the mesh; not `default` or one of istiod's."""
    namespace: DnsLabel | None = None
    """Its namespace, which must exist; by default the mesh's own."""
    chart_values: dict[str, object] = {}
    """More values for the gateway chart."""


class DataPlane(Model):
    """What is made in the user's cluster."""

    cluster: ClusterReference | None = None
    """The user's cluster. Not needed by the stacks `trust` and `control-plane`."""
    access: Access
    """How istiod reads this cluster."""
    webhooks: Webhooks = Webhooks()
    """Injection and validation."""
    crds: Crds = Crds()
    """Istio's custom resource definitions: whether to install and whether to keep them."""
    gateways: tuple[Gateway, ...] = ()
    """Gateways to run there."""
    cluster_name: Text | None = None
    """Istio's name for this cluster in telemetry and endpoints; by default the mesh's name."""
    network: LabelValue = ""
    """Istio's name for this cluster's network; empty when there is only one."""
