"""Where a rule must be exact: no more than what was said, no less."""

from __future__ import annotations

import base64
import gzip
import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hosted_mesh_plan.clusters import ClusterConfig
from hosted_mesh_plan.model import Provider, Resource, Stack
from hosted_mesh_plan.tree import UNKNOWN, Secret, is_covered, leaves
from hosted_mesh_policies.detect.flow.expected_contents import is_pin
from hosted_mesh_policies.detect.leaf.level import Level, level_of
from hosted_mesh_policies.detect.leaf.public_structure import is_bare_digest, is_public
from hosted_mesh_policies.detect.search.index import Index
from hosted_mesh_policies.detect.search.tree_text import text_of
from hosted_mesh_policies.detect.secrets.fingerprints import fingerprints
from hosted_mesh_policies.detect.secrets.named_credentials import holds_named
from hosted_mesh_policies.detect.value.inspection import inspect
from hosted_mesh_policies.evaluation.context import Context
from hosted_mesh_policies.evaluation.rule import Rule, judge, judge_resource
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.pack.preview_evidence import evidence_of
from hosted_mesh_policies.rules.catalogue import RULES
from hosted_mesh_policies.rules.credentials import FLOW, SHAPE, VALUE
from hosted_mesh_policies.rules.exposure import EXPOSURE
from hosted_mesh_policies.rules.providers import PROVIDERS
from hosted_mesh_policies.rules.tenants import TENANTS
from hosted_mesh_policies.rules.unproven import UNPROVEN

from tests.corpus import literals, wrappings

OURS = Provider("urn:pulumi:s::p::pulumi:providers:kubernetes::ours", "pulumi:providers:kubernetes", "ours", {})
SETTINGS = Settings(clusters=ClusterConfig(control_plane_providers=("ours",), data_plane_providers=("users",)))
CLOUD = Provider("urn:pulumi:s::p::pulumi:providers:aws::x", "pulumi:providers:aws", "x", {})
USERS = Provider("urn:pulumi:s::p::pulumi:providers:kubernetes::users", "pulumi:providers:kubernetes", "users", {})
THEIRS = Provider(USERS.urn.replace("users", "theirs"), USERS.type, "theirs", {})


def _said(rule: Rule, *resources: Resource) -> list[str]:
    return [finding.message for finding in judge(rule, Context(Stack("s", resources), SETTINGS))]


def _object(kind: str, name: str, body: dict[str, Any], provider: Provider = OURS, **more: Any) -> Resource:
    metadata = {"name": name, **body.pop("metadata", {})}
    inputs = {"metadata": metadata, **body}
    return Resource(f"urn:pulumi:s::p::{kind}::{name}", kind, name, inputs=inputs, provider=provider, **more)


@pytest.mark.parametrize(
    ("declared", "path", "covered"),
    [
        ("data.a", "data.a", True),
        ("data", "data.a", True),
        ("data", 'data["a.b"]', True),
        ("spec.hosts", "spec.hosts[0]", True),
        ("data.a", "data.ab", False),
        ("data.a", "data", False),
    ],
)
def test_a_declared_path_covers_whole_steps(declared: str, path: str, covered: bool) -> None:
    assert is_covered(path, {declared}) is covered


def test_no_setting_belongs_to_two_policies() -> None:
    """The engine fills in each policy's defaults: a key of two would have two values."""
    keys = Counter(key for rule in RULES for key in rule.schema)
    assert [key for key, count in keys.items() if count > 1] == []


@pytest.mark.parametrize(
    ("reference", "users"),
    [("o/p/data-plane", True), ("data-plane", False), ("o/p/not-a-data-plane", False), ("data-plane/p/trust", False)],
)
def test_a_stack_is_the_users_by_its_whole_name(reference: str, users: bool) -> None:
    urn = f"urn:pulumi:s::p::pulumi:pulumi:StackReference::{reference}"
    kind = "kubernetes:core/v1:ConfigMap"
    target = _object(kind, "x", {"data": {"a": "b"}}, USERS, dependencies={"data": (urn,)})
    context = Context(Stack("s", (target,)), SETTINGS)
    assert (urn in context.flow.spread.owned) is not users


@pytest.mark.parametrize(("app", "said"), [("istiod", 1), ("shop", 0)])
def test_port_8080_is_istiods_only_where_istiod_is(app: str, said: int) -> None:
    spec = {
        "type": "LoadBalancer",
        "selector": {"app": app},
        "ports": [{"port": 80, "targetPort": 8080}],
        "loadBalancerSourceRanges": ["192.0.2.0/24"],
    }
    assert len(_said(EXPOSURE, _object("kubernetes:core/v1:Service", "x", {"spec": spec}))) == said


def test_meshes_that_share_all_their_namespaces_and_have_no_host_are_judged() -> None:
    labels = ({"namespace": "default", "labels": {"hosted-mesh.io/mesh": mesh}} for mesh in "ab")
    made = [_object("kubernetes:core/v1:ConfigMap", f"x{n}", {"metadata": meta}) for n, meta in enumerate(labels)]
    assert _said(TENANTS, *made) == []


def _in_namespace(mesh: str, namespace: str, provider: Provider, **more: Any) -> Resource:
    metadata = {"namespace": namespace, "labels": {"hosted-mesh.io/mesh": mesh}, **more.pop("metadata", {})}
    name = f"{mesh}-{namespace}-{provider.name}"
    return _object("kubernetes:core/v1:ConfigMap", name, {"metadata": metadata, **more}, provider)


@pytest.mark.parametrize(
    ("places", "where", "said"),
    [
        ([("red", USERS), ("blue", THEIRS)], USERS, 0),  # each has one of its own
        ([("red", USERS), ("blue", THEIRS)], OURS, 0),
        ([("red", THEIRS), ("blue", THEIRS)], THEIRS, 0),
        ([("red", USERS), ("blue", OURS)], OURS, 1),  # in this cluster it is the other mesh's
        ([("blue", THEIRS)], USERS, 1),  # in no cluster is it anybody else's
        ([("blue", THEIRS), ("blue", OURS)], USERS, 1),
    ],
)
def test_a_namespaces_name_is_whose_it_is_in_this_cluster_or_of_the_only_one_who_uses_it(
    places: list[tuple[str, Provider]], where: Provider, said: int
) -> None:
    """Each case in both orders: who comes last owns no more than who comes first."""
    made = [_in_namespace(mesh, "monitoring", provider) for mesh, provider in places]
    told = _in_namespace("red", "apps", where, data={"url": "http://metrics.monitoring.svc:9090"})
    for order in (made, made[::-1]):
        assert len(_said(TENANTS, *order, told)) == said


def test_a_namespace_is_a_meshs_whichever_provider_reaches_its_cluster() -> None:
    server = Provider(USERS.urn, USERS.type, "users", {"kubeconfig": literals.kubeconfig("https://u.example.com", "x")})
    again = Provider(f"{USERS.urn}-2", USERS.type, "users", server.inputs)
    labelled = _in_namespace("blue", "shop", server)
    other = _in_namespace("red", "apps", again)
    plain = _object(
        "kubernetes:core/v1:ConfigMap", "x", {"metadata": {"namespace": "shop"}, "data": {"to": "apps"}}, again
    )
    assert [message[:30] for message in _said(TENANTS, labelled, other, plain)] == ["data.to: mesh blue refers to a"]


