"""The data plane's side of what istiod may do there: a ServiceAccount, its few rights, its token as a kubeconfig.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

import base64
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi_kubernetes import core, rbac

from pulumi_hosted_mesh.boundary.arguments import access_of, outputs_of
from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster
from pulumi_hosted_mesh.clusters.metadata import cluster_wide, in_mesh
from pulumi_hosted_mesh.data_plane.garbage import own_root_certificates
from pulumi_hosted_mesh.data_plane.rights import cluster_rules, namespace_rules
from pulumi_hosted_mesh.inputs import AccessArgs
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.data_plane import Access, TokenKind
from pulumi_hosted_mesh.spec.features import Rule
from pulumi_hosted_mesh.vocabulary import (
    NETWORK_LABEL,
    TOKEN_EXPIRY_ANNOTATION,
    TYPE_DATA_PLANE_ACCESS,
    namespace_of,
)

SERVICE_ACCOUNT = "istiod"
RBAC_GROUP = "rbac.authorization.k8s.io"


class DataPlaneAccessArgs(TypedDict):
    """What istiod's access to one data plane is made of."""

    mesh: str
    """The mesh's name."""
    cluster: DataPlaneCluster
    """The data plane's cluster."""
    access: NotRequired[AccessArgs]
    """Address, rights and token."""
    cluster_id: NotRequired[str]
    """Istio's name of the cluster; by default the mesh's name."""
    network: NotRequired[str]
    """Istio's name of the cluster's network, for Pods without a sidecar; none by default."""


class DataPlaneAccess(pulumi.ComponentResource):
    """The mesh's namespace in the data plane's cluster, and in it istiod's account with the least rights.

    Raises: InvalidInputError if the cluster is not a data plane, or nothing verifies its API server.
    """

    kubeconfig: pulumi.Output[str]
    """The kubeconfig by which istiod reads the data plane. A secret; empty with `token: bounded`."""

    def __init__(self, name: str, args: DataPlaneAccessArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        mesh, access = args["mesh"], access_of(args.get("access") or {})
        super().__init__(TYPE_DATA_PLANE_ACCESS, name, {}, opts)
        cluster = DataPlaneCluster.of(args["cluster"], name=name, parent=self)
        network = args.get("network")
        metadata = cluster_wide(mesh, cluster, namespace_of(mesh), labels={NETWORK_LABEL: network} if network else None)
        self.namespace = core.v1.Namespace(f"{name}-data-plane", metadata=metadata, opts=cluster.options(self))
        """The Namespace, for the mesh's other objects there to wait for."""
        account = core.v1.ServiceAccount(
            f"{name}-istiod-account",
            metadata=in_mesh(mesh, cluster, SERVICE_ACCOUNT),
            automount_service_account_token=False,
            opts=cluster.options(self, depends_on=[self.namespace]),
        )
        rights = self._rights(name, mesh, access, cluster, account)
        if access.root_certificate_owner:
            own_root_certificates(name, mesh, cluster, self.namespace, parent=self)
        self.kubeconfig = pulumi.Output.secret("")
        if access.token is TokenKind.LONG_LIVED:
            token = self._tokens(name, mesh, access, cluster, [account, *rights])
            facts = _facts(args, access, cluster)
            self.kubeconfig = pulumi.Output.secret(
                pulumi.Output.all(token, *facts).apply(
                    lambda found: kubeconfig.for_istiod(args.get("cluster_id") or mesh, found[1], found[2], found[0])
                )
            )
        self.register_outputs({"kubeconfig": self.kubeconfig})

    def _tokens(
        self, name: str, mesh: str, access: Access, cluster: DataPlaneCluster, after: list[pulumi.Resource]
    ) -> pulumi.Output[str]:
        """The newest token. It does not expire, which its Secret says in an annotation.

        A resource per generation: the next token exists and is in use before the engine deletes the one before, which
        it does at the end of its run.
        """
        first = access.token_generation - (1 if access.keep_previous_token and access.token_generation > 1 else 0)
        annotations = {"kubernetes.io/service-account.name": SERVICE_ACCOUNT, TOKEN_EXPIRY_ANNOTATION: "never"}
        tokens = [
            core.v1.Secret(
                f"{name}-istiod-token-{generation}",
                metadata=in_mesh(mesh, cluster, f"{SERVICE_ACCOUNT}-token-{generation}", annotations=annotations),
                type="kubernetes.io/service-account-token",
                opts=cluster.options(self, depends_on=after, secret_outputs=["data"]),
            )
            for generation in range(first, access.token_generation + 1)
        ]
        token: pulumi.Output[str] = tokens[-1].data.apply(lambda data: base64.b64decode(data["token"]).decode())
        return token

    def _rights(
        self, name: str, mesh: str, access: Access, cluster: DataPlaneCluster, account: core.v1.ServiceAccount
    ) -> list[pulumi.Resource]:
        """The two bindings; see `rights` for what they grant and why."""
        subjects = [rbac.v1.SubjectArgs(kind="ServiceAccount", name=SERVICE_ACCOUNT, namespace=namespace_of(mesh))]
        wide = cluster_wide(mesh, cluster, f"hosted-mesh-istiod-{mesh}")
        inner = in_mesh(mesh, cluster, SERVICE_ACCOUNT)
        read = rbac.v1.ClusterRole(
            f"{name}-istiod-reads",
            metadata=wide,
            rules=[_args(rule) for rule in cluster_rules(mesh, access.features)],
            opts=cluster.options(self),
        )
        elect = rbac.v1.Role(
            f"{name}-istiod-elects",
            metadata=inner,
            rules=[_args(rule) for rule in namespace_rules(access.features)],
            opts=cluster.options(self, depends_on=[self.namespace]),
        )
        return [
            rbac.v1.ClusterRoleBinding(
                f"{name}-istiod-reads",
                metadata=wide,
                role_ref=rbac.v1.RoleRefArgs(api_group=RBAC_GROUP, kind="ClusterRole", name=str(wide.name)),
                subjects=subjects,
                opts=cluster.options(self, depends_on=[read, account]),
            ),
            rbac.v1.RoleBinding(
                f"{name}-istiod-elects",
                metadata=inner,
                role_ref=rbac.v1.RoleRefArgs(api_group=RBAC_GROUP, kind="Role", name=SERVICE_ACCOUNT),
                subjects=subjects,
                opts=cluster.options(self, depends_on=[elect, account]),
            ),
        ]


def _args(rule: Rule) -> rbac.v1.PolicyRuleArgs:
    return rbac.v1.PolicyRuleArgs(
        api_groups=[rule.group],
        resources=list(rule.resources),
        verbs=list(rule.verbs),
        resource_names=list(rule.names) or None,
    )


def _facts(args: DataPlaneAccessArgs, access: Access, cluster: DataPlaneCluster) -> list[Any]:
    """Address of the API server as istiod reaches it, and PEM by which it verifies it.

    Raises: InvalidInputError; for a cluster from an Output, when it is known and before anything is written.
    """
    given = outputs_of(args.get("access"))
    server = given.get("api_server") or access.api_server or cluster.server
    authority = given.get("certificate_authority") or access.certificate_authority or cluster.certificate_authority
    if isinstance(authority, pulumi.Output):
        return [server, authority.apply(_present)]
    return [server, _present(authority)]


def _present(authority: str | None) -> str:
    if authority is None:
        rule = "is required: the kubeconfig has no authority that istiod could verify the API server with"
        raise InvalidInputError([Problem("access.certificateAuthority", rule, "Give it as PEM")])
    return authority
