"""Identities of the bridge's Pods: kubeconfigs of edges, and credentials or accounts of providers.

Only the bridge's namespace on the control plane has these Secrets and ServiceAccounts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes import core

from pulumi_hosted_mesh.dns import manifests
from pulumi_hosted_mesh.dns.arguments import KUBECONFIG
from pulumi_hosted_mesh.dns.credentials import settings_files
from pulumi_hosted_mesh.dns.namespace import BridgeNamespace
from pulumi_hosted_mesh.spec.dns import Authentication, DnsProvider


@dataclass(frozen=True)
class Identity:
    """The identity for one provider: a Secret with credentials, a ServiceAccount that its cloud trusts, or neither.

    keys: of the credentials. secrets, accounts, settings: one or none.
    """

    keys: tuple[str, ...] = ()
    secrets: tuple[core.v1.Secret, ...] = ()
    accounts: tuple[core.v1.ServiceAccount, ...] = ()
    settings: tuple[core.v1.ConfigMap, ...] = ()


def provider_identity(
    namespace: BridgeNamespace, provider: DnsProvider, credentials: Mapping[str, pulumi.Input[str]] | None
) -> Identity:
    """Creates the identity for one provider. credentials: by key; None if the program gives none."""
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
        files = settings_files(provider)
        name = manifests.settings_config_map(provider)
        settings = [namespace.config_map(f"settings-{provider.id}", name, files, labels)] if files else []
        return Identity(accounts=(account,), settings=(*settings,))
    return Identity()


def edge_kubeconfigs(
    namespace: BridgeNamespace, texts: Mapping[tuple[str, str], pulumi.Output[str]]
) -> dict[tuple[str, str], core.v1.Secret]:
    """Creates the Secrets with the edges' kubeconfigs, by name of the edge and holder (`publisher` or `reader`)."""
    return {
        (edge, holder): namespace.secret(
            f"edge-{edge}-{holder}",
            manifests.kubeconfig_secret(edge, holder),
            {KUBECONFIG: text},
            manifests.edge_labels(edge),
        )
        for (edge, holder), text in texts.items()
    }