def _of_mesh(mesh: str, name: str, more: dict[str, Any], provider: Provider = OURS, **rest: Any) -> Resource:
    metadata = {"name": name, "labels": {"hosted-mesh.io/mesh": mesh}}
    return _object("kubernetes:core/v1:Secret", f"{name}-{mesh}", {**more, "metadata": metadata}, provider, **rest)


@pytest.mark.parametrize(("mesh", "said"), [("red", 0), ("blue", 1)])
def test_a_mesh_may_have_its_own_kubeconfig_in_its_own_cluster(mesh: str, said: int) -> None:
    text = literals.kubeconfig("https://red.example.net", literals.opaque("red", 40))
    kept = _of_mesh("red", "istio-kubeconfig", {"stringData": {"config": Secret(text)}})
    other = _of_mesh("blue", "istio-kubeconfig", {"stringData": {"config": Secret("another")}})
    copy = _of_mesh(mesh, "copy", {"stringData": {"config": Secret(text)}}, USERS)
    assert len(_said(TENANTS, kept, other, copy)) == said


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("azure-native:storage:StorageAccountKeys", 1),
        ("aws:s3/presignedUrl:PresignedUrl", 1),
        ("aws:iam/accessKey:AccessKey", 1),
        ("aws:cloudfront/publicKey:PublicKey", 0),
        ("gcp:kms/secretCiphertext:SecretCiphertext", 0),  # which only the key service opens
        ("gcp:kms/cryptoKeySecret:CryptoKeySecret", 1),
        ("aws:rds/cluster:Cluster", 0),  # whose host name is what is mostly wanted
    ],
)
def test_what_a_cloud_makes_is_a_secret_by_its_type_before_it_is_known(kind: str, said: int) -> None:
    cloud = Provider("urn:pulumi:s::p::pulumi:providers:x::x", "pulumi:providers:x", "x", {})
    made = Resource(f"urn:pulumi:s::p::{kind}::made", kind, "made", inputs={}, outputs={"x": UNKNOWN}, provider=cloud)
    depends = {"data": (made.urn,)}
    taker = _object("kubernetes:core/v1:ConfigMap", "x", {"data": {"a": UNKNOWN}}, USERS, dependencies=depends)
    assert len(_said(FLOW, made, taker)) == said


@pytest.mark.parametrize(("key", "said"), [("createDate", 0), ("host", 0), ("arn", 0), ("secretKey", 1), ("value", 1)])
def test_where_a_fact_is_named_the_write_is_judged(key: str, said: int) -> None:
    """Nothing declassifies values of a chart. A name that lies passes no write, whoever else's secret is beside it."""
    cloud = Provider("urn:pulumi:s::p::pulumi:providers:x::x", "pulumi:providers:x", "x", {})
    kind, word = "aws:iam/accessKey:AccessKey", "random:index/randomPassword:RandomPassword"
    made = Resource(f"urn:pulumi:s::p::{kind}::made", kind, "made", inputs={}, outputs={"x": UNKNOWN}, provider=cloud)
    own = Resource(f"urn:pulumi:s::p::{word}::own", word, "own", inputs={"length": 24})
    depends = {"values": (made.urn, own.urn)} if not said else {"values": (made.urn,)}
    taker = _object("kubernetes:helm.sh/v3:Release", "x", {"values": {key: UNKNOWN}}, USERS, dependencies=depends)
    context = Context(Stack("s", (made, own, taker), preview=True), SETTINGS)
    findings = judge(FLOW, context)
    assert len(findings) == said
    assert f"values.{key}" not in evidence_of(context, findings).paths.get(taker.urn, ())


def test_what_a_key_service_was_given_is_not_written_for_its_ciphertext() -> None:
    """Before it is known nothing tells which of the two will come."""
    kind, word = "gcp:kms/secretCiphertext:SecretCiphertext", "random:index/randomPassword:RandomPassword"
    made = Resource(f"urn:pulumi:s::p::{word}::one", word, "one", inputs={"length": 24})
    cloud = Provider("urn:pulumi:s::p::pulumi:providers:gcp::x", "pulumi:providers:gcp", "x", {})
    given = {"plaintext": (made.urn,)}
    sealed = Resource(f"urn:p::{kind}::s", kind, "s", {"plaintext": UNKNOWN}, {}, None, cloud, given)
    map_ = "kubernetes:core/v1:ConfigMap"
    taker = _object(map_, "x", {"data": {"a": UNKNOWN}}, USERS, dependencies={"data": (sealed.urn,)})
    context = Context(Stack("s", (made, sealed, taker), preview=True), SETTINGS)
    assert judge(FLOW, context) == []
    for comes, said in ((Secret(literals.opaque("one", 24)), 1), ("CiQAx7LkW4nB9pYcR8tQ2mZ", 0)):
        written = _object(map_, "x", {"data": {"a": comes}}, USERS)
        partial = Context(Stack("s", (written,), partial=True), SETTINGS, evidence=evidence_of(context, []))
        assert len(judge_resource(UNPROVEN, partial, written)) == said, comes


FORGOTTEN = Provider(USERS.urn.replace("users", "edge"), USERS.type, "edge", {})


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (FORGOTTEN, USERS, 1),
        (USERS, USERS, 0),
        (FORGOTTEN, FORGOTTEN, 0),
        (
            FORGOTTEN,
            Provider(USERS.urn.replace("users", "far"), USERS.type, "far", {}),
            0,
        ),  # two of which nothing is known
    ],
)
def test_what_a_cluster_that_nobody_classified_keeps_secret_is_no_data_planes(
    first: Provider, second: Provider, said: int
) -> None:
    word = "random:index/randomPassword:RandomPassword"
    made = Resource(f"urn:pulumi:s::p::{word}::one", word, "one", inputs={"length": 24})
    held = {"stringData": (made.urn,)}
    kept = _object("kubernetes:core/v1:Secret", "kept", {"stringData": {"a": UNKNOWN}}, first, dependencies=held)
    depends = {"data": (made.urn,)}
    taker = _object("kubernetes:core/v1:ConfigMap", "x", {"data": {"a": UNKNOWN}}, second, dependencies=depends)
    assert len(_said(FLOW, made, kept, taker)) == said


