"""Property paths, names, and the table of protocol methods."""

from __future__ import annotations

import re

import pytest

from sandbox.plugins.protocol.naming import format_path, unique_name, urn_name, urn_type
from sandbox.plugins.protocol.server import snake_case

URN = "urn:pulumi:dev::project::hosted-mesh:index:A$kubernetes:apps/v1:Deployment::istiod:ns/istiod::odd"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("spec", "replicas"), "spec.replicas"),
        (("spec", "containers", 0, "image"), "spec.containers[0].image"),
        (("metadata", "labels", "app.kubernetes.io/name"), 'metadata.labels["app.kubernetes.io/name"]'),
        (("a.b",), '["a.b"]'),
        ((0,), "[0]"),
        (("a[0]", 'b"c'), '["a[0]"]["b\\"c"]'),
    ],
)
def test_paths(path: tuple[str | int, ...], text: str) -> None:
    assert format_path(path) == text


def test_generated_names() -> None:
    assert re.fullmatch(r"web-[0-9a-f]{8}", unique_name("web-"))
    assert unique_name("web-") != unique_name("web-")
    assert unique_name("web-", b"seed") == unique_name("web-", b"seed")


def test_urns() -> None:
    assert urn_type(URN) == "kubernetes:apps/v1:Deployment"
    assert urn_name(URN) == "istiod:ns/istiod::odd"


@pytest.mark.parametrize(("name", "expected"), [("GetPluginInfo", "get_plugin_info"), ("Diff", "diff")])
def test_method_names(name: str, expected: str) -> None:
    assert snake_case(name) == expected
