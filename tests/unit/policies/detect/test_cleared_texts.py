"""A look at many texts at once clears what is clean, and nothing that a look at one would find."""

from __future__ import annotations

import base64
import random
import string

import pytest
from hosted_mesh_policies.detect.decoders.layers import views
from hosted_mesh_policies.detect.decoders.text import BETWEEN
from hosted_mesh_policies.detect.search.index import Index
from hosted_mesh_policies.detect.search.tree_text import text_of
from hosted_mesh_policies.detect.secrets.fingerprints import fingerprints
from hosted_mesh_policies.detect.value.cleared_texts import cleared
from hosted_mesh_policies.detect.value.inspection import inspect

from tests.corpus import literals
from tests.corpus.wrappings import WRAPPINGS, wrap

CLEAN = [
    (f"clean{number}", f"setting {number}: the quick brown fox, https://a{number}.example.com".encode())
    for number in range(400)
]
SECRET = literals.opaque("screen")


def index() -> Index:
    found = Index()
    found.add(fingerprints(SECRET.encode()), "made here")
    return found


def test_what_is_clean_is_cleared():
    assert set(cleared(CLEAN, index())) == {name for name, _ in CLEAN}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_a_wrapped_secret_among_many_is_not(wrapping):
    hidden = ("hidden", f"x: {wrap(wrapping, SECRET)}".encode())
    assert "hidden" not in set(cleared([*CLEAN[:200], hidden, *CLEAN[200:]], index()))


def test_neither_is_a_credential_that_nobody_knows():
    key = ("key", literals.private_key("screen").encode())
    assert "key" not in set(cleared([*CLEAN[:9], key], Index()))


def test_a_wide_secret_under_base64_is_found_beside_much_else():
    text = b" ".join([base64.b64encode(f"words {number} here".encode()) for number in range(300)])
    hidden = base64.b64encode(SECRET.encode("utf-16-le"))
    assert any(SECRET.encode() in view.data for view in views(text + b" " + hidden))


@pytest.mark.parametrize("over", range(4))
def test_runs_decoded_together_come_out_as_each_alone(over):
    """Fill letters of one run must not stay behind it, nor a zero at its own end be lost."""
    secrets = [bytes([65 + number]) * (12 + over) + b"\0" for number in range(3)]
    text = b" ".join(base64.b64encode(secret) for secret in secrets)
    assert any(BETWEEN.join(secrets) in view.data for view in views(text))


@pytest.mark.parametrize("before, after", [("face: ", "\nbeef: 7"), ("value: ", ""), ("- 7\n- ", "\n- 7")])
@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_what_stands_around_a_wrapping_is_not_taken_for_a_part_of_it(wrapping: str, before: str, after: str) -> None:
    """A key's last letters are digits of base 16, and so is what comes after a list."""
    assert inspect(text_of(f"{before}{wrap(wrapping, SECRET)}{after}"), index()).matches


@pytest.mark.parametrize("end", [b"\1", b"\1\0", b"\1\0\1\0", b"\1\0\3", b"\0"])
@pytest.mark.parametrize("length", [20, 21, 22])
def test_a_piece_that_ends_like_what_stands_between_pieces_is_whole(end: bytes, length: int) -> None:
    """Such an end was taken for the beginning of the separator, and a compressed secret lost its last bytes."""
    pieces = [b"\xff" * (length - len(end)) + end, b"\xfe" * 20]
    text = b"\0".join(base64.b64encode(piece).rstrip(b"=") for piece in pieces)
    assert any(BETWEEN.join(pieces) in view.data for view in views(text))


@pytest.mark.parametrize("before", ["", "q", "qr", "qrs7abc"])
def test_base32_is_read_at_each_alignment(before: str) -> None:
    text = before + base64.b32encode(b"a-secret-of-20-bytes").decode().lower()
    assert any(b"secret-of-20-bytes" in view.data for view in views(text.encode()))


@pytest.mark.parametrize("length", range(16, 34))
def test_base32_at_each_alignment_is_what_the_standard_library_makes_of_it(length: int) -> None:
    run = "".join(random.Random(length).choices(string.ascii_uppercase + "234567", k=length))
    found = {view.data for view in views(run.encode())}
    for shift in range(8):
        whole = run[shift : length - {1: 1, 3: 1, 6: 1}.get((length - shift) % 8, 0)]
        expected = base64.b32decode(whole + "=" * (-len(whole) % 8))
        assert any(expected in data for data in found)
