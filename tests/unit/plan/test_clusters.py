"""Whose cluster it is: by address, whatever the names say."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hosted_mesh_plan.clusters import Clusters, Role, cluster_of, normal_server
from hosted_mesh_plan.model import Provider, Resource, Stack
from hosted_mesh_plan.tree import UNKNOWN, Secret
from hosted_mesh_policies.evaluation.settings import Settings

OURS, THEIRS = "https://ours.example.com:6443", "https://theirs.example.com"


def _kubeconfig(server: str, authority: str = "") -> str:
    cluster = {"server": server, **({"certificate-authority-data": authority} if authority else {})}
    return yaml.safe_dump({"clusters": [{"name": "c", "cluster": cluster}], "contexts": [], "users": []})


def _provider(name: str, inputs: Any) -> Provider:
    return Provider(
        f"urn:pulumi:s::p::pulumi:providers:kubernetes::{name}", "pulumi:providers:kubernetes", name, inputs
    )


def _role(provider: Provider, *others: Provider, **config: Any) -> Role:
    resources = tuple(Resource(p.urn, p.type, p.name, inputs=p.inputs) for p in (provider, *others))
    return Clusters(Stack("s", resources), Settings.read({"": config}).clusters).role_of_provider(provider)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://a.example.com", "https://A.example.com:443/"),
        ("a.example.com", "https://a.example.com:443"),
        ("https://[::1]:6443", "https://[::1]:6443/"),
    ],
)
def test_an_address_has_one_spelling(one: str, other: str) -> None:
    assert normal_server(one) == normal_server(other)


def test_an_address_that_is_none_is_nobodys() -> None:
    assert normal_server("https://[::1") == "https://[::1"
    broken = _provider("x", {"kubeconfig": _kubeconfig("https://[::1")})
    assert _role(broken, controlPlaneServers=[OURS]) is Role.UNCLASSIFIED


def test_configured_addresses_decide() -> None:
    config = {"controlPlaneServers": [OURS], "dataPlaneServers": [THEIRS]}
    assert _role(_provider("x", {"kubeconfig": _kubeconfig(OURS)}), **config) is Role.CONTROL_PLANE
    assert (
        _role(_provider("control-plane-cluster", {"kubeconfig": Secret(_kubeconfig(THEIRS + ":443"))}), **config)
        is Role.DATA_PLANE
    )


def test_the_wrappers_say_it_for_every_provider_of_that_address() -> None:
    wrapper = _provider("control-plane-cluster", {"kubeconfig": _kubeconfig(OURS)})
    assert _role(_provider("x", {"kubeconfig": _kubeconfig(OURS)}), wrapper) is Role.CONTROL_PLANE


def test_another_address_of_a_known_cluster_is_that_cluster() -> None:
    wrapper = _provider("data-plane-cluster", {"kubeconfig": _kubeconfig(THEIRS, "Q0E=")})
    assert _role(_provider("x", {"kubeconfig": _kubeconfig("https://10.0.0.1", "Q0E=")}), wrapper) is Role.DATA_PLANE


def test_what_nobody_classified_is_not_the_control_plane() -> None:
    assert _role(_provider("x", {"kubeconfig": _kubeconfig(OURS)})) is Role.UNCLASSIFIED
    contradiction = _provider("data-plane-cluster", {"kubeconfig": _kubeconfig(OURS)})
    assert (
        _role(contradiction, _provider("control-plane-cluster", {"kubeconfig": _kubeconfig(OURS)})) is Role.UNCLASSIFIED
    )


@pytest.mark.parametrize(
    "value", [UNKNOWN, Secret(UNKNOWN), "nonexistent/path", "{", None, 3, "clusters: []\nusers: []"]
)
def test_a_kubeconfig_that_cannot_be_read_is_a_problem_without_a_value(value: Any) -> None:
    cluster = cluster_of(_provider("x", {"kubeconfig": value}))
    assert cluster.server == ""
    assert cluster.problem
    assert "nonexistent" not in cluster.problem
