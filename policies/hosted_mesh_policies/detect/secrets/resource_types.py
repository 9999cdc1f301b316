"""What a resource's type says of its secrets: what makes nothing else, what repeats them, what keeps them inside."""

from __future__ import annotations

import re
from typing import Final

from ...plan.model import REFERENCE_TYPE, Resource
from ...plan.owners import CLOUDS
from ...plan.tree import Path, at
from ..leaf.names import is_own_login

ALL_SECRET_TYPES: Final = frozenset(
    f"random:index/{name}" for name in ("randomPassword:RandomPassword", "randomBytes:RandomBytes")
)
"""Sources with no public output: a dependency on one is a dependency on the secret, marked or not."""
KEY_TYPE: Final = "tls:index/privateKey:PrivateKey"
CERTIFICATE_TYPES: Final = frozenset(
    f"tls:index/{name}"
    for name in ("selfSignedCert:SelfSignedCert", "locallySignedCert:LocallySignedCert", "certRequest:CertRequest")
)
"""Each repeats a private key among its outputs, marked secret: `private_key_pem`."""
PUBLIC_TOO: Final = CERTIFICATE_TYPES | {REFERENCE_TYPE}
"""Sources that are mostly used for their public outputs: before a value of theirs is known, nothing is said."""
CHART_TYPES: Final = frozenset(
    {"kubernetes:helm.sh/v4:Chart", "kubernetes:helm.sh/v3:Release", "kubernetes:helm.sh/v3:Chart"}
)
"""Their values are kept in a Secret."""
RANDOM_TEXTS: Final = frozenset({"random:index/randomString:RandomString", "random:index/randomUuid:RandomUuid"})
"""Random texts that nobody marks."""
PUBLIC_RANDOM: Final = re.compile(r"^random:index/random(Id|Pet|Uuid|Integer|Shuffle)")
"""Random, and made to be shown."""


_SECRETS_BY_NAME: Final = re.compile(
    r"password(?!policy)|secret(?!_?backend|s?mount|iam|policy|rotation|ciphertext)|token(?!iam)|credential|(?<!public)keys?$|signed_?url",
    re.IGNORECASE,
)
"""Not who may read a secret, nor Vault's engines, which are called secret backends: what they make is marked; nor
what a key service has encrypted."""
_KEYS_KEPT_INSIDE: Final = re.compile(r":(?:kms|keyvault)[/:].*:(?!data)\w*key$|:ssh_?key$", re.IGNORECASE)
"""A service's keys that nobody gets out of it, and SSH keys, of which a cloud is given the public half."""
_VALUE_ELSEWHERE: Final = re.compile(r"^(?:aws|gcp):secrets?manager/\w*[sS]ecret:\w*Secret$")
"""Places for a secret: what is in them is another resource's, `SecretVersion`."""


def is_random(resource: Resource) -> bool:
    """True for what makes a random text: a password, bytes, a string. A private key is none."""
    return resource.type.startswith("random:")


def is_clouds_secret(resource: Resource) -> bool:
    """True for a type of a cloud whose main output is a secret."""
    package, _, rest = resource.type.partition(":")
    return (
        package in CLOUDS
        and bool(_SECRETS_BY_NAME.search(rest.rpartition(":")[2]))
        and not _KEYS_KEPT_INSIDE.search(resource.type)
        and not _VALUE_ELSEWHERE.search(resource.type)
    )


_OTHERS_HOST: Final = re.compile(r"(?:server|server_?name|host_?name|endpoint)", re.IGNORECASE)


def makes_what_opens(resource: Resource, path: Path) -> bool:
    """True for a property by which what a cloud's resource makes is logged in to. With the name of a host beside it, it
    is that host's login: a database that is copied from, a connection."""
    beside = at(resource.body, *path[:-1])
    hosts = [key for key in beside if _OTHERS_HOST.fullmatch(key)] if isinstance(beside, dict) else []
    return is_own_login(path) and not any("." in str(at(beside, key)) for key in hosts)


_KNOWN_GROUPS: Final = re.compile(r"^$|\.k8s\.io$|^(apps|batch|policy|autoscaling|extensions|helm\.sh)$|\.istio\.io$")
"""API groups whose objects keep no secret in their status."""


def keeps_status(resource: Resource) -> bool:
    """True for a custom resource of a group that nobody here knows: its operator may write a secret into its status."""
    return resource.is_kubernetes and not _KNOWN_GROUPS.search(resource.group)


def tells_facts(resource: Resource) -> bool:
    """True for an object of Kubernetes' own that has no secret but what it was given: a Service with its address."""
    plain = resource.is_kubernetes and not resource.read_only and resource.kind not in {"Secret", "TokenRequest"}
    return plain and not keeps_status(resource) and resource.group != "helm.sh"
