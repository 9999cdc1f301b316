"""Facts about secrets by resource type: sources without public outputs, repeating types, keys kept inside."""

from __future__ import annotations

import re
from typing import Final

from hosted_mesh_plan.model import REFERENCE_TYPE, Resource
from hosted_mesh_plan.owners import CLOUDS
from hosted_mesh_plan.tree import Path, at

from ..leaf.names import is_own_login

ALL_SECRET_TYPES: Final = frozenset(
    f"random:index/{name}" for name in ("randomPassword:RandomPassword", "randomBytes:RandomBytes")
)
"""Sources without a public output: a dependency on one is a dependency on the secret, marked or not."""
KEY_TYPE: Final = "tls:index/privateKey:PrivateKey"
CERTIFICATE_TYPES: Final = frozenset(
    f"tls:index/{name}"
    for name in ("selfSignedCert:SelfSignedCert", "locallySignedCert:LocallySignedCert", "certRequest:CertRequest")
)
"""Each repeats a private key among its outputs, marked secret: `private_key_pem`."""
PUBLIC_TOO: Final = CERTIFICATE_TYPES | {REFERENCE_TYPE}
"""Sources mostly used for their public outputs: unknown values give no verdict."""
CHART_TYPES: Final = frozenset(
    {"kubernetes:helm.sh/v4:Chart", "kubernetes:helm.sh/v3:Release", "kubernetes:helm.sh/v3:Chart"}
)
"""Their values are kept in a Secret."""
RANDOM_TEXTS: Final = frozenset({"random:index/randomString:RandomString", "random:index/randomUuid:RandomUuid"})
"""Random texts without marks."""
PUBLIC_RANDOM: Final = re.compile(r"^random:index/random(Id|Pet|Uuid|Integer|Shuffle)")
"""Random public values."""


_SECRETS_BY_NAME: Final = re.compile(
    r"password(?!policy)|secret(?!_?backend|s?mount|iam|policy|rotation|ciphertext)|token(?!iam)|credential|(?<!public)keys?$|signed_?url",
    re.IGNORECASE,
)
"""Without types for a secret's readers, Vault's engines ("secret backends", with marked outputs), and ciphertext of a
key service."""
_KEYS_KEPT_INSIDE: Final = re.compile(r":(?:kms|keyvault)[/:].*:(?!data)\w*key$|:ssh_?key$", re.IGNORECASE)
"""A service's keys that never leave it, and SSH keys, with only their public half at a cloud."""
_VALUE_ELSEWHERE: Final = re.compile(r"^(?:aws|gcp):secrets?manager/\w*[sS]ecret:\w*Secret$")
"""Places for a secret: their content is another resource's, `SecretVersion`."""


def is_random(resource: Resource) -> bool:
    """True for a source of random text: a password, bytes, a string. A private key is none."""
    return resource.type.startswith("random:")


def is_clouds_secret(resource: Resource) -> bool:
    """True for a cloud's type with a secret as main output."""
    package, _, rest = resource.type.partition(":")
    return (
        package in CLOUDS
        and bool(_SECRETS_BY_NAME.search(rest.rpartition(":")[2]))
        and not _KEYS_KEPT_INSIDE.search(resource.type)
        and not _VALUE_ELSEWHERE.search(resource.type)
    )


_OTHERS_HOST: Final = re.compile(r"(?:server|server_?name|host_?name|endpoint)", re.IGNORECASE)


def makes_what_opens(resource: Resource, path: Path) -> bool:
    """True for a property that is the login of the cloud resource itself. Beside a host's name it is that host's login:
    a source database, a connection."""
    beside = at(resource.body, *path[:-1])
    hosts = [key for key in beside if _OTHERS_HOST.fullmatch(key)] if isinstance(beside, dict) else []
    return is_own_login(path) and not any("." in str(at(beside, key)) for key in hosts)


_KNOWN_GROUPS: Final = re.compile(r"^$|\.k8s\.io$|^(apps|batch|policy|autoscaling|extensions|helm\.sh)$|\.istio\.io$")
"""API groups whose objects keep no secret in their status."""


def keeps_status(resource: Resource) -> bool:
    """True for a custom resource of an unknown group: its operator may write a secret into its status."""
    return resource.is_kubernetes and not _KNOWN_GROUPS.search(resource.group)


def tells_facts(resource: Resource) -> bool:
    """True for an object of Kubernetes with no secret but its inputs: a Service with its address."""
    plain = resource.is_kubernetes and not resource.read_only and resource.kind not in {"Secret", "TokenRequest"}
    return plain and not keeps_status(resource) and resource.group != "helm.sh"
