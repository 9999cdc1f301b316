"""The program on the real engine and two real API servers: what it creates, changes, hides and leaves."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.clusters import Sandbox
from sandbox.clusters.certificates import new_authority
from tests.engine.library.engine import Api, Project, Run, Stack, name_of

Config = dict[str, Any]
GROUPED = "mesh-demo"


def changed(mesh: Config, **changes: Any) -> Config:
    """A copy with values set by path, `dataPlane__webhooks={...}`."""
    result = copy.deepcopy(mesh)
    for path, value in changes.items():
        *parents, last = path.split("__")
        part = result
        for step in parents:
            part = part.setdefault(step, {})
        part[last] = value
    return result


def istiods_kubeconfig(provider: Api, user: Api, directory: Path) -> Path:
    """The kubeconfig that istiod got, with the address under which this machine reaches the user's API server."""
    data = provider.get("secret", "istio-kubeconfig", "-n", GROUPED)["data"]["config"]
    kubeconfig = json.loads(base64.b64decode(data))
    assert kubeconfig["clusters"][0]["cluster"]["server"] == "https://api.user.sandbox.test:6443"
    kubeconfig["clusters"][0]["cluster"]["server"] = user.cluster.server
    path = directory / "istiod.kubeconfig"
    path.write_text(json.dumps(kubeconfig))
    return path


def private_values(provider: Api) -> dict[str, str]:
    """Secrets that must be seen nowhere: the CA key and istiod's token, in the form in which they could be printed."""
    key = base64.b64decode(provider.get("secret", "cacerts", "-n", GROUPED)["data"]["ca-key.pem"]).decode()
    config = base64.b64decode(provider.get("secret", "istio-kubeconfig", "-n", GROUPED)["data"]["config"]).decode()
    return {"the CA key": key.splitlines()[1], "istiod's token": json.loads(config)["users"][0]["user"]["token"]}


@pytest.mark.usefixtures("clean")
def test_life_of_a_mesh(project: Project, mesh: Config, provider: Api, user: Api, tmp_path: Path) -> None:
    stack = project.stack("life", {"stack": "all-in-one", "mesh": mesh})

    first = stack.preview()
    assert {step["op"] for step in first} == {"create"}
    # Known at the first preview, for the charts' values are plain.
    names = {name_of(step["urn"]) for step in first}
    assert {"demo-istiod:mesh-demo/istiod", "demo-exposed", "demo-injection"} <= names
    assert GROUPED not in {item["metadata"]["name"] for item in user.get("namespaces")["items"]}

    created = stack.up()
    assert created.summary().keys() == {"created"}
    assert stack.up().summary().keys() == {"unchanged"}
    assert {step["op"] for step in stack.preview()} == {"same"}

    secrets = private_values(provider)
    printed = created.text + stack.succeed("preview", "--diff").text + json.dumps(stack.preview())
    for name, secret in secrets.items():
        assert secret not in printed, name
        assert secret.encode() not in stack.state(), name
        assert secret not in json.dumps(user.everything()) or name == "istiod's token", name
    assert "mesh-demo" in stack.state().decode()

    _least_rights(user, istiods_kubeconfig(provider, user, tmp_path))
    _owned(provider, user)
    _no_wait_for_the_load_balancer(stack)
    stack.destroy()


def _no_wait_for_the_load_balancer(stack: Stack) -> None:
    """A cloud takes minutes for one: istiod starts in them, and neither waits for the other."""
    needed = {name_of(one["urn"]): set(map(name_of, one.get("dependencies", ()))) for one in stack.resources()}
    assert needed["demo-exposed"] == {"demo-control-plane"}
    assert needed["demo-istiod"] == {"demo-quota", "demo-network", "demo-cacerts", "demo-istio-kubeconfig"}


def _least_rights(user: Api, kubeconfig: Path) -> None:
    """With istiod's kubeconfig, on the real API server."""

    def as_istiod(*arguments: str) -> Run:
        return user.kubectl(*arguments, kubeconfig=kubeconfig)

    for forbidden in (
        ["get", "secrets", "--all-namespaces"],
        ["get", "secrets", "-n", GROUPED],
        ["get", "secret", "istiod-token-1", "-n", GROUPED],
        ["get", "configmaps", "-n", "kube-system"],
        ["get", "serviceaccounts", "--all-namespaces"],
        ["get", "clusterroles"],
        ["delete", "namespace", "default"],
        ["delete", "mutatingwebhookconfiguration", "istio-sidecar-injector-mesh-demo"],
        ["create", "secret", "generic", "istio-ca-secret", "-n", GROUPED],
        ["create", "token", "default", "-n", GROUPED],
        ["create", "rolebinding", "more", "--clusterrole=cluster-admin", "--user=x", "-n", GROUPED],
    ):
        done = as_istiod(*forbidden)
        assert done.code != 0, forbidden
        assert "forbidden" in done.text.lower(), (forbidden, done.text)
    for allowed in (
        ["get", "services", "--all-namespaces"],
        ["get", "endpointslices", "--all-namespaces"],
        ["get", "nodes"],
    ):
        assert as_istiod(*allowed).code == 0, allowed


