"""Credentials of each type of provider: variables or files, always from a Secret."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh.dns.arguments import AZURE_FILE, CREDENTIALS_FOLDER
from pulumi_hosted_mesh.problems import Problem
from pulumi_hosted_mesh.spec.dns import Authentication, DnsProvider, ProviderType

VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9_]*")


@dataclass(frozen=True)
class CredentialKeys:
    """Credentials of one type of provider.

    required, optional: variables, by their keys in the Secret. files: keys that are mounted as files, with the variable
    that names the file ("" if an argument does). free: any variable is permitted.
    """

    required: tuple[tuple[str, str], ...] = ()
    optional: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    free: bool = False


KINDS: Final = {
    ProviderType.COREDNS: CredentialKeys(
        optional=(("username", "ETCD_USERNAME"), ("password", "ETCD_PASSWORD")),
        files=(("ca.crt", "ETCD_CA_FILE"), ("tls.crt", "ETCD_CERT_FILE"), ("tls.key", "ETCD_KEY_FILE")),
    ),
    # external-dns also has a flag, but its value would stand in the Deployment.
    ProviderType.RFC2136: CredentialKeys(required=(("tsig-secret", "EXTERNAL_DNS_RFC2136_TSIG_SECRET"),)),
    ProviderType.POWERDNS: CredentialKeys(
        required=(("api-key", "EXTERNAL_DNS_PDNS_API_KEY"),), files=(("ca.crt", "EXTERNAL_DNS_TLS_CA"),)
    ),
    ProviderType.ROUTE53: CredentialKeys(
        required=(("access-key-id", "AWS_ACCESS_KEY_ID"), ("secret-access-key", "AWS_SECRET_ACCESS_KEY")),
        optional=(("session-token", "AWS_SESSION_TOKEN"), ("region", "AWS_REGION")),
    ),
    ProviderType.GOOGLE: CredentialKeys(files=(("credentials.json", "GOOGLE_APPLICATION_CREDENTIALS"),)),
    ProviderType.AZURE: CredentialKeys(files=((AZURE_FILE, ""),)),
    ProviderType.CLOUDFLARE: CredentialKeys(required=(("api-token", "CF_API_TOKEN"),)),
    ProviderType.WEBHOOK: CredentialKeys(),
    ProviderType.OTHER: CredentialKeys(free=True),
}
_OPTIONAL_FILES: Final = (ProviderType.COREDNS, ProviderType.POWERDNS)


def problems(provider: DnsProvider, keys: Collection[str] | None) -> list[Problem]:
    """Problems of a provider's credentials. keys: None if the program gives none."""
    where, kind = f"credentials.{provider.id}", KINDS[provider.type]
    if provider.authentication is not Authentication.CREDENTIALS:
        if keys is None:
            return []
        rule = f"is given, but the provider has authentication {provider.authentication}"
        return [Problem(where, rule, "Remove it, or set authentication: credentials")]
    if provider.type is ProviderType.WEBHOOK:
        fix = "Set authentication: none; its own credentials are the webhook's"
        return [Problem(where, "has no effect: the webhook interface has no authentication", fix)]
    if not keys:
        fix = "Set it as a secret, or set authentication to workload-identity or none if the provider supports that"
        return [Problem(where, f"is required: provider {provider.id} has authentication credentials", fix)]
    wanted = [key for key, _ in kind.required]
    wanted += [key for key, _ in kind.files if provider.type not in _OPTIONAL_FILES]
    found = [Problem(f"{where}.{key}", "is required", "Set it as a secret") for key in wanted if key not in keys]
    permitted = {key for key, _ in (*kind.required, *kind.optional, *kind.files)}
    for key in sorted(keys):
        if kind.free and not VARIABLE.fullmatch(key):
            rule = "must be the name of an environment variable, in capitals"
            found.append(Problem(f"{where}.{key}", rule, "See external-dns' page of the provider"))
        elif not kind.free and key not in permitted:
            rule, fix = f"is no credential of {provider.type}", f"The keys are {', '.join(sorted(permitted))}"
            found.append(Problem(f"{where}.{key}", rule, fix))
    return found


def settings_files(provider: DnsProvider) -> dict[str, str]:
    """Files without a secret that external-dns requires beside a workload identity, by name.

    The Azure provider starts with a file only, and takes tenant, client and token from variables of the webhook of
    Azure Workload Identity (provider/azure/config.go).
    """
    if provider.azure and provider.authentication is Authentication.WORKLOAD_IDENTITY:
        return {AZURE_FILE: json.dumps({"useWorkloadIdentityExtension": True})}
    return {}


def all_problems(providers: Iterable[DnsProvider], given: Mapping[str, Collection[str]]) -> list[Problem]:
    """Problems of all providers' credentials. given: their keys, by id of the provider."""
    by_id = {provider.id: provider for provider in providers}
    found = [problem for provider in by_id.values() for problem in problems(provider, given.get(provider.id))]
    return found + [
        Problem(f"credentials.{unknown}", "belongs to no provider", "Remove it, or correct the provider's id")
        for unknown in sorted(given.keys() - by_id.keys())
    ]


def environment(provider: DnsProvider, secret: str, keys: Collection[str]) -> list[dict[str, Any]]:
    """`env` of the container: each variable from the Secret, and the paths of files."""
    kind = KINDS[provider.type]
    named = dict((*kind.required, *kind.optional)) | ({key: key for key in keys} if kind.free else {})
    found: list[dict[str, Any]] = [
        {"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}
        for key, variable in sorted(named.items())
        if key in keys
    ]
    for key, variable in kind.files:
        if key in keys and variable:
            found.append({"name": variable, "value": f"{CREDENTIALS_FOLDER}/{key}"})
    if provider.type is ProviderType.ROUTE53 and keys and "region" not in keys:
        # The client requires a region to find the one global endpoint. With a workload identity the cloud sets it.
        found.append({"name": "AWS_REGION", "value": "us-east-1"})
    if provider.coredns:
        found.append({"name": "ETCD_URLS", "value": ",".join(provider.coredns.endpoints)})
    return found


def file_keys(provider: DnsProvider, keys: Collection[str]) -> list[str]:
    """Keys that are mounted as files."""
    return [key for key, _ in KINDS[provider.type].files if key in keys]
