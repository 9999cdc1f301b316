"""Providers that the settings name: the policies and `hosted-mesh prove` take the same names for the same providers."""

from __future__ import annotations

import pytest
from hosted_mesh_analysis.runner.places import Known, Places, Side
from hosted_mesh_plan.clusters import matches
from hosted_mesh_plan.model import Provider

NAMED = [
    ("users", "users", True),
    ("user-*", "user-1", True),
    ("command:*", "build", True),
    ("command:build", "build", True),
    ("github:*", "build", False),
    ("urn:*::build", "build", True),
    ("users[0]", "users[0]", True),
    ("users[*]", "users[12]", True),
    ("command:users[0]", "users[0]", True),
    ("urn:*::users[0]", "users[0]", True),
    ("users[01]", "users0", False),
    ("command:users[01]", "users0", False),
    ("urn:*::users[01]", "users0", False),
]


@pytest.mark.parametrize(("pattern", "name", "named"), NAMED)
def test_policies_and_prove_take_the_same_names(pattern: str, name: str, named: bool) -> None:
    kind = "pulumi:providers:command"
    urn = f"urn:pulumi:dev::shop::{kind}::{name}"
    assert matches(Provider(urn, kind, name, {}), [pattern]) is named
    places = Places(Known((pattern,)))
    places.add_provider(urn, "command", name, {})
    found = places.place_of("command:local:Command", urn)
    assert found is not None
    assert (found.side is Side.CONTROL_PLANE) is named


@pytest.mark.parametrize("pattern", ["github", "github:*", "github:default"])
def test_a_default_provider_is_named_by_its_package(pattern: str) -> None:
    found = Places(Known((pattern,))).place_of("github:index/actionsSecret:ActionsSecret", "")
    assert found is not None
    assert found.side is Side.CONTROL_PLANE
