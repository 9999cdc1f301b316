"""The file that a data plane's user is handed: the control plane's public facts, versioned, checked on reading."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pulumi_hosted_mesh.spec.features import Features
from pulumi_hosted_mesh.spec.fields import (
    ChartVersion,
    DnsLabel,
    Domain,
    HostName,
    LabelValue,
    MeshName,
    Model,
    PemCertificate,
)
from pulumi_hosted_mesh.spec.fields import Revision as RevisionName
from pulumi_hosted_mesh.spec.networks import NETWORK_VIEW, CrossNetwork
from pulumi_hosted_mesh.vocabulary import DEFAULT_MEMBERSHIP, DEFAULT_REVISION, WEBHOOK_PORT, XDS_PORT

Port = Annotated[int, Field(strict=True, ge=1, le=65535)]


class EndpointDocument(Model):
    """What one data plane is told of one revision of its control plane. All of it is public."""

    handed_over = True

    version: Literal[1] = 1
    """Version of this form."""
    mesh: MeshName
    """The mesh's name, and Istio's mesh ID."""
    membership: DnsLabel = DEFAULT_MEMBERSHIP
    """What the control plane calls the data plane's cluster."""
    revision: RevisionName = DEFAULT_REVISION
    """Istio's revision."""
    tags: tuple[DnsLabel, ...] = ()
    """Tags that name this revision."""
    injects: Annotated[bool, Field(strict=True)] = True
    """False for the revision `default` while the tag of that name is another's: it gets no new Pods by its name."""
    host: HostName
    """DNS name of istiod."""
    webhook_host: HostName | None = None
    """DNS name of the webhooks; by default `host`."""
    xds_port: Port = XDS_PORT
    """Port of xDS and of the CA, mTLS."""
    webhook_port: Port = WEBHOOK_PORT
    """Port of the webhooks, TLS."""
    trust_domain: Domain
    """Trust domain of identities."""
    cluster_id: LabelValue
    """Istio's name of the data plane's cluster."""
    network: LabelValue = ""
    """Istio's name of the data plane's network."""
    cross_network: CrossNetwork = CrossNetwork.GATEWAYS
    """`none`: its proxies are told of workloads of their own network only. `gateways`, also where a file of an older
    version does not say it: of all."""
    istio_version: ChartVersion
    """Version of istiod, and of the charts that fit it."""
    features: Features = Features()
    """What this istiod has on; the data plane must grant it."""
    root_certificate: PemCertificate | None = None
    """The mesh's root certificate, PEM."""

    @property
    def asked_by(self) -> tuple[str, ...]:
        """The values of the label `istio.io/rev` by which namespaces and Pods ask for this revision."""
        return (self.revision, *self.tags) if self.injects else self.tags

    @property
    def network_view(self) -> str:
        """The network of whose workloads its proxies are told; empty: of all."""
        return self.network if self.cross_network is CrossNetwork.NONE else ""

    @property
    def injection_url(self) -> str:
        """URL of the injection webhook: istiod reads from it which cluster and network a sidecar is for, and takes any
        other pair for a variable of the proxy (`parseInjectEnvs`, pkg/kube/inject/webhook.go)."""
        pairs = {"cluster": self.cluster_id, "net": self.network, NETWORK_VIEW: self.network_view}
        return f"{self._webhooks}/inject" + "".join(f"/{name}/{value}" for name, value in pairs.items() if value)

    @property
    def validation_url(self) -> str:
        """URL of the validation webhook."""
        return f"{self._webhooks}/validate"

    @property
    def discovery_address(self) -> str:
        """HOST:PORT of xDS and of the CA."""
        return f"{self.host}:{self.xds_port}"

    @property
    def _webhooks(self) -> str:
        return f"https://{self.webhook_host or self.host}:{self.webhook_port}"