@pytest.mark.parametrize(
    ("kind", "keys", "said"),
    [
        ("randomString:RandomString", ("password",), 1),
        ("randomUuid:RandomUuid", ("api-token",), 1),
        ("randomUuid:RandomUuid", ("client-id",), 0),
        ("randomString:RandomString", ("suffix",), 0),
        ("randomString:RandomString", ("password", "suffix"), 0),  # nothing tells which of them
        ("randomString:RandomString", (), 1),  # what the SDK shows of a Secret, when something in it is not known
    ],
)
def test_random_text_that_is_kept_as_a_password_is_one(kind: str, keys: tuple[str, ...], said: int) -> None:
    kind = f"random:index/{kind}"
    made = Resource(f"urn:pulumi:s::p::{kind}::one", kind, "one", inputs={})
    held = {"stringData": (made.urn,)}
    data = {"stringData": dict.fromkeys(keys, UNKNOWN) or UNKNOWN}
    kept = _object("kubernetes:core/v1:Secret", "kept", data, dependencies=held)
    depends = {"data": (made.urn,)}
    taker = _object("kubernetes:core/v1:ConfigMap", "x", {"data": {"a": UNKNOWN}}, USERS, dependencies=depends)
    assert len(_said(FLOW, made, kept, taker)) == said


def _login(user: str) -> str:
    return json.dumps({"auths": {"r.example.com": {"username": user, "password": literals.opaque("login", 200)}}})


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("accountKey", literals.opaque("storage", 86) + "==", 1),
        ("azurestorageaccountkey", literals.opaque("storage", 86) + "==", 1),
        ("upstream", "hvs.CAES" + literals.opaque("store", 90), 1),
        (".dockerconfigjson", _login("AWS"), 1),
        ("login", base64.b64encode(b"AWS:" + literals.opaque("login", 200).encode()).decode(), 1),
        (".dockerconfigjson", _login("robot"), 0),  # a registry's own user
        ("token", "ghp_" + literals.opaque("runner", 36), 0),
        ("accountName", "shopstorage", 0),
    ],
    ids=["account key", "its other name", "store's token", "AWS", "AWS in base64", "robot", "runner", "account name"],
)
@pytest.mark.parametrize("said_own", [False, True])
def test_what_opens_a_cloud_or_a_store_of_secrets_is_said_to_be_the_users(
    key: str, value: str, said: int, said_own: bool
) -> None:
    """What a data source answers comes from no resource; its form or its name tells."""
    why = {"hosted-mesh.io/data-plane-owned": "the key of the shop's own account"} if said_own else {}
    body = {"metadata": {"annotations": why}, "stringData": {key: Secret(value)}}
    kept = _object("kubernetes:core/v1:Secret", "kept", body, USERS)
    assert len(_said(SHAPE, kept)) == (0 if said_own else said)


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("aws:secretsmanager/secretVersion:SecretVersion", {"secretString": UNKNOWN}, 0),
        ("kubernetes:helm.sh/v3:Release", {"values": {"token": UNKNOWN}}, 0),
        ("aws:s3/presignedUrl:PresignedUrl", {"key": "state"}, 1),  # the name of an object
        ("kubernetes:core/v1:ConfigMap", {"data": {"token": UNKNOWN}}, 1),  # has nothing else to give
    ],
)
def test_of_what_was_given_its_secret_the_rest_are_facts(kind: str, given: dict[str, Any], said: int) -> None:
    """An ARN, a version, names of objects: before they are known nothing tells them from the secret, but the write."""
    word = "random:index/randomPassword:RandomPassword"
    made = Resource(f"urn:pulumi:s::p::{word}::one", word, "one", inputs={"length": 24})
    held = {"stringData": (made.urn,)}
    secret = _object("kubernetes:core/v1:Secret", "held", {"stringData": {"a": UNKNOWN}}, dependencies=held)
    keeper = _object(kind, "keeper", dict(given), dependencies={next(iter(given)): (made.urn,)})
    depends = {"data": (keeper.urn,)}
    taker = _object("kubernetes:core/v1:ConfigMap", "x", {"data": {"a": UNKNOWN}}, USERS, dependencies=depends)
    context = Context(Stack("s", (made, secret, keeper, taker), preview=True), SETTINGS)
    findings = judge(FLOW, context)
    assert len(findings) == said
    assert not evidence_of(context, findings).paths  # so that the write is judged by what it has


@pytest.mark.parametrize(("shown", "said"), [("istiod.example.com", 0), ("Kq7!vB2#nX9@wR4$", 1)])
def test_a_public_part_of_a_secret_pair_is_public(shown: str, said: int) -> None:
    """A host and a password put together in the program: each is marked, and depends on the password."""
    word = "random:index/randomPassword:RandomPassword"
    made = Resource(f"urn:pulumi:s::p::{word}::one", word, "one", {}, {"result": Secret("hC8@Lw!2pZ#9rT$5mQ")})
    held = {"stringData": (made.urn,)}
    secret = _object("kubernetes:core/v1:Secret", "held", {"stringData": {"a": UNKNOWN}}, dependencies=held)
    data = {"data": {"a": Secret(shown)}}
    taker = _object("kubernetes:core/v1:ConfigMap", "x", data, USERS, dependencies={"data": (made.urn,)})
    assert len(_said(FLOW, made, secret, taker)) == said


CREDENTIAL = literals.opaque("by its name", 24)


def _text(text: str) -> Resource:
    return _object("kubernetes:core/v1:ConfigMap", "x", {"data": {"a": Secret(text)}}, USERS)


def _custom(spec: dict[str, Any]) -> Resource:
    body = {"apiVersion": "example.com/v1", "kind": "Thing", "spec": spec}
    return _object("kubernetes:example.com/v1:Thing", "x", body, USERS)


@pytest.mark.parametrize(
    ("taker", "said"),
    [
        (_text(f"[api]\ntoken = '{CREDENTIAL}'"), 1),
        (_text(f"dsn: a:{CREDENTIAL}@tcp(b:1)/c"), 1),
        (_custom({"login": {"password": Secret(CREDENTIAL)}}), 1),
        (_custom({"env": [{"name": "API_TOKEN", "value": Secret(CREDENTIAL)}]}), 1),
        (_custom({"env": [{"name": "API_TOKEN", "value": Secret("${API_TOKEN}")}]}), 0),
        (_custom({"login": {"passwordHash": Secret("$2a$10$" + literals.opaque("hash", 53))}}), 0),
        # For a chart: which of its values it makes a Secret of, the chart knows.
        (_custom({"helm": {"values": {"auth": {"password": Secret(CREDENTIAL)}}}}), 0),
        (_custom({"valuesContent": Secret(f"auth:\n  password: {CREDENTIAL}\n")}), 0),
        (_custom({"valuesContent": f"auth:\n  password: {CREDENTIAL}\n"}), 1),
        (_object("kubernetes:core/v1:Secret", "x", {"stringData": {"password": Secret(CREDENTIAL)}}, USERS), 0),
        (_object("kubernetes:helm.sh/v3:Release", "x", {"values": {"password": Secret(CREDENTIAL)}}, USERS), 0),
    ],
)  # fmt: skip
def test_a_mark_does_not_make_a_secret_of_an_object(taker: Resource, said: int) -> None:
    assert len(_said(SHAPE, taker)) == said


def test_in_values_of_a_chart_a_token_is_told_of_where_it_is() -> None:
    """Two short values side by side are also looked at end to end, where no mark is."""
    token = "ghp_" + literals.opaque("forge", 36)
    values = {"url": "https://git.example.com/", "token": Secret(token), "name": "bot"}
    assert _said(SHAPE, _object("kubernetes:helm.sh/v3:Release", "x", {"values": values}, USERS)) == []
    said = _said(SHAPE, _object("kubernetes:helm.sh/v3:Release", "x", {"values": {**values, "token": token}}, USERS))
    assert [message.partition(":")[0] for message in said] == ["values.token"]


