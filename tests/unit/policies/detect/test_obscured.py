"""What looks encrypted, and is read with a key that everybody has."""

from __future__ import annotations

import base64
import json

import pytest
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hosted_mesh_policies.detect.decoders.obscured import plain
from hosted_mesh_policies.detect.search.index import Index
from hosted_mesh_policies.detect.search.tree_text import text_of
from hosted_mesh_policies.detect.value.inspection import inspect

SECRET = b"ghjT6543dfghUYTR876kjhgK"
KEY, OTHER = (base64.urlsafe_b64encode(bytes(range(first, first + 32))).decode() for first in (0, 7))
OF_RCLONE = bytes.fromhex("9c935b48730a554d6bfd7c63c886a92bd390198eb8128afbf4de162b8b95f638")


def _rclone(key: bytes) -> str:
    start = bytes(range(16))
    made = Cipher(algorithms.AES(key), modes.CTR(start)).encryptor().update(SECRET)
    return "[hub]\ntype = webdav\npass = " + base64.urlsafe_b64encode(start + made).rstrip(b"=").decode() + "\n"


def _xor(byte: int) -> str:
    return f'<auth password="{{xor}}{base64.b64encode(bytes(one ^ byte for one in SECRET)).decode()}"/>'


def _fernet(key: str) -> str:
    return json.dumps({"key": key, "payload": Fernet(KEY)._encrypt_from_parts(SECRET, 0, bytes(16)).decode()})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (_rclone(OF_RCLONE), True),
        (_rclone(bytes(32)), False),
        (_xor(0x5F), True),
        (_xor(0x41), False),
        (_fernet(KEY), True),
        (_fernet(OTHER), False),
    ],
    ids=["rclone", "another cipher", "xor", "another byte", "key beside it", "another key"],
)
def test_a_cipher_whose_key_is_known_is_a_coding(text: str, found: bool) -> None:
    index = Index()
    index.add([SECRET], "the secret")
    assert bool(inspect(text_of({"value": text}), index).matches) is found
    assert (SECRET in plain(text.encode())) is found


def test_what_rclone_itself_obscures_is_read() -> None:
    assert list(plain(b"pass = YWFhYWFhYWFhYWFhYWFhYXMaGgIlEQ")) == [b"potato"]  # of rclone's own tests


def test_parts_of_such_values_are_read_without_an_error() -> None:
    for text in (_rclone(OF_RCLONE), _xor(0x5F), _fernet(KEY)):
        for end in range(len(text)):
            list(plain(text[:end].encode()))
