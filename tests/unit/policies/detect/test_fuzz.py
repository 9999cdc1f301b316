"""Nothing crashes the detectors, nothing takes long, and no exception's text is read out."""

from __future__ import annotations

import base64
import gzip
import io
import json
import lzma
import tarfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hosted_mesh_plan.clusters import cluster_of
from hosted_mesh_plan.model import Provider
from hosted_mesh_policies.detect.decoders.layers import views
from hosted_mesh_policies.detect.decoders.text import TooMuchError
from hosted_mesh_policies.detect.keys.der import is_keystore, is_public_der, private_numbers, public_key_of
from hosted_mesh_policies.detect.leaf.level import level_of
from hosted_mesh_policies.detect.leaf.public_structure import is_public
from hosted_mesh_policies.detect.secrets.fingerprints import fingerprints
from hosted_mesh_policies.detect.shape.shapes import shapes
from hosted_mesh_policies.pack.server import Analyzer
from hosted_mesh_policies.pack.session import Session
from hypothesis import given, settings
from hypothesis import strategies as st

_SIGNS = b"{ [ : - \n &a *a <<: !!binary %41 &#1; ://a:b@ eyJhbGciOi. \x30\x82 PK\3\4 \x1f\x8b\x08 ]\0\0"
SIGNS = st.sampled_from(_SIGNS.split(b" "))
TEXTS = st.lists(st.one_of(SIGNS, st.binary(max_size=12)), max_size=60).map(b"".join)


def _look(data: bytes) -> None:
    list(fingerprints(data))
    list(fingerprints(data, certain=True, name="password"))
    is_public(data)
    level_of(data, "x")
    try:
        list(views(data))
        list(shapes(data))
    except TooMuchError:
        pass
    private_numbers(data), public_key_of(data), is_public_der(data), is_keystore(data)
    cluster_of(Provider("urn", "pulumi:providers:kubernetes", "x", {"kubeconfig": data.decode("latin-1") + "\n"}))


@settings(max_examples=100)
@given(TEXTS)
def test_any_bytes_are_looked_at(data: bytes) -> None:
    _look(data)


LONGEST = 1 << 16
LONG = {
    "brackets": b"[" * LONGEST,
    "braces": b'{"a":' * (LONGEST // 5),
    "YAML lists in lists": b"- " * (LONGEST // 2),
    "indents": b"".join(b" " * n + b"a:\n" for n in range(1000)),
    "beginnings of keys": b"-----BEGIN PRIVATE KEY-----\n" * (LONGEST // 28),
    "beginnings of tokens": b"eyJ" * (LONGEST // 3),
    "one line": b"a" * LONGEST,
    "spaces": b" " * LONGEST,
    "percent signs": b"%41" * (LONGEST // 3),
    "aliases": b"a0: &a0 [x]\n" + b"".join(b"a%d: &a%d [%s]\n" % (n, n, b"*a%d," % (n - 1) * 9) for n in range(1, 30)),
    "merges": b"a0: &a0 {x: 1}\n"
    + b"".join(b"a%d: &a%d {<<: [%s]}\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 30)),
    "streams": base64.b64encode(gzip.compress(b"x")) * 200,
    "numbers": b"65," * (LONGEST // 3),
    "names of credentials": b"token" * (LONGEST // 5),
    "names of credentials and values": b"api-key: aB3dE7Gh1jK-%d\n" * (LONGEST // 24),
    "names beside values": b'name: "token"   value:' * (LONGEST // 22),
    "commands with passwords": b"curl -su mesh: docker login " * (LONGEST // 28),
}


@pytest.mark.parametrize("name", LONG)
def test_long_inputs_end(name: str) -> None:
    _look(LONG[name])


def test_a_bomb_in_a_bomb_ends() -> None:
    bomb = gzip.compress(gzip.compress(b"\0" * (300 << 20)))
    _look(base64.b64encode(bomb))
    _look(base64.b64encode(zlib.compress(json.dumps([0] * 10**6).encode())))


BOMB = b"\0" * (96 << 20)
MOST_MEMORY = 192 << 20
"""Thrice what may be unpacked: the pieces, what they are put together to, and what a decoder holds back."""


def _zipped(method: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("bomb", BOMB)
    return file.getvalue()


def _tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:bz2") as archive:
        member = tarfile.TarInfo("bomb")
        member.size = len(BOMB)
        archive.addfile(member, io.BytesIO(BOMB))
    return file.getvalue()


BOMBS: dict[str, Callable[[], bytes]] = {
    "xz": lambda: lzma.compress(BOMB, preset=0),
    "zip, bzip2": lambda: _zipped(zipfile.ZIP_BZIP2),
    "tar": _tar,
}


@pytest.mark.parametrize("kind", BOMBS)
def test_what_unpacks_to_too_much_is_refused_in_bounded_memory(kind: str) -> None:
    data = base64.b64encode(BOMBS[kind]())
    tracemalloc.start()
    try:
        with pytest.raises(TooMuchError):
            list(views(data))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < MOST_MEMORY


def test_what_breaks_outside_of_a_rule_is_a_violation_without_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ValueError("hunter2-is-the-password")

    monkeypatch.setattr(Session, "before_write", broken)
    monkeypatch.setattr(Session, "at_end", broken)
    analyzer = Analyzer({})
    said = [*analyzer.analyze(b"", None).diagnostics, *analyzer.analyze_stack(b"", None).diagnostics]
    assert ["could not evaluate (ValueError)" in one.message for one in said] == [True, True]
    assert not any("hunter2" in one.message for one in said)
