"""YAML has the types of its version 1.2, and no text ends the process or leaves `UNPARSABLE`."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hosted_mesh_plan import yaml_text as in_plan
from hypothesis import given
from hypothesis import strategies as st
from pulumi_hosted_mesh import yaml_text

VALUES: list[tuple[str, Any]] = [
    ("2024-01-01", "2024-01-01"),
    ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
    ("2024-13-45", "2024-13-45"),
    ("yes", "yes"),
    ("on", "on"),
    ("true", True),
    ("TRUE", True),
    ("012", 12),
    ("0o17", 15),
    ("0x1F", 31),
    ("1_000", "1_000"),
    ("1:30", "1:30"),
    ("1.30", 1.3),
    ("1e3", 1000.0),
    ("=", "="),
    ("~", None),
    ("", None),
    ("!!binary aGk=", "aGk="),
    ("!!timestamp 2024-01-01", "2024-01-01"),
]


@pytest.mark.parametrize(("written", "value"), VALUES)
def test_types(written: str, value: Any) -> None:
    found = yaml_text.load(f"a: {written}")["a"]
    assert (found, isinstance(found, str)) == (value, isinstance(value, str))
    json.dumps(found)


def test_a_number_keeps_its_spelling() -> None:
    found = yaml_text.load("[012345670123, 1.30, 7]")
    assert list(map(str, found)) == ["012345670123", "1.30", "7"]
    assert type(found[2]) is int


def test_keys_are_text() -> None:
    assert yaml_text.load("{1: a, true: b, 2024-01-01: c, ~: d}") == {
        "1": "a",
        "true": "b",
        "2024-01-01": "c",
        "~": "d",
    }


def test_merges_and_anchors() -> None:
    assert yaml_text.load("a: &a {x: 1}\nb: {<<: *a, y: 2}", unique_keys=True)["b"] == {"x": 1, "y": 2}


def test_repeated_keys() -> None:
    assert yaml_text.load("{a: 1, a: 2}") == {"a": 2}
    with pytest.raises(yaml_text.RepeatedKeyError):
        yaml_text.load("{b: {a: 1, a: 2}}", unique_keys=True)


LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdef", "bcdefg", strict=True)
)
BAD = [
    "? [a]\n: 1", "a: &a [*a]", "&a {b: *a}", "a: !!bool x", "a: !!int ''", "a: !!float ''", "a: !!set {a}",
    "a: !!map x", "a: !!seq x", "a: !!str [a]", "a: !!null [a]", "{a: 1", "a: " + "9" * 5000, "[" * 100_000,
    "{a: " * 100_000, "- " * 100_000, "".join(" " * at + "a:\n" for at in range(300)), "a: 'x\x00'", "\ud800",
    "a: !foo 1", "a: !!python/object:os.system x", "<<: 5", "!!bool [a]: 1", "a: *b", "a: -", LAUGHS,
]  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_what_cannot_be_read(text: str) -> None:
    with pytest.raises(yaml_text.UNPARSABLE):
        yaml_text.load(text)
    with pytest.raises(yaml_text.UNPARSABLE):
        list(yaml_text.load_all(text))


def test_documents_before_a_broken_one_are_read() -> None:
    found = []
    with pytest.raises(yaml_text.UNPARSABLE):
        for one in yaml_text.load_all("a: 1\n---\nb: 2\n---\n{"):
            found.append(one)
    assert found == [{"a": 1}, {"b": 2}]


@given(st.text(alphabet=st.sampled_from("ab: -\n[]{}!&*?|>'\"#%@`,~<0=.\t"), max_size=60))
def test_any_text_is_read_or_unparsable(text: str) -> None:
    with suppress(yaml_text.UNPARSABLE):
        json.dumps(yaml_text.load(text))


def test_scan_reads_by_the_same_file() -> None:
    assert Path(str(in_plan.__file__)).resolve() == Path(yaml_text.__file__).resolve()
