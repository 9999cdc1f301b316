"""The control plane's secrets whose values are known by now, as an index of fingerprints."""

from __future__ import annotations

import base64
import binascii
import fnmatch
from collections.abc import Iterator, Mapping
from typing import Any, Final

from .clusters import KUBECONFIG_KEYS, Clusters, Role
from .detect.atoms import atoms
from .detect.flow import ALL_SECRET_TYPES, KEY_TYPE, Flow
from .detect.index import Index
from .detect.places import as_bytes
from .model import Resource, Stack
from .settings import Settings
from .tree import Secret, Tree, at, leaves, plain, show

PROVIDER_NAMESPACES: Final = (
    "kubernetes:* aws:* azure*:* gcp:* google*:* cloudflare:* digitalocean:* hcloud:* linode:* openstack:* ovh:* vault:* "
    "ns1:* powerdns:*"
).split()
"""Configuration of the deployer's own providers: whatever is secret there is the provider's."""
AMBIENT: Final = (
    "AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN PULUMI_ACCESS_TOKEN PULUMI_CONFIG_PASSPHRASE CLOUDFLARE_API_TOKEN CF_API_TOKEN "
    "GOOGLE_CREDENTIALS ARM_CLIENT_SECRET AZURE_CLIENT_SECRET DIGITALOCEAN_TOKEN HCLOUD_TOKEN VAULT_TOKEN GITHUB_TOKEN "
    "RFC2136_TSIG_SECRET PDNS_API_KEY OVH_APPLICATION_SECRET LINODE_TOKEN"
).split()
"""Environment variables that hold the deployer's own credentials."""


def known_secrets(stack: Stack, clusters: Clusters, flow: Flow, settings: Settings, ambient: Mapping[str, str]) -> Index:
    """The index for a stack. Values born on a user's cluster (a token that its API server made) are the user's, wherever
    they are kept."""
    users = frozenset(_born_on_data_plane(stack, clusters))
    index = Index()
    for name in AMBIENT:
        add(index, users, ambient.get(name, "").encode(), f"the deployer's environment variable {name}", certain=True)
    for key in sorted(stack.secret_config_keys):
        if any(fnmatch.fnmatchcase(key, p) for p in (*PROVIDER_NAMESPACES, *settings.control_plane_config_keys)):
            add(index, users, stack.config.get(key, "").encode(), f"the secret configuration {key}", certain=True)
    for provider in clusters.providers.values():
        if clusters.role_of_provider(provider) is Role.CONTROL_PLANE:
            for key in KUBECONFIG_KEYS:
                data = as_bytes(at(provider.inputs, key))
                add(index, users, data, f"{provider.urn} {key}", certain=False)
    for resource in stack.resources:
        if resource.urn in flow.owned:
            add_secrets_of(resource, index, users)
    return index


def add(index: Index, users: frozenset[bytes], value: bytes, origin: str, *, certain: bool) -> None:
    """Adds a secret's fingerprints, but not those that are the user's."""
    index.add((atom for atom in atoms(value, certain=certain) if atom not in users), origin)


def add_secrets_of(resource: Resource, index: Index, users: frozenset[bytes]) -> None:
    """Adds what is secret in one control-plane resource: marked values, a Secret's data, a key, a password."""
    certain = resource.type in ALL_SECRET_TYPES or resource.type.startswith("random:")
    for tree in (resource.inputs, resource.outputs):
        for path, value in _secret_leaves(resource, tree):
            add(index, users, value, f"{resource.urn} {show(path)}", certain=certain)


def _secret_leaves(resource: Resource, tree: Tree) -> Iterator[tuple[tuple[str | int, ...], bytes]]:
    of_secret = resource.kind == "Secret"
    whole = resource.type in ALL_SECRET_TYPES or resource.type == KEY_TYPE
    for leaf in leaves(tree if tree is not None else {}):
        first = leaf.path[0] if leaf.path else ""
        if "ash" in str(first) or str(first).startswith("public"):
            continue  # a password's bcrypt hash, a key's public half: outputs that are there to be shown
        if of_secret and first in {"data", "stringData"}:
            data = as_bytes(leaf.value)
            yield leaf.path, _decoded(data) if first == "data" else data
        elif leaf.secret or (whole and first in {"result", "base64", "hex"}) or str(first).startswith("privateKey"):
            yield leaf.path, as_bytes(leaf.value)


def _decoded(data: bytes) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return data


def _born_on_data_plane(stack: Stack, clusters: Clusters) -> Iterator[bytes]:
    """Fingerprints of what users' clusters made themselves, and of the credentials that open only those clusters."""
    for provider in clusters.providers.values():
        if clusters.role_of_provider(provider) is Role.DATA_PLANE:
            for key in KUBECONFIG_KEYS:
                yield from atoms(as_bytes(at(provider.inputs, key)))
    for resource in stack.resources:
        if resource.kind == "Secret" and clusters.on_data_plane(resource):
            asked = set(_data_atoms(resource.inputs)) if resource.inputs is not None else None
            if asked is not None or resource.read_only:
                yield from (atom for atom in _data_atoms(resource.outputs) if atom not in (asked or ()))


def _data_atoms(tree: Any) -> Iterator[bytes]:
    while isinstance(tree, Secret):
        tree = tree.value
    for key in ("data", "stringData"):
        found = plain(at(tree, key))
        for leaf in leaves(found if isinstance(found, dict) else {}):
            data = as_bytes(leaf.value)
            yield from atoms(_decoded(data) if key == "data" else data)
