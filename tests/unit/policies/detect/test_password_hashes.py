"""Hashes that log in like the password that they are made of."""

from __future__ import annotations

import hashlib

import pytest
from hosted_mesh_policies.detect.search.index import Index
from hosted_mesh_policies.detect.search.password_hashes import MOST_TRIED, logins
from hosted_mesh_policies.detect.search.tree_text import text_of
from hosted_mesh_policies.detect.value.inspection import inspect

SECRET = "ghjT6543dfghUYTR876kjhgK"


def _md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f'"hub" "md5{_md5(SECRET + "hub")}"\n', True),
        (f"CREATE ROLE \"hub\" PASSWORD 'md5{_md5(SECRET + 'hub')}';", True),
        (f"first:x\nhub:platform:{_md5(f'hub:platform:{SECRET}')}\n", True),
        (f'"hub" "md5{_md5("another" + "hub")}"\n', False),
        (f'"hub" "md5{_md5(SECRET + "other")}"\n', False),
        (f"hub:platform:{_md5(f'hub:elsewhere:{SECRET}')}\n", False),
        (f"sha256:{hashlib.sha256(SECRET.encode()).hexdigest()}", False),
    ],
)
def test_a_login_made_of_a_known_password_is_found(text: str, found: bool) -> None:
    index = Index()
    index.add([SECRET.encode()], "here")
    assert bool(inspect(text_of({"data": {"file": text}}), index).matches) is found


def test_a_text_of_many_hashes_is_not_tried_for_ever() -> None:
    line = b" ".join(b"word%d" % number for number in range(50)) + b" md5" + b"0" * 32 + b"\n"
    assert len(list(logins(line * 100))) == MOST_TRIED