KEYS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "pin": ("kubernetes:helm.sh/v3:Release", {"values": {"caPin": [UNKNOWN]}}, False),
    "PIN of a person": ("kubernetes:helm.sh/v3:Release", {"values": {"userPin": UNKNOWN}}, True),
    "policy": ("kubernetes:policy.sigstore.dev/v1:ClusterImagePolicy", {"spec": {"key": {"data": UNKNOWN}}}, False),
    "other": ("kubernetes:example.com/v1:Thing", {"spec": {"key": {"data": UNKNOWN}}}, True),
    "roots": ("kubernetes:core/v1:ConfigMap", {"data": {"trust-roots.yaml": UNKNOWN}}, False),
    "map": ("kubernetes:core/v1:ConfigMap", {"data": {"app.yaml": UNKNOWN}}, True),
}


@pytest.mark.parametrize("name", KEYS)
def test_before_a_key_is_known_its_public_half_is_what_its_place_says(name: str) -> None:
    """A place that lies passes no write."""
    kind, body, said = KEYS[name]
    key = Resource("urn:pulumi:s::p::tls:index/privateKey:PrivateKey::k", "tls:index/privateKey:PrivateKey", "k", {})
    held = {"stringData": (key.urn,)}
    kept = _object("kubernetes:core/v1:Secret", "held", {"stringData": {"tls.key": UNKNOWN}}, dependencies=held)
    taker = _object(kind, "x", body, USERS, dependencies={next(iter(body)): (key.urn,)})
    context = Context(Stack("s", (key, kept, taker), preview=True), SETTINGS)
    findings = judge(FLOW, context)
    assert bool(findings) is said
    assert said or evidence_of(context, findings).awaited[taker.urn]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"ca": {"cert": UNKNOWN, "key": UNKNOWN}}, True),
        ({"sshPrivateKey": UNKNOWN}, True),
        ({"deploy": {"key": UNKNOWN}}, False),  # it may be its public half, of a key of the data plane's
        ({"ca": {"cert": UNKNOWN, "publicKey": UNKNOWN}}, False),
    ],
)
def test_a_key_in_a_charts_values_is_its_owners_where_nothing_else_can_be_meant(
    values: dict[str, Any], said: bool
) -> None:
    key = Resource("urn:pulumi:s::p::tls:index/privateKey:PrivateKey::k", "tls:index/privateKey:PrivateKey", "k", {})
    more = {"dependencies": {"values": (key.urn,)}}
    charts = [
        _object("kubernetes:helm.sh/v3:Release", name, {"values": values}, provider, **more)
        for name, provider in (("ours", OURS), ("theirs", USERS))
    ]
    assert bool(judge(FLOW, Context(Stack("s", (key, *charts), preview=True), SETTINGS))) is said


@pytest.mark.parametrize(
    ("kind", "proven"), [("core/v1:Service", True), ("core/v1:Secret", False), ("example.com/v1:Thing", False)]
)
def test_an_objects_address_beside_an_own_password_is_the_data_planes(kind: str, proven: bool) -> None:
    word = "random:index/randomPassword:RandomPassword"
    made = Resource(f"urn:pulumi:s::p::{word}::one", word, "one", inputs={"length": 24})
    balancer = _object(f"kubernetes:{kind}", "ingest", {"apiVersion": kind.partition(":")[0].removeprefix("core/")})
    depends = {"values": (made.urn, balancer.urn)}
    chart = _object("kubernetes:helm.sh/v3:Release", "x", {"values": {"a": UNKNOWN}}, USERS, dependencies=depends)
    context = Context(Stack("s", (made, balancer, chart), preview=True), SETTINGS)
    assert ("values.a" in evidence_of(context, []).paths.get(chart.urn, ())) is proven


def _signed(secret: str) -> str:
    head, body = (
        base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=") for one in ({"alg": "HS256"}, {"a": 1})
    )
    made = hmac.digest(secret.encode(), head + b"." + body, "sha256")
    return b".".join((head, body, base64.urlsafe_b64encode(made).rstrip(b"="))).decode()


@pytest.mark.parametrize(("by", "said"), [("own", 0), ("ours", 1), ("another", 1)])
def test_a_token_among_a_charts_values_is_its_signers(by: str, said: int) -> None:
    word = "random:index/randomPassword:RandomPassword"
    secrets = {name: literals.opaque(name, 40) for name in ("own", "ours", "another")}
    made = [
        Resource(f"urn:pulumi:s::p::{word}::{name}", word, name, {"length": 40}, {"result": Secret(secrets[name])})
        for name in ("own", "ours")
    ]
    kept = {"stringData": (made[1].urn,)}
    secret = _object(
        "kubernetes:core/v1:Secret", "k", {"stringData": {"a": Secret(secrets["ours"])}}, dependencies=kept
    )
    values = {"jwt": {"secret": Secret(secrets["own"]), "anonKey": Secret(_signed(secrets[by]))}}
    depends = {"values": (made[0].urn,)}
    chart = _object("kubernetes:helm.sh/v3:Release", "x", {"values": values}, USERS, dependencies=depends)
    assert len(_said(SHAPE, *made, secret, chart)) == said


@pytest.mark.parametrize(
    ("beside", "shown"), [("random:index/randomPassword:RandomPassword", True), ("aws:x:X", False)]
)
def test_what_a_chart_will_be_given_is_its_own_if_all_that_it_is_made_of_is(beside: str, shown: bool) -> None:
    """A service of the control plane's may answer with a token of its own, whose package marks nothing."""
    word = "random:index/randomPassword:RandomPassword"
    made = [
        Resource(f"urn:pulumi:s::p::{kind}::{name}", kind, name, inputs={}, outputs={"x": UNKNOWN}, provider=provider)
        for kind, name, provider in ((word, "own", None), (beside, "b", CLOUD if beside != word else None))
    ]
    depends = {"values": tuple(one.urn for one in made)}
    chart = _object("kubernetes:helm.sh/v3:Release", "x", {"values": {"a": UNKNOWN}}, USERS, dependencies=depends)
    evidence = evidence_of(Context(Stack("s", (*made, chart), preview=True), SETTINGS), [])
    values = {"a": literals.token({"sub": "x"})}
    written = _object("kubernetes:helm.sh/v3:Release", "x", {"values": {"a": Secret(values["a"])}}, USERS)
    context = Context(Stack("s", (written,), partial=True), SETTINGS, evidence=evidence)
    assert (judge(SHAPE, context) == []) is shown


ARN = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop/database-AbCdEf"


