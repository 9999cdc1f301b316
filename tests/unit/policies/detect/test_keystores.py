"""A keystore whose password stands beside it holds its key for whoever reads both."""

from __future__ import annotations

import base64
import datetime
import hashlib
from collections.abc import Collection
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import pkcs12
from hosted_mesh_policies.detect.keys import keystores
from hosted_mesh_policies.detect.search import tree_text
from hosted_mesh_policies.detect.search.tree_text import text_of
from hosted_mesh_policies.evaluation.context import Context
from hosted_mesh_policies.evaluation.rule import judge
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.plan.clusters import ClusterConfig
from hosted_mesh_policies.plan.model import Resource, Stack
from hosted_mesh_policies.plan.tree import Secret
from hosted_mesh_policies.rules.credentials import SHAPE

from tests.unit.policies.rules.sides import SIDES, resource

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


def test_a_password_is_found_among_much_else_in_its_map() -> None:
    """A Kafka client's Secret has a dozen settings; whoever reads it has the password that stands last among them."""
    settings = {f"client.setting-{number:02}": _data(f"value-{number}") for number in range(20)}
    tree = _secret(data={"a.p12": STORE, **settings, "keystore.password": _data(WORD)})
    assert DER in text_of(tree).buffer


def test_a_password_from_a_file_may_end_in_a_line_break() -> None:
    """`kubectl create secret --from-file` keeps the file's last line break, and what reads the file cuts it off."""
    tree = _secret(data={"keystore.p12": STORE, "keystore.pass": _data(WORD + "\n")})
    assert DER in text_of(tree).buffer


def test_what_only_begins_like_a_keystore_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ConfigMap with settings MIN_..., MILLIS_...: each was tried as a keystore, with all short values beside it."""
    tried: list[bytes] = []

    def notes(data: bytes, *_: object) -> tuple[bytes, ...]:
        tried.append(data)
        return ()

    monkeypatch.setattr(tree_text, "opened", notes)
    text_of({"kind": "ConfigMap", "data": {f"MIN_REPLICAS_{number}": f"v-{number}" for number in range(500)}})
    assert tried == []


def test_many_keystores_do_not_each_try_all_values_of_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key set has hundreds of certificates in base64, and each begins as a keystore does."""
    tried: list[int] = []

    def notes(_: bytes, passwords: Collection[bytes], *__: object) -> tuple[bytes, ...]:
        tried.append(len(passwords))
        return ()

    monkeypatch.setattr(tree_text, "opened", notes)
    certificates = {f"x5c-{number}": "MII" + "A" * 1000 for number in range(100)}
    text_of({"kind": "ConfigMap", "data": {**certificates, **{f"k{number}": f"v-{number}" for number in range(2000)}}})
    assert len(tried) == 100
    assert max(tried) <= 2 * keystores.MOST_PASSWORDS


def _said(*resources: Resource) -> list[str]:
    context = Context(Stack("s", resources), Settings(clusters=ClusterConfig(**SIDES)))
    return [finding.message for finding in judge(SHAPE, context)]


def test_a_keystore_in_marked_values_of_a_chart_is_kept_in_a_secret() -> None:
    """The release keeps them in a Secret, so "everybody who can read this object has it" is not true of a tenant's own
    keystore there."""
    values = {"tls": {"keystore": Secret(STORE), "password": Secret(WORD)}}
    chart = resource("kubernetes:helm.sh/v3:Release", "kafka", "users", inputs={"chart": "kafka", "values": values})
    assert not [one for one in _said(chart) if "outside a Secret" in one]


def _of_rounds(rounds: int) -> str:
    """The keystore with another number of rounds in its checksum's head: no password fits it any more."""
    store, written = base64.b64decode(STORE), rounds.to_bytes(4, "big")
    assert store.endswith(b"\x02\x02\x08\x00")
    at = store.rindex(b"\x30\x31\x30\x0d") - 2
    longer = bytes((store[at], store[at + 1] + 2)) + store[at + 2 : -4] + b"\x02\x04" + written
    size = int.from_bytes(store[2:4], "big") + 2
    return base64.b64encode(store[:2] + size.to_bytes(2, "big") + store[4:at] + longer).decode()


@pytest.mark.parametrize(("stores", "rounds"), [(1, 2**31 - 1), (1, 1_000_000), (30, 100_000)])
def test_what_it_costs_to_open_an_objects_keystores_is_bounded(
    monkeypatch: pytest.MonkeyPatch, stores: int, rounds: int
) -> None:
    """A tenant hands in a keystore of which the head says two thousand million rounds, and the host's previews hang;
    one of a million, as hardened ones have, takes eight seconds at each look. A round costs about half a microsecond.
    """
    tries: list[bytes] = []

    def load(data: bytes, password: bytes | None) -> None:
        tries.append(data)
        raise ValueError

    monkeypatch.setattr(keystores.pkcs12, "load_pkcs12", load)
    text_of(_secret(data={f"{number}.p12": _of_rounds(rounds) for number in range(stores)}))
    assert len(tries) * rounds <= 4_000_000


