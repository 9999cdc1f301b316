"""What the bridge's Pods show who they are with: kubeconfigs to edges, credentials or accounts to providers.

Of these the bridge's namespace on the control plane has Secrets and ServiceAccounts, and no other place has any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes import core

from pulumi_hosted_mesh.dns import manifests
from pulumi_hosted_mesh.dns.arguments import KUBECONFIG
from pulumi_hosted_mesh.dns.namespace import BridgeNamespace
from pulumi_hosted_mesh.spec.dns import Authentication, DnsProvider


@dataclass(frozen=True)
class Identity:
    """One provider's: a Secret with credentials, or a ServiceAccount that its cloud knows, or neither.

    keys: of the credentials. secrets, accounts: one or none.
    """

    keys: tuple[str, ...] = ()
    secrets: tuple[core.v1.Secret, ...] = ()
    accounts: tuple[core.v1.ServiceAccount, ...] = ()


def provider_identity(
    namespace: BridgeNamespace, provider: DnsProvider, credentials: Mapping[str, pulumi.Input[str]] | None
) -> Identity:
    """Makes one provider's. credentials: by key; None where the program has none."""
    labels = manifests.provider_labels(provider)
    if credentials is not None:
        name = manifests.credentials_secret(provider.id)
        secret = namespace.secret(f"credentials-{provider.id}", name, credentials, labels)
        return Identity(keys=tuple(credentials), secrets=(secret,))
    if provider.authentication is Authentication.WORKLOAD_IDENTITY:
        account = core.v1.ServiceAccount(
            f"{namespace.prefix}-account-{provider.id}",
            metadata=namespace.metadata(
                manifests.provider_account(provider), labels, provider.service_account_annotations
            ),
            opts=namespace.within(),
        )
        return Identity(accounts=(account,))
    return Identity()


def edge_kubeconfigs(
    namespace: BridgeNamespace, texts: Mapping[tuple[str, str], pulumi.Output[str]]
) -> dict[tuple[str, str], core.v1.Secret]:
    """Makes the Secrets with the edges' kubeconfigs, by name of the edge and who holds it."""
    return {
        (edge, holder): namespace.secret(
            f"edge-{edge}-{holder}",
            manifests.kubeconfig_secret(edge, holder),
            {KUBECONFIG: text},
            manifests.edge_labels(edge),
        )
        for (edge, holder), text in texts.items()
    }
