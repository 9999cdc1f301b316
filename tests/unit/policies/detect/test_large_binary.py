"""Large binary data: the decoders read an amount that grows with its size, and find what is in it."""

from __future__ import annotations

import base64
import random

import pytest
from hosted_mesh_policies.detect.decoders.layers import views
from hosted_mesh_policies.detect.search.index import Index
from hosted_mesh_policies.detect.secrets.fingerprints import fingerprints

from tests.corpus import literals

MEGABYTE = 1_000_000
MOST_READ = 6
"""Bytes read for each byte of base64. Half as many again were read when each of its runs was tried as base85 too."""


def _binary(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def _read(size: int) -> tuple[int, int]:
    """The bytes that are read of binary data in base64, and in how many pieces."""
    sizes = [len(view.data) for view in views(base64.b64encode(_binary(size)))]
    return sum(sizes), len(sizes)


def test_the_amount_read_grows_with_the_size() -> None:
    (half, few), (whole, more) = _read(MEGABYTE // 2), _read(MEGABYTE)
    assert whole <= MOST_READ * MEGABYTE * 4 / 3
    assert whole <= 2.5 * half
    assert more <= 2.5 * few


@pytest.mark.parametrize("place", [0, 1, 2, MEGABYTE // 2, MEGABYTE])
def test_a_secret_in_it_is_found(place: int) -> None:
    secret = literals.opaque("in binary data", 40).encode()
    index = Index()
    index.add(fingerprints(secret, certain=True), "secret")
    data = _binary(MEGABYTE)
    found = views(base64.b64encode(data[:place] + secret + data[place:]))
    assert any(any(index.search(view.data)) for view in found)
