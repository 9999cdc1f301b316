"""Who made a secret, where something goes, and what one value is by itself."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest
from hosted_mesh_plan.clusters import ClusterConfig, Clusters
from hosted_mesh_plan.model import STACK_TYPE, Provider, Resource, Stack
from hosted_mesh_plan.owners import CONTROL_PLANE, DATA_PLANES, Owners
from hosted_mesh_plan.tree import UNKNOWN, Secret
from hosted_mesh_policies.detect.leaf.level import Level, level_of
from hosted_mesh_policies.detect.secrets.fingerprints import fingerprints
from hosted_mesh_policies.evaluation.context import Context
from hosted_mesh_policies.evaluation.rule import judge, judge_resource
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.rules.credentials import FLOW, VALUE
from hosted_mesh_policies.rules.outputs import OUTPUTS
from hosted_mesh_policies.rules.unproven import UNPROVEN

from tests.corpus import literals

URN = "urn:pulumi:s::p::"
CONFIG = ClusterConfig(control_plane_providers=("ours",), data_plane_providers=("users",))


def _resource(kind: str, provider: str = "", inputs: Any = None, **more: Any) -> Resource:
    package = "kubernetes" if kind.startswith("kubernetes") else kind.split(":", maxsplit=1)[0]
    through = None
    if provider:
        through = Provider(f"{URN}pulumi:providers:{package}::{provider}", f"pulumi:providers:{package}", provider, {})
    return Resource(f"{URN}{kind}::x", kind, "x", inputs=inputs or {}, provider=through, **more)


def _owners(resource: Resource) -> Owners:
    stack = Stack("s", (resource,))
    return Owners(stack, Clusters(stack, CONFIG), ("*/data-plane",))


@pytest.mark.parametrize(
    ("kind", "provider", "given_away", "maker"),
    [
        ("kubernetes:core/v1:Secret", "ours", False, CONTROL_PLANE),
        ("kubernetes:core/v1:Secret", "nobodys", True, f"{URN}pulumi:providers:kubernetes::nobodys"),
        ("aws:rds/instance:Instance", "default_7", False, CONTROL_PLANE),
        ("aws:s3/bucketObject:BucketObject", "default_7", True, CONTROL_PLANE),
        ("hcloud:index/server:Server", "default_7", True, CONTROL_PLANE),
        ("digitalocean:index/droplet:Droplet", "default_7", True, CONTROL_PLANE),
        ("azure-native:compute:VirtualMachine", "default_7", True, CONTROL_PLANE),
        ("aws:eks/addon:Addon", "default_7", True, CONTROL_PLANE),
        ("azure-native:kubernetesconfiguration:Extension", "default_7", True, CONTROL_PLANE),
        ("command:local:Command", "default_1", True, CONTROL_PLANE),
        ("github:index/actionsSecret:ActionsSecret", "default_6", True, CONTROL_PLANE),
        ("github:index/actionsSecret:ActionsSecret", "users", True, DATA_PLANES),
        ("github:index/actionsSecret:ActionsSecret", "ours", False, CONTROL_PLANE),
        ("random:index/randomPassword:RandomPassword", "default_4", False, None),
        ("corpus:index:Box", "", False, None),
    ],
)
def test_unknown_is_a_users_for_where_and_the_providers_for_from_whom(
    kind: str, provider: str, given_away: bool, maker: str | None
) -> None:
    resource = _resource(kind, provider)
    assert _owners(resource).is_given_away(resource) is given_away
    assert _owners(resource).maker(resource) == maker


@pytest.mark.parametrize(("kept_as", "given_away"), [("SecureString", False), ("String", True), ("StringList", True)])
def test_a_parameter_that_is_encrypted_stays_in_its_account(kept_as: str, given_away: bool) -> None:
    resource = _resource("aws:ssm/parameter:Parameter", "default_7", {"type": kept_as, "value": "x"})
    assert _owners(resource).is_given_away(resource) is given_away


@pytest.mark.parametrize(
    ("value", "name", "level"),
    [
        ("istio-ingressgateway", "gateway", Level.PUBLIC),
        ("istiod.example.com:15012", "address", Level.PUBLIC),
        ("MutatingWebhookConfiguration", "kind", Level.PUBLIC),
        ("6f9619ff-8b86-d011-b42d-00cf4fc964ff", "id", Level.PUBLIC),
        ("sha256:" + "0a" * 32, "image", Level.PUBLIC),
        ("an-object-of-plan7x9q2", "ref", Level.PUBLIC),
        ("sunshine", "password", Level.SECRET),
        ("p@ss,w0rd!x", "note", Level.MAYBE),
        ("a1f0c3b97d2e4865a0c9e8d7b6f5142-1234567890.eu-west-1.elb.amazonaws.com", "server", Level.PUBLIC),
        ("dp.st.prd." + "x7k2m9q4" * 5, "server", Level.SECRET),
        ("https://shop.okta.com/oauth2/ausx7k2m9q4w8p3v6z1", "issuer", Level.PUBLIC),
        ("https://hooks.example.com/ausx7k2m9q4w8p3v6z1", "endpoint", Level.SECRET),
        ("1.2.3-0.20260101120000-3f9a2b7c4d1e", "chartVersion", Level.PUBLIC),
        ("sha384-" + "oqVuAfXRKap7fdgcCY5uykM6R9GqQ8KuxoH2nLbT" + "x7k2m9q4w8p3v6z1aBcDeFgH", "script", Level.PUBLIC),
        ("kq7vXw2mZx7LkW4nB9pYcR8tQ2vH5jF1dS6gT3hU0aE=", "publicKey", Level.PUBLIC),
        ("kq7vXw2mZx7LkW4nB9pYcR8tQ2vH5jF1dS6gT3hU0aE=", "privateKey", Level.SECRET),
        ("age1" + "qpzry9x8gf2tvdw0s3jn54khce6mua7l" * 2, "note", Level.SECRET),  # too long
        ("age1" + ("qpzry9x8gf2tvdw0s3jn54khce6mua7l" * 2)[:58], "note", Level.PUBLIC),
        ("C04X7K2M9Q4", "slackChannel", Level.PUBLIC),
        ("x7k2m9q4w8p3v6z1b5n0", "slackChannelToken", Level.SECRET),
        ("auth0|3f9a2b7c4d1e5a6b7c8d9e0f", "sub", Level.PUBLIC),
        ("1zul5j7e1vx9wh8fd4zq1jxg6nrx", "x", Level.SECRET),
        ("Z08413772Q6WJX5M1K4TN", "x", Level.PUBLIC),  # a zone
        ("Z0841X772Q6WJX5M1K4TN", "x", Level.SECRET),
        ("sha256/" + "kq7vXw2mZx7LkW4nB9pYcR8tQ2vH5jF1dS6gT3hU0aE=", "x", Level.PUBLIC),  # a pin of a key
        ("sha256/" + "kq7vXw2mZx7LkW4nB9pYcR8tQ2vH5jF1dS6gT3hU0aExK", "x", Level.SECRET),
    ],
)
def test_a_value_is_judged_by_its_name_and_structure(value: str, name: str, level: Level) -> None:
    assert level_of(value.encode(), name, {"an-object-of-plan7x9q2"}) is level


def test_all_parsers_are_applied_and_what_they_find_is_united() -> None:
    token, password = literals.service_account_token(), "a-passphrase-of-words"
    found = set(fingerprints(f"TOKEN={token}\nDB_PASSWORD={password}\nURL=postgres://u:s3cret-word@h/d\n".encode()))
    assert {token.rpartition(".")[2].encode(), password.encode(), b"s3cret-word"} <= found


def test_a_binary_key_that_begins_like_der_has_a_fingerprint() -> None:
    key = b"\x30" + bytes(range(7, 38))
    assert list(fingerprints(key)) == [key]


@pytest.mark.parametrize("made", [literals.certificate("x"), literals.public_key("x")])
def test_public_structure_has_none_in_whatever_coding(made: str) -> None:
    assert [*fingerprints(made.encode()), *fingerprints(base64.b64encode(made.encode()))] == []


def _armoured(label: str, blob: bytes, *more: str) -> bytes:
    return "\n".join(
        [f"-----BEGIN {label}-----", *more, base64.encodebytes(blob).decode(), f"-----END {label}-----"]
    ).encode()


NEW_FORM = b"\x30\x82\x01\x4a" + hashlib.shake_256(b"a form").digest(330)
PGP = hashlib.shake_256(b"a packet").digest(300)


@pytest.mark.parametrize(
    ("block", "looked_for"),
    [
        (_armoured("CERTIFICATE", NEW_FORM), False),
        (_armoured("X509 CRL", NEW_FORM), False),
        (_armoured("PGP PUBLIC KEY BLOCK", b"\x99" + PGP, "Version: GnuPG v2", ""), False),
        (_armoured("PGP PRIVATE KEY BLOCK", b"\x95" + PGP, "Version: GnuPG v2", ""), True),
        (_armoured("PGP PUBLIC KEY BLOCK", b"\x95" + PGP, "Version: GnuPG v2", ""), True),
        (_armoured("CERTIFICATE", base64.b64decode(literals.private_key_der("x"))), True),
        (_armoured("CERTIFICATE", b"0" + literals.opaque("x", 60).encode()), True),  # as DER's sequences begin
        (_armoured("TRUSTED CERTIFICATE", NEW_FORM + b"\x30\x03\x0c\x01x"), False),
        (_armoured("SESSION", NEW_FORM), True),
        (_armoured("CERTIFICATE", NEW_FORM) + b"\npassword: k2v9x4m7Q1w8z5n3B6c0\n", True),
    ],
    ids=["certificate", "list", "PGP", "PGP private", "PGP says so", "key", "text", "trusted", "session", "password"],
)
@pytest.mark.parametrize("name", ["ca-cert.pem", "password"])
def test_what_is_kept_as_public_is_not_looked_for_unless_it_cannot_be(
    block: bytes, looked_for: bool, name: str
) -> None:
    """Of a form that no reader here knows."""
    assert bool(list(fingerprints(block, name=name))) is looked_for


@pytest.mark.parametrize(("kept", "said"), [("certificate", 0), ("key", 1)])
def test_of_a_configured_pair_a_data_plane_gets_the_certificate(kept: str, said: int) -> None:
    pair = {"certificate": _armoured("CERTIFICATE", NEW_FORM).decode(), "key": literals.private_key("configured")}
    config = {f"fleet:{name}": value for name, value in pair.items()}
    held = {"stringData": Secret({f"{name}.pem": value for name, value in pair.items()})}
    ours = _resource("kubernetes:core/v1:Secret", "ours", held)
    given = _resource("kubernetes:core/v1:ConfigMap", "users", {"data": {"root.pem": Secret(pair[kept])}})
    stack = Stack("s", (ours, given), config=config, secret_config_keys=frozenset(config))
    context = Context(stack, Settings(clusters=CONFIG))
    assert len([*judge(FLOW, context), *judge(VALUE, context)]) == said


def test_a_kubeconfig_for_the_clusters_other_address_is_the_users_own() -> None:
    """Stack `access`: who deploys and istiod reach the API server by different addresses."""
    token = literals.service_account_token()
    kubeconfig = literals.kubeconfig("https://public.example.com:6443", literals.opaque("deployer"))
    provider = Provider(
        f"{URN}pulumi:providers:kubernetes::users", "pulumi:providers:kubernetes", "users", {"kubeconfig": kubeconfig}
    )
    made = base64.b64encode(token.encode()).decode()
    kind = "kubernetes:core/v1:Secret"
    minted = Resource(f"{URN}{kind}::t", kind, "t", {}, {"data": Secret({"token": made})}, None, provider)
    for server, said in (
        (literals.kubeconfig("https://10.0.0.1:6443", token), 0),
        (literals.kubeconfig("https://x"), 1),
    ):
        stack = Resource(f"{URN}{STACK_TYPE}::s", STACK_TYPE, "s", {}, {"kubeconfig": Secret(server)})
        context = Context(Stack("access", (stack, minted)), Settings(clusters=CONFIG))
        assert len(judge(OUTPUTS, context)) == said


def test_a_data_planes_stack_gives_out_what_is_its_own() -> None:
    word, clear = "random:index/randomPassword:RandomPassword", literals.opaque("own", 32)
    made = _resource(word, outputs={"result": Secret(clear)})
    users = _resource("kubernetes:core/v1:Secret", "users", {"stringData": {"password": Secret(clear)}})
    for value, said in ((clear, 0), (f"postgres://shop:{clear}@db/shop", 0), (literals.opaque("foreign", 32), 1)):
        stack = Resource(f"{URN}{STACK_TYPE}::s", STACK_TYPE, "s", {}, {"login": Secret(value)})
        context = Context(Stack("access", (stack, made, users)), Settings(clusters=CONFIG))
        assert len(judge(OUTPUTS, context)) == said


@pytest.mark.parametrize(
    "told", [{}, {"arn": "db"}, {"address": "shop.cq2xk3v9.rds.example.com"}], ids=["nothing", "a name", "its address"]
)
def test_the_address_in_a_login_does_not_tell_whose_the_password_is(told: dict[str, str]) -> None:
    """The data plane's database, and the address by which it is logged in to, with a password that another stack of the
    platform's exports: reads are not shown to policies, so nothing tells whose it is. An address is an id by its name,
    and it is in every such URL."""
    made = _resource("aws:rds/instance:Instance", "users", outputs=told)
    users = _resource("kubernetes:core/v1:ConfigMap", "users", {"data": {"name": "shop"}})
    url = f"postgres://shop:{literals.opaque('foreign', 32)}@shop.cq2xk3v9.rds.example.com/shop"
    stack = Resource(f"{URN}{STACK_TYPE}::s", STACK_TYPE, "s", {}, {"url": Secret(url)})
    context = Context(Stack("access", (stack, made, users)), Settings(clusters=CONFIG))
    assert len(judge(OUTPUTS, context)) == 1


@pytest.mark.parametrize(("kept", "said"), [(True, 1), (False, 0)])
def test_what_is_not_known_yet_may_be_a_secret_that_the_stack_makes(kept: bool, said: int) -> None:
    word = "random:index/randomPassword:RandomPassword"
    made = _resource(word, outputs={"result": UNKNOWN})
    held = {"dependencies": {"stringData": (made.urn,)}, "inputs": {"stringData": {"password": UNKNOWN}}}
    secret = _resource("kubernetes:core/v1:Secret", "ours" if kept else "users", **held)
    stack = Resource(f"{URN}{STACK_TYPE}::s", STACK_TYPE, "s", {}, {"address": UNKNOWN})
    context = Context(Stack("data-plane", (stack, made, secret)), Settings(clusters=CONFIG))
    assert len(judge(OUTPUTS, context)) == said


@pytest.mark.parametrize(
    ("place", "text", "said"),
    [
        (("data", "auth"), literals.opaque("drawn", 24), 1),
        (("spec", "env", "value"), literals.opaque("drawn", 24), 1),
        (("spec", "id"), literals.opaque("drawn", 24), 0),
        (("data", "client-id"), literals.opaque("drawn", 24), 0),
        (("data", "sum"), hashlib.sha256(b"any").hexdigest(), 0),
        (("data", "host"), "istiod.example.com", 0),
    ],
    ids=["data", "variable", "field", "id", "digest", "host"],
)
def test_without_a_preview_random_text_is_a_secret_of_nobodys(place: tuple[str, ...], text: str, said: int) -> None:
    inputs: Any = text
    for key in reversed(place):
        inputs = {key: inputs}
    written = _resource("kubernetes:core/v1:ConfigMap", "users", inputs)
    context = Context(Stack("s", (written,), partial=True), Settings(clusters=CONFIG))
    assert len(judge_resource(UNPROVEN, context, written)) == said
