"""Quantities in the spelling of the API server. The positive ones were read off a real one."""

from __future__ import annotations

import pytest

from sandbox.plugins.kubernetes.scheme.quantities import canonical


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2000m", "2"),
        ("1500m", "1500m"),
        ("0.5", "500m"),
        ("1", "1"),
        ("1.0", "1"),
        ("0", "0"),
        ("100m", "100m"),
        ("1024Mi", "1Gi"),
        ("1536Mi", "1536Mi"),
        ("1.5Gi", "1536Mi"),
        ("512Ki", "512Ki"),
        ("0.5Ki", "512"),
        ("0.1Mi", "104857600m"),
        ("2048Ki", "2Mi"),
        ("1e4", "10e3"),
        ("1e-3", "1e-3"),
        ("3.7", "3700m"),
        ("1000M", "1G"),
        ("1500M", "1500M"),
        ("128974848", "128974848"),
        ("1e3", "1e3"),
        ("12e6", "12e6"),
        ("100k", "100k"),
        ("-2000m", "-2"),
        ("0.0000000001", "1n"),
        (".5", "500m"),
    ],
)
def test_canonical(text: str, expected: str) -> None:
    assert canonical(text) == expected
    assert canonical(expected) == expected


@pytest.mark.parametrize("text", ["", "abc", "1X", "1 Gi", "--1", "1e"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        canonical(text)
