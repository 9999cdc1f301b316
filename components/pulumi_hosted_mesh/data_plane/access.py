"""The data plane's side of what istiod may do there: a ServiceAccount, its few rights, its token as a kubeconfig."""

from __future__ import annotations

import base64

import pulumi
from pulumi_kubernetes import core, rbac

from pulumi_hosted_mesh.boundary.credentials import IstiodCredential
from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster, require_data_plane
from pulumi_hosted_mesh.clusters.metadata import cluster_wide, in_mesh
from pulumi_hosted_mesh.data_plane.istiod_rights import Rule, cluster_rules, namespace_rules
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.vocabulary import TYPE_DATA_PLANE_ACCESS

SERVICE_ACCOUNT = "istiod"
RBAC_GROUP = "rbac.authorization.k8s.io"


class DataPlaneAccess(pulumi.ComponentResource):
    """The mesh's namespace in the user's cluster, and in it istiod's account with the least rights that serve a mesh.

    mesh: the document.
    cluster: the user's cluster.
    Outputs: `credential` (secret), `namespace` (the Namespace, for the mesh's other objects there to wait for).
    Raises: InvalidInputError if the cluster is not a data plane, or nothing verifies its API server.
    """

    credential: IstiodCredential

    def __init__(
        self, name: str, *, mesh: Mesh, cluster: DataPlaneCluster, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        require_data_plane(cluster)
        access = mesh.data_plane.access
        authority = _authority(mesh, cluster)
        super().__init__(TYPE_DATA_PLANE_ACCESS, name, {}, opts)
        self.namespace = core.v1.Namespace(
            f"{name}-data-plane", metadata=cluster_wide(mesh, cluster, mesh.namespace), opts=cluster.options(self)
        )
        account = core.v1.ServiceAccount(
            f"{name}-istiod-account",
            metadata=in_mesh(mesh, cluster, SERVICE_ACCOUNT),
            automount_service_account_token=False,
            opts=cluster.options(self, depends_on=[self.namespace]),
        )
        rights = self._rights(name, mesh, cluster, account)

        first = access.token_generation - (1 if access.keep_previous_token and access.token_generation > 1 else 0)
        # A resource per generation: the next token exists and is in use before the engine deletes the one before,
        # which it does at the end of its run.
        tokens = [
            core.v1.Secret(
                f"{name}-istiod-token-{generation}",
                metadata=in_mesh(
                    mesh,
                    cluster,
                    f"{SERVICE_ACCOUNT}-token-{generation}",
                    annotations={"kubernetes.io/service-account.name": SERVICE_ACCOUNT},
                ),
                type="kubernetes.io/service-account-token",
                opts=cluster.options(self, depends_on=[account, *rights], secret_outputs=["data"]),
            )
            for generation in range(first, access.token_generation + 1)
        ]
        self.credential = IstiodCredential.of(
            tokens[-1].data.apply(
                lambda data: kubeconfig.for_istiod(
                    mesh.cluster_name, access.api_server, authority, base64.b64decode(data["token"]).decode()
                )
            )
        )
        self.register_outputs({"kubeconfig": self.credential.kubeconfig})

    def _rights(
        self, name: str, mesh: Mesh, cluster: DataPlaneCluster, account: core.v1.ServiceAccount
    ) -> list[pulumi.Resource]:
        """The two bindings; see `istiod_rights` for what they grant and why."""
        subjects = [rbac.v1.SubjectArgs(kind="ServiceAccount", name=SERVICE_ACCOUNT, namespace=mesh.namespace)]
        wide = cluster_wide(mesh, cluster, f"hosted-mesh-istiod-{mesh.name}")
        inner = in_mesh(mesh, cluster, SERVICE_ACCOUNT)
        read = rbac.v1.ClusterRole(
            f"{name}-istiod-reads",
            metadata=wide,
            rules=[_args(rule) for rule in cluster_rules()],
            opts=cluster.options(self),
        )
        elect = rbac.v1.Role(
            f"{name}-istiod-elects",
            metadata=inner,
            rules=[_args(rule) for rule in namespace_rules()],
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


def _authority(mesh: Mesh, cluster: DataPlaneCluster) -> str:
    """PEM by which istiod verifies the data plane's API server."""
    authority = mesh.data_plane.access.certificate_authority or cluster.certificate_authority
    if not isinstance(authority, str):
        rule = "is required: the kubeconfig has no authority that istiod could verify the API server with"
        raise InvalidInputError([Problem("dataPlane.access.certificateAuthority", rule, "Give it as PEM")])
    return authority