def _owned(provider: Api, user: Api) -> None:
    """Everything of the mesh carries its labels, so that it can be found and counted."""
    for api, role in ((provider, "control-plane"), (user, "data-plane")):
        made = {
            key: item["metadata"].get("labels", {})
            for key, item in api.everything().items()
            if f" {GROUPED}/" in key or GROUPED in key or "hosted-mesh" in key
        }
        by_the_cluster = ("kube-root-ca.crt", f"ServiceAccount.core {GROUPED}/default")
        for key, labels in made.items():
            if not key.endswith(by_the_cluster):
                assert labels.get("hosted-mesh.io/mesh") == "demo", key
                assert labels.get("hosted-mesh.io/role") == role, key


def with_one_authority_more(kubeconfig: Path, directory: Path) -> str:
    """Path of a kubeconfig in whose bundles an authority more is trusted, as at the beginning of a rotation."""
    content = yaml.safe_load(kubeconfig.read_text())
    for entry in content["clusters"]:
        bundle = base64.b64decode(entry["cluster"]["certificate-authority-data"])
        bundle += new_authority("the next one").certificate
        entry["cluster"]["certificate-authority-data"] = base64.b64encode(bundle).decode()
    path = directory / f"{kubeconfig.name}+1"
    path.write_text(json.dumps(content))
    return str(path)


def identities(stack: Stack) -> dict[str, str]:
    """What the state calls the cluster of each role, as the schema tells a reader to look it up."""
    exported = stack.project._call(["stack", "export", "--stack", stack.name], stack.project.directory)
    resources = json.loads(exported.output)["deployment"]["resources"]
    found = [item["inputs"]["clusterIdentifier"] for item in resources if item["type"] == "pulumi:providers:kubernetes"]
    roles = ("control-plane", "data-plane")
    return {role: one.removeprefix(f"{role}-") for role in roles for one in found if one.startswith(role)}


def operations(stack: Stack) -> dict[str, set[str]]:
    """What a preview would do, `{"update": {"demo-istiod", ...}}`, to the resources that do not stay as they are."""
    result: dict[str, set[str]] = {}
    for step in stack.preview():
        if step["op"] != "same":
            result.setdefault(step["op"], set()).add(name_of(step["urn"]))
    return result


@pytest.mark.usefixtures("clean")
def test_a_rotated_authority_replaces_nothing_of_a_cluster_with_an_identity(
    project: Project, mesh: Config, provider: Api, user: Api, tmp_path: Path, engine_sandbox: Sandbox
) -> None:
    def stack(kubeconfig: str, **identity: str) -> Stack:
        document = changed(
            mesh, controlPlane__cluster__kubeconfig=kubeconfig, dataPlane__cluster__kubeconfig=kubeconfig
        )
        for part, cluster in (("controlPlane", "provider"), ("dataPlane", "user")):
            document[part]["cluster"] |= {"identity": identity[cluster]} if identity else {}
        return project.stack("identity", {"stack": "all-in-one", "mesh": document})

    def uids() -> list[str]:
        return [api.get("namespace", GROUPED)["metadata"]["uid"] for api in (provider, user)]

    original = str(engine_sandbox.kubeconfig)
    rotating = with_one_authority_more(engine_sandbox.kubeconfig, tmp_path)
    stack(original).up()
    made = uids()

    # Without an identity the hash of the authority is the cluster's, so this one seems to be another cluster.
    replaced = operations(stack(rotating))["replace"]
    assert {"demo-control-plane", "demo-data-plane", "demo-injection", "demo-istiod:mesh-demo/istiod"} <= replaced

    found = identities(stack(original))
    named = {"provider": found["control-plane"], "user": found["data-plane"]}
    assert operations(stack(original, **named)) == {}
    # istiod is told of the new authority, by which it verifies the user's API server; all else stays as it is.
    clusters = {"control-plane-cluster", "data-plane-cluster"}
    told = {"update": clusters | {"demo-istiod:mesh-demo/istiod"}, "replace": {"demo-istio-kubeconfig"}}
    assert operations(stack(rotating, **named)) == told
    stack(rotating, **named).up()
    assert uids() == made
    assert operations(stack(with_one_authority_more(Path(rotating), tmp_path), **named)) == told

    # Under another identity it is another cluster, whatever the kubeconfig says.
    moved = operations(stack(rotating, **named | {"user": "another"}))["replace"]
    assert "demo-data-plane" in moved
    assert "demo-control-plane" not in moved
    stack(rotating, **named).destroy()


