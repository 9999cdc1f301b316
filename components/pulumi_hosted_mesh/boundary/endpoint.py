"""What crosses from the control plane to the data plane: public facts, in a type that has no room for a secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import pulumi

from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import DEFAULT_REVISION, INJECTION_LABEL, REVISION_LABEL, WEBHOOK_PORT, XDS_PORT


@dataclass(frozen=True)
class ControlPlaneEndpoint:
    """Everything that the data plane is told of its control plane.

    All but the root certificate comes from the document, so both sides can be planned without waiting for each other.
    """

    name: str
    """The mesh's name, and Istio's mesh ID."""
    namespace: str
    """The mesh's namespace, in both clusters."""
    revision: str
    """Istio's revision."""
    host: str
    """DNS name of istiod."""
    xds_port: int
    """Port of xDS and of the CA, mTLS."""
    webhook_port: int
    """Port of the webhooks, TLS."""
    trust_domain: str
    """Trust domain of identities."""
    network: str
    """Istio's name of the data plane's network; may be empty."""
    root_certificate: pulumi.Output[str]
    """The mesh's root certificate, PEM, public: the webhooks' CA bundle."""

    @classmethod
    def of(cls, mesh: Mesh, root_certificate: pulumi.Input[str]) -> ControlPlaneEndpoint:
        """The endpoint of a mesh. root_certificate: PEM; a secret is refused as such by the CrossGuard pack."""
        return cls(
            name=mesh.name,
            namespace=mesh.namespace,
            revision=mesh.revision,
            host=mesh.control_plane.host,
            xds_port=XDS_PORT,
            webhook_port=WEBHOOK_PORT,
            trust_domain=mesh.trust_domain,
            network=mesh.data_plane.network,
            root_certificate=pulumi.Output.from_input(root_certificate),
        )

    @property
    def injection_url(self) -> str:
        """URL of the injection webhook."""
        return f"https://{self.host}:{self.webhook_port}/inject"

    @property
    def validation_url(self) -> str:
        """URL of the validation webhook."""
        return f"https://{self.host}:{self.webhook_port}/validate"

    @property
    def discovery_address(self) -> str:
        """HOST:PORT of xDS and of the CA."""
        return f"{self.host}:{self.xds_port}"

    @property
    def injection_labels(self) -> Mapping[str, str]:
        """Labels on a namespace whose Pods get sidecars."""
        if self.revision == DEFAULT_REVISION:
            return {INJECTION_LABEL: "enabled"}
        return {REVISION_LABEL: self.revision}

    def as_output(self) -> dict[str, Any]:
        """The facts as a stack output."""
        facts = {field.name: getattr(self, field.name) for field in fields(self)}
        return facts | {
            "injection_url": self.injection_url,
            "validation_url": self.validation_url,
            "injection_labels": dict(self.injection_labels),
        }
