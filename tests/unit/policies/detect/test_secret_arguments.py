"""Arguments such as `--webhook-secret=NAME`: the name of a Secret is no credential, a value is one."""

from __future__ import annotations

import json

import pytest
from hosted_mesh_policies.detect.shape.shapes import shapes, shapes_in_tree

from tests.corpus import literals

NAMES = [
    "--tls-secret=istio-system/gateway-tls",
    "--webhook-secret=cert-manager-webhook-ca",
    "--image-pull-secret=shop-registry",
    "--ca-secret=hub-ca-7k2x9",
]
CREDENTIALS = [
    pytest.param(f"--webhook-secret={literals.opaque('webhook')}", id="opaque"),  # other letters in each process
    "--cookie-secret=8f3k2m9x7c1v0b4n6m",
    "--session-secret=Tr0ub4dor&3xyz",
    "--client-secret=orders-login-service",
    "--agent-token=orders-login-service",
]


def _spellings(argument: str) -> list[str]:
    option, _, value = argument.partition("=")
    return [argument, f"agent {option} {value}", json.dumps(["agent", option, value])]


@pytest.mark.parametrize("argument", NAMES)
def test_a_secrets_name_is_no_credential(argument: str) -> None:
    assert [list(shapes(text.encode())) for text in _spellings(argument)] == [[], [], []]
    assert list(shapes_in_tree({"args": [argument, *argument.split("=")]})) == []


@pytest.mark.parametrize("argument", CREDENTIALS)
def test_a_value_is_one(argument: str) -> None:
    assert all(any(shapes(text.encode())) for text in _spellings(argument))
