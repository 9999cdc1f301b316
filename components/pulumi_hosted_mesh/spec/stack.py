"""A stack's configuration besides its document: the kind of the stack, and references to other stacks."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from pulumi_hosted_mesh.spec.federation import Address
from pulumi_hosted_mesh.spec.fields import (
    DnsLabel,
    HostName,
    MeshName,
    Model,
    PemCertificate,
    PemRequest,
    SetBy,
    Setter,
    Switch,
    Text,
)
from pulumi_hosted_mesh.spec.trust import NameConstraints, Trust


class StackKind(StrEnum):
    """One stack per mesh and role; `all-in-one` is all of them in one."""

    ALL_IN_ONE = "all-in-one"
    TRUST = "trust"
    ROOT = "root"
    CLUSTER = "cluster"
    ACCESS = "access"
    CONTROL_PLANE = "control-plane"
    DATA_PLANE = "data-plane"
    DNS_EDGE = "dns-edge"
    DNS = "dns"
    GATEWAY = "gateway"
    FEDERATION = "federation"
    INTENTS = "intents"
    OBSERVABILITY = "observability"
    OPERATORS = "operators"


REQUIRED: Final[Mapping[StackKind, tuple[str, ...]]] = {
    StackKind.ALL_IN_ONE: ("mesh",),
    StackKind.TRUST: ("mesh",),
    StackKind.ROOT: ("root",),
    StackKind.CLUSTER: ("cluster",),
    StackKind.ACCESS: ("dataPlane",),
    StackKind.CONTROL_PLANE: ("mesh",),
    StackKind.DATA_PLANE: ("dataPlane",),
    StackKind.DNS_EDGE: ("dnsEdge",),
    StackKind.DNS: ("dns",),
    StackKind.GATEWAY: ("gateway",),
    StackKind.FEDERATION: ("federation", "member"),
    StackKind.INTENTS: ("intents", "inventory", "target"),
    StackKind.OBSERVABILITY: ("observability",),
    StackKind.OPERATORS: ("operators",),
}
"""The documents' keys that each kind of stack requires."""


class RootSettings(Model):
    """The document of the stack `root`: one root, and the meshes with intermediates that it signs."""

    setter = Setter.OPERATOR

    name: MeshName
    """The root's name, also in its certificate."""
    trust: Trust = Trust()
    """Algorithm, and lifetimes of `root` and `intermediate`."""
    requests: dict[MeshName, PemRequest] = {}
    """Certificate signing requests, PEM, by name of the mesh: the output `request` of a stack `trust`."""
    stacks: dict[MeshName, Text] = {}
    """Stacks of kind `trust`, by name of the mesh; use them instead of `requests` if this stack can read them."""
    name_constraints: dict[MeshName, NameConstraints] = {}
    """The only names that an intermediate may sign, by name of the mesh: the output `name_constraints` of a stack
    `trust`. Of `stacks` the root reads them by itself."""
    constrained: Switch | None = None
    """Whether intermediates have name constraints. By default they have if the root signs several meshes."""

    @property
    def is_constrained(self) -> bool:
        """Whether intermediates have name constraints."""
        if self.constrained is not None:
            return self.constrained
        return len(self.requests.keys() | self.stacks.keys()) > 1


class References(Model):
    """Names of the stacks with outputs for this one, `organization/project/stack`."""

    setter = Setter.OPERATOR

    trust: Text | None = None
    """The stack of kind `trust`: for `control-plane`."""
    root: Text | None = None
    """The stack of kind `root`: for `control-plane`."""
    access: Text | dict[str, Text] | None = None
    """The stack of kind `access`, for `control-plane`; with several memberships, one for each, by name."""
    gateway: Text | None = None
    """The stack of kind `gateway`: for `control-plane` and `all-in-one` with `exposure.kind: gateway`."""
    edges: dict[DnsLabel, Text] | None = None
    """The stacks of kind `dns-edge`, by name of the edge: for `dns`."""
    control_plane: Annotated[Text | None, SetBy(Setter.OWNER)] = None
    """The stack of kind `control-plane`: for `data-plane`."""
    control_planes: dict[MeshName, Text] = {}
    """Stacks of kind `control-plane` or `all-in-one`, by name of the mesh: `dns` publishes their istiods' hosts."""
    data_planes: dict[MeshName, Text] = {}
    """Stacks of kind `data-plane` or `all-in-one`, by name of the mesh: `dns` publishes the hosts of their east-west
    gateways, from `federation`; `federation` reads the addresses of gateways without `address`."""
    roots: dict[MeshName, Text] = {}
    """Stacks of kind `root`, by name of the mesh: `federation` reads missing root certificates of peers."""
    federations: dict[MeshName, Text] = {}
    """Stacks of kind `federation`, by name of the peer's mesh: `federation` reads their offers."""


class Token(Model):
    """A rotation of istiod's long-lived token, in the stack `access`; overrides the document's settings."""

    generation: int = Field(ge=1)
    """Overrides `access.tokenGeneration`."""
    keep_previous: bool = False
    """Overrides `access.keepPreviousToken`."""


class StackSettings(Model):
    """The configuration keys of this program, `hosted-mesh:<field>`, except for the documents."""

    setter = Setter.OPERATOR

    stack: Annotated[StackKind, SetBy(Setter.BOTH)]
    """The kind of this stack."""
    references: References = References()
    """Other stacks with outputs for this one."""
    certificate: PemCertificate | None = None
    """The mesh's intermediate certificate, PEM, public: for `control-plane` without a reference to `root`."""
    root_certificate: PemCertificate | None = None
    """The root's certificate, PEM, public: for `control-plane` without a reference to `root`."""
    cacerts: dict[str, str] | None = None
    """The files of `cacerts` by name, with `trust.management: brought`: for `control-plane` and `all-in-one`. A secret
    (`pulumi config set --secret`)."""
    kubeconfigs: dict[str, str] | None = None
    """istiod's kubeconfigs by name of the membership, with `access.token: bounded`: for `control-plane`. A secret."""
    kiali_kubeconfigs: dict[str, str] | None = None
    """Kubeconfigs by which Kiali reads data planes, by Istio's name of the cluster: for `observability`. A secret."""
    dns_credentials: dict[DnsLabel, dict[str, str]] | None = None
    """Credentials of DNS providers, by id of the provider and by key: for `dns`. A secret."""
    records: dict[HostName, tuple[Address, ...]] = {}
    """More names for `dns` to publish, besides those of its references: addresses, or one host name, by host."""
    token: Annotated[Token | None, SetBy(Setter.OWNER)] = None
    """A rotation of istiod's token, for `access`; `hosted-mesh rotate` sets it."""
