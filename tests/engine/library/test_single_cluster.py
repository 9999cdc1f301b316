"""A mesh with `split: false` on a real API server: an ordinary mesh in the user's cluster, and nothing elsewhere."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from sandbox.engine.deployment import POLICY_PACK
from tests.engine.library.engine import Api, Project, differences, versions

Config = dict[str, Any]
GATEWAY = {"name": "ingress", "service": {"type": "ClusterIP"}}


@pytest.fixture
def single(mesh: Config) -> Config:
    """The committed document with `split: false`, without fields of the control plane's side."""
    document = copy.deepcopy(mesh)
    (revision,), (membership,) = document["revisions"], document["memberships"]
    for part, fields in ((document, ["controlPlane"]), (revision, ["host", "exposure"]), (membership, ["access"])):
        for field in fields:
            part.pop(field)
    return document | {"split": False, "memberships": [{**membership, "gateways": [GATEWAY]}]}


@pytest.mark.usefixtures("clean")
def test_an_ordinary_mesh_comes_and_goes_in_the_users_cluster_alone(
    project: Project, provider: Api, user: Api, single: Config
) -> None:
    before = versions(provider)
    stack = project.stack("single", {"stack": "all-in-one", "mesh": single})
    stack.succeed("preview", "--policy-pack", str(POLICY_PACK))
    stack.up()
    assert stack.up().summary().keys() == {"unchanged"}
    assert {step["op"] for step in stack.preview()} == {"same"}
    assert differences(before, versions(provider)) == {}, "the other cluster has nothing of it"

    name, revision = single["name"], "mesh-" + single["name"]
    namespace = f"mesh-{name}"
    assert stack.outputs()["namespace"] == namespace
    assert stack.outputs()["injection_labels"] == {"istio-injection": "enabled"}
    assert stack.outputs()["endpoints"] == {}
    (istiod,) = user.get("deployments", "-n", namespace, "--selector=app=istiod")["items"]
    pod = istiod["spec"]["template"]["spec"]
    assert pod.get("automountServiceAccountToken") is not False, "it reads its own API server"
    (cacerts,) = [one["secret"] for one in pod["volumes"] if one["name"] == "cacerts"]
    assert cacerts["optional"] is False
    secret = user.get("secret", "cacerts", "-n", namespace)
    assert set(secret["data"]) == {"ca-cert.pem", "ca-key.pem", "cert-chain.pem", "root-cert.pem"}
    gateway = user.get("deployment", "ingress", "-n", namespace)["spec"]["template"]["metadata"]
    assert gateway["annotations"]["inject.istio.io/templates"] == "gateway"
    for kind, begin in (
        ("mutatingwebhookconfigurations", "istio-sidecar-injector-"),
        ("validatingwebhookconfigurations", "istio-validator-"),
        ("validatingwebhookconfigurations", "istio-default-validator-"),
    ):
        (found,) = [one for one in user.get(kind)["items"] if one["metadata"]["name"] == f"{begin}{revision}"]
        for webhook in found["webhooks"]:
            assert webhook["clientConfig"]["service"]["namespace"] == namespace
            assert webhook["failurePolicy"] == "Fail"
    stack.destroy()


@pytest.mark.usefixtures("clean")
def test_two_clusters_and_fields_of_the_other_side_are_rejected_before_any_change(
    project: Project, provider: Api, user: Api, single: Config, mesh: Config
) -> None:
    before = provider.stored(), user.stored()
    second = {**single["memberships"][0], "name": "second"}
    bad: list[tuple[Config, str]] = [
        ({**single, "memberships": [*single["memberships"], second]}, "2 memberships, each a cluster of its own"),
        ({**mesh, "split": False}, r"split is false, so controlPlane and revisions\[0\]\.host and"),
        ({**single, "split": True}, r"revisions\[0\]\.host: is required"),
    ]
    for document, words in bad:
        done = project.stack("single", {"stack": "all-in-one", "mesh": document}).run("up", "--yes", "--skip-preview")
        assert done.code != 0
        assert re.search(words, done.text), done.text
        assert "Traceback" not in done.text
    apart = project.stack("single", {"stack": "control-plane", "mesh": single}).run("up", "--yes", "--skip-preview")
    assert apart.code != 0
    assert "split: is false" in apart.text, apart.text
    assert (provider.stored(), user.stored()) == before
    project.stack("single", {"stack": "all-in-one", "mesh": single}).destroy()