@pytest.mark.usefixtures("clean")
def test_crds_go_with_the_stack_only_if_that_is_said(project: Project, mesh: Config, user: Api) -> None:
    def crds() -> int:
        return len(user.get("customresourcedefinitions")["items"])

    before = crds()
    kept = project.stack("crds", {"stack": "access", "mesh": changed(mesh, dataPlane__crds={"keepOnDestroy": True})})
    kept.up()
    installed = crds()
    assert installed > 10
    kept.destroy()
    assert crds() == installed
    removed = project.stack(
        "crds", {"stack": "access", "mesh": changed(mesh, dataPlane__crds={"keepOnDestroy": False})}
    )
    removed.up()  # adopts what is there
    assert removed.up().summary().keys() == {"unchanged"}
    removed.destroy()
    assert crds() == before


@pytest.mark.usefixtures("clean")
def test_split_stacks_make_the_same_objects(project: Project, mesh: Config, provider: Api, user: Api) -> None:
    whole = project.stack("whole", {"stack": "all-in-one", "mesh": mesh})
    whole.up()
    expected = _comparable(provider), _comparable(user)
    whole.destroy()

    without_control_plane = copy.deepcopy(mesh)
    del without_control_plane["controlPlane"]["cluster"]
    without_data_plane = copy.deepcopy(mesh)
    del without_data_plane["dataPlane"]["cluster"]
    users = yaml.safe_load(user.cluster.kubeconfig.read_text())["clusters"][0]["cluster"]
    authority = base64.b64decode(users["certificate-authority-data"]).decode()
    without_data_plane["dataPlane"]["access"] |= {"certificateAuthority": authority}
    references = {"trust": "organization/hosted-mesh/trust", "access": "organization/hosted-mesh/access"}
    trust = project.stack("trust", {"stack": "trust", "mesh": mesh})
    trust.up()
    access = project.stack("access", {"stack": "access", "mesh": without_control_plane})
    access.up()
    control_plane = project.stack(
        "control-plane", {"stack": "control-plane", "mesh": without_data_plane, "references": references}
    )
    control_plane.up()
    # What a user runs, who has no access to the provider's stacks: the root certificate is public.
    root = trust.outputs()["root_certificate"]
    data_plane = project.stack(
        "data-plane", {"stack": "data-plane", "mesh": without_control_plane, "rootCertificate": root}
    )
    data_plane.up()
    assert (_comparable(provider), _comparable(user)) == expected
    for stack in (trust, access, control_plane, data_plane):
        assert stack.up().summary().keys() == {"unchanged"}
        for name, secret in private_values(provider).items():
            assert secret.encode() not in stack.state(), (stack.name, name)
    for stack in (data_plane, control_plane, access, trust):
        stack.destroy()


def _comparable(api: Api) -> dict[str, Any]:
    """The mesh's objects without what differs from one installation to the next."""
    random = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")
    result = {}
    for key, item in api.everything().items():
        if (GROUPED not in key and "hosted-mesh" not in key) or "kube-root-ca" in key:
            continue
        content = json.loads(json.dumps(item))
        for field in random:
            content["metadata"].pop(field, None)
        content["metadata"].get("annotations", {}).pop("kubernetes.io/service-account.uid", None)
        content["metadata"].get("annotations", {}).pop("deployment.kubernetes.io/revision", None)  # a controller's
        content.pop("status", None)
        if item["kind"] == "Secret":
            content["data"] = sorted(content.get("data", {}))
        for webhook in content.get("webhooks", []):
            webhook["clientConfig"]["caBundle"] = bool(webhook["clientConfig"]["caBundle"])
        if item["kind"] == "Service":
            for field in ("clusterIP", "clusterIPs", "healthCheckNodePort"):
                content["spec"].pop(field, None)
            for port in content["spec"]["ports"]:
                port.pop("nodePort", None)
        if item["kind"] == "Namespace":
            content["spec"].pop("finalizers", None)
        if item["kind"] == "Deployment":
            annotations = content["spec"]["template"]["metadata"]["annotations"]
            for what in ("kubeconfig", "root-certificate"):
                annotations[f"hosted-mesh.io/{what}-digest"] = len(annotations[f"hosted-mesh.io/{what}-digest"])
        result[key] = content
    assert result
    return result


