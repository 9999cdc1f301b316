"""A control-plane secret beside a value of a resource that has none: only that value is left out of the search."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest
from hosted_mesh_plan.clusters import ClusterConfig
from hosted_mesh_plan.model import Resource, Stack
from hosted_mesh_plan.tree import UNKNOWN, Secret
from hosted_mesh_policies.evaluation.context import Context
from hosted_mesh_policies.evaluation.finding import Finding
from hosted_mesh_policies.evaluation.rule import judge
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.pack.preview_evidence import evidence_of
from hosted_mesh_policies.pack.session import Session
from hosted_mesh_policies.rules.credentials import FLOW, VALUE

from tests.corpus import literals
from tests.unit.policies.rules.sides import LOGIN, SIDES, resource

SETTINGS = Settings(clusters=ClusterConfig(**SIDES))
HOST = "master.hub-cache.x7k2p9.euw1.cache.amazonaws.com"
CERTIFICATE = literals.certificate("hub.example.com")
UNTAINTED: dict[str, tuple[str, dict[str, Any]]] = {
    "a cache's address": ("aws:elasticache/replicationGroup:ReplicationGroup", {"primaryEndpointAddress": HOST}),
    "a bucket's name": ("aws:s3/bucketV2:BucketV2", {"bucket": "hub-backups-8f3k2m9x"}),
    "a role's ARN": ("aws:iam/role:Role", {"arn": "arn:aws:iam::407408718192:role/hub-x7k2p9"}),
    "a certificate": ("acme:index/certificate:Served", {"certificatePem": CERTIFICATE}),
    "an id": ("random:index/randomId:RandomId", {"hex": "8f3a61c09be2d745"}),
}
TOKEN = literals.opaque("a tenant's cluster made it", 40)
KINDS = pytest.mark.parametrize("kind", ["Secret", "Release"])


def _source(case: str, *, known: bool) -> tuple[Resource, Any]:
    kind, outputs = UNTAINTED[case]
    through = "default_6" if kind.startswith("aws:") else ""
    shown = outputs if known else dict.fromkeys(outputs, UNKNOWN)
    return resource(kind, "source", through, inputs={}, outputs=shown), next(iter(shown.values()))


def _kept(kind: str, values: dict[str, Any], *sources: Resource) -> Resource:
    """A Secret of the control plane, or a chart in it, that keeps values."""
    urns = tuple(one.urn for one in sources)
    if kind == "Secret":
        inputs = {"metadata": {"name": "hub"}, "stringData": {key: Secret(value) for key, value in values.items()}}
        return resource("kubernetes:core/v1:Secret", "hub", "ours", inputs=inputs, dependencies={"stringData": urns})
    inputs = {"chart": "hub", "values": {"auth": {key: Secret(value) for key, value in values.items()}}}
    return resource("kubernetes:helm.sh/v3:Release", "hub", "ours", inputs=inputs, dependencies={"values": urns})


def _given(value: Any, *sources: Resource, side: str = "users") -> Resource:
    inputs = {"metadata": {"name": "agent"}, "data": {"agent.conf": value}}
    urns = {"data": tuple(one.urn for one in sources)} if sources else {}
    return resource("kubernetes:core/v1:ConfigMap", f"{side}-agent", side, inputs=inputs, dependencies=urns)


def _found(*resources: Resource, **more: Any) -> list[Finding]:
    context = Context(Stack("s", resources, **more), SETTINGS)
    return [finding for rule in (FLOW, VALUE) for finding in judge(rule, context)]


@KINDS
@pytest.mark.parametrize("known", [False, True], ids=["first preview", "second update"])
@pytest.mark.parametrize("case", UNTAINTED)
def test_a_secret_beside_such_a_value_is_found(case: str, known: bool, kind: str) -> None:
    source, value = _source(case, known=known)
    kept = _kept(kind, {"address": value, "password": LOGIN}, source)
    assert [finding.rule for finding in _found(source, kept, _given(f"password {LOGIN}"))] == [VALUE.name]


@KINDS
@pytest.mark.parametrize("case", UNTAINTED)
def test_so_is_one_that_a_value_is_put_around(case: str, kind: str) -> None:
    source, value = _source(case, known=True)
    kept = _kept(kind, {"url": f"redis://:{LOGIN}@{value}:6379"}, source)
    assert [finding.rule for finding in _found(source, kept, _given(LOGIN))] == [VALUE.name]


@KINDS
@pytest.mark.parametrize("known", [False, True], ids=["first preview", "second update"])
@pytest.mark.parametrize("case", UNTAINTED)
def test_the_value_itself_is_no_secret(case: str, known: bool, kind: str) -> None:
    source, value = _source(case, known=known)
    kept = _kept(kind, {"address": value, "password": LOGIN}, source)
    assert _found(source, kept, _given(value, source)) == []


@KINDS
@pytest.mark.parametrize("case", UNTAINTED)
def test_nor_is_it_inside_another_value(case: str, kind: str) -> None:
    source, value = _source(case, known=True)
    kept = _kept(
        kind, {"url": f"redis://:{LOGIN}@{value}:6379", "at": base64.b64encode(value.encode()).decode()}, source
    )
    assert _found(source, kept, _given(f"at {value}", source)) == []


def test_a_secret_of_the_configuration_is_found_beside_another_stacks_output() -> None:
    """The engine shows no outputs of a stack that is only referred to."""
    reference = resource("pulumi:pulumi:StackReference", "shop/data-plane/prod", read_only=True)
    kept = _kept("Secret", {"token": "shown-nowhere-8f3k2m9x7c1v", "password": LOGIN}, reference)
    configured = {"config": {"hub:admin": LOGIN}, "secret_config_keys": frozenset({"hub:admin"})}
    settings = Settings(clusters=ClusterConfig(**SIDES), data_plane_stacks=("shop/data-plane/prod",))
    for given, said in ((LOGIN, [VALUE.name]), ("shown-nowhere-8f3k2m9x7c1v", [])):
        context = Context(Stack("s", (kept, _given(given)), **configured), settings)
        assert [finding.rule for rule in (FLOW, VALUE) for finding in judge(rule, context)] == said


@KINDS
def test_before_a_write_it_is_found_as_well(kind: str) -> None:
    """The data plane's object is not known at preview, so that only the write can show the secret in it."""
    source, value = _source("a cache's address", known=False)
    kept = _kept(kind, {"address": value, "password": LOGIN}, source)
    previewed = Context(Stack("s", (source, kept, _given(UNKNOWN, source)), preview=True), SETTINGS)
    session = Session(settings=SETTINGS, evidence=evidence_of(previewed, []))
    session.before_write(_kept(kind, {"address": HOST, "password": LOGIN}), [VALUE])
    assert session.before_write(_given(HOST), [VALUE]) == []
    assert [one.rule for one in session.before_write(_given(f"{HOST} {LOGIN}"), [VALUE])] == [VALUE.name]


@pytest.mark.parametrize("known", [False, True], ids=["first preview", "second update"])
def test_a_secret_beside_a_token_of_a_tenants_cluster_is_found(known: bool) -> None:
    inputs = {"metadata": {"name": "token"}, "type": "kubernetes.io/service-account-token"}
    shown = {"data": {"token": base64.b64encode(TOKEN.encode()).decode()}} if known else {}
    minted = resource("kubernetes:core/v1:Secret", "token", "users", inputs=inputs, outputs={**inputs, **shown})
    kept = _kept("Secret", {"token": TOKEN if known else UNKNOWN, "password": LOGIN}, minted)
    assert [finding.rule for finding in _found(minted, kept, _given(LOGIN))] == [VALUE.name]
    assert _found(minted, kept, _given(TOKEN)) == []


def test_what_is_made_of_such_a_value_is_no_secret() -> None:
    """A digest of it restarts Pods."""
    source, value = _source("a certificate", known=True)
    digest = hashlib.sha256(value.encode()).hexdigest()
    kept = _kept("Secret", {"tls.crt": value, "checksum": digest, "password": LOGIN}, source)
    assert _found(source, kept, _given(digest, source)) == []
