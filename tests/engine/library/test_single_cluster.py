"""A mesh with `split: false` on a real API server: an ordinary mesh in the user's cluster, and nothing elsewhere."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from sandbox.engine.deployment import POLICY_PACK
from tests.engine.library.engine import Api, Project, Stack, differences, versions

Config = dict[str, Any]
CANARY = "canary"
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
def test_an_istiod_in_use_is_removed_with_a_reason_alone(project: Project, user: Api, single: Config) -> None:
    """Without nodes no istiod answers, so Pods count. The other revision has none; its objects stay too."""
    # One replica: otherwise an autoscaler changes the gateway's Deployment meanwhile.
    single["memberships"][0]["gateways"] = [{**GATEWAY, "replicas": 1}]
    both = {**single, "revisions": [*single["revisions"], {**single["revisions"][0], "name": CANARY}]}
    namespace = f"mesh-{single['name']}"

    def stack(document: Config) -> Stack:
        return project.stack("single-in-use", {"stack": "all-in-one", "mesh": document})

    def refused(document: Config, *arguments: str) -> None:
        before = user.stored(), versions(user)
        done = stack(document).run(*arguments)
        assert done.code != 0, done.text
        (rule,) = set(re.findall(r"revision \S+ in namespace \S+ is in use .*", done.text))
        assert rule.startswith(f"revision {CANARY} in namespace {namespace} is in use by 1 proxies")
        assert rule.endswith(f"Or set controlPlane.removeInUse: {{{CANARY}: REASON}}")
        assert (user.stored() - before[0], before[0] - user.stored()) == (set(), set()), arguments
        after = versions(user)
        changed = differences(before[1], after)
        assert changed == {}, [(key, before[1].get(key), after.get(key)) for key in changed]

    with user.with_sidecar("cart", "shop", CANARY):
        stack(both).up()
        for arguments in (("preview",), ("up", "--yes"), ("up", "--yes", "--skip-preview")):
            refused(single, *arguments)
        for options in ((), ("--skip-preview",), ("--skip-preview", "--continue-on-error")):
            refused(both, "destroy", "--yes", "--run-program", *options)
        without = stack(both).run("destroy", "--yes", "--skip-preview")
        assert without.code != 0
        assert "--run-program" in without.text
        assert stack(both).up().summary().keys() <= {"unchanged", "created"}, "guards of revisions without proxies"
        reason = {"controlPlane": {"removeInUse": {CANARY: "only tried here"}}}
        assert "only tried here" in stack({**single, **reason}).succeed("up", "--yes").text
        assert user.kubectl("get", "deployment", f"istiod-{CANARY}", "-n", namespace).code != 0
        stack({**both, **reason}).up()
        stack({**both, **reason}).destroy()
        assert namespace not in str(user.stored())
    stack(both).up()
    stack(both).destroy()


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
