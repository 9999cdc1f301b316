"""A keystore whose password stands beside it holds its key for whoever reads both."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from hosted_mesh_policies.detect.search.tree_text import text_of

WORD = "bridge-keystore"
KEY = ec.generate_private_key(ec.SECP256R1())
DER = KEY.private_bytes(serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
SEALED = serialization.BestAvailableEncryption(WORD.encode())
STORE = base64.b64encode(pkcs12.serialize_key_and_certificates(b"bridge", KEY, None, None, SEALED)).decode()
PEM = KEY.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, SEALED).decode()


def _data(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _secret(**body: Any) -> dict[str, Any]:
    labels = {f"example.com/label-{number}": f"value-{number}" for number in range(20)}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bridge", "labels": labels}, **body}


@pytest.mark.parametrize(
    "tree",
    [
        _secret(stringData={"keystore.p12": STORE, "keystore.pass": WORD}),
        _secret(data={"keystore.p12": STORE, "keystore.pass": _data(WORD)}),
        _secret(data={"keystore.p12": STORE}, stringData={"keystore.pass": WORD}),
        _secret(data={"keystore.p12": _data(STORE), "keystore.pass": _data(WORD)}),
        _secret(data={"tls.key": _data(PEM), "passphrase": _data(WORD)}),
        _secret(stringData={"tls.key": PEM, "passphrase": WORD}),
        {"values": {"tls": {"keystore": STORE, "password": WORD}, "names": [f"name-{n}" for n in range(20)]}},
    ],
    ids=["text", "data", "both", "base64 twice", "key", "key as text", "values"],
)
def test_a_password_beside_a_keystore_opens_it(tree: dict[str, Any]) -> None:
    assert DER in text_of(tree).buffer


def test_a_keystore_without_its_password_stays_closed() -> None:
    tree = _secret(data={"keystore.p12": STORE, "keystore.pass": _data("another-password")})
    assert DER not in text_of(tree).buffer
