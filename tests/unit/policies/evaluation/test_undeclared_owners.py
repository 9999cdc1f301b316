"""Verdicts that rest on an owner that nobody declared: advisory without settings, mandatory with `strict`."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hosted_mesh_plan.clusters import ClusterConfig
from hosted_mesh_plan.model import Provider, Resource, Stack
from hosted_mesh_plan.tree import UNKNOWN, Secret
from hosted_mesh_policies.evaluation.context import Context
from hosted_mesh_policies.evaluation.finding import Finding
from hosted_mesh_policies.evaluation.rule import INIT, judge
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.pack.server import STRICT, Analyzer
from hosted_mesh_policies.pack.session import Session
from hosted_mesh_policies.rules.catalogue import RULES
from hosted_mesh_policies.rules.credentials import VALUE
from pulumi.runtime.proto import analyzer_pb2

from tests.corpus import literals
from tests.unit.policies.rules.sides import LOGIN, REFERENCE, URN, WORD, resource, secret

SERVER = "https://app.example.com:6443"
MANDATORY = frozenset(rule.name for rule in RULES if rule.mandatory)


def _through(one: Resource) -> Resource:
    """The same object in a cluster whose address is known."""
    provider = Provider(
        f"{URN}pulumi:providers:kubernetes::app",
        "pulumi:providers:kubernetes",
        "app",
        {"kubeconfig": literals.kubeconfig(SERVER, literals.opaque("app", 40))},
    )
    return dataclasses.replace(one, provider=provider)


def _configured(value: Any) -> Resource:
    inputs = {"metadata": {"name": "app"}, "data": {"app.conf": value}}
    return _through(resource("kubernetes:core/v1:ConfigMap", "app-conf", "app", inputs=inputs))


def _account(kind: str, name: str, provider: str, *, value: Any = UNKNOWN, **inputs: Any) -> Resource:
    return resource(kind, name, provider, inputs=inputs, outputs={"secret": value})


def _found(*resources: Resource, settings: Settings | None = None, **ambient: str) -> list[Finding]:
    context = Context(Stack("s", resources), settings or Settings(), ambient)
    return [found for rule in RULES if rule.name in MANDATORY for found in judge(rule, context)]


def _of_stack() -> tuple[Resource, ...]:
    reference = resource(REFERENCE, "shop/data/prod", outputs={"outputs": {"password": Secret(LOGIN)}})
    return reference, _through(secret("app", Secret(LOGIN), reference))


def _of_account() -> tuple[Resource, ...]:
    key = _account("aws:iam/accessKey:AccessKey", "backup", "some-account")
    return key, _through(secret("app", UNKNOWN, key))


def _of_database() -> tuple[Resource, ...]:
    word = resource(WORD, "database", outputs={"result": Secret(LOGIN)})
    database = resource(
        "aws:rds/instance:Instance",
        "orders",
        "default_7",
        inputs={"password": Secret(LOGIN)},
        dependencies={"password": (word.urn,)},
    )
    return word, database, _through(secret("app", Secret(LOGIN), word))


UNDECLARED = {"another stack's": _of_stack, "an account's": _of_account, "its own database's": _of_database}


@pytest.mark.parametrize("name", UNDECLARED)
def test_such_a_verdict_is_advisory_and_names_the_setting_and_the_command(name: str) -> None:
    found = _found(*UNDECLARED[name]())
    assert found
    for one in found:
        assert one.advisory
        assert INIT in one.message
        assert (
            f"No setting declares cluster {SERVER}: if it is the control plane's, name it in controlPlaneServers"
            in (one.message)
        )


@pytest.mark.parametrize("name", UNDECLARED)
@pytest.mark.parametrize(
    "settings",
    [Settings(strict=True), Settings(clusters=ClusterConfig(data_plane_servers=(f"{SERVER}",)))],
    ids=["strict", "a settings file"],
)
def test_it_is_mandatory_with(name: str, settings: Settings) -> None:
    found = _found(*UNDECLARED[name](), settings=settings)
    assert found
    assert not any(one.advisory for one in found)


@pytest.mark.parametrize("name", UNDECLARED)
def test_it_is_mandatory_in_a_program_that_uses_the_library(name: str) -> None:
    library = Resource(f"{URN}hosted-mesh:index:MeshTrust::trust", "hosted-mesh:index:MeshTrust", "trust")
    found = _found(library, *UNDECLARED[name]())
    assert found
    assert not any(one.advisory for one in found)


@pytest.mark.parametrize(
    ("resources", "ambient"),
    [
        ((_configured(f"token: {LOGIN}"),), {"HCLOUD_TOKEN": LOGIN}),
        ((_configured(literals.private_key("app")),), {}),
        ((_configured(literals.kubeconfig("https://hub.example.com:6443", LOGIN)),), {}),
        ((key := _account("aws:iam/accessKey:AccessKey", "k", "default_7"), _through(secret("app", UNKNOWN, key))), {}),
    ],
    ids=["the deployer's own by value", "a key by its shape", "a kubeconfig by its shape", "made in their account"],
)
def test_a_leak_whoever_owns_the_cluster_is_mandatory(resources: tuple[Resource, ...], ambient: dict[str, str]) -> None:
    assert any(not one.advisory for one in _found(*resources, **ambient))


def test_a_key_in_a_secret_of_a_cluster_that_nobody_declared_is_advisory() -> None:
    """The cluster may be the control plane's, where its keys belong."""
    kept = _through(secret("app", Secret(literals.private_key("app"))))
    assert {one.advisory for one in _found(kept)} == {True}
    assert {one.advisory for one in _found(kept, settings=Settings(strict=True))} == {False}


def test_a_default_provider_of_a_cluster_that_nobody_declared_is_advisory() -> None:
    inputs = {"metadata": {"name": "app"}, "data": {"host": "app.example.com"}}
    found = _found(resource("kubernetes:core/v1:ConfigMap", "app", "default_4_34", inputs=inputs))
    assert [one.advisory for one in found] == [True]


def test_before_a_write_a_databases_own_password_is_advisory_as_at_preview() -> None:
    """Else an update stops in its middle over what its preview let pass."""
    _, database, kept = _of_database()
    session = Session(settings=Settings())
    session.before_write(database, [VALUE])
    found = session.before_write(kept, [VALUE])
    assert [one.advisory for one in found] == [True]


@pytest.mark.parametrize("value", ["true", "false", ""])
def test_the_stacks_configuration_may_set_it(value: str) -> None:
    analyzer = Analyzer({})
    stack = analyzer_pb2.AnalyzerStackConfigureRequest(stack="s", config={STRICT: value} if value else {})
    analyzer.configure_stack(stack, None)
    assert analyzer.session.settings.strict is (value == "true")
    analyzer.configure(analyzer_pb2.ConfigureAnalyzerRequest(), None)
    assert analyzer.session.settings.strict is (value == "true")


def test_the_engine_gets_the_lower_level() -> None:
    analyzer = Analyzer({})
    for finding in _found(*_of_stack()):
        said = analyzer._diagnostic(finding, "")
        assert said.enforcementLevel == analyzer_pb2.ADVISORY
        assert analyzer._diagnostic(dataclasses.replace(finding, advisory=False), "").enforcementLevel == (
            analyzer_pb2.MANDATORY
        )