@pytest.mark.parametrize(
    ("output", "public", "said"),
    [
        ("secret", None, 1),
        ("secretString", None, 1),
        ("secretArn", ARN, 0),
        ("secretId", "shop/database-AbCdEf", 0),
        ("createdBy", None, 0),
    ],
)
def test_an_unmarked_output_of_a_clouds_secret_is_one_by_its_name(output: str, public: str | None, said: int) -> None:
    value = public or literals.opaque("cloud", 40)
    cloud = Provider("urn:pulumi:s::p::pulumi:providers:aws::x", "pulumi:providers:aws", "x", {})
    kind = "aws:secretsmanager/secretVersion:SecretVersion"
    made = Resource(f"urn:pulumi:s::p::{kind}::made", kind, "made", {}, {output: value}, provider=cloud)
    taker = _object("kubernetes:core/v1:ConfigMap", "x", {"data": {"a": value}}, USERS)
    assert len(_said(VALUE, made, taker)) == said


@pytest.mark.parametrize(("name", "said"), [("zones", ["data.token"]), ("users", ["apiToken"])])
def test_by_what_a_clouds_provider_logs_in_is_its_owners(name: str, said: list[str]) -> None:
    """The control plane's account, unless it is said to be a data plane's; that one must not see what the control plane
    has."""
    kind = "pulumi:providers:cloudflare"
    inputs = {"apiToken": Secret(literals.opaque("zones", 40)), "accountName": "an account of this name"}
    zones = Resource(f"urn:pulumi:s::p::{kind}::{name}", kind, name, inputs=inputs)
    record = _object("cloudflare:index/dnsRecord:DnsRecord", "istiod", {"content": "192.0.2.1"}, zones.as_provider)
    data = {"token": literals.opaque("zones", 40), "account": "an account of this name"}
    theirs = _object("kubernetes:core/v1:Secret", "theirs", {"stringData": data}, USERS)
    ours = _object("kubernetes:core/v1:Secret", "ours", {"stringData": {"token": data["token"]}})
    given = [theirs] if name == "zones" else [ours]
    found = _said(VALUE, zones, record, *given)
    assert [message.split(":")[0].replace("stringData", "data") for message in found] == said
    assert _said(VALUE, zones, record, theirs) == (found if name == "zones" else [])


@pytest.mark.parametrize(
    ("meshes", "providers", "said"),
    [
        (("red", "blue"), (USERS, THEIRS), 2),
        (("red", "red"), (USERS, THEIRS), 0),  # one mesh in two clusters
        (("red", "blue"), (USERS, USERS), 0),  # two meshes in one cluster
        (("red", "blue"), (OURS, OURS), 0),  # the control plane's own
        (("red", "blue"), (OURS, USERS), 0),  # of which another rule tells
    ],
)
def test_a_password_is_in_the_clusters_of_one_mesh(
    meshes: tuple[str, str], providers: tuple[Provider, Provider], said: int
) -> None:
    kind = "random:index/randomPassword:RandomPassword"
    made = Resource(f"urn:pulumi:s::p::{kind}::one", kind, "one", inputs={"length": 24})
    takers = [
        _of_mesh(mesh, f"x{at}", {"stringData": {"a": UNKNOWN}}, provider, dependencies={"stringData": (made.urn,)})
        for at, (mesh, provider) in enumerate(zip(meshes, providers, strict=True))
    ]
    assert len(_said(TENANTS, made, *takers)) == said


@pytest.mark.parametrize("kind", ["randomPassword:RandomPassword", "randomBytes:RandomBytes"])
@pytest.mark.parametrize(("provider", "said"), [(THEIRS, 1), (USERS, 0)])
def test_a_password_is_not_in_a_cluster_without_its_mesh(kind: str, provider: Provider, said: int) -> None:
    kind = f"random:index/{kind}"
    made = Resource(f"urn:pulumi:s::p::{kind}::one", kind, "one", inputs={"length": 24})
    depends = {"stringData": (made.urn,)}
    taker = _of_mesh("red", "x", {"stringData": {"a": UNKNOWN}}, USERS, dependencies=depends)
    other = _of_mesh("blue", "y", {"stringData": {"a": "b"}})
    chart = _object(
        "kubernetes:helm.sh/v3:Release",
        "shop",
        {"values": {"session": UNKNOWN}},
        provider,
        dependencies={"values": (made.urn,)},
    )
    assert len(_said(TENANTS, made, taker, other, chart)) == said


@pytest.mark.parametrize(
    ("mesh", "provider", "kind", "said"),
    [
        ("blue", THEIRS, "Opaque", 2),
        ("blue", USERS, "Opaque", 0),  # two meshes in one cluster
        ("red", THEIRS, "Opaque", 0),  # one mesh in two clusters
        ("blue", THEIRS, "kubernetes.io/dockerconfigjson", 0),  # a registry's login
        ("blue", OURS, "Opaque", 0),
    ],
)
@pytest.mark.parametrize("marked", [True, False])
def test_what_a_secret_of_a_mesh_has_is_not_in_another_cluster(
    mesh: str, provider: Provider, kind: str, said: int, marked: bool
) -> None:
    """Typed in, or from the configuration: nothing depends on anything."""
    token = literals.opaque("typed", 40)
    held = {"stringData": {"token": Secret(token) if marked else token}, "type": kind}
    own = _of_mesh("red", "api", held, USERS)
    other = _of_mesh("blue", "api", {"stringData": {"token": "-"}}, OURS)
    copy = _of_mesh(mesh, "copy", {"stringData": {"file": f"upstream {token} x"}, "type": kind}, provider)
    assert len(_said(TENANTS, own, other, copy)) == said


@pytest.mark.parametrize(
    ("meshes", "theirs", "said"),
    [
        (("red",), True, 0),  # nobody can tell whose account it is, but that it is a data plane's
        (("red", "blue"), True, 4),  # one of the two gets the other's
        (("red",), False, 2),
    ],
)
def test_a_data_planes_account_is_one_meshs(meshes: tuple[str, ...], theirs: bool, said: int) -> None:
    """Each password is found by flow and by value."""
    word, kind = "random:index/randomPassword:RandomPassword", "aws:ssm/parameter:Parameter"
    found = []
    for mesh, provider in (("red", USERS), ("blue", THEIRS)):
        text = literals.opaque(mesh, 40)
        made = Resource(f"urn:pulumi:s::p::{word}::{mesh}", word, mesh, inputs={}, outputs={"result": Secret(text)})
        urns = (made.urn,)
        held = {"stringData": {"token": Secret(text)}}
        found += [made, _of_mesh(mesh, "api", held, provider, dependencies={"stringData": urns})]
        if mesh in meshes:
            inputs = {"name": f"/{mesh}", "type": "String", "value": Secret(text)}
            account = Resource(
                f"urn:pulumi:s::p::{kind}::{mesh}", kind, mesh, inputs, None, None, CLOUD, {"value": urns}
            )
            found.append(account)
    config = ClusterConfig(
        control_plane_providers=("ours",), data_plane_providers=("users", "theirs", *(("x",) if theirs else ()))
    )
    assert len(judge(TENANTS, Context(Stack("s", tuple(found)), Settings(clusters=config)))) == said


