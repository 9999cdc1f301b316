"""The table and the state's backend of `make bench ARGS="tenants --side-by-side 10"`."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from bench.object_store import BUCKET, ObjectStore, listed, serving, unchunked
from bench.side_by_side import Together, grid

LATENCY = 0.2
S3 = "{http://s3.amazonaws.com/doc/2006-03-01/}"


@pytest.fixture
def store() -> Iterator[ObjectStore]:
    with serving(0.0) as found:
        yield found


def asked(store: ObjectStore, method: str, key: str, body: bytes | None = None, **headers: str) -> bytes:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    url = f"http://127.0.0.1:{store.port}/{BUCKET}/{key}"
    request = urllib.request.Request(url, data=body, method=method, headers=named)
    with urllib.request.urlopen(request, timeout=10) as answer:
        content: bytes = answer.read()
    return content


def test_an_object_is_read_copied_and_deleted(store: ObjectStore) -> None:
    asked(store, "PUT", "a/b.json", b"one")
    assert asked(store, "GET", "a/b.json") == b"one"
    asked(store, "PUT", "a/b.json.bak", b"", x_amz_copy_source=f"{BUCKET}/a/b.json")
    asked(store, "DELETE", "a/b.json")
    assert store.objects == {"a/b.json.bak": b"one"}
    with pytest.raises(urllib.error.HTTPError, match="404"):
        asked(store, "GET", "a/b.json")
    assert store.requests == {"PUT": 2, "GET": 2, "DELETE": 1}


def test_content_in_chunks_is_stored_without_their_sizes(store: ObjectStore) -> None:
    chunks = b"3;chunk-signature=0\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nx-amz-checksum-crc32:AAAA\r\n\r\n"
    assert unchunked(chunks) == b"abc0123456789abcdef"
    asked(store, "PUT", "a", chunks, Content_Encoding="aws-chunked")
    assert store.objects["a"] == b"abc0123456789abcdef"


def test_a_list_has_objects_and_folders_below_the_prefix() -> None:
    objects = {"x/a.json": b"", "x/b/c": b"", "x/b/d": b"", "y": b""}
    found = ElementTree.fromstring(listed(objects, {"prefix": ["x/"], "delimiter": ["/"]}))
    assert [one.text for one in found.iter(f"{S3}Key")] == ["x/a.json"]
    assert [one.findtext(f"{S3}Prefix") for one in found.iter(f"{S3}CommonPrefixes")] == ["x/b/"]
    everything = ElementTree.fromstring(listed(objects, {}))
    assert [one.text for one in everything.iter(f"{S3}Key")] == sorted(objects)


def test_each_answer_comes_after_the_latency(store: ObjectStore) -> None:
    store.latency = LATENCY
    began = time.monotonic()
    asked(store, "PUT", "a", b"one")
    asked(store, "GET", "a")
    assert time.monotonic() - began >= 2 * LATENCY


def test_the_goal_is_for_the_backend_with_latency_alone() -> None:
    fast = Together(10, 0.1, 105.0, 30.0, 40.0, 55)
    slow = Together(10, 0.1, 60.0, 30.0, 40.0, 55)
    without = Together(10, 0.0, 31.0, 20.0, 40.0, 55)
    rows = grid([fast, slow, without]).rows
    assert rows[0] == ["100 ms", "105.0 s", "30.0 s", "3.50", "met", "55", "4.0 s"]
    assert [row[4] for row in rows] == ["met", "missed", ""]
