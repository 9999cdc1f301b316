"""How each type of provider takes its credentials: as variables or as files, from a Secret and from nowhere else."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh.dns.arguments import CREDENTIALS_FOLDER
from pulumi_hosted_mesh.problems import Problem
from pulumi_hosted_mesh.spec.dns import Authentication, DnsProvider, ProviderType

VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9_]*")


@dataclass(frozen=True)
class Kind:
    """Credentials of one type of provider.

    required, optional: variables, by their keys in the Secret. files: keys that are mounted as files, with the variable
    that names the file ("" where an argument does). free: any variable may be given.
    """

    required: tuple[tuple[str, str], ...] = ()
    optional: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    free: bool = False


KINDS: Final = {
    ProviderType.COREDNS: Kind(
        optional=(("username", "ETCD_USERNAME"), ("password", "ETCD_PASSWORD")),
        files=(("ca.crt", "ETCD_CA_FILE"), ("tls.crt", "ETCD_CERT_FILE"), ("tls.key", "ETCD_KEY_FILE")),
    ),
    # A flag too, but a flag's value would be in the Deployment.
    ProviderType.RFC2136: Kind(required=(("tsig-secret", "EXTERNAL_DNS_RFC2136_TSIG_SECRET"),)),
    ProviderType.ROUTE53: Kind(
        required=(("access-key-id", "AWS_ACCESS_KEY_ID"), ("secret-access-key", "AWS_SECRET_ACCESS_KEY")),
        optional=(("session-token", "AWS_SESSION_TOKEN"), ("region", "AWS_REGION")),
    ),
    ProviderType.GOOGLE: Kind(files=(("credentials.json", "GOOGLE_APPLICATION_CREDENTIALS"),)),
    ProviderType.AZURE: Kind(files=(("azure.json", ""),)),
    ProviderType.CLOUDFLARE: Kind(required=(("api-token", "CF_API_TOKEN"),)),
    ProviderType.WEBHOOK: Kind(),
    ProviderType.OTHER: Kind(free=True),
}
_OPTIONAL_FILES: Final = (ProviderType.COREDNS,)


def problems(provider: DnsProvider, keys: Collection[str] | None) -> list[Problem]:
    """What is wrong with the keys of a provider's credentials; None if none were given."""
    where, kind = f"credentials.{provider.id}", KINDS[provider.type]
    if provider.authentication is not Authentication.CREDENTIALS:
        if keys is None:
            return []
        rule = f"is given, but the provider has authentication {provider.authentication}"
        return [Problem(where, rule, "Leave it out, or set authentication: credentials")]
    if provider.type is ProviderType.WEBHOOK:
        fix = "Set authentication: none; its own credentials are the webhook's"
        return [Problem(where, "has no meaning, for the webhook interface knows no authentication", fix)]
    if not keys:
        fix = "Give it as a secret, or set authentication to workload-identity or none where the provider knows that"
        return [Problem(where, f"is required: provider {provider.id} has authentication credentials", fix)]
    wanted = [key for key, _ in kind.required]
    wanted += [key for key, _ in kind.files if provider.type not in _OPTIONAL_FILES]
    found = [Problem(f"{where}.{key}", "is required", "Give it as a secret") for key in wanted if key not in keys]
    known = {key for key, _ in (*kind.required, *kind.optional, *kind.files)}
    for key in sorted(keys):
        if kind.free and not VARIABLE.fullmatch(key):
            rule = "must be the name of an environment variable, in capitals"
            found.append(Problem(f"{where}.{key}", rule, "See external-dns' page of the provider"))
        elif not kind.free and key not in known:
            rule, fix = f"is no credential of {provider.type}", f"The keys are {', '.join(sorted(known))}"
            found.append(Problem(f"{where}.{key}", rule, fix))
    return found


def all_problems(providers: Iterable[DnsProvider], given: Mapping[str, Collection[str]]) -> list[Problem]:
    """What is wrong with the credentials of all providers. given: their keys, by id of the provider."""
    known = {provider.id: provider for provider in providers}
    found = [problem for provider in known.values() for problem in problems(provider, given.get(provider.id))]
    return found + [
        Problem(f"credentials.{unknown}", "is of no provider", "Remove it, or correct the provider's id")
        for unknown in sorted(given.keys() - known.keys())
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
    if provider.coredns:
        found.append({"name": "ETCD_URLS", "value": ",".join(provider.coredns.endpoints)})
    return found


def file_keys(provider: DnsProvider, keys: Collection[str]) -> list[str]:
    """Keys that are mounted as files."""
    return [key for key, _ in KINDS[provider.type].files if key in keys]