@pytest.mark.parametrize(
    ("by", "said"),
    [("subject", 1), ("dnsNames", 1), ("privateKeyPem", 0), ("caPrivateKeyPem", 0)],
)
@pytest.mark.parametrize("through", [True, False], ids=["through a request", "itself"])
def test_a_certificate_that_says_a_password_is_none_to_show(by: str, said: int, through: bool) -> None:
    """Before anything is known."""
    urn = "urn:pulumi:s::p::{}::{}".format
    word, tls = "random:index/randomPassword:RandomPassword", "tls:index/{0}:{1}"
    made = Resource(urn(word, "one"), word, "one", inputs={"length": 24})
    held = {"stringData": (made.urn,)}
    kept = _object("kubernetes:core/v1:Secret", "kept", {"stringData": {"a": UNKNOWN}}, dependencies=held)
    request = tls.format("certRequest", "CertRequest") if through else tls.format("selfSignedCert", "SelfSignedCert")
    first = Resource(urn(request, "r"), request, "r", {by: UNKNOWN}, dependencies={by: (made.urn,)})
    signed = tls.format("locallySignedCert", "LocallySignedCert")
    more = Resource(
        urn(signed, "c"), signed, "c", {"certRequestPem": UNKNOWN}, dependencies={"certRequestPem": (first.urn,)}
    )
    depends = {"data": (more.urn if through else first.urn,)}
    taker = _object("kubernetes:core/v1:ConfigMap", "x", {"data": {"a": UNKNOWN}}, USERS, dependencies=depends)
    assert len(_said(FLOW, made, kept, first, *([more] if through else []), taker)) == said


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("ours", "Secret", 1),
        ("ours", "ConfigMap", 0),  # its address, for one
        ("users", "Secret", 0),
    ],
)
def test_a_kubeconfig_that_is_made_here_is_seen_before_it_is_known(name: str, kind: str, said: int) -> None:
    cloud = Provider("urn:pulumi:s::p::pulumi:providers:eks::x", "pulumi:providers:eks", "x", {})
    made = Resource("urn:pulumi:s::p::eks:index:Cluster::c", "eks:index:Cluster", "c", {}, {}, provider=cloud)
    role = OURS if name == "ours" else USERS
    opened = Resource(role.urn, role.type, role.name, {"kubeconfig": UNKNOWN}, dependencies={"kubeconfig": (made.urn,)})
    field = "stringData" if kind == "Secret" else "data"
    taker = _object(
        f"kubernetes:core/v1:{kind}", "x", {field: {"a": UNKNOWN}}, USERS, dependencies={field: (made.urn,)}
    )
    assert len(_said(FLOW, made, opened, taker)) == said


def test_a_secret_beside_short_values_is_reported_once_where_it_is() -> None:
    token = literals.opaque("beside")
    kept = _object("kubernetes:core/v1:Secret", "dns", {"stringData": {"token": token}})
    copy = _object("kubernetes:core/v1:ConfigMap", "x", {"data": {"zone": "example.com", "token": token}}, USERS)
    assert [message.split(":")[0] for message in _said(VALUE, kept, copy)] == ["data.token"]


@pytest.mark.parametrize(("name", "said"), [("users", 0), ("others", 1)])
def test_a_cluster_without_an_address_yet_is_classified_by_its_providers_name(name: str, said: int) -> None:
    urn = f"urn:pulumi:s::p::pulumi:providers:kubernetes::{name}"
    new = Provider(urn, "pulumi:providers:kubernetes", name, {"kubeconfig": UNKNOWN})
    assert len(_said(PROVIDERS, _object("kubernetes:core/v1:ConfigMap", "x", {}, new))) == said


@pytest.mark.parametrize(("marked", "said"), [(False, 0), (True, 1)])
def test_an_objects_name_is_public_unless_it_was_made_from_a_secret(marked: bool, said: int) -> None:
    name = "correcthorse"
    kept = _object("kubernetes:core/v1:Secret", "dns", {"stringData": {"token": name}})
    named = {"metadata": {"name": Secret(name) if marked else name}}
    written = _object("kubernetes:core/v1:ConfigMap", "x", named, USERS)
    assert len(_said(VALUE, kept, written)) == said


@pytest.mark.parametrize("layers", [0, 1, 2, 3])
def test_a_certificate_is_public_in_json_in_json(layers: int) -> None:
    """An object that no preview showed may have it; the key beside it may not be there."""
    for pem, public in (
        (literals.certificate("a"), True),
        (literals.private_key("a"), False),
        (literals.opaque("a"), False),
    ):
        text = pem
        for _ in range(layers):
            text = json.dumps({"authority": text, "mesh": "shop"})
        assert is_public(text.encode()) is public


@pytest.mark.parametrize(
    "drawn",
    [
        lambda: ec.generate_private_key(ec.SECP256R1()),
        lambda: ec.generate_private_key(ec.SECP384R1()),
        ed25519.Ed25519PrivateKey.generate,
    ],
    ids=["P-256", "P-384", "Ed25519"],
)
def test_a_key_on_a_curve_in_a_line_is_public_by_its_half(drawn: Callable[[], Any]) -> None:
    key = drawn()
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    private = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    for der, shown in ((public, True), (private, False), (public[:27] + private[-32:], False)):
        assert is_public(b"v=DKIM1; k=ecdsa; p=" + base64.b64encode(der)) is shown


def test_an_archives_zeros_are_not_looked_for() -> None:
    index = Index()
    index.add(fingerprints(wrappings.WRAPPINGS["tar"](b"aB3dEfGh1jKlMn0pQrSt9vWx"), certain=True), "here")
    assert list(index.search(b"use aB3dEfGh1jKlMn0pQrSt9vWx there"))
    assert not list(index.search(bytes(64)))


def test_one_secret_is_looked_for_and_not_the_address_that_it_is_in() -> None:
    one, other = "aB3dEfGh1jKlMn0pQrSt9vWx", "Zz9yXw8vUt7sRq6pOn5mLk4j"
    for form in (
        "https://hooks.slack.com/services/T01234567/B01234567/{}",
        "https://example.webhook.office.com/webhookb2/@/IncomingWebhook/{}/x",
        "jdbc:oracle:thin:mesh/{}@db.example.com:1521/mesh",
        "mesh:{}@tcp(db.example.com:3306)/mesh?parseTime=true",
        "Endpoint=sb://mesh.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={}",
        "root:$6$rounds=4096$saltsalt${}:19000:0:99999:7:::",
        "postgres.example.com:5432:orders:orders_rw:{}",
        '{},system:node:bootstrapper,10001,"system:bootstrappers:default-node-token"',
        '"orders" "SCRAM-SHA-256$4096:{}:"',
        "client=fleet-platform&secret={}&grant=client_credentials",
        "robot$builder:{}",
        "<Server><Realm>a.realm.of.users</Realm><keystorePass>{}</keystorePass></Server>",
    ):
        index = Index()
        index.add(fingerprints(form.format(one).encode(), name="url"), "here")
        assert list(index.search(f"use {one} there".encode()))
        assert not list(index.search(form.format(other).encode()))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KAFKA_CLUSTER_ID", "MkU3OEVBNTcwNTJENDM2Qk"),
        ("RELEASE", "3f9a2b7c4d1e"),
        ("TXT_OWNER", "x7k2m9q4w8p3"),
        ("SENTRY_DSN", "https://4f1c9a7be02d4d6c8a15f7c3e9b0d264@o4505.ingest.example.io/4505"),
    ],
)
@pytest.mark.parametrize(
    "form", ["A=b\n{}={}\nDB_PASSWORD={}\n", '{{"{}": "{}", "password": "{}"}}', "{}={};Password={}"]
)
def test_what_is_public_by_its_name_is_so_in_a_file_of_settings(name: str, value: str, form: str) -> None:
    password = "hC8Lw2pZ9rT5mQ7vXk3B"
    kept = _object("kubernetes:core/v1:Secret", "app", {"stringData": {".env": form.format(name, value, password)}})
    for given, said in ((value, 0), (password, 1)):
        taker = _object("kubernetes:core/v1:ConfigMap", "x", {"data": {"a": given}}, USERS)
        assert len(_said(VALUE, kept, taker)) == said


