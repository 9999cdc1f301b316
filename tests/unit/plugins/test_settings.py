"""The provider's configuration: kubeconfigs, what a change of them replaces, what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sandbox.plugins.kubernetes import settings
from sandbox.plugins.kubernetes.api_server import kubeconfig
from sandbox.plugins.kubernetes.provider import KubernetesProvider
from sandbox.plugins.protocol.engine import Engine
from sandbox.plugins.protocol.errors import NotImplementedHere
from sandbox.plugins.protocol.stubs import provider_pb2
from sandbox.plugins.protocol.values import UNKNOWN, Secret


def _config(server: str = "https://one:6443", **user: Any) -> dict[str, Any]:
    return {
        "current-context": "main",
        "contexts": [
            {"name": "main", "context": {"cluster": "main", "user": "me", "namespace": "mine"}},
            {"name": "other", "context": {"cluster": "other", "user": "me"}},
        ],
        "clusters": [
            {"name": "main", "cluster": {"server": server}},
            {"name": "other", "cluster": {"server": "https://other:6443"}},
        ],
        "users": [{"name": "me", "user": {"token": "secret-token", **user}}],
    }


def _text(**arguments: Any) -> str:
    return json.dumps(_config(**arguments))


def test_a_kubeconfig_comes_as_content_or_as_path(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("current-context: main\n")
    assert kubeconfig.parse(str(path)) == {"current-context": "main"}
    assert kubeconfig.parse("current-context: main") == {"current-context": "main"}


@pytest.mark.parametrize("text", ["{", "/no/such/file", "[1]", "a: b: c"])
def test_what_is_no_kubeconfig_is_refused(text: str) -> None:
    with pytest.raises(kubeconfig.KubeconfigError):
        kubeconfig.parse(text)


def test_access() -> None:
    access = kubeconfig.access(_config())
    assert (access.server, access.namespace) == ("https://one:6443", "mine")
    assert access.headers == {"Authorization": "Bearer secret-token"}
    assert "secret-token" not in repr(access)
    assert kubeconfig.access(_config(), context="other", namespace="n").namespace == "n"
    assert kubeconfig.access(_config(), cluster="other").server == "https://other:6443"


@pytest.mark.parametrize(
    ("config", "context", "message"),
    [
        (_config(), "nowhere", 'context "nowhere" does not exist'),
        ({}, "", "no configuration has been provided"),
        ({**_config(), "clusters": []}, "", "has no server"),
        (_config(**{"client-certificate-data": "!"}), "", "client-certificate cannot be read"),
    ],
)
def test_access_that_cannot_be_had(config: dict[str, Any], context: str, message: str) -> None:
    with pytest.raises(kubeconfig.KubeconfigError, match=message):
        kubeconfig.access(config, context=context)


@pytest.mark.parametrize(
    ("user", "place"),
    [
        ({"exec": {"command": "aws"}}, "users[name=me].user.exec"),
        ({"auth-provider": {"name": "oidc"}}, "users[name=me].user.auth-provider"),
        ({"as": "somebody"}, "users[name=me].user.as"),
        ({"as-groups": ["admins"]}, "users[name=me].user.as-groups"),
        ({"tokenFile": "/a/file"}, "users[name=me].user.tokenFile"),
        ({"username": "me"}, "users[name=me].user.username"),
    ],
)
def test_credentials_that_are_not_for_the_stand_in_fail_when_it_is_configured(user: dict[str, Any], place: str) -> None:
    """Not later, as an unreachable cluster does: then a preview shows inputs as if all were well."""
    provider = KubernetesProvider(Engine(""))
    request = provider_pb2.ConfigureRequest(variables={"kubernetes:config:kubeconfig": _text(**user)})
    with pytest.raises(NotImplementedHere, match=re.escape(place)) as raised:
        provider.configure(request)
    assert "secret-token" not in str(raised.value)


def test_a_proxy_is_refused() -> None:
    config = _config()
    config["clusters"][0]["cluster"]["proxy-url"] = "http://proxy"
    with pytest.raises(NotImplementedHere, match="proxy-url"):
        kubeconfig.access(config)


def test_the_file_that_kubectl_would_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").write_text(_text())
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    assert kubeconfig.access(kubeconfig.ambient()).server == "https://one:6443"
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'config'}:{tmp_path / 'missing'}")
    with pytest.raises(NotImplementedHere, match="several files in KUBECONFIG"):
        kubeconfig.ambient()


@pytest.mark.parametrize(
    ("old", "new", "changed", "replaces"),
    [
        ({"a": "1"}, {"a": "1"}, [], []),
        ({"kubeconfig": _text()}, {"kubeconfig": Secret(_text())}, [], []),
        # The same cluster by other credentials.
        ({"kubeconfig": _text()}, {"kubeconfig": _text(token="t")}, ["kubeconfig"], []),
        ({"kubeconfig": _text()}, {"kubeconfig": _text(server="https://two")}, ["kubeconfig"], ["kubeconfig"]),
        ({"kubeconfig": _text()}, {"kubeconfig": _text(), "context": "other"}, ["context"], ["context"]),
        ({"kubeconfig": _text()}, {"kubeconfig": UNKNOWN}, ["kubeconfig"], ["kubeconfig"]),
        # With an identifier only the identifier counts.
        (
            {"kubeconfig": _text(), "clusterIdentifier": "a"},
            {"kubeconfig": UNKNOWN, "clusterIdentifier": "a"},
            ["kubeconfig"],
            [],
        ),
        (
            {"kubeconfig": _text(), "clusterIdentifier": "a"},
            {"kubeconfig": _text(server="https://two"), "clusterIdentifier": "a"},
            ["kubeconfig"],
            [],
        ),
        (
            {"kubeconfig": _text(), "clusterIdentifier": "a"},
            {"kubeconfig": _text(), "clusterIdentifier": "b"},
            ["clusterIdentifier"],
            ["clusterIdentifier"],
        ),
        ({"kubeconfig": _text()}, {"kubeconfig": _text(), "clusterIdentifier": "a"}, ["clusterIdentifier"], []),
        ({"namespace": "a"}, {"namespace": "b"}, ["namespace"], []),
    ],
)
def test_what_a_change_replaces(
    old: dict[str, Any], new: dict[str, Any], changed: list[str], replaces: list[str]
) -> None:
    assert settings.changes(old, new) == (changed, replaces)


def _read(**config: str) -> settings.Settings:
    return settings.read({f"kubernetes:config:{name}": value for name, value in config.items()})


def test_defaults() -> None:
    found = _read(kubeconfig=_text())
    assert not found.upsert
    assert found.default_namespace == "mine"
    assert _read(kubeconfig=_text(), context="other").default_namespace == "default"
    assert _read(kubeconfig=_text(), namespace="n").default_namespace == "n"


def test_settings_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_K8S_ENABLE_SECRET_MUTABLE", "true")
    assert _read(kubeconfig=_text()).mutable_secrets
    assert not _read(kubeconfig=_text(), enableSecretMutable="false").mutable_secrets


def test_a_bad_kubeconfig_makes_the_cluster_unreachable_and_says_why() -> None:
    assert "neither YAML nor JSON" in _read(kubeconfig="{").unreachable
    assert 'context "nowhere" does not exist' in _read(kubeconfig=_text(), context="nowhere").unreachable


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("renderYamlToDirectory", "out"),
        ("enableServerSideApply", "false"),
        ("rejectUnknownResources", "true"),
        ("deleteUnreachable", "true"),
        ("skipUpdateUnreachable", "true"),
        ("strictMode", "true"),
    ],
)
def test_settings_that_are_not_there_are_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(NotImplementedHere, match=name):
        _read(**{name: value})


def test_variables_that_are_not_there_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_K8S_DELETE_UNREACHABLE", "true")
    with pytest.raises(NotImplementedHere, match="PULUMI_K8S_DELETE_UNREACHABLE"):
        _read(kubeconfig=_text())
    assert not _read(kubeconfig=_text(), deleteUnreachable="false").unreachable
