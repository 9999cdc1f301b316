"""The Dockerfile of each agent, executed without a container engine and without the base image."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pulumi_hosted_mesh.dns import manifests
from pulumi_hosted_mesh.dns.plan import own_pairs, pairs
from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.gateway import GatewaySettings
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.tenancy import manifests as tenancy

from agents.dns_sidecar.__main__ import parser
from agents.gateway_sidecar.__main__ import parser as gateway_parser
from sandbox.bootstrap import CHECKOUT
from tests.unit.agents.dockerfile import Image, build
from tests.unit.library.dns.documents import document, provider

AGENTS = sorted(path.parent for path in (CHECKOUT / "agents").glob("*/__init__.py"))


@pytest.fixture(params=AGENTS, ids=lambda path: path.name)
def image(request: pytest.FixtureRequest, tmp_path: Path) -> Image:
    return build(request.param, tmp_path)


def test_the_base_is_pinned_by_digest(image: Image) -> None:
    assert re.fullmatch(r"[a-z0-9./-]+:[\w.-]+@sha256:[0-9a-f]{64}", image.base)


def test_the_user_is_not_root(image: Image) -> None:
    user, group = image.user.split(":")
    assert int(user) > 0
    assert int(group) > 0


def test_the_program_runs_from_the_image(image: Image) -> None:
    done = image.run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {image.entrypoint[-1]} ")


def test_the_image_contains_the_package_alone(image: Image) -> None:
    (package,) = image.path(image.workdir).iterdir()
    source = CHECKOUT / "agents" / package.name
    files = [*source.glob("*.py"), *source.glob("requirements.txt")]
    assert {path.name for path in package.iterdir() if path.is_file()} == {path.name for path in files}


def test_the_image_installs_the_pinned_requirements_and_no_others(image: Image) -> None:
    (package,) = image.path(image.workdir).iterdir()
    expected = [
        f"pip install --no-cache-dir --no-deps --requirement {file.relative_to(image.path(image.workdir))}"
        for file in package.glob("requirements.txt")
    ]
    assert image.commands == expected


def test_the_manifest_uses_the_images_entry_point_and_user(tmp_path: Path) -> None:
    image = build(CHECKOUT / "agents" / "dns_sidecar", tmp_path)
    bridge = read_document(DnsBridge, document())
    pod = manifests.reader_pod(bridge, bridge.edges[0])
    containers = [one for one in (*pod["initContainers"], *pod["containers"]) if one["image"] == bridge.images.python]
    assert [one["name"] for one in containers] == ["pipe", "sidecar"]
    for one in containers:
        assert one["command"] == image.entrypoint
        assert one["workingDir"] == str(image.workdir)
        assert {each["name"]: each["value"] for each in one["env"]} == image.environment
        assert f"{image.workdir}/dns_sidecar" in {mount["mountPath"] for mount in one["volumeMounts"]}
    assert image.base == bridge.images.python
    assert image.user == f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}"


def test_the_program_accepts_the_arguments_of_the_manifests() -> None:
    bridge = read_document(DnsBridge, document(provider(controlPlaneZones=["mesh.example.com"])))
    pods = [manifests.reader_pod(bridge, bridge.edges[0])]
    pods += [manifests.publisher_pod(bridge, one, [], keeps_conditions=True) for one in pairs(bridge)]
    pods += [manifests.publisher_pod(bridge, one, [], keeps_conditions=True) for one in own_pairs(bridge)]
    commands = [
        parser().parse_args(one["args"]).command
        for pod in pods
        for one in (*pod.get("initContainers", []), *pod["containers"])
        if one["image"] == bridge.images.python
    ]
    assert commands == ["pipe", "reader", *["pipe", "publisher"] * 2, "publisher"]


def test_the_gateways_manifest_uses_its_images_entry_point_user_and_arguments(tmp_path: Path) -> None:
    image = build(CHECKOUT / "agents" / "gateway_sidecar", tmp_path)
    settings = read_document(GatewaySettings, {"zones": ["mesh.example.com"], "openToAll": True})
    pod = tenancy.pod(settings)
    (sidecar,) = [one for one in pod["initContainers"] if one["image"] == settings.images.python]
    assert sidecar["command"] == image.entrypoint
    assert sidecar["workingDir"] == str(image.workdir)
    assert {each["name"]: each["value"] for each in sidecar["env"]} == image.environment
    assert f"{image.workdir}/gateway_sidecar" in {mount["mountPath"] for mount in sidecar["volumeMounts"]}
    assert image.base == settings.images.python
    assert image.user == f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}"
    options = gateway_parser().parse_args(sidecar["args"])
    folders = {mount["mountPath"] for mount in sidecar["volumeMounts"]}
    assert {str(options.folder), str(options.account)} <= folders
    assert {str(options.settings.parent), str(options.envoy.parent)} <= folders
    (copy, *_) = pod["initContainers"]
    assert copy["command"][-1] == str(options.envoy)