@pytest.mark.parametrize("name", ["client-id", "zone", "hostedZoneID", "org", "endpoint", "revision", "AccountTag"])
def test_an_identifier_is_no_secret_whatever_it_looks_like(name: str) -> None:
    value = b"k2v9x4m7q1w8z5n3b6c0l2j4h7g9f1d3"
    assert level_of(value, name) is Level.PUBLIC
    assert level_of(value, f"{name}-token") is Level.SECRET


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("password: {}", True),
        ('{{"adminPassword": "{}"}}', True),
        ("JWT_SECRET={}\n", True),
        ("Server=db;User Id=mesh;Password={};Encrypt=True", True),
        ("HTTP_Passwd {}", True),
        ("X-Api-Key: {}", True),
        ("RECAPTCHA_SITE_KEY={}", False),
        ("client_id: {}", False),
        ("password_hash: {}", False),
        ("STRIPE_SECRET_NAME: {}", False),
        ("password: ENC({})", False),
        ("password: ${{{}}}", False),
    ],
)
def test_a_credential_that_its_name_gives_away(text: str, found: bool) -> None:
    data = text.format("k2v9x4m7Q1w8z5n3B6c0").encode()
    assert holds_named(data, data.lower()) is found


@pytest.mark.parametrize(
    ("name", "value", "level"),
    [
        ("known_hosts", f"git.example.com ssh-ed25519 {literals.opaque('host', 68)}\n", Level.PUBLIC),
        ("known_hosts", literals.opaque("host", 68), Level.SECRET),
        ("auth-extra-groups", "system:bootstrappers:kubeadm:default-node-token", Level.PUBLIC),
        ("auth-extra-groups", literals.opaque("groups", 40), Level.SECRET),
        ("auth-token", "system:bootstrappers:kubeadm:default-node-token", Level.SECRET),
    ],
    ids=["a host's key", "no host's key", "groups", "no groups", "no token's name"],
)
def test_what_a_name_says_of_a_value_that_looks_odd(name: str, value: str, level: Level) -> None:
    assert level_of(value.encode(), name) is level


def _release_record(password: str) -> bytes:
    record = {"name": "grafana", "chart": {"templates": ["{{ .Values }}"] * 20}, "config": {"adminPassword": password}}
    return base64.b64encode(base64.b64encode(gzip.compress(json.dumps(record).encode(), mtime=0)))


LOGIN = b"https://sts.eu-west-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Credential="
ROOM = "https://chat.googleapis.com/v1/spaces/AAAAexample/messages?key=example&token={}"
FRAMES: dict[str, Callable[[str], bytes]] = {
    "release": _release_record,
    "token": lambda secret: b"k8s-aws-v1." + base64.b64encode(LOGIN + secret.encode()[::-1] + secret.encode("cp037")),
    "webhook-url": lambda secret: ROOM.format(secret).encode(),
}


@pytest.mark.parametrize("name", FRAMES)
def test_what_stands_around_a_secret_is_not_looked_for(name: str) -> None:
    one, other = (FRAMES[name](literals.opaque(secret, 43)) for secret in ("one", "other"))
    index = Index()
    index.add(fingerprints(one, name=name), "one")
    assert inspect(text_of({"value": one.decode()}), index).matches
    assert not inspect(text_of({"value": other.decode()}), index).matches


@pytest.mark.parametrize("sign", ["_", "-"])
@pytest.mark.parametrize("inside", [True, False])
def test_what_a_token_says_of_itself_is_not_looked_for(sign: str, inside: bool) -> None:
    """The same organisation's other token says the same; its secret is in the JSON or after it."""

    def token(secret: str) -> str:
        said = {"iat": 1767225600, "url": "https://vendor.example.com", "org": "a-fleet-of-clusters"}
        told = json.dumps({**said, "k": secret} if inside else said)
        after = "" if inside else f"{sign}{secret}"
        return f"vnd{sign}{base64.b64encode(told.encode()).decode()}{after}"

    one, other = "aB3dEfGh1jKlMn0pQrSt9vWx", "Zz9yXw8vUt7sRq6pOn5mLk4j"
    index = Index()
    index.add(fingerprints(token(one).encode(), name="token"), "here")
    assert inspect(text_of({"value": f"use {token(one)} there"}), index).matches
    assert inspect(text_of({"value": f"use {one} there"}), index).matches
    assert not inspect(text_of({"value": f"use {token(other)} there"}), index).matches


@pytest.mark.parametrize(
    ("text", "looked_for"),
    [
        ("SPLUNK_TOKEN={}\nuri=https://splunk.example.com", True),
        ("uri: https://splunk.example.com\napi-key: {}", True),
        ("tenant={}\nclient_id={}", False),
    ],
)
def test_a_uuid_in_a_file_of_settings_is_a_secret_by_its_name(text: str, looked_for: bool) -> None:
    uuid = "4d5ee1f0-19c6-4f0a-8d4f-d3a5e6c7b8a9"
    assert (uuid.encode() in set(fingerprints(text.format(uuid, uuid).encode(), name="settings"))) is looked_for


@pytest.mark.parametrize(
    "text", ["aB3$dE9f%Gh1:K2lMn0pQ,rSt9vW", "Summer24,Kq7vXw2mZx7LkW4n", "Kq7vXw2mZx7Lk:Summer24"]
)
def test_of_a_password_with_signs_all_is_looked_for(text: str) -> None:
    """Where something opens with it, the little that is no letters by chance is its own."""
    index = Index()
    index.add(fingerprints(text.encode(), name="password"), "here")
    assert any(hit.length >= len(text) - 9 for hit in index.search(text.encode()))
    assert list(index.search(f"use {text[4:24]} there".encode()))


