"""The search for stored secrets: what it looks for, whatever the thing is called, and in which disguises."""

from __future__ import annotations

import base64
import bz2
import gzip
import hashlib
import json
import urllib.parse
import zlib
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from hypothesis import given
from hypothesis import strategies as st

from sandbox.proof import records
from sandbox.proof.deployed import NotObserved
from sandbox.proof.stored_secrets import CONTROL, Found, find, look, search_for, signed_by, state
from tests.support.authorities import Authority, pem

ROOT = Authority("root")
NO_ENCRYPTION = serialization.NoEncryption()
PASSWORD = b"Tr0ub4dor-and-3-horses"


def private_key(kind: str) -> bytes:
    algorithm, _, form = kind.partition(" ")
    made = ec.generate_private_key(ec.SECP256R1()) if algorithm == "ec" else rsa.generate_private_key(65537, 2048)
    style = serialization.PrivateFormat.TraditionalOpenSSL if form else serialization.PrivateFormat.PKCS8
    return made.private_bytes(serialization.Encoding.PEM, style, NO_ENCRYPTION)


def der(key: bytes) -> bytes:
    return base64.b64decode(b"".join(line for line in key.splitlines() if b"-----" not in line))


def nobodys(token: bytes) -> bool:
    return False


def is_found(secret: bytes, stored: bytes, *, name: str = "it", own=nobodys, certain: bool = False) -> bool:
    search = search_for({"a source": [Found(name, secret, certain), Found("other", private_key("ec"))]}, own)
    return find(search, b"/registry/it", stored, set()) == {name}


def record(*fields: bytes) -> bytes:
    """As an API server stores an object: the mark, and messages in a message."""
    inner = b"".join(b"\x12" + length(one) + one for one in fields)
    metadata = b"\x0a\x04leak"
    whole = b"\x0a" + length(metadata) + metadata + inner
    return b"k8s\0" + b"\x0a\x04kind\x12" + length(whole) + whole + b"\x1a\0"


def length(data: bytes) -> bytes:
    number = len(data)
    return bytes([number & 0x7F | 0x80, number >> 7]) if number > 127 else bytes([number])


DISGUISES: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda text: text,
    "in JSON": lambda text: json.dumps({"data": text.decode()}).encode(),
    "in JSON in YAML in JSON": lambda text: json.dumps({"a": "b: " + json.dumps({"c": text.decode()})}).encode(),
    "in protobuf": lambda text: b"\x0a\x12protobuf" + text + b"\x00",
    "base64": base64.b64encode,
    "base64 shifted 1": lambda text: base64.b64encode(b"x" + text),
    "base64 shifted 2": lambda text: base64.b64encode(b"xy" + text),
    "base64 twice": lambda text: base64.b64encode(base64.b64encode(text)),
    "base64 folded": base64.encodebytes,
    "base64 URL": base64.urlsafe_b64encode,
    "base32": base64.b32encode,
    "hex": lambda text: text.hex().encode(),
    "URL-encoded": lambda text: urllib.parse.quote(text).encode(),
    "gzip": gzip.compress,
    "gzip in base64": lambda text: base64.b64encode(gzip.compress(text)),
    "zlib": zlib.compress,
    "bzip2": bz2.compress,
    "UTF-16": lambda text: text.decode().encode("utf-16"),
}


@pytest.mark.parametrize("kind", ["ec", "rsa", "ec traditional", "rsa traditional"])
@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_private_key_is_found_however_it_is_stored(kind, disguise):
    key = private_key(kind)
    assert is_found(key, record(b"before", DISGUISES[disguise](key), b"after"))


@pytest.mark.parametrize("disguise", DISGUISES)
def test_so_is_a_password(disguise):
    assert is_found(PASSWORD, record(b"before", DISGUISES[disguise](PASSWORD), b"after"), certain=True)


@pytest.mark.parametrize("kind", ["ec", "rsa"])
def test_so_is_a_key_as_der_and_on_one_line(kind):
    key = private_key(kind)
    assert is_found(key, b"\x00" + der(key))
    assert is_found(key, b"".join(key.split(b"\n")))


@pytest.mark.parametrize("kind", ["ec", "rsa", "ec traditional", "rsa traditional"])
def test_another_key_of_the_same_kind_is_not_taken_for_it(kind):
    other = private_key(kind)
    assert not is_found(private_key(kind), other + der(other) + base64.b64encode(other))


@given(before=st.binary(max_size=40), after=st.binary(max_size=40))
def test_any_base64_around_it_is_undone(before, after):
    key = private_key("ec")
    assert is_found(key, base64.b64encode(before + key + after))


@pytest.mark.parametrize("name", ["cacerts: cert.pem", "tls: chain.pem", "x: ca.crt", "istio-kubeconfig: config"])
def test_a_secret_counts_whatever_it_is_called(name):
    key = private_key("ec")
    assert is_found(key, key, name=name)


def test_a_certificate_is_none_whatever_it_is_called():
    certificate = pem(ROOT.certificate)
    assert not is_found(certificate, certificate, name="cacerts: key.pem")


WORDS = [
    b"HTTP2ProtocolOptions",
    b"registry-k8s-io-Pause3",
    b"4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    b"v1beta1Default",
]


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_none_and_letters_by_chance_are(word):
    drawn = base64.b64encode(hashlib.sha256(word).digest())
    assert not is_found(b"kind: " + word, word)
    assert is_found(b"kind: " + word + b"\ntoken: " + drawn, drawn)
    assert is_found(b"token: " + drawn, base64.b64decode(drawn))


