"""A login that the provider issues to a tenant: one annotation ends all verdicts about it, and none about another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hosted_mesh_plan.vocabulary import ISSUED_LOGIN_ANNOTATION

from tests.corpus.simulated_engine import run
from tests.corpus.world import World, key, password
from tests.unit.policies.rules.sides import LOGIN, WORD, judged, resource, secret

Said = Mapping[str, str]
Program = Callable[[World, Said], Any]
TOKEN = "cloudflare:index/apiToken:ApiToken"
AGAIN = pytest.mark.parametrize("again", [False, True], ids=["first update", "second update"])


def _said(*names: str) -> Said:
    return {ISSUED_LOGIN_ANNOTATION: "; ".join(f"{name}: the tenant's agent logs in by it" for name in names)}


def _token(world: World, name: str = "shop-dns") -> Any:
    return world.make(TOKEN, name, {"name": name}, ["value"], ["value"]).output("value")


def token(world: World, said: Said) -> None:
    world.secret("dp", "dns", {"CF_API_TOKEN": _token(world)}, annotations=said)


def token_in_a_file(world: World, said: Said) -> None:
    text = _token(world).apply(lambda value: f"[dns]\napi-token = {value}\n")
    world.secret("dp", "dns", {"dns.ini": text}, annotations=said)


def token_that_the_control_plane_keeps_too(world: World, said: Said) -> None:
    value = _token(world)
    world.secret("cp", "issued", {"shop": value})
    world.secret("dp", "dns", {"CF_API_TOKEN": value}, annotations=said)


def role_of_a_database(world: World, said: Said) -> None:
    login = password("orders").output("result")
    world.make("postgresql:index/role:Role", "orders", {"name": "orders", "password": login})
    world.secret("dp", "orders", {"password": login}, annotations=said)


ISSUED: dict[str, tuple[Program, str]] = {
    "a token": (token, "ApiToken:shop-dns"),
    "a token in a file": (token_in_a_file, "ApiToken:shop-dns"),
    "a token that the control plane keeps too": (token_that_the_control_plane_keeps_too, "ApiToken:shop-dns"),
    "a database's role": (role_of_a_database, "Role:orders"),
    "its password": (role_of_a_database, "RandomPassword:orders"),
}


def verdicts(program: Program, said: Said, *, again: bool) -> list[str]:
    """Of a preview and, if that passes, of its update."""
    state: dict[str, Any] = {}
    if again:
        run(lambda world: program(world, said), preview=False, state=state, rules=())
    _, found, evidence, _ = run(lambda world: program(world, said), preview=True, state=state)
    if not found:
        refused, later, *_ = run(lambda world: program(world, said), preview=False, state=state, evidence=evidence)
        found = [*refused, *later]
    return [f"{one.rule} {one.message}" for one in found]


@AGAIN
@pytest.mark.parametrize("name", ISSUED)
def test_it_is_refused_until_its_secret_declares_it(name: str, again: bool) -> None:
    program, declared = ISSUED[name]
    assert verdicts(program, {}, again=again)
    assert verdicts(program, _said(declared), again=again) == []


@AGAIN
@pytest.mark.parametrize(
    "said", ["ApiToken:shop-dns: short", "ApiToken:shop-dns", "ApiToken:other: it is another's", ""]
)
def test_without_a_reason_or_by_another_name_it_is_refused(said: str, again: bool) -> None:
    assert verdicts(token, {ISSUED_LOGIN_ANNOTATION: said}, again=again)


def _beside(made: Callable[[World], Any]) -> Program:
    """A token that is declared, and another secret in the same Secret."""

    def program(world: World, said: Said) -> None:
        other = made(world)
        world.secret("cp", "own", {"own": other})
        world.secret("dp", "dns", {"CF_API_TOKEN": _token(world), "other": other}, annotations=said)

    return program


def _in_one_value(world: World, said: Said) -> None:
    hub = password("hub").output("result")
    world.secret("cp", "own", {"own": hub})
    text = world.concat("token=", _token(world), "\nhub=", hub, "\n")
    world.secret("dp", "dns", {"both": text}, annotations=said)


def _key(world: World, said: Said) -> None:
    private = key("ca").output("privateKeyPem")
    for side in ("cp", "dp"):
        world.secret(side, "ca", {"key": private}, annotations=said)


OTHERS: dict[str, tuple[Program, str]] = {
    "a password of the hub's": (_beside(lambda _: password("hub").output("result")), "ApiToken:shop-dns"),
    "a key of the hub's": (_beside(lambda _: key("hub").output("privateKeyPem")), "ApiToken:shop-dns"),
    "configuration of the hub's": (_beside(lambda world: world.configured("hub")), "ApiToken:shop-dns"),
    "another token": (_beside(lambda world: _token(world, "hub-dns")), "ApiToken:shop-dns"),
    "in one value": (_in_one_value, "ApiToken:shop-dns"),
    "a key is no login": (_key, "PrivateKey:ca"),
}


@AGAIN
@pytest.mark.parametrize("name", OTHERS)
def test_it_ends_no_verdict_about_another_secret(name: str, again: bool) -> None:
    program, declared = OTHERS[name]
    assert verdicts(program, _said(declared), again=again)


def test_a_verdict_names_the_annotation_with_what_to_write_there() -> None:
    found = verdicts(token, {}, again=False)
    assert any(
        f'annotate Secret:dp-dns with {ISSUED_LOGIN_ANNOTATION}: "ApiToken:shop-dns: <reason>"' in one for one in found
    )


def test_a_database_that_is_a_tenants_is_declared_by_name() -> None:
    word = resource(WORD, "orders", outputs={"result": LOGIN})
    inputs = {"password": LOGIN, "identifier": "orders"}
    for kind in ("aws:rds/instance:Instance", "gcp:sql/databaseInstance:DatabaseInstance"):
        database = resource(kind, "orders", "our-account", inputs=inputs, dependencies={"password": (word.urn,)})
        given, ours = secret("users", LOGIN, word), {"control_plane_providers": ("our-account",)}
        found = judged(word, database, given, **ours)
        assert any(f"name {database.called} in dataPlaneLogins" in one for one in found)
        assert judged(word, database, given, logins=(database.called,), **ours) == []
