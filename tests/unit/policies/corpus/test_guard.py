"""The library's guard stops what the pack alone cannot: before registration, whatever is known, in any mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pulumi
import pytest
from pulumi_hosted_mesh.boundary import guard
from pulumi_hosted_mesh.problems import InvalidInputError

from tests.corpus.simulated_engine import run
from tests.corpus.world import Box, Object, World, key, password, self_signed


def _guarded(world: World) -> pulumi.ResourceOptions:
    return world.options("dp", transformations=[guard.keep_secrets_out])


def _config_map(world: World, data: Any) -> None:
    Object("kubernetes:core/v1:ConfigMap", "x", {"metadata": {"name": "x"}, "data": data}, _guarded(world))


def _ours(world: World) -> Object:
    """A generated password kept in the provider's cluster, registered after its use in the user's."""
    found = password("admin", parent=Box("demo", "hosted-mesh:index:MeshTrust"))
    opts = world.options("cp", transformations=[guard.remember])
    Object("kubernetes:core/v1:Secret", "kept", {"stringData": {"x": found.output("result")}}, opts)
    return found


def _trust_key() -> Object:
    return key("root", parent=Box("demo", "hosted-mesh:index:MeshTrust"))


LEAKS: dict[str, Callable[[World], Any]] = {
    "password": lambda w: _config_map(w, {"x": _ours(w).output("result")}),
    "deep": lambda w: _config_map(w, {"a": [{"b": pulumi.Output.concat("x", _ours(w).output("result"))}]}),
    "key": lambda w: _config_map(w, {"x": _trust_key().output("privateKeyPem")}),
    "another stack's": lambda w: _config_map(w, {"x": pulumi.StackReference("o/p/s").get_output("token")}),
}
FINE: dict[str, Callable[[World], Any]] = {
    "public key": lambda w: _config_map(w, {"x": _trust_key().output("publicKeyPem")}),
    "certificate": lambda w: _config_map(w, {"x": self_signed("root", _trust_key()).output("certPem")}),
    "user's password": lambda w: _config_map(w, {"x": password("users").output("result")}),
    "another stack's public output": lambda w: _config_map(w, {"x": pulumi.StackReference("o/p/s").get_output("host")}),
    "declassified": lambda w: _config_map(
        w, {"x": guard.declassify(_ours(w).output("result").apply(len), "the length only")}
    ),
}


@pytest.mark.parametrize("preview", [True, False])
@pytest.mark.parametrize("name", LEAKS)
def test_a_secret_is_refused_before_it_is_registered(name: str, preview: bool) -> None:
    with pytest.raises(InvalidInputError, match="is a control-plane secret") as refused:
        run(LEAKS[name], preview=preview, state={}, rules=())
    assert "x.data" in str(refused.value)


@pytest.mark.parametrize("preview", [True, False])
@pytest.mark.parametrize("name", FINE)
def test_public_facts_and_the_users_own_pass(name: str, preview: bool) -> None:
    run(FINE[name], preview=preview, state={}, rules=())


def test_declassifying_wants_a_reason() -> None:
    with pytest.raises(ValueError, match="reason"):
        guard.declassify(cast(Any, None), " ")