@pytest.mark.parametrize(
    ("variable", "comes", "said"),
    [
        ("PGHOST", "q7.hosted.example.com", (0, 0)),
        ("PGUSER", "reader", (0, 0)),
        ("PGHOST", literals.opaque("claim", 36), (0, 1)),
        ("PGHOST", json.dumps({"host": "q7.example.com", "password": literals.opaque("claim", 36)}), (0, 1)),
        ("PGPASSWORD", literals.opaque("claim", 36), (1, 0)),
    ],
    ids=["a host", "a user", "drawn", "a password within", "a password"],
)
def test_a_fact_of_a_status_is_written_if_it_is_one(variable: str, comes: str, said: tuple[int, int]) -> None:
    """A claim of the control plane's answers after the preview, and marks nothing."""
    kind = "kubernetes:hosted.example.com/v1:Database"
    claim = _object(kind, "claim", {"spec": {"size": "small"}}, outputs={"status": UNKNOWN})

    def reader(value: Any) -> Resource:
        spec = {"containers": [{"name": "reader", "env": [{"name": variable, "value": value}]}]}
        kinds, more = "kubernetes:core/v1:Pod", {"spec": (claim.urn,)}
        return _object(kinds, "reader", {"spec": spec}, USERS, dependencies=more)

    preview = Context(Stack("s", (claim, reader(UNKNOWN)), preview=True), SETTINGS)
    found = judge(FLOW, preview)
    write = Context(Stack("s", (reader(comes),), partial=True), SETTINGS, evidence=evidence_of(preview, []))
    assert (len(found), len(judge_resource(UNPROVEN, write, reader(comes)))) == said


@pytest.mark.parametrize("name", ["sha1", "sha224", "sha256", "sha384", "sha512"])
def test_a_digest_alone_is_known_by_its_length(name: str) -> None:
    made = hashlib.new(name, b"a public key").digest()
    coded = base64.b64encode(made)
    for form in (made.hex().encode(), made.hex().upper().encode(), coded, coded.rstrip(b"=")):
        assert is_bare_digest(form)
        assert not is_bare_digest(form + b"00")
        assert not is_bare_digest(b"key " + form)


@pytest.mark.parametrize(
    ("note", "kept", "said"),
    [
        ({}, False, [FLOW]),
        ({"hosted-mesh.io/data-plane-owned": "made by their own operator"}, False, [FLOW]),
        ({"hosted-mesh.io/declassify": "data: copy of their own Secret"}, False, []),
        ({"hosted-mesh.io/declassify": "data: copy of their own Secret"}, True, [VALUE]),
    ],
    ids=["nothing said", "said to be their own", "declassified", "declassified, and the control plane's"],
)
def test_what_is_only_read_wants_its_property_declassified(note: dict[str, str], kept: bool, said: list[Rule]) -> None:
    """Nothing shows which cluster it was read from."""
    kind, text = "kubernetes:core/v1:Secret", literals.opaque("read", 40)
    coded = Secret(base64.b64encode(text.encode()).decode())
    read = f"urn:pulumi:s::p::{kind}::read"
    body = {"metadata": {"annotations": note}, "data": {"password": coded}}
    copy = _object(kind, "copy", body, USERS, dependencies={"data": (read,)})
    own = [_object(kind, "own", {"data": {"password": coded}})] if kept else []
    assert [rule for rule in (FLOW, VALUE, SHAPE) if _said(rule, copy, *own)] == said


DIGEST = hashlib.sha256(b"one").digest()
AS_PUBLIC = {
    "prefix": f"sha256:{DIGEST.hex()}",
    "colons": DIGEST.hex(":"),
    "key's": "SHA256:" + base64.b64encode(DIGEST).decode().rstrip("="),
    "in a line": f"pin sha256/{base64.b64encode(DIGEST).decode()} of it",
}


@pytest.mark.parametrize("form", AS_PUBLIC)
@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
@pytest.mark.parametrize(
    ("of", "said"),
    [("a password", 1), ("a Secret", 1), ("a Secret with PEM", 0), ("a Secret that is only read", 0), ("a key", 0)],
)
def test_a_digest_of_a_password_is_none_to_show(of: str, said: int, kind: str, form: str) -> None:
    """What else has digests, has those of its public half."""
    word, pair = "random:index/randomPassword:RandomPassword", "tls:index/privateKey:PrivateKey"
    made, output = (pair, "privateKeyPem") if of == "a key" else (word, "result")
    text = literals.private_key("one") if of in {"a key", "a Secret with PEM"} else literals.opaque("one", 32)
    source = Resource(f"urn:pulumi:s::p::{made}::one", made, "one", {}, {output: Secret(text)})
    data = {"data": {"a": Secret(base64.b64encode(text.encode()).decode())}}
    fed = {"data": (source.urn,)}
    read = of == "a Secret that is only read"
    kept = _object("kubernetes:core/v1:Secret", "kept", dict(data), dependencies=fed, outputs=None if read else data)
    shown = AS_PUBLIC[form]
    shown = base64.b64encode(shown.encode()).decode() if kind == "Secret" else shown
    depends = {"data": (kept.urn if of.startswith("a Secret") else source.urn,)}
    taker = _object(f"kubernetes:core/v1:{kind}", "x", {"data": {"a": Secret(shown)}}, USERS, dependencies=depends)
    assert len(_said(FLOW, source, kept, taker)) == said


@pytest.mark.parametrize(
    ("record", "text", "pins"),
    [
        ("TLSA", f"3 1 1 {DIGEST.hex()}", True),
        ("SSHFP", f"4 2 {DIGEST.hex()}", True),
        ("TLSA", f"3 1 1 {DIGEST.hex()}00", False),
        ("TLSA", "3 1 1 " + literals.opaque("one", 40), False),
        ("TXT", f"3 1 1 {DIGEST.hex()}", False),
    ],
    ids=["of TLS", "of SSH", "longer", "no digest", "in a text"],
)
def test_a_record_pins_a_key_by_its_digest(record: str, text: str, pins: bool) -> None:
    """DANE's and SSH's, of which the type of the record says that a digest is expected."""
    kind = "aws:route53/record:Record"
    pin = Resource(f"urn:pulumi:s::p::{kind}::p", kind, "p", inputs={"type": record, "records": [text]})
    assert [is_pin(pin, leaf) for leaf in leaves(pin.body) if leaf.path[0] == "records"] == [pins]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("aws:secretsmanager/secret:Secret", 0),
        ("gcp:secretmanager/regionalSecret:RegionalSecret", 0),
        ("aws:secretsmanager/secretVersion:SecretVersion", 1),
        ("azure:keyvault/secret:Secret", 1),
    ],
)
def test_the_name_of_a_secrets_place_is_no_secret(kind: str, said: int) -> None:
    """The value is another resource's in two clouds: of the place there are a name and an ARN."""
    place = Resource(f"urn:pulumi:s::p::{kind}::s", kind, "s", {"name": "signer"}, {"arn": UNKNOWN}, provider=CLOUD)
    taker = _object(
        "kubernetes:core/v1:ConfigMap", "x", {"data": {"a": UNKNOWN}}, USERS, dependencies={"data": (place.urn,)}
    )
    assert len(_said(FLOW, place, taker)) == said


def test_text_in_hex_with_colons_is_no_fingerprint() -> None:
    assert is_public(DIGEST.hex(":").encode())
    assert not is_public(literals.opaque("one", 32).encode().hex(":").encode())