class Signer:
    """An API server, as far as its tokens go."""

    def __init__(self):
        self._key = rsa.generate_private_key(65537, 2048)
        numbers = self._key.public_key().public_numbers()
        self.keys = {"keys": [{"kty": "RSA", "n": number(numbers.n), "e": number(numbers.e)}]}

    def token(self, **claims: str) -> bytes:
        signed = b".".join(text(json.dumps(part).encode()) for part in ({"alg": "RS256"}, claims))
        return signed + b"." + text(self._key.sign(signed, padding.PKCS1v15(), hashes.SHA256()))


def text(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def number(value: int) -> str:
    return text(value.to_bytes((value.bit_length() + 7) // 8, "big")).decode()


CONTROL_PLANE, DATA_PLANE = Signer(), Signer()


@pytest.mark.parametrize("wrap", [lambda token: token, lambda token: b"users:\n- user: {token: " + token + b"}\n"])
def test_a_token_of_the_data_planes_own_is_none_and_any_other_is(wrap):
    own = signed_by(DATA_PLANE.keys)
    lent, foreign = DATA_PLANE.token(sub="istiod-of-the-mesh"), CONTROL_PLANE.token(sub="istiod-of-the-mesh")
    assert not is_found(wrap(lent), lent, own=own, name="istio-kubeconfig: config")
    assert is_found(wrap(foreign), foreign, own=own, name="istio-kubeconfig: config")


def test_a_key_beside_the_data_planes_token_is_still_looked_for():
    key, token = private_key("ec"), DATA_PLANE.token(sub="istiod")
    assert is_found(token + b"\n" + key, key, own=signed_by(DATA_PLANE.keys))


def test_every_secret_of_the_engines_state_counts():
    marked = {
        "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
        "plaintext": json.dumps("s3cret-of-1"),
    }
    key = private_key("ec").decode()
    resources = [
        {"urn": "urn:pulumi:s::p::x:index:Any::any", "type": "x:index:Any", "outputs": {"where": {"deep": [marked]}}},
        {
            "urn": "urn:pulumi:s::p::random:index/randomPassword:RandomPassword::pw",
            "type": "random:index/randomPassword:RandomPassword",
            "outputs": {"result": "correcthorse"},
        },
        {
            "urn": "urn:pulumi:s::p::tls:index/privateKey:PrivateKey::key",
            "type": "tls:index/privateKey:PrivateKey",
            "outputs": {"privateKeyPem": key, "publicKeyPem": "public"},
        },
    ]
    found = {one.value for one in state({"deployment": {"resources": resources}})}
    assert found == {b"s3cret-of-1", b"correcthorse", key.encode()}


@pytest.mark.parametrize("source", [[], [Found("certificate", pem(ROOT.certificate))], [Found("word", b"default")]])
def test_a_source_without_a_secret_is_a_failure(source):
    with pytest.raises(NotObserved, match="no secret was found in the engine's state"):
        search_for({"files": [Found("key", private_key("ec"))], "the engine's state": source}, nobodys)


def searching() -> tuple[bytes, object]:
    key = private_key("ec")
    search = search_for({"files": [Found("the key", key)]}, nobodys)
    search.add_bytes(CONTROL, ROOT.certificate.signature)
    return key, search


def test_a_search_that_finds_the_control_and_nothing_else_is_evidence():
    _, search = searching()
    records = [
        (b"/registry/secrets/a", b"nothing"),
        (b"/registry/configmaps/root", base64.b64encode(pem(ROOT.certificate))),
    ]
    assert look(search, records) == (2, sum(len(key) + len(value) + 1 for key, value in records))


def test_a_leak_in_one_revision_of_many_is_found():
    key, search = searching()
    revisions = [record(b"the same", str(number).encode()) for number in range(3)]
    leaking = record(b"the same", base64.b64encode(key), b"3")
    items = [(b"/registry/configmaps/a", one) for one in (*revisions, leaking, *revisions)]
    with pytest.raises(NotObserved, match="the key in /registry/configmaps/a"):
        look(search, [*items, (b"/registry/root", pem(ROOT.certificate))])


def test_a_search_that_finds_nothing_at_all_proves_nothing():
    _, search = searching()
    with pytest.raises(NotObserved, match="proves nothing"):
        look(search, [(b"/registry/secrets/a", b"nothing")])


@pytest.mark.parametrize("part", ["key", "value"])
def test_a_leak_is_told_with_its_place_and_without_the_secret(part):
    key, search = searching()
    leak = base64.urlsafe_b64encode(key)
    leaking = (b"/registry/a/" + leak, b"") if part == "key" else (b"/registry/configmaps/leak", leak)
    with pytest.raises(NotObserved, match="the key in /registry") as told:
        look(search, [leaking, (b"/registry/root", pem(ROOT.certificate))])
    assert part == "key" or "PRIVATE" not in str(told.value)


def test_what_cannot_be_searched_to_its_end_is_told():
    _, search = searching()
    bomb = gzip.compress(b"\0" * (65 * 1024 * 1024))
    with pytest.raises(NotObserved, match="/registry/bomb cannot be searched"):
        look(search, [(b"/registry/bomb", bomb)])


@pytest.mark.parametrize(
    "data", [b"", b"plain", b"k8s\0", b"k8s\0\x12\x7fcut short", b'{"kind": "ConfigMap"}', b"k8s\0\xff" * 9]
)
def test_what_is_no_protobuf_record_has_no_values(data):
    assert records.values(data) == []


@given(st.lists(st.binary(min_size=1, max_size=60).map(lambda one: b"\xff" + one), max_size=5))
def test_every_value_of_a_record_is_given(given):
    """The first byte is one that no message begins with."""
    assert set(given) <= set(records.values(record(*given)))
