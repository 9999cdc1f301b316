"""Claim: a search of every byte stored in the user's etcd for each control-plane secret finds nothing."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ahocorasick
from lightkube.resources.core_v1 import Secret

from sandbox import deployment
from sandbox.proof import istiod
from sandbox.proof.scene import NotObserved, Scene

SHORTEST = 16  # bytes; anything shorter would be found by chance, and no credential is that short
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 (a path)
ISTIO_TOKEN = "/var/run/secrets/tokens/istio-token"  # noqa: S105 (a path)
DATA_PLANE_ACCESS = "istio-kubeconfig"  # the user's own credential, lent to the provider: it may be in the user's etcd
CONTROL = "the public root certificate"
PUBLIC = ("cert.pem", "chain.pem", "ca.crt")


def observe(scene: Scene) -> str:
    """Searches every key and value, deleted and older revisions included as far as etcd still has them.

    The same search must find the mesh's root certificate, which is public and is stored there: a search that
    finds nothing at all proves nothing.
    """
    secrets = dict(control_plane_secrets(scene))
    if not any("key" in name.lower() for name in secrets):
        raise NotObserved("no control-plane key was found to search for")
    search = searcher({**secrets, CONTROL: scene.mesh.root_certificate.encode()})
    size = items = 0
    found: dict[str, str] = {}
    for key, value in scene.sandbox.data_plane.etcd_items():
        stored = key + b"\n" + value
        items, size = items + 1, size + len(stored)
        # Latin-1 maps each byte to one character, which is all that the automaton asks for.
        found |= {name: key.decode(errors="replace") for _, name in search.iter(stored.decode("latin-1"))}
    leaked = [f"{name} in {where}" for name, where in sorted(found.items()) if name != CONTROL]
    if leaked:
        raise NotObserved(f"stored in the user's etcd: {'; '.join(leaked[:5])}")
    if CONTROL not in found:
        raise NotObserved("the search did not even find the public root certificate, so it proves nothing")
    return f"{len(secrets)} secrets, plain and base64, in {items:,} records ({size / 1e6:.1f} MB): none found"


def searcher(secrets: Mapping[str, bytes]) -> ahocorasick.Automaton:
    """An automaton that finds any form of any secret in one pass and tells the secret's name."""
    automaton = ahocorasick.Automaton()
    for name, secret in secrets.items():
        for form in forms(secret):
            automaton.add_word(form.decode("latin-1"), name)
    automaton.make_automaton()
    return automaton


def forms(secret: bytes) -> set[bytes]:
    """How a secret may stand in stored bytes: plain, JSON-escaped, and base64 at each of the three alignments.

    A PEM is also looked for line by line and as its DER bytes: re-wrapped or unwrapped it is the same key.
    """
    plain = {secret.strip()}
    if secret.lstrip().startswith(b"-----BEGIN"):
        # Neither the frame ("-----BEGIN RSA PRIVATE KEY-----") nor headers ("Proc-Type: ...") are part of the key.
        lines = [line.strip() for line in secret.splitlines() if b"-----" not in line and b":" not in line]
        plain |= {line for line in lines if len(line) >= 2 * SHORTEST}
        # A middle part: the first bytes of a DER key are the same for all keys of a kind.
        der = base64.b64decode(b"".join(lines))
        plain.add(der[len(der) // 3 : len(der) // 3 * 2])
    plain |= {json.dumps(text.decode()).strip('"').encode() for text in plain if text.isascii()}
    plain = {text for text in plain if len(text) >= SHORTEST}
    return plain | {encoded for text in plain for encoded in _base64_anywhere(text)}


def _base64_anywhere(text: bytes) -> Iterator[bytes]:
    """The base64 of `text` inside a longer encoded text: for each alignment, the characters that only it decides."""
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + text)
        first = (0, 2, 3)[shift]
        last = len(encoded.rstrip(b"=")) - (0 if (len(text) + shift) % 3 == 0 else 1)
        yield encoded[first:last]


def control_plane_secrets(scene: Scene) -> Iterator[tuple[str, bytes]]:
    """Every secret of the control plane that can be read, with a name to report it by."""
    for secret in scene.provider.list(Secret, namespace="*"):
        assert secret.metadata is not None
        if secret.metadata.name == DATA_PLANE_ACCESS:
            continue
        for name, value in (secret.data or {}).items():
            if not name.endswith(PUBLIC):
                yield (
                    f"Secret {secret.metadata.namespace}/{secret.metadata.name}: {name}",
                    base64.b64decode(value),
                )
    yield from _files(scene)
    process = scene.program_of(istiod.live_pod(scene), istiod.PROGRAM)
    for path in (TOKEN, ISTIO_TOKEN):
        if token := process.file(path):
            yield f"istiod's token {Path(path).name}", token
    yield from _private_keys(deployment.export(scene.sandbox, scene.tools))


def _files(scene: Scene) -> Iterator[tuple[str, bytes]]:
    """Private keys of the provider's cluster itself: authorities, components, administrators, ServiceAccount tokens."""
    for path in scene.sandbox.control_plane.secret_files():
        if path.suffix == ".key":  # the kubeconfigs beside them hold the same keys
            yield f"provider's file {path.name}", path.read_bytes()


def _private_keys(state: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Private keys in the engine's state (read with secrets shown): the root's, each intermediate's."""
    for resource in state["deployment"]["resources"]:
        if resource["type"].startswith("tls:index/privateKey"):
            for name, value in resource["outputs"].items():
                if name.startswith("privateKey"):
                    yield f"key {resource['urn'].rsplit('::', 1)[-1]}: {name}", _plain(value).encode()


def _plain(value: Any) -> str:
    """A state export with secrets shown wraps each secret: {"4dabf...": ..., "plaintext": "<json>"}."""
    return str(json.loads(value["plaintext"])) if isinstance(value, dict) else str(value)
