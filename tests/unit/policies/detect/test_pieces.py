"""A secret is found in pieces with something written between them, whatever writes them; and nothing is, where no
secret is."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from hosted_mesh_policies.detect.search.index import Index
from hosted_mesh_policies.detect.search.tree_text import text_of
from hosted_mesh_policies.detect.secrets.fingerprints import fingerprints
from hosted_mesh_policies.detect.value.inspection import Match, inspect

SECRET = "ghjT6543dfghUYTR876kjhgKw2Qx"
WITH_SIGNS = "aB3$dE9f%Gh1jK2'lMn0pQ,rSt9vW"


def _matches(secret: str | bytes, tree: Any) -> tuple[Match, ...]:
    index = Index()
    index.add(fingerprints(secret.encode() if isinstance(secret, str) else secret, certain=True), "the secret")
    return inspect(text_of({"value": tree}), index).matches


def _cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


BETWEEN = {
    "dashes": "-",
    "plus": "' + '",
    "dots of Lua": '" .. "',
    "pipes of SQL": "' || '",
    "tags": "<wbr>",
    "spans": "</b><b class='x'>",
    "dots": ".",
    "underscores": "__",
    "lines of a table": " |\n| ",
}


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("size", [3, 5, 7])
def test_a_secret_is_found_with_something_between_its_pieces(size: int, between: str) -> None:
    assert _matches(SECRET, f'up = "{BETWEEN[between].join(_cut(SECRET, size))}"\n')
    assert not _matches(SECRET, f'up = "{BETWEEN[between].join(_cut(SECRET[:10], size))}"\n')


@pytest.mark.parametrize("between", ["plus", "tags"])
def test_a_decoder_sees_what_a_program_puts_together(between: str) -> None:
    coded = base64.b64encode(SECRET.encode()).decode()
    assert _matches(SECRET, f"up = '{BETWEEN[between].join(_cut(coded, 6))}'\n")


@pytest.mark.parametrize("line", ["P{}={}\n", "part_{} = '{}'\n", "const p{}='{}';\n", "Q{}:={}\n"])
def test_a_secret_is_found_in_variables(line: str) -> None:
    assert _matches(SECRET, "".join(line.format(*row) for row in enumerate(_cut(SECRET, 6))))


@pytest.mark.parametrize(
    "text",
    [
        WITH_SIGNS.replace("$", "$$"),
        WITH_SIGNS.replace("%", "%%"),
        "'" + WITH_SIGNS.replace("'", "''") + "'",
        "'" + WITH_SIGNS.replace("'", "'\\''") + "'",
        "".join(one if one.isalnum() else f"\\{ord(one):03}" for one in WITH_SIGNS),
        "".join(one if one.isalnum() else f"^{one}" for one in WITH_SIGNS),
    ],
)
def test_a_password_is_found_whatever_escapes_its_signs(text: str) -> None:
    assert _matches(WITH_SIGNS, f"ask uid={text},dc=example\n")


def test_a_short_password_is_found_whole_by_its_letters_alone() -> None:
    assert _matches("aB3$dE9f%Gh1'jK2", "ask aB3$$dE9f%%Gh1''jK2 now")
    assert not _matches("aB3$dE9f%Gh1'jK2", "ask aB3$$dE9f%%Gh1 now")


@pytest.mark.parametrize("number", ["p", "q", "d", "dmp1", "dmq1", "iqmp"])
@pytest.mark.parametrize("write", ["{:x}".format, "{:X}".format])
def test_each_private_number_of_an_rsa_key_is_looked_for(number: str, write: Any) -> None:
    key = generate_private_key(65537, 2048)
    form = serialization.PrivateFormat.TraditionalOpenSSL
    pem = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    assert _matches(pem, f"n: {write(getattr(key.private_numbers(), number))}\n")
    assert not _matches(pem, f"n: {write(key.public_key().public_numbers().n)}\n")


def test_values_of_their_own_are_no_pieces_of_one_text() -> None:
    """Letters and digits are looked at value by value, or far values would make a secret by chance."""
    pieces = _cut(SECRET, 7)
    assert not _matches(SECRET, {"a": f"{pieces[0]} and more words", "b": {"c": f"to {pieces[1]} of all the others"}})


def test_a_third_of_a_secret_is_found_where_it_stands_alone() -> None:
    token = "vX3kPq9LmZ7tRw2NcB8sHd5JfY4gKaU6eQxT"
    assert all(_matches(token, {"up": third}) for third in _cut(token, 12))
    assert not any(_matches(token, {"up": part}) for part in _cut(token, 9))
    assert not _matches(token + "x" * 8, {"up": token[:12]})  # too small a part of it


ID = "sdk-3f9a2b7c-4c1e-4b7a-9f00-d41d8cd98f00"
ELEMENTS = "<clickhouse><users><app><password>{}</password><profile>default</profile></app></users></clickhouse>"


def _found(secret: str, given: str) -> tuple[Match, ...]:
    """For a value of a Secret, of which only the key says that it is one."""
    index = Index()
    index.add(fingerprints(secret.encode(), name="password"), "the secret")
    return inspect(text_of({"value": given}), index).matches


@pytest.mark.parametrize(
    ("secret", "other"),
    [
        (ID, "sdk-77ab01ce-4c1e-4b7a-9f00-0a1b2c3d4e5f"),
        (ID, "other-4c1e-4b7a-9f00-other"),
        ("live.eu-central-1.shop-" + SECRET, "live.eu-central-1.shop-vX3kPq9LmZ7tRw2NcB8sHd5JfY4g"),
        (ELEMENTS.format(SECRET), ELEMENTS.format("vX3kPq9LmZ7tRw2NcB8s")),
        (ELEMENTS.format(SECRET), "clickhouse-users"),
    ],
    ids=["ids of one form", "their middle", "a common beginning", "elements", "a name like elements"],
)
def test_what_others_of_the_same_form_have_too_is_no_piece(secret: str, other: str) -> None:
    assert not _found(secret, other)
    assert not _found(secret, base64.b64encode(other.encode()).decode())
    assert _found(secret, secret)
    assert _found(secret, base64.b64encode(secret.encode()).decode())


@pytest.mark.parametrize(
    ("secret", "piece"),
    [
        (ID, ID[:24]),
        (ID, ID[4:]),
        ("abcdefghijklmnopqrstuvwxyzabcdefgh", "mnopqrstuvwxyzab"),  # one word may be by chance
        (ID, f"{ID[:17]} and {ID[17:32]}"),  # each less than half, both more
        (ID, "xx " + ID.replace("-", "")),
        ("live.eu-central-1.shop-" + SECRET, SECRET[:16]),
        ("72940518364027591836402759183640", "729405183640275"),  # a number is no word
        (ELEMENTS.format(SECRET), f"pw {SECRET}"),
        (ELEMENTS.format("correct-horse-battery"), "pw correct-horse-battery"),  # by the element's name
        (ELEMENTS.format(SECRET).replace("><", ">\n<"), f"pw {SECRET}"),
    ],
    ids=[
        "half",
        "most",
        "one word",
        "two parts",
        "without signs",
        "the rest",
        "number",
        "in an element",
        "words in one",
        "lines",
    ],
)
def test_what_is_a_secrets_alone_is_a_piece_of_it(secret: str, piece: str) -> None:
    assert _found(secret, piece)
