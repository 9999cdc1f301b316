"""The search for stored secrets finds each form in which a secret can stand in etcd, and nothing else."""

from __future__ import annotations

import base64
import json

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given
from hypothesis import strategies as st

from sandbox.proof.stored_secrets import forms, searcher

NO_ENCRYPTION = serialization.NoEncryption()
PEM = serialization.Encoding.PEM
DER = serialization.Encoding.DER


def key(kind: str, encoding: serialization.Encoding) -> tuple[bytes, bytes]:
    """A fresh private key as PEM and once more in `encoding`; the kinds differ in algorithm and in frame."""
    algorithm, _, form = kind.partition(" ")
    made = ec.generate_private_key(ec.SECP256R1()) if algorithm == "ec" else rsa.generate_private_key(65537, 2048)
    style = serialization.PrivateFormat.TraditionalOpenSSL if form else serialization.PrivateFormat.PKCS8
    return made.private_bytes(PEM, style, NO_ENCRYPTION), made.private_bytes(encoding, style, NO_ENCRYPTION)


def finds(secret: bytes, stored: bytes) -> bool:
    return any(True for _ in searcher({"it": secret}).iter(stored.decode("latin-1")))


@pytest.mark.parametrize("kind", ["ec", "rsa", "ec traditional", "rsa traditional"])
@pytest.mark.parametrize(
    "disguise",
    [
        lambda pem: pem,
        lambda pem: json.dumps({"data": pem.decode()}).encode(),
        lambda pem: b"\x0a\x12protobuf" + pem.strip() + b"\x00",
        lambda pem: base64.b64encode(pem),
        lambda pem: base64.b64encode(b"x" + pem),
        lambda pem: base64.b64encode(b"xy" + pem),
        lambda pem: b"".join(pem.split(b"\n")),
    ],
    ids=["plain", "in JSON", "in protobuf", "base64", "base64 shifted 1", "base64 shifted 2", "on one line"],
)
def test_a_private_key_is_found_however_it_is_stored(kind, disguise):
    pem, _ = key(kind, PEM)
    assert finds(pem, b"before" + disguise(pem) + b"after")


@pytest.mark.parametrize("kind", ["ec", "rsa", "ec traditional", "rsa traditional"])
def test_a_private_key_is_found_as_der(kind):
    pem, der = key(kind, DER)
    assert finds(pem, b"\x00" + der)
    assert finds(pem, base64.b64encode(b"a" + der))


@pytest.mark.parametrize("kind", ["ec", "rsa", "ec traditional", "rsa traditional"])
def test_another_key_of_the_same_kind_is_not_taken_for_it(kind):
    (mine, _), (other, other_der) = key(kind, DER), key(kind, DER)
    assert not finds(mine, other + other_der + base64.b64encode(other))


@given(secret=st.binary(min_size=24, max_size=80), before=st.binary(max_size=40), after=st.binary(max_size=40))
def test_any_secret_is_found_inside_any_base64(secret, before, after):
    stripped = secret.strip()
    if len(stripped) >= 16:
        assert finds(secret, base64.b64encode(before + secret + after))


def test_short_values_are_not_searched_for():
    assert not forms(b"default")
