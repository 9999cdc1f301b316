"""What a stack's configuration says beside its document: which part to build, and where the rest comes from."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from pydantic import Field

from pulumi_hosted_mesh.spec.federation import Address
from pulumi_hosted_mesh.spec.fields import DnsLabel, HostName, MeshName, Model, PemCertificate, PemRequest, Text
from pulumi_hosted_mesh.spec.trust import Trust


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
    FEDERATION = "federation"


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
    StackKind.FEDERATION: ("federation", "member"),
}
"""The keys of the documents that a stack cannot be without."""


class RootSettings(Model):
    """The document of the stack `root`: one root, and the meshes whose intermediates it signs."""

    name: MeshName
    """The root's name; also in its certificate."""
    trust: Trust = Trust()
    """Algorithm and lifetimes; of `root` and `intermediate`."""
    requests: dict[MeshName, PemRequest] = {}
    """Certificate signing requests, PEM, by name of the mesh: the output `request` of a stack `trust`."""
    stacks: dict[MeshName, Text] = {}
    """Stacks of kind `trust`, by name of the mesh, where they can be read from here instead."""


class References(Model):
    """Names of the stacks, `organization/project/stack`, whose outputs this one reads."""

    trust: Text | None = None
    """The stack of kind `trust`: for `control-plane`."""
    root: Text | None = None
    """The stack of kind `root`: for `control-plane`."""
    access: Text | dict[str, Text] | None = None
    """The stack of kind `access`, for `control-plane`; with several memberships one for each, by name."""
    edges: dict[DnsLabel, Text] | None = None
    """The stacks of kind `dns-edge`, by name of the edge: for `dns`."""
    control_plane: Text | None = None
    """The stack of kind `control-plane`: for `data-plane`."""
    control_planes: dict[MeshName, Text] = {}
    """Stacks of kind `control-plane` or `all-in-one`, by name of the mesh: for `dns`, which publishes istiod's
    hosts."""
    data_planes: dict[MeshName, Text] = {}
    """Stacks of kind `data-plane` or `all-in-one`, by name of the mesh: for `dns`, which publishes the hosts that
    `federation` gives their east-west gateways."""


class Token(Model):
    """A rotation of istiod's long-lived token, in the stack `access`; wins over the document's."""

    generation: int = Field(ge=1)
    """As `access.tokenGeneration`."""
    keep_previous: bool = False
    """As `access.keepPreviousToken`."""


class StackSettings(Model):
    """The configuration keys of this program, `hosted-mesh:<field>`, but for the documents."""

    stack: StackKind
    """What this stack builds."""
    references: References = References()
    """Where a stack that is not all-in-one gets what others made."""
    certificate: PemCertificate | None = None
    """The mesh's intermediate certificate, PEM, public: for `control-plane` without a reference to `root`."""
    root_certificate: PemCertificate | None = None
    """The root's certificate, PEM, public: for `control-plane` without a reference to `root`."""
    cacerts: dict[str, str] | None = None
    """With `trust.management: brought`, the files of `cacerts` by name: for `control-plane` and `all-in-one`. A secret
    (`pulumi config set --secret`)."""
    kubeconfigs: dict[str, str] | None = None
    """With `access.token: bounded`, istiod's kubeconfigs by name of the membership: for `control-plane`. A secret."""
    dns_credentials: dict[DnsLabel, dict[str, str]] | None = None
    """Credentials of DNS providers, by id of the provider and by key: for `dns`. A secret."""
    records: dict[HostName, tuple[Address, ...]] = {}
    """More names that `dns` publishes, beside those of its references: addresses, or one host name, by host."""
    token: Token | None = None
    """A rotation of istiod's token, for `access`; `hosted-mesh rotate` sets it."""