@pytest.mark.usefixtures("clean")
def test_a_token_is_replaced_and_istiod_told(
    project: Project, mesh: Config, provider: Api, user: Api, tmp_path: Path
) -> None:
    def digest() -> str:
        deployment = provider.get("deployment", "istiod", "-n", GROUPED)
        return str(deployment["spec"]["template"]["metadata"]["annotations"]["hosted-mesh.io/kubeconfig-digest"])

    def tokens() -> list[str]:
        names = [item["metadata"]["name"] for item in user.get("secrets", "-n", GROUPED)["items"]]
        return sorted(name for name in names if name.startswith("istiod-token"))

    project.stack("rotation", {"stack": "all-in-one", "mesh": mesh}).up()
    before, old = digest(), istiods_kubeconfig(provider, user, tmp_path).read_text()

    both = {"tokenGeneration": 2, "keepPreviousToken": True}
    access = mesh["dataPlane"]["access"]
    project.stack("rotation", {"stack": "all-in-one", "mesh": changed(mesh, dataPlane__access={**access, **both})}).up()
    assert tokens() == ["istiod-token-1", "istiod-token-2"]
    assert digest() != before
    assert istiods_kubeconfig(provider, user, tmp_path).read_text() != old

    only = {"tokenGeneration": 2}
    stack = project.stack(
        "rotation", {"stack": "all-in-one", "mesh": changed(mesh, dataPlane__access={**access, **only})}
    )
    stack.up()
    assert tokens() == ["istiod-token-2"]
    stale = tmp_path / "old"
    stale.write_text(old)
    assert user.kubectl("get", "nodes", kubeconfig=stale).code != 0
    assert user.kubectl("get", "nodes", kubeconfig=istiods_kubeconfig(provider, user, tmp_path)).code == 0
    stack.destroy()


@pytest.mark.usefixtures("clean")
def test_istiod_starts_anew_with_another_root_certificate_only(project: Project, mesh: Config, provider: Api) -> None:
    def pods() -> dict[str, str]:
        template = provider.get("deployment", "istiod", "-n", GROUPED)["spec"]["template"]
        return dict(template["metadata"]["annotations"])

    def up(**trust: Any) -> Stack:
        stack = project.stack("roots", {"stack": "all-in-one", "mesh": changed(mesh, **trust)})
        stack.up()
        return stack

    up()
    first, cacerts = pods(), provider.get("secret", "cacerts", "-n", GROUPED)["data"]
    up(trust__intermediate={"lifetimeDays": 400})
    assert provider.get("secret", "cacerts", "-n", GROUPED)["data"] != cacerts
    assert pods() == first
    stack = up(trust__intermediate={"lifetimeDays": 400}, trust__root={"lifetimeDays": 7300})
    root = base64.b64decode(provider.get("secret", "cacerts", "-n", GROUPED)["data"]["root-cert.pem"])
    digest = "hosted-mesh.io/root-certificate-digest"
    assert pods() == {**first, digest: hashlib.sha256(root).hexdigest()}
    assert pods()[digest] != first[digest]
    stack.destroy()


@pytest.mark.usefixtures("clean")
def test_unmanaged_webhooks_are_exactly_what_would_be_managed(
    project: Project, mesh: Config, user: Api, tmp_path: Path
) -> None:
    kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations"

    def hooks() -> list[Any]:
        found = [{"name": item["metadata"]["name"], **item} for item in user.get(kinds)["items"]]
        return [[item["name"], item["metadata"]["labels"], item["webhooks"]] for item in found]

    managed = project.stack("hooks", {"stack": "all-in-one", "mesh": mesh})
    managed.up()
    expected = hooks()
    assert len(expected) == 2

    unmanaged = changed(mesh, dataPlane__webhooks={"management": "unmanaged"})
    stack = project.stack("hooks", {"stack": "all-in-one", "mesh": unmanaged})
    stack.up()
    assert hooks() == []
    manifests = tmp_path / "webhooks.json"
    manifests.write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": stack.outputs()["webhook_manifests"]})
    )
    assert user.kubectl("apply", "--server-side", "-f", str(manifests)).code == 0
    assert hooks() == expected
    assert user.kubectl("delete", "-f", str(manifests)).code == 0
    stack.destroy()
