"""The program's own records in the bridge's namespace: the CRD, an object for each, and the right to read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pulumi
from pulumi_kubernetes import apiextensions, core, rbac

from pulumi_hosted_mesh.boundary.arguments import when_known
from pulumi_hosted_mesh.data_plane.account import policy_rule
from pulumi_hosted_mesh.dns import crd, manifests
from pulumi_hosted_mesh.dns.namespace import BridgeNamespace
from pulumi_hosted_mesh.dns.plan import Pair
from pulumi_hosted_mesh.dns.records import Records, endpoints
from pulumi_hosted_mesh.dns.rights import DNS_GROUP, OWN_PUBLISHER


@dataclass(frozen=True)
class OwnRecords:
    """Dependencies of the records' publishers.

    conditions: configuration of the one publisher that updates the conditions of all records. first: resources that
    every publisher depends on.
    """

    conditions: core.v1.ConfigMap
    first: tuple[pulumi.Resource, ...]


def make(
    namespace: BridgeNamespace,
    records: Records,
    pairs: Sequence[Pair],
    conditions: Mapping[str, str],
    *,
    install_crd: bool,
) -> OwnRecords:
    """Creates the records' objects, and the right to read them.

    pairs: the control plane's own; their Pods publish the records. conditions: `data` of that ConfigMap.
    """
    configuration = namespace.config_map("records", manifests.RECORDS_ACCOUNT, conditions)
    kind = _kind(namespace) if install_crd else []
    first = (*kind, *_rights(namespace, pairs))
    for host, targets in records.items():
        apiextensions.CustomResource(
            f"{namespace.prefix}-record-{host}",
            api_version=f"{DNS_GROUP}/v1alpha1",
            kind="DNSEndpoint",
            metadata=namespace.metadata(host),
            spec={"endpoints": when_known(pulumi.Output.from_input(targets), partial(endpoints, host))},
            opts=namespace.within(*kind),
        )
    return OwnRecords(configuration, first)


def _kind(namespace: BridgeNamespace) -> list[pulumi.Resource]:
    """The CRD DNSEndpoint. It belongs to no mesh and to no bridge."""
    return [
        apiextensions.v1.CustomResourceDefinition(
            f"{namespace.prefix}-dnsendpoints", metadata=crd.metadata(), spec=crd.spec(), opts=namespace.within()
        )
    ]


def _rights(namespace: BridgeNamespace, pairs: Sequence[Pair]) -> list[pulumi.Resource]:
    """The publishers' default account, and the binding that lets all publishers read the records."""
    name, prefix = manifests.RECORDS_ACCOUNT, f"{namespace.prefix}-records"
    metadata = namespace.metadata(name)
    rules = [policy_rule(rule) for rule in OWN_PUBLISHER]
    role = rbac.v1.Role(prefix, metadata=metadata, rules=rules, opts=namespace.within())
    account = core.v1.ServiceAccount(
        prefix, metadata=metadata, automount_service_account_token=False, opts=namespace.within()
    )
    accounts = dict.fromkeys((name, *map(manifests.account_of, pairs)))
    binding = rbac.v1.RoleBinding(
        prefix,
        metadata=metadata,
        role_ref=rbac.v1.RoleRefArgs(api_group="rbac.authorization.k8s.io", kind="Role", name=name),
        subjects=[
            rbac.v1.SubjectArgs(kind="ServiceAccount", name=one, namespace=role.metadata.namespace) for one in accounts
        ],
        opts=namespace.within(role),
    )
    return [account, binding]
