"""Claim: a search of every byte stored in the data plane's etcd for each control-plane secret finds nothing.

Content, never a name, decides that a value is no secret of the control plane: certificates give no access. Tokens
signed by the data plane's own API server belong to the data plane, wherever they are.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from lightkube import Client
from lightkube.resources.core_v1 import Namespace, Secret

from sandbox.clusters import Cluster
from sandbox.clusters.readiness import get_text
from sandbox.proof import istiod, records
from sandbox.proof.deployed import Deployed, NotObserved
from sandbox.proof.secret_search import Search, secrets_of_state

CONTROL = "the public root certificate"
_TOKEN = re.compile(rb"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,}")
# istiod's process may hold secrets that no API server stores: a token of its own cluster, a key of its own making.
_SECRETS = "/var/run/secrets"
_FILES = (f"{istiod.KUBERNETES_TOKEN}/token", f"{_SECRETS}/tokens/istio-token", f"{_SECRETS}/istio-dns/key.pem")


class Found(NamedTuple):
    """A secret in its place. certain: secret as a whole, in any form."""

    name: str
    value: bytes
    certain: bool = False


def observe(deployed: Deployed) -> str:
    """Searches every key and value, deleted and older revisions included as far as etcd still has them.

    The same search must find the mesh's root certificate, which is public and stored there: a search without any hit
    proves nothing.
    """
    names = {str(one.metadata.name) for one in deployed.control_plane.list(Namespace) if one.metadata}
    sources = {
        "the control plane's Secrets": stored(deployed.control_plane),
        "the control plane's key files": files(deployed.sandbox.control_plane),
        "the engine's state": [found for one in deployed.engine_states() for found in state(one)],
    }
    search = search_for(sources, signed_by(json.loads(get_text(deployed.sandbox.data_plane, "/openid/v1/jwks"))), names)
    for one in held_by_istiod(deployed):
        search.add(one.name, one.value)
    search.add_bytes(CONTROL, x509.load_pem_x509_certificate(deployed.mesh.root_certificate.encode()).signature)
    count = len(search) - 1
    items, size = look(search, deployed.sandbox.data_plane.etcd_items())
    return f"{count} secrets, plain or encoded, in {items:,} records ({size / 1e6:.1f} MB): none found"


def look(search: Search, items: Iterable[tuple[bytes, bytes]]) -> tuple[int, int]:
    """Number and bytes of the records, when only the control value was in them. Raises NotObserved otherwise."""
    size = count = 0
    found: dict[str, str] = {}
    searched: set[bytes] = set()
    for key, value in items:
        stored, where = key + b"\n" + value, key.decode(errors="replace")
        count, size = count + 1, size + len(stored)
        try:
            found |= dict.fromkeys(find(search, key, value, searched), where)
        except ValueError as error:
            raise NotObserved(f"{where} cannot be searched: {error}") from None
    leaked = [f"{name} in {where}" for name, where in sorted(found.items()) if name != CONTROL]
    if leaked:
        raise NotObserved(f"stored in the data plane's etcd: {'; '.join(leaked[:5])}")
    if CONTROL not in found:
        raise NotObserved("the search did not find even the public root certificate, so it proves nothing")
    return count, size


def find(search: Search, key: bytes, value: bytes, searched: set[bytes]) -> set[str]:
    """Names of the values in one record. searched: values of earlier records, skipped here; the new ones are added.

    An object's revisions differ in few of their values, and undoing every encoding takes most of the time.
    """
    parts = records.values(value)
    if not parts:
        return search.find(key + b"\n" + value)
    new = dict.fromkeys(part for part in (key, *parts) if part not in searched)
    searched |= new.keys()
    return search.find(*new) | search.standing_in(key + b"\n" + value)


def search_for(
    sources: Mapping[str, Iterable[Found]], is_data_planes: Callable[[bytes], bool], names: Iterable[str] = ()
) -> Search:
    """A search for all secrets of these sources. Raises NotObserved for a source without any: reading it must have
    failed.

    is_data_planes: whether a token belongs to the data plane. names: of objects, which are public.
    """
    search, read = Search(set(names)), {name: list(source) for name, source in sources.items()}
    for found in (one for source in read.values() for one in source):
        for token in tokens(found.value):
            if is_data_planes(token):
                search.leave_out(token)
    for name, source in read.items():
        gave = [search.add(one.name, one.value, certain=one.certain) for one in source]
        if not any(gave):
            raise NotObserved(f"no secret was found in {name}, so there was nothing to search for")
    return search


def tokens(value: bytes) -> list[bytes]:
    """The JWTs in a value, such as a kubeconfig."""
    return _TOKEN.findall(value)


def signed_by(keys: Mapping[str, Any]) -> Callable[[bytes], bool]:
    """Recognises an API server's tokens by its public keys (`/openid/v1/jwks`)."""
    public = [rsa.RSAPublicNumbers(_number(one["e"]), _number(one["n"])).public_key() for one in keys["keys"]]

    def is_its(token: bytes) -> bool:
        signed, _, signature = token.rpartition(b".")
        return any(_verifies(key, signed, signature) for key in public)

    return is_its


def _verifies(key: rsa.RSAPublicKey, signed: bytes, signature: bytes) -> bool:
    try:
        key.verify(_bytes(signature), signed, padding.PKCS1v15(), SHA256())
    except (InvalidSignature, binascii.Error):
        return False
    return True


def _bytes(text: bytes) -> bytes:
    return base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))


def _number(text: str) -> int:
    return int.from_bytes(_bytes(text.encode()), "big")


def stored(control_plane: Client) -> Iterator[Found]:
    """Every value of every Secret of the control plane's cluster."""
    for secret in control_plane.list(Secret, namespace="*"):
        assert secret.metadata is not None
        for name, value in (secret.data or {}).items():
            yield Found(f"Secret {secret.metadata.namespace}/{secret.metadata.name}: {name}", base64.b64decode(value))


def files(control_plane: Cluster) -> Iterator[Found]:
    """Keys of the control plane's cluster itself: authorities, components, administrators, ServiceAccount tokens."""
    for path in control_plane.secret_files():
        yield Found(f"the control plane's file {path.name}", path.read_bytes())


def held_by_istiod(deployed: Deployed) -> Iterator[Found]:
    """Secrets in files of istiod's process that no API server stores; there may be none."""
    process = deployed.program_of(istiod.live_pod(deployed), istiod.PROGRAM)
    for path in _FILES:
        if content := process.file(path):
            yield Found(f"istiod's file {Path(path).name}", content)


def state(exported: Mapping[str, Any]) -> Iterator[Found]:
    """Every secret in the engine's states."""
    for name, value, certain in secrets_of_state(exported):
        yield Found(f"state of {name}", value, certain)