def _authority() -> tuple[bytes, str]:
    """A certificate authority's key in PEM, and in a keystore with its certificate."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hub root")])
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, KEY.public_key(), 7, now, now + datetime.timedelta(days=3650))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(KEY, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM), base64.b64encode(
        pkcs12.serialize_key_and_certificates(b"root", KEY, certificate, None, SEALED)
    ).decode()


def test_an_authoritys_key_stays_refused_in_a_keystore_that_its_password_opens() -> None:
    """The hub's root, read from root.p12 with its password, is put into a tenant's Secret: whoever reads both makes any
    identity of the mesh. As PEM it is refused."""
    certificate, store = _authority()
    plain = {"tls.crt": _data(certificate.decode()), "tls.key": _data(_plain())}
    assert _said(resource("kubernetes:core/v1:Secret", "plain", "users", inputs=_secret(data=plain)))
    kept = {"root.p12": store, "password": _data(WORD)}
    assert _said(resource("kubernetes:core/v1:Secret", "kept", "users", inputs=_secret(data=kept)))


def test_a_key_without_a_certificate_stays_refused_in_a_keystore_that_its_password_opens() -> None:
    """Of a key alone nothing shows that it is the tenant's, in PEM or in a keystore: it may be the hub's own."""
    plain = {"signing.key": _data(_plain())}
    assert _said(resource("kubernetes:core/v1:Secret", "plain", "users", inputs=_secret(data=plain)))
    kept = {"signing.p12": STORE, "password": _data(WORD)}
    assert _said(resource("kubernetes:core/v1:Secret", "kept", "users", inputs=_secret(data=kept)))


def _plain() -> str:
    form, format_ = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return KEY.private_bytes(form, format_, serialization.NoEncryption()).decode()


def test_entries_of_a_java_keystore_that_claim_each_other_are_not_gone_through_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A made-up keystore of 33 kB, whose entries claim each other, took six seconds, and one of 90 kB a minute."""
    protector, reach, digests = bytes.fromhex("060a2b060104012a02110101"), 2000, []
    head, inside = reach.to_bytes(2, "big"), (reach - 20).to_bytes(2, "big")
    entry = b"\x30\x82" + head + b"\x30\x0e" + protector + b"\x05\x00\x04\x82" + inside
    real = hashlib.sha1

    def noted(data: bytes, **more: bool) -> Any:
        digests.append(len(data))
        return real(data, **more)

    monkeypatch.setattr(keystores.hashlib, "sha1", noted)
    store = b"\xfe\xed\xfe\xed" + entry * 200 + bytes(reach)
    text_of(_secret(data={"a.jks": base64.b64encode(store).decode(), "word": _data(WORD)}))
    assert 0 < len(digests) < len(store) * keystores.MOST_PASSWORDS


def _java(key: bytes, *chain: bytes) -> bytes:
    """An entry of a Java keystore, as `keytool` writes it: the key behind WORD, and the certificates of its chain."""
    word, salt, stream = WORD.encode("utf-16-be"), bytes(range(20)), b""
    digest = salt
    while len(stream) < len(key):
        digest = hashlib.sha1(word + digest, usedforsecurity=False).digest()
        stream += digest
    hidden = bytes(one ^ other for one, other in zip(key, stream, strict=False))
    octets = salt + hidden + hashlib.sha1(word + key, usedforsecurity=False).digest()
    entry = _der(0x30, bytes.fromhex("300e060a2b060104012a021101010500") + _der(0x04, octets))
    certificates = b"".join(b"\0\x05X.509" + len(one).to_bytes(4, "big") + one for one in chain)
    return b"\xfe\xed\xfe\xed" + bytes(20) + entry + len(chain).to_bytes(4, "big") + certificates


def test_a_short_key_in_a_java_keystore_is_opened() -> None:
    """`keytool -keyalg EC` makes an entry of less than 128 bytes, whose length is one byte: none was opened."""
    form, format_ = serialization.Encoding.DER, serialization.PrivateFormat.PKCS8
    key = ed25519.Ed25519PrivateKey.generate().private_bytes(form, format_, serialization.NoEncryption())
    assert _java(key).index(bytes.fromhex("060a2b060104012a02110101")) == 24 + 4
    store = base64.b64encode(_java(key)).decode()
    assert key in text_of(_secret(data={"keystore.jks": store, "password": _data(WORD)})).buffer


def _certificate(*, is_authoritys: bool) -> bytes:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hub")])
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    return (
        x509.CertificateBuilder(name, name, KEY.public_key(), 7, now, now + datetime.timedelta(days=365))
        .add_extension(x509.BasicConstraints(ca=is_authoritys, path_length=None), critical=True)
        .sign(KEY, hashes.SHA256())
        .public_bytes(serialization.Encoding.DER)
    )


@pytest.mark.parametrize(
    ("chain", "is_refused"),
    [
        ([_certificate(is_authoritys=True)], True),
        ([], True),
        ([_certificate(is_authoritys=False)], False),
        ([_certificate(is_authoritys=False), _certificate(is_authoritys=True)], False),
    ],
    ids=["an authority's", "alone", "with its certificate", "with its chain"],
)
def test_a_key_in_a_java_keystore_is_judged_by_its_certificate(chain: list[bytes], is_refused: bool) -> None:
    """As in PKCS#12: an authority's key makes any identity, and of a key alone nothing shows whose it is."""
    kept = {"a.jks": base64.b64encode(_java(DER, *chain)).decode(), "password": _data(WORD)}
    assert bool(_said(resource("kubernetes:core/v1:Secret", "kept", "users", inputs=_secret(data=kept)))) is is_refused


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    return bytes((tag, size) if size < 128 else (tag, 0x81, size)) + content
