"""What the bridge's Pods choose the one among them with that acts: Leases, and the right to renew these."""

from __future__ import annotations

import pulumi
from pulumi_kubernetes import coordination, core, policy, rbac

from pulumi_hosted_mesh.dns import manifests
from pulumi_hosted_mesh.dns.namespace import BridgeNamespace, Labels


def rights(namespace: BridgeNamespace) -> list[pulumi.Resource]:
    """Makes the account of Pods that need no other, and what all of them renew their Leases with.

    The right is the namespace's: one that names Leases or accounts would be taken from a publisher that is removed
    before it has taken its records away, for Pulumi updates before it deletes.
    """
    named, within = namespace.metadata(manifests.ACCOUNT), namespace.within()
    return [
        core.v1.ServiceAccount(
            f"{namespace.prefix}-account", metadata=named, automount_service_account_token=False, opts=within
        ),
        rbac.v1.Role(f"{namespace.prefix}-elects", metadata=named, rules=manifests.lease_rules(), opts=within),
        rbac.v1.RoleBinding(
            f"{namespace.prefix}-elects",
            metadata=named,
            role_ref=rbac.v1.RoleRefArgs(api_group="rbac.authorization.k8s.io", kind="Role", name=manifests.ACCOUNT),
            subjects=[
                rbac.v1.SubjectArgs(
                    api_group="rbac.authorization.k8s.io",
                    kind="Group",
                    name=f"system:serviceaccounts:{namespace.name}",
                )
            ],
            opts=within,
        ),
    ]


def election(
    namespace: BridgeNamespace, name: str, labels: Labels, deployment: pulumi.Resource, *, replicas: int
) -> None:
    """Makes the Lease of a Deployment, so that no Pod needs the right to create one, and a budget by which some of its
    Pods stay while nodes are drained.

    name: of the Deployment. All depends on it, so that the Lease is deleted first: then the Pods take their records
    away.
    """
    metadata, options = namespace.metadata(name, labels), namespace.options(deployment)
    coordination.v1.Lease(f"{namespace.prefix}-{name}", metadata=metadata, opts=options)
    if replicas > 1:
        spec = manifests.disruption_budget(name)
        policy.v1.PodDisruptionBudget(f"{namespace.prefix}-{name}", metadata=metadata, spec=spec, opts=options)
