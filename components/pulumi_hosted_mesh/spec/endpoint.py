"""The endpoint file for a data plane's user: the control plane's public facts, with a version."""

from __future__ import annotations

import hashlib
import json
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
    Port,
    Setter,
    Switch,
    Text,
)
from pulumi_hosted_mesh.spec.fields import Revision as RevisionName
from pulumi_hosted_mesh.spec.networks import NETWORK_VIEW, CrossNetwork
from pulumi_hosted_mesh.vocabulary import DEFAULT_MEMBERSHIP, DEFAULT_REVISION, WEBHOOK_PORT, XDS_PORT


class EndpointDocument(Model):
    """The public facts of one revision of the control plane for one data plane."""

    setter = Setter.OPERATOR

    handed_over = True

    version: Literal[1] = 1
    """Version of this format."""
    mesh: MeshName
    """The mesh's name, and Istio's mesh ID."""
    membership: DnsLabel = DEFAULT_MEMBERSHIP
    """The control plane's name of the data plane's cluster."""
    revision: RevisionName = DEFAULT_REVISION
    """Istio's revision."""
    tags: tuple[DnsLabel, ...] = ()
    """Tags of this revision."""
    injects: Switch = True
    """False for the revision `default` while the tag `default` names another revision: its name injects no new Pods."""
    host: HostName
    """DNS name of istiod."""
    webhook_host: HostName | None = None
    """DNS name of the webhooks; by default `host`."""
    xds_port: Port = XDS_PORT
    """Port of xDS and the CA, mTLS."""
    webhook_port: Port = WEBHOOK_PORT
    """Port of the webhooks, TLS."""
    trust_domain: Domain
    """Trust domain of the workloads' identities."""
    cluster_id: LabelValue
    """Istio's cluster ID of the data plane's cluster."""
    network: LabelValue = ""
    """Istio's name of the data plane's network."""
    cross_network: CrossNetwork = CrossNetwork.GATEWAYS
    """`none`: istiod sends proxies the workloads of their own network only. `gateways`: all workloads. It is the
    default for files of older versions without this field."""
    istio_version: ChartVersion
    """Version of istiod, and of the charts that fit it."""
    features: Features = Features()
    """This istiod's features; the data plane must grant each."""
    root_certificate: PemCertificate | None = None
    """The mesh's root certificate, PEM."""
    generation: Annotated[Text, Field(pattern="^g[0-9a-f]{8}$")] | None = None
    """Digest of the facts that decide the webhooks. Installed webhooks have it too, so checks detect an older file."""

    def own_generation(self) -> str:
        """The generation of these facts. It begins with a letter, so no reader takes it for a number."""
        facts = [self.mesh, self.membership, self.revision, sorted(self.asked_by), self.injection_url]
        digest = hashlib.sha256(json.dumps([*facts, self.validation_url]).encode()).hexdigest()
        return f"g{digest[:8]}"

    @property
    def asked_by(self) -> tuple[str, ...]:
        """The values of the label `istio.io/rev` that choose this revision for a namespace or Pod."""
        return (self.revision, *self.tags) if self.injects else self.tags

    @property
    def network_view(self) -> str:
        """The network that limits the workloads sent to its proxies; empty: no limit."""
        return self.network if self.cross_network is CrossNetwork.NONE else ""

    @property
    def injection_url(self) -> str:
        """URL of the injection webhook. istiod reads the sidecar's cluster and network from its path. It sets each
        other pair as a variable of the proxy (`parseInjectEnvs`, pkg/kube/inject/webhook.go)."""
        pairs = {"cluster": self.cluster_id, "net": self.network, NETWORK_VIEW: self.network_view}
        return f"{self._webhooks}/inject" + "".join(f"/{name}/{value}" for name, value in pairs.items() if value)

    @property
    def validation_url(self) -> str:
        """URL of the validation webhook."""
        return f"{self._webhooks}/validate"

    @property
    def discovery_address(self) -> str:
        """HOST:PORT of xDS and the CA."""
        return f"{self.host}:{self.xds_port}"

    @property
    def _webhooks(self) -> str:
        return f"https://{self.webhook_host or self.host}:{self.webhook_port}"
