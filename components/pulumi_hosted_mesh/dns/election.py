"""What the bridge's Pods choose the one among them with that acts: Leases, and the right to renew just these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import pulumi
from pulumi_kubernetes import coordination, core, meta, policy, rbac

from pulumi_hosted_mesh.dns import manifests
from pulumi_hosted_mesh.spec.dns import DnsBridge

Metadata = Callable[[str, Mapping[str, str] | None], meta.v1.ObjectMetaArgs]


def elections(
    prefix: str,
    bridge: DnsBridge,
    names: Mapping[str, Mapping[str, str]],
    accounts: Collection[str],
    metadata: Metadata,
    options: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """Makes a Lease for each Deployment, and what its Pods renew it with. The program makes the Leases, so that nobody
    needs the right to create one, which cannot be given by name.

    prefix: of the resources' names. names: of the Deployments, with their labels. accounts: ServiceAccounts beside
    `manifests.ACCOUNT`, which is made here.
    """
    made: list[pulumi.Resource] = [
        core.v1.ServiceAccount(
            f"{prefix}-account",
            metadata=metadata(manifests.ACCOUNT, None),
            automount_service_account_token=False,
            opts=options,
        ),
        rbac.v1.Role(
            f"{prefix}-elects",
            metadata=metadata(manifests.ACCOUNT, None),
            rules=manifests.lease_rules(names),
            opts=options,
        ),
        rbac.v1.RoleBinding(
            f"{prefix}-elects",
            metadata=metadata(manifests.ACCOUNT, None),
            role_ref=rbac.v1.RoleRefArgs(api_group="rbac.authorization.k8s.io", kind="Role", name=manifests.ACCOUNT),
            subjects=[
                rbac.v1.SubjectArgs(kind="ServiceAccount", name=account, namespace=bridge.namespace)
                for account in (manifests.ACCOUNT, *accounts)
            ],
            opts=options,
        ),
    ]
    for name, own in names.items():
        made.append(coordination.v1.Lease(f"{prefix}-{name}", metadata=metadata(name, own), opts=options))
        if bridge.replicas > 1:
            spec = manifests.disruption_budget(name)
            made.append(
                policy.v1.PodDisruptionBudget(f"{prefix}-{name}", metadata=metadata(name, own), spec=spec, opts=options)
            )
    return made
