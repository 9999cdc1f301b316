"""What crosses from the control plane to the data plane: public facts, in a type that has no room for a secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pulumi

from pulumi_hosted_mesh.boundary.arguments import checked, is_later
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.data_plane import Membership
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.exposure import LoadBalancerExposure
from pulumi_hosted_mesh.spec.features import Features
from pulumi_hosted_mesh.spec.fields import pem_certificate
from pulumi_hosted_mesh.spec.load import OUTPUT, read_arguments
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.revision import Revision
from pulumi_hosted_mesh.vocabulary import DEFAULT_REVISION, DEFAULT_TAG, INJECTION_LABEL, REVISION_LABEL, namespace_of

if TYPE_CHECKING:
    from pulumi_hosted_mesh.inputs import EndpointArgs

SOURCE = "the control plane's endpoint"


@dataclass(frozen=True)
class ControlPlaneEndpoint:
    """Everything that one data plane is told of one revision of its control plane.

    All but the root certificate comes from the mesh document, so both sides can be planned without waiting for each
    other. `document` has these facts as a file has them.
    """

    document: EndpointDocument
    """The facts; its root certificate may be empty here, for it need not be known yet."""
    root_certificate: pulumi.Output[str]
    """The mesh's root certificate, PEM, public: the webhooks' CA bundle."""

    @classmethod
    def of(
        cls, mesh: Mesh, revision: Revision, membership: Membership, root_certificate: pulumi.Input[str]
    ) -> ControlPlaneEndpoint:
        """What a member of a mesh is told. root_certificate: PEM; the CrossGuard pack refuses a secret."""
        exposure = revision.exposure
        apart = exposure.webhooks if isinstance(exposure, LoadBalancerExposure) else None
        document = EndpointDocument(
            mesh=mesh.name,
            membership=membership.name,
            revision=revision.name,
            tags=mesh.tags_of(revision),
            injects=mesh.injects(revision),
            host=revision.host,
            webhook_host=apart.host if apart else None,
            trust_domain=mesh.domain,
            cluster_id=mesh.cluster_id(membership),
            network=mesh.network(membership),
            cross_network=mesh.cross_network,
            istio_version=revision.charts.version,
            features=revision.features,
        )
        return cls(document, _bundle(root_certificate))

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> ControlPlaneEndpoint:
        """Of a file, of another stack's output, or of a component's arguments. Raises InvalidInputError.

        `root_certificate` may be an Output in it; all else is plain.
        """
        if isinstance(facts, pulumi.Output):
            fix = "Give its facts, of `read_endpoint` for one; only its root certificate may be an Output"
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
            rule = "is required: by it the API server and proxies know istiod"
            fix = "Give the mesh's root certificate, PEM; `hosted-mesh endpoint` writes it"
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
        """What this istiod has on, and so needs rights for."""
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
        """HOST:PORT of xDS and of the CA."""
        return self.document.discovery_address

    @property
    def is_default(self) -> bool:
        """Whether namespaces labelled `istio-injection: enabled` are this revision's."""
        return self.revision == DEFAULT_REVISION or DEFAULT_TAG in self.document.tags

    @property
    def injection_labels(self) -> Mapping[str, str]:
        """Labels on a namespace whose Pods get sidecars."""
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
    """The root certificate, checked. As an empty CA bundle it would make the API server trust every authority of its
    own system."""
    return pulumi.Output.from_input(checked(root_certificate, pem_certificate, "rootCertificate", SOURCE))
