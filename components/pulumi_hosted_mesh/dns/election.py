"""Leader election of the bridge's Pods: Leases, the right to renew them, and to find those of moved publishers."""

from __future__ import annotations

import pulumi
from pulumi_kubernetes import coordination, core, meta, policy, rbac

from pulumi_hosted_mesh.dns import manifests
from pulumi_hosted_mesh.dns.namespace import BridgeNamespace, Labels


def rights(namespace: BridgeNamespace) -> list[pulumi.Resource]:
    """Creates the default ServiceAccount of the bridge's Pods, and the right of all Pods to renew their Leases.

    The right covers the whole namespace. A rule with names of Leases or accounts would lose a removed publisher's
    before its records are deleted, because Pulumi updates before it deletes.
    """
    named, within = namespace.metadata(manifests.ACCOUNT), namespace.within()
    everywhere = meta.v1.ObjectMetaArgs(name=manifests.handover_role(namespace.name), labels=namespace.labels)
    group = f"system:serviceaccounts:{namespace.name}"
    accounts = [rbac.v1.SubjectArgs(kind="Group", name=group, api_group="rbac.authorization.k8s.io")]
    return [
        rbac.v1.ClusterRole(
            f"{namespace.prefix}-handover", metadata=everywhere, rules=manifests.handover_rules(), opts=within
        ),
        rbac.v1.ClusterRoleBinding(
            f"{namespace.prefix}-handover",
            metadata=everywhere,
            role_ref=_role_ref("ClusterRole", manifests.handover_role(namespace.name)),
            subjects=accounts,
            opts=within,
        ),
        core.v1.ServiceAccount(
            f"{namespace.prefix}-account", metadata=named, automount_service_account_token=False, opts=within
        ),
        rbac.v1.Role(f"{namespace.prefix}-elects", metadata=named, rules=manifests.lease_rules(), opts=within),
        rbac.v1.RoleBinding(
            f"{namespace.prefix}-elects",
            metadata=named,
            role_ref=_role_ref("Role", manifests.ACCOUNT),
            subjects=accounts,
            opts=within,
        ),
    ]


def _role_ref(kind: str, name: str) -> rbac.v1.RoleRefArgs:
    return rbac.v1.RoleRefArgs(api_group="rbac.authorization.k8s.io", kind=kind, name=name)


def election(
    namespace: BridgeNamespace,
    name: str,
    labels: Labels,
    deployment: pulumi.Resource,
    *,
    replicas: int,
    records: Labels,
) -> None:
    """Creates the Lease of a Deployment, so that no Pod needs the right to create one, and its PodDisruptionBudget.

    name: of the Deployment. records: label of a publisher's Lease. Both objects depend on the Deployment, so the Lease
    is deleted first. Then the Pods delete their records, or leave them to another publisher with the same label.
    """
    metadata, options = namespace.metadata(name, labels), namespace.options(deployment)
    lease = namespace.metadata(name, {**labels, **records})
    coordination.v1.Lease(f"{namespace.prefix}-{name}", metadata=lease, opts=options)
    if replicas > 1:
        spec = manifests.disruption_budget(name)
        policy.v1.PodDisruptionBudget(f"{namespace.prefix}-{name}", metadata=metadata, spec=spec, opts=options)
