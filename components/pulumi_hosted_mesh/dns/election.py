"""What the bridge's Pods choose the one among them with that acts: Leases, and the right to renew these."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pulumi
from pulumi_kubernetes import coordination, core, meta, policy, rbac

from pulumi_hosted_mesh.dns import manifests
from pulumi_hosted_mesh.spec.dns import DnsBridge

Metadata = Callable[[str, Mapping[str, str] | None], meta.v1.ObjectMetaArgs]


def rights(
    prefix: str, bridge: DnsBridge, metadata: Metadata, options: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    """Makes the account of Pods that need no other, and what all of them renew their Leases with.

    The right is the namespace's: one that names Leases or accounts would be taken from a publisher that is removed
    before it has taken its records away, for Pulumi updates before it deletes.

    prefix: of the resources' names.
    """
    named = metadata(manifests.ACCOUNT, None)
    return [
        core.v1.ServiceAccount(
            f"{prefix}-account", metadata=named, automount_service_account_token=False, opts=options
        ),
        rbac.v1.Role(f"{prefix}-elects", metadata=named, rules=manifests.lease_rules(), opts=options),
        rbac.v1.RoleBinding(
            f"{prefix}-elects",
            metadata=named,
            role_ref=rbac.v1.RoleRefArgs(api_group="rbac.authorization.k8s.io", kind="Role", name=manifests.ACCOUNT),
            subjects=[
                rbac.v1.SubjectArgs(
                    api_group="rbac.authorization.k8s.io",
                    kind="Group",
                    name=f"system:serviceaccounts:{bridge.namespace}",
                )
            ],
            opts=options,
        ),
    ]


def election(
    prefix: str, bridge: DnsBridge, name: str, metadata: meta.v1.ObjectMetaArgs, options: pulumi.ResourceOptions
) -> None:
    """Makes the Lease of a Deployment, so that no Pod needs the right to create one, and a budget by which some of its
    Pods stay while nodes are drained.

    name: of the Deployment. options: all depends on the Deployment, so that the Lease is deleted first. Then the Pods
    take their records away.
    """
    coordination.v1.Lease(f"{prefix}-{name}", metadata=metadata, opts=options)
    if bridge.replicas > 1:
        spec = manifests.disruption_budget(name)
        policy.v1.PodDisruptionBudget(f"{prefix}-{name}", metadata=metadata, spec=spec, opts=options)
