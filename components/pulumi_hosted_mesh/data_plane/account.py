"""An account on a data plane: a ServiceAccount, its rights, and its token as a kubeconfig.

istiod and the DNS bridge have such accounts on a data plane, and no other credential there.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
from pulumi_kubernetes import core, meta, rbac

from pulumi_hosted_mesh.boundary.arguments import when_known
from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.features import Rule
from pulumi_hosted_mesh.vocabulary import TOKEN_EXPIRY_ANNOTATION

RBAC_GROUP = "rbac.authorization.k8s.io"


def token_generation(args: Mapping[str, Any], called: str) -> int:
    """`token_generation` of a component's arguments. called: the component, for errors. Raises: InvalidInputError."""
    generation = int(args.get("token_generation", 1))
    if generation < 1:
        problem = Problem("token_generation", "must be at least 1", "Omit it for the first tokens")
        raise InvalidInputError([problem], called)
    return generation


@dataclass(frozen=True)
class Grant:
    """Rights of an account. does: suffix of the resources' names, such as `reads`. role: name of role and binding.

    everywhere: true for the whole cluster, false for the account's namespace. annotations: of both objects.
    """

    does: str
    role: str
    rules: Sequence[Rule]
    everywhere: bool = False
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Account:
    """An account. prefix: of the resources' names in the program. name, namespace: of the ServiceAccount.

    labels: of each object. generations: of its long-lived token; empty for none. The last one is in use.
    For errors: called, the component; holder, the kubeconfig's user; authority, the argument with the certificates that
    verify the API server.
    """

    called: str
    prefix: str
    name: str
    namespace: str
    labels: Mapping[str, str]
    grants: Sequence[Grant]
    generations: range = range(1, 2)
    holder: str = "istiod"
    authority: str = "access.certificateAuthority"

    def _metadata(self, name: str, annotations: Mapping[str, str] | None = None) -> meta.v1.ObjectMetaArgs:
        return meta.v1.ObjectMetaArgs(
            name=name,
            namespace=self.namespace,
            labels=dict(self.labels),
            annotations=dict(annotations) if annotations else None,
        )

    def make(
        self, cluster: DataPlaneCluster, namespace: pulumi.Resource | None, *, parent: pulumi.Resource
    ) -> list[pulumi.Resource]:
        """Makes the ServiceAccount and its rights. Returns the dependencies of a token.

        namespace: None if another stack has it.
        """
        account = core.v1.ServiceAccount(
            f"{self.prefix}-account",
            metadata=self._metadata(self.name),
            automount_service_account_token=False,
            opts=cluster.options(parent, depends_on=[namespace] if namespace else []),
        )
        return [account, *(self._bind(grant, cluster, namespace, account, parent) for grant in self.grants)]

    def token(
        self, cluster: DataPlaneCluster, after: Sequence[pulumi.Resource], *, parent: pulumi.Resource
    ) -> pulumi.Output[str]:
        """Makes the tokens and returns the newest. It does not expire; an annotation of its Secret states this.

        Each generation is a resource of its own: the engine deletes the previous token at the end of its run, when the
        new one is in use.
        """
        annotations = {"kubernetes.io/service-account.name": self.name, TOKEN_EXPIRY_ANNOTATION: "never"}
        tokens = [
            core.v1.Secret(
                f"{self.prefix}-token-{generation}",
                metadata=self._metadata(f"{self.name}-token-{generation}", annotations),
                type="kubernetes.io/service-account-token",
                opts=cluster.options(parent, depends_on=after, secret_outputs=["data"]),
            )
            for generation in self.generations
        ]
        token: pulumi.Output[str] = tokens[-1].data.apply(lambda data: base64.b64decode(data["token"]).decode())
        return token

    def kubeconfig(
        self,
        cluster_name: str,
        token: pulumi.Output[str],
        server: pulumi.Input[str],
        authority: pulumi.Input[str | None] | None,
    ) -> pulumi.Output[str]:
        """The account's kubeconfig, a secret. cluster_name: the cluster's name in it.

        server: address of the API server for the account's holder. authority: PEM that verifies it.
        Raises: InvalidInputError without an authority; for an Output, when it resolves, before any object is written.
        """
        verified_by: pulumi.Input[str] = when_known(authority, self._present)
        return pulumi.Output.secret(
            pulumi.Output.all(token, server, verified_by).apply(
                lambda found: kubeconfig.for_account(cluster_name, found[1], found[2], found[0])
            )
        )

    def _present(self, authority: str | None) -> str:
        if authority is None:
            rule = f"is required: the kubeconfig has no authority for {self.holder} to verify the API server"
            raise InvalidInputError([Problem(self.authority, rule, "Add it as PEM")], self.called)
        return authority

    def _bind(
        self,
        grant: Grant,
        cluster: DataPlaneCluster,
        namespace: pulumi.Resource | None,
        account: pulumi.Resource,
        parent: pulumi.Resource,
    ) -> pulumi.Resource:
        """Makes a role and its binding. Returns the binding."""
        name = f"{self.prefix}-{grant.does}"
        metadata = self._metadata(grant.role, grant.annotations)
        role_kind, binding_kind = rbac.v1.Role, rbac.v1.RoleBinding
        if grant.everywhere:
            metadata = meta.v1.ObjectMetaArgs(
                name=grant.role, labels=dict(self.labels), annotations=metadata.annotations
            )
            role_kind, binding_kind = rbac.v1.ClusterRole, rbac.v1.ClusterRoleBinding
        role = role_kind(
            name,
            metadata=metadata,
            rules=[policy_rule(rule) for rule in grant.rules],
            # A ClusterRole too: the Namespace rejects a second stack with a mesh of the same name (see `adoption`).
            opts=cluster.options(parent, depends_on=[namespace] if namespace else []),
        )
        return binding_kind(  # type: ignore[no-any-return]
            name,
            metadata=metadata,
            role_ref=rbac.v1.RoleRefArgs(api_group=RBAC_GROUP, kind=role_kind.__name__, name=grant.role),
            subjects=[rbac.v1.SubjectArgs(kind="ServiceAccount", name=self.name, namespace=self.namespace)],
            opts=cluster.options(parent, depends_on=[role, account]),
        )


def policy_rule(rule: Rule) -> rbac.v1.PolicyRuleArgs:
    """The rule in the form of a Role or ClusterRole."""
    return rbac.v1.PolicyRuleArgs(
        api_groups=[rule.group],
        resources=list(rule.resources),
        verbs=list(rule.verbs),
        resource_names=list(rule.names) or None,
    )
