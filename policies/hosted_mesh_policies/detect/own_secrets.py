"""Which values of a resource are secrets, by its type and by the marks on its values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..plan.model import SECRET_DATA, Resource
from ..plan.owners import CLOUDS
from ..plan.tree import Path, Tree, at, leaves
from .leaves import is_public, is_random
from .named import named_in_text, named_in_tree
from .names import is_secrets_name
from .places import as_bytes, held

ALL_SECRET_TYPES: Final = frozenset(
    f"random:index/{name}" for name in ("randomPassword:RandomPassword", "randomBytes:RandomBytes")
)
"""Sources with no public output: a dependency on one is a dependency on the secret, marked or not."""
KEY_TYPE: Final = "tls:index/privateKey:PrivateKey"


_SECRETS_BY_NAME: Final = re.compile(
    r"password(?!policy)|secret(?!_?backend|s?mount|iam|policy|rotation)|token(?!iam)|credential|(?<!public)keys?$|signed_?url",
    re.IGNORECASE,
)
"""Not who may read a secret, nor Vault's engines, which are called secret backends: what they make is marked."""
LEAST_CALLED: Final = 16
"""Letters of a value that its name alone says to be secret: shorter ones may be in others' texts by chance."""


_KEYS_KEPT_INSIDE: Final = re.compile(r":(?:kms|keyvault)[/:].*:(?!data)\w*key$|:ssh_?key$", re.IGNORECASE)
"""A service's keys that nobody gets out of it, and SSH keys, of which a cloud is given the public half."""


def is_clouds_secret(resource: Resource) -> bool:
    """True for a type of a cloud whose main output is a secret."""
    package, _, rest = resource.type.partition(":")
    return (
        package in CLOUDS
        and bool(_SECRETS_BY_NAME.search(rest.rpartition(":")[2]))
        and not _KEYS_KEPT_INSIDE.search(resource.type)
    )


def secret_leaves(resource: Resource, tree: Tree) -> Iterator[tuple[Path, bytes]]:
    """The secret values in a resource's inputs or outputs, with their places: marked ones, a Secret's data, a private
    key, a password, what a cloud's resource of secrets calls so. Public halves and password hashes, which are there to
    be shown, are not among them, nor is what the Kubernetes plug-in keeps for itself (`__inputs`): it repeats the
    inputs."""
    of_secret = resource.kind == "Secret"
    in_status = keeps_status(resource)
    of_cloud = is_clouds_secret(resource)
    whole = resource.type in ALL_SECRET_TYPES or resource.type == KEY_TYPE
    yield from _called_secrets(resource, tree)
    for leaf in leaves(tree if tree is not None else {}):
        first = str(leaf.path[0]) if leaf.path else ""
        if "hash" in first.lower() or first.startswith(("public", "__")):
            continue
        if of_secret and first in SECRET_DATA:
            yield leaf.path, held(leaf)
        elif (
            leaf.secret
            or (whole and first in {"result", "base64", "hex"})
            or first.startswith("privateKey")
            or (first == "status" and in_status and _is_secret_status(leaf.path, leaf.value))
            or (of_cloud and is_secrets_name(first) and not is_public(as_bytes(leaf.value)))
        ):
            yield leaf.path, as_bytes(leaf.value)


def _is_plug_ins(path: Path) -> bool:
    return bool(path) and str(path[0]).startswith("__")


def _called_secrets(resource: Resource, tree: Tree) -> Iterator[tuple[Path, bytes]]:
    """What stands in plain in an object that is no Secret and is called a credential: in its fields, in its texts."""
    if resource.kind == "Secret" or tree is None:
        return
    called = {path for path in named_in_tree(tree) if not _is_plug_ins(path)}
    for leaf in leaves(tree):
        if not isinstance(leaf.value, str) or len(leaf.value) < LEAST_CALLED or _is_plug_ins(leaf.path):
            continue
        data = leaf.value.encode()
        found = [data] if leaf.path in called else [one.encode() for one in named_in_text(data, data.lower())]
        yield from ((leaf.path, one) for one in found if len(one) >= LEAST_CALLED)


_KNOWN_GROUPS: Final = re.compile(r"^$|\.k8s\.io$|^(apps|batch|policy|autoscaling|extensions|helm\.sh)$|\.istio\.io$")
"""API groups whose objects keep no secret in their status."""


def keeps_status(resource: Resource) -> bool:
    """True for a custom resource of a group that nobody here knows: its operator may write a secret into its status."""
    return resource.is_kubernetes and not _KNOWN_GROUPS.search(resource.group)


def tells_facts(resource: Resource) -> bool:
    """True for an object of Kubernetes' own that has no secret but what it was given: a Service with its address."""
    plain = resource.is_kubernetes and not resource.read_only and resource.kind not in {"Secret", "TokenRequest"}
    return plain and not keeps_status(resource) and resource.group != "helm.sh"


def _is_secret_status(path: Path, value: object) -> bool:
    text = value if isinstance(value, str) else ""
    return any(is_secrets_name(str(key)) for key in path[1:]) or is_random(text)


def is_minted(resource: Resource) -> bool:
    """True for a Secret whose data its cluster makes: the program asks for none."""
    return resource.kind == "Secret" and not any(at(resource.asked, key) for key in SECRET_DATA)
