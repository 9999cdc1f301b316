"""The public facts that cross from the control plane to the data plane, in a type without a field for a secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pulumi

from pulumi_hosted_mesh.boundary.arguments import checked, is_later
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.data_plane import Membership
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.features import Features
from pulumi_hosted_mesh.spec.fields import pem_certificate
from pulumi_hosted_mesh.spec.load import OUTPUT, read_arguments
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.revision import Revision
from pulumi_hosted_mesh.vocabulary import DEFAULT_REVISION, DEFAULT_TAG, INJECTION_LABEL, REVISION_LABEL, namespace_of

if TYPE_CHECKING:
    from pulumi_hosted_mesh._generated.inputs import EndpointArgs

SOURCE = "the control plane's endpoint"


@dataclass(frozen=True)
class ControlPlaneEndpoint:
    """The public facts of one revision of the control plane for one data plane.

    All but the root certificate come from the mesh document, so neither side's preview waits for the other. `document`
    has the facts in the form of an endpoint file.
    """

    document: EndpointDocument
    """The facts; its root certificate may be empty here, because it may still be an Output."""
    root_certificate: pulumi.Output[str]
    """The mesh's root certificate, PEM, public: the webhooks' CA bundle."""

    @classmethod
    def of(
        cls, mesh: Mesh, revision: Revision, membership: Membership, root_certificate: pulumi.Input[str]
    ) -> ControlPlaneEndpoint:
        """The endpoint for a membership. root_certificate: PEM; the CrossGuard pack rejects a secret."""
        address = revision.exposure.address
        document = EndpointDocument(
            mesh=mesh.name,
            membership=membership.name,
            revision=revision.name,
            tags=mesh.tags_of(revision),
            injects=mesh.injects(revision),
            host=revision.host,
            webhook_host=address.webhook_host,
            xds_port=address.xds_port,
            webhook_port=address.webhook_port,
            trust_domain=mesh.domain,
            cluster_id=mesh.cluster_id(membership),
            network=mesh.network(membership),
            cross_network=mesh.cross_network,
            istio_version=revision.charts.version,
            features=revision.features,
        )
        return cls(document.model_copy(update={"generation": document.own_generation()}), _bundle(root_certificate))

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> ControlPlaneEndpoint:
        """The endpoint in a file, another stack's output, or a component's arguments. Raises InvalidInputError.

        Only `root_certificate` may be an Output.
        """
        if isinstance(facts, pulumi.Output):
            fix = "Give its facts, for example from `read_endpoint`; only its root certificate may be an Output"
            raise InvalidInputError([Problem("endpoint", OUTPUT[0], fix)], SOURCE)
        if not isinstance(facts, Mapping):
            facts = read_arguments(EndpointDocument, facts, SOURCE).model_dump()
        given = dict(facts)
        certificate = given.get("root_certificate", given.get("rootCertificate"))
        if is_later(certificate):
            given.pop("root_certificate", None)
            given.pop("rootCertificate", None)
            return cls(read_arguments(EndpointDocument, given, SOURCE), _bundle(certificate))
        document = read_arguments(EndpointDocument, given, SOURCE)
        if not document.root_certificate:
            rule = "is required: the API server and proxies verify istiod by it"
            fix = "Add the mesh's root certificate, PEM; `hosted-mesh endpoint` writes it"
            raise InvalidInputError([Problem("rootCertificate", rule, fix)], SOURCE)
        return cls(document, pulumi.Output.from_input(document.root_certificate))

    @property
    def mesh(self) -> str:
        """The mesh's name, and Istio's mesh ID."""
        return self.document.mesh

    @property
    def namespace(self) -> str:
        """The mesh's namespace, the same in each cluster."""
        return namespace_of(self.mesh)

    @property
    def revision(self) -> str:
        """Istio's revision."""
        return self.document.revision

    @property
    def host(self) -> str:
        """DNS name of istiod."""
        return self.document.host

    @property
    def features(self) -> Features:
        """This istiod's features, which require rights."""
        return self.document.features

    @property
    def injection_url(self) -> str:
        """URL of the injection webhook."""
        return self.document.injection_url

    @property
    def validation_url(self) -> str:
        """URL of the validation webhook."""
        return self.document.validation_url

    @property
    def discovery_address(self) -> str:
        """HOST:PORT of xDS and the CA."""
        return self.document.discovery_address

    @property
    def is_default(self) -> bool:
        """Whether the label `istio-injection: enabled` chooses this revision."""
        return self.revision == DEFAULT_REVISION or DEFAULT_TAG in self.document.tags

    @property
    def injection_labels(self) -> Mapping[str, str]:
        """Labels of a namespace that give its Pods sidecars."""
        return {INJECTION_LABEL: "enabled"} if self.is_default else {REVISION_LABEL: self.revision}

    def as_arguments(self) -> EndpointArgs:
        """The facts as arguments of a RemoteDataPlane."""
        facts = self.document.model_dump(exclude={"root_certificate"})
        return cast("EndpointArgs", {**facts, "root_certificate": self.root_certificate})

    def as_output(self) -> dict[str, Any]:
        """The facts as a stack output, and as `hosted-mesh endpoint` writes them to a file."""
        facts = self.document.model_dump(mode="json", by_alias=True, exclude={"root_certificate"}, exclude_none=True)
        return {**facts, "rootCertificate": self.root_certificate}


def _bundle(root_certificate: Any) -> pulumi.Output[str]:
    """The root certificate, checked. With an empty CA bundle the API server would trust all authorities of its
    system."""
    return pulumi.Output.from_input(checked(root_certificate, pem_certificate, "rootCertificate", SOURCE))
