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
from pulumi_hosted_mesh.cli.command import app
from typer.testing import CliRunner

from sandbox.clusters import Sandbox
from sandbox.clusters.credentials.certificates import new_authority
from tests.engine.library.engine import Api, Project, Run, Stack, differences, name_of, versions
from tests.support.comparing import decoded, described
from tests.support.split import HERE, split_configs

Config = dict[str, Any]
GROUPED = "mesh-demo"
# By which istiod starts anew, and of what that is the digest: the Secret and its field.
DIGESTS = {"kubeconfig": ("istio-kubeconfig", "config"), "root-certificate": ("cacerts", "root-cert.pem")}
EXPOSED = "demo-istiod-exposed-demo"
INJECTION = "demo-istio-sidecar-injector-mesh-demo"


def changed(mesh: Config, **changes: Any) -> Config:
    """A copy with values set by path, `memberships__0__webhooks={...}`."""
    result = copy.deepcopy(mesh)
    for path, value in changes.items():
        *parents, last = path.split("__")
        part: Any = result
        for step in parents:
            part = part[int(step)] if isinstance(part, list) else part.setdefault(step, {})
        part[last] = value
    return result


def istiods_kubeconfig(provider: Api, user: Api, directory: Path) -> Path:
    """The kubeconfig that istiod got, with the address under which this machine reaches the user's API server."""
    data = provider.get("secret", "istio-kubeconfig", "-n", GROUPED)["data"]["config"]
    kubeconfig = json.loads(base64.b64decode(data))
    assert kubeconfig["clusters"][0]["cluster"]["server"] == "https://api.data-plane.sandbox.test:6443"
    kubeconfig["clusters"][0]["cluster"]["server"] = user.cluster.server
    path = directory / "istiod.kubeconfig"
    path.write_text(json.dumps(kubeconfig))
    return path


def private_values(provider: Api) -> dict[str, str]:
    """Secrets that must be seen nowhere: the CA key and istiod's token, in the form in which they could be printed."""
    key = base64.b64decode(provider.get("secret", "cacerts", "-n", GROUPED)["data"]["ca-key.pem"]).decode()
    config = base64.b64decode(provider.get("secret", "istio-kubeconfig", "-n", GROUPED)["data"]["config"]).decode()
    return {"the CA key": key.splitlines()[1], "istiod's token": json.loads(config)["users"][0]["user"]["token"]}


def holders(objects: dict[str, Config], secret: str) -> set[str]:
    """The objects that a secret stands in, as it is or in a Secret's data."""

    def text(item: Config) -> str:
        data = item.get("data", {}) if item["kind"] == "Secret" else {}
        return "\n".join([json.dumps(item), *(base64.b64decode(one).decode(errors="replace") for one in data.values())])

    return {key for key, item in objects.items() if secret in text(item)}


@pytest.mark.usefixtures("clean")
def test_life_of_a_mesh(project: Project, mesh: Config, provider: Api, user: Api, tmp_path: Path) -> None:
    stack = project.stack("life", {"stack": "all-in-one", "mesh": mesh})

    first = stack.preview()
    assert {step["op"] for step in first} == {"create"}
    # Known at the first preview, for the charts' values are plain.
    names = {name_of(step["urn"]) for step in first}
    assert {"demo-istiod:mesh-demo/istiod", EXPOSED, INJECTION} <= names
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
    everything = user.everything()
    assert holders(everything, secrets["the CA key"]) == set()
    assert holders(everything, secrets["istiod's token"]) == {f"Secret.core {GROUPED}/istiod-token-1"}
    assert "mesh-demo" in stack.state().decode()

    _least_rights(user, istiods_kubeconfig(provider, user, tmp_path))
    _owned(provider, user)
    _no_wait_for_the_load_balancer(stack)
    stack.destroy()


def _no_wait_for_the_load_balancer(stack: Stack) -> None:
    """A cloud takes minutes for one: istiod starts in them, and neither waits for the other."""
    needed = {name_of(one["urn"]): set(map(name_of, one.get("dependencies", ()))) for one in stack.resources()}
    assert needed[EXPOSED] == {"demo-control-plane", "demo-quota", "demo-limits"}
    bounds = {"demo-quota", "demo-limits"}
    assert needed["demo-istiod"] == bounds | {
        "demo-control-plane",
        "demo-network",
        "demo-cacerts",
        "demo-istio-kubeconfig",
    }
    # Webhooks fail closed: they come after what answers them, and go before it.
    assert needed[INJECTION] >= {"demo-istiod", EXPOSED}


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
    providers = [item for item in stack.resources() if item["type"] == "pulumi:providers:kubernetes"]
    found = [item["inputs"]["clusterIdentifier"] for item in providers]
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
def test_what_others_have_changed_is_put_back(project: Project, mesh: Config, provider: Api, user: Api) -> None:
    """By refresh, and by a change of the same object. What a controller has added stays; what kubectl has, does not."""

    def change(api: Api, kind: str, name: str, *operations: Config) -> None:
        patch = ["patch", kind, name, "-n", GROUPED, "--type=json", "-p", json.dumps(operations)]
        assert api.kubectl(*patch).code == 0, name

    stack = project.stack("changed", {"stack": "all-in-one", "mesh": mesh})
    stack.up()
    before = versions(provider, user)
    ranges = {"op": "replace", "path": "/spec/loadBalancerSourceRanges", "value": ["0.0.0.0/0"]}
    change(provider, "service", "istiod-exposed-demo", ranges)
    change(provider, "networkpolicy", "mesh", {"op": "remove", "path": "/spec/egress/0"})
    ignore = {"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}
    change(user, "mutatingwebhookconfiguration", f"istio-sidecar-injector-{GROUPED}", ignore)
    added = ["label", "deployment", "istiod", "team=theirs", "--field-manager=their-controller"]
    for words in (
        ["scale", "deployment", "istiod", "--replicas=4"],
        ["label", "deployment", "istiod", "by=hand"],
        added,
    ):
        assert provider.kubectl(*words, "-n", GROUPED).code == 0
    assert len(differences(before, versions(provider, user))) == 4

    stack.succeed("up", "--yes", "--skip-preview", "--refresh")
    assert stack.up().summary().keys() == {"unchanged"}
    istiod = f"control-plane: Deployment.apps {GROUPED}/istiod"
    assert differences(before, versions(provider, user)) == {istiod: "changed"}
    labels = provider.get("deployment", "istiod", "-n", GROUPED)["metadata"]["labels"]
    assert (labels["team"], labels.get("by")) == ("theirs", None)

    assert provider.kubectl("scale", "deployment", "istiod", "--replicas=4", "-n", GROUPED).code == 0
    named = changed(mesh, trustDomain="another.mesh.local", memberships__0__clusterDomain="another.local")
    project.stack("changed", {"stack": "all-in-one", "mesh": named}).up()
    assert provider.get("deployment", "istiod", "-n", GROUPED)["spec"]["replicas"] == 1
    stack.destroy()


@pytest.mark.usefixtures("clean")
def test_a_rotated_authority_replaces_nothing_of_a_cluster_with_an_identity(
    project: Project, mesh: Config, provider: Api, user: Api, tmp_path: Path, engine_sandbox: Sandbox
) -> None:
    def stack(kubeconfig: str, **identity: str) -> Stack:
        document = changed(
            mesh, controlPlane__cluster__kubeconfig=kubeconfig, memberships__0__cluster__kubeconfig=kubeconfig
        )
        for part, cluster in ((document["controlPlane"], "control-plane"), (document["memberships"][0], "data-plane")):
            part["cluster"] |= {"identity": identity[cluster]} if identity else {}
        return project.stack("identity", {"stack": "all-in-one", "mesh": document})

    def uids() -> list[str]:
        return [api.get("namespace", GROUPED)["metadata"]["uid"] for api in (provider, user)]

    original = str(engine_sandbox.kubeconfig)
    rotating = with_one_authority_more(engine_sandbox.kubeconfig, tmp_path)
    stack(original).up()
    made = uids()

    # Without an identity the hash of the authority is the cluster's, so this one seems to be another cluster.
    replaced = operations(stack(rotating))["replace"]
    assert {"demo-control-plane", "demo-data-plane", INJECTION, "demo-istiod:mesh-demo/istiod"} <= replaced

    found = identities(stack(original))
    named = {"control-plane": found["control-plane"], "data-plane": found["data-plane"]}
    assert operations(stack(original, **named)) == {}
    # istiod is told of the new authority, by which it verifies the user's API server; all else stays as it is.
    clusters = {"control-plane-cluster", "data-plane-cluster"}
    told = {"update": clusters | {"demo-istiod:mesh-demo/istiod", "demo-istio-kubeconfig"}}
    assert operations(stack(rotating, **named)) == told
    stack(rotating, **named).up()
    assert uids() == made
    assert operations(stack(with_one_authority_more(Path(rotating), tmp_path), **named)) == told

    # Under another identity it is another cluster, whatever the kubeconfig says.
    moved = operations(stack(rotating, **named | {"data-plane": "another"}))["replace"]
    assert "demo-data-plane" in moved
    assert "demo-control-plane" not in moved
    stack(rotating, **named).destroy()


@pytest.mark.usefixtures("clean")
def test_crds_go_with_the_stack_only_if_that_is_said(project: Project, mesh: Config, user: Api) -> None:
    def crds() -> int:
        return len(user.get("customresourcedefinitions")["items"])

    def stack(keep: bool) -> Stack:
        cluster, charts = mesh["memberships"][0]["cluster"], mesh["revisions"][0]["charts"]
        document = {"cluster": cluster, "charts": charts, "keepOnDestroy": keep}
        return project.stack("crds", {"stack": "cluster", "cluster": document})

    before = crds()
    kept = stack(keep=True)
    kept.up()
    installed = crds()
    assert installed > 10
    kept.destroy()
    assert crds() == installed
    # Somebody else's, Helm's for one, with another value: taken over in the update, as the preview says.
    name = "virtualservices.networking.istio.io"
    label = "app.kubernetes.io/part-of"
    theirs = json.dumps({"metadata": {"labels": {label: "helms"}}})
    patched = user.kubectl("patch", "crd", name, "--type=merge", "--field-manager=helm", "-p", theirs)
    assert patched.code == 0, patched.text
    removed = stack(keep=False)
    assert {step["op"] for step in removed.preview()} == {"create"}
    removed.up()  # adopts what is there
    assert user.get("crd", name)["metadata"]["labels"][label] == "istio"
    assert removed.up().summary().keys() == {"unchanged"}
    removed.destroy()
    assert crds() == before


@pytest.mark.usefixtures("clean")
def test_split_stacks_make_the_same_objects(project: Project, mesh: Config, provider: Api, user: Api) -> None:
    """Istio's names of the cluster and its network too, which both sides write down."""
    mesh = changed(mesh, memberships__0__clusterId="east-1", memberships__0__network="east")
    whole = project.stack("whole", {"stack": "all-in-one", "mesh": mesh})
    whole.up()
    expected = _comparable(provider), _comparable(user)
    whole.destroy()

    stacks = split(project, mesh)
    for stack in stacks.values():
        stack.up()
    for whole_one, split_one in zip(expected, (_comparable(provider), _comparable(user)), strict=True):
        assert split_one.keys() == whole_one.keys()
        assert {key: split_one[key] for key in split_one if split_one[key] != whole_one[key]} == {}
    for stack in stacks.values():
        assert stack.up().summary().keys() == {"unchanged"}
        for name, secret in private_values(provider).items():
            assert secret.encode() not in stack.state(), (stack.name, name)
    # Who deploys the control plane reads public facts of the root alone: its key is in no other stack's state.
    (key,) = [one for one in stacks["root"].secrets() if "privateKeyPemPkcs8" in one]
    root_key = json.loads(key["privateKeyPemPkcs8"]["plaintext"]).splitlines()[1]
    for name, stack in stacks.items():
        found = any(root_key in json.dumps(one) for one in stack.secrets())
        assert found == (name == "root"), name
    for stack in reversed(stacks.values()):
        stack.destroy()


def split(project: Project, mesh: Config, endpoints: list[Config] | None = None) -> dict[str, Stack]:
    """The stacks of one mesh in their order. endpoints: what the data plane's side was handed, if that was a file."""
    configs = split_configs(mesh, endpoints)
    return {name: project.stack(name, {"stack": name, **config}) for name, config in configs.items()}


@pytest.mark.usefixtures("clean")
def test_the_data_plane_is_told_when_its_file_is_of_yesterday(project: Project, mesh: Config) -> None:
    stacks = split(project, mesh)
    for stack in stacks.values():
        if stack.name != "data-plane":
            stack.up()
    facts = stacks["control-plane"].outputs()["endpoints"]["default/default"]
    by_file = split(project, mesh, [facts])["data-plane"]
    by_file.up()

    old = {**facts, "host": "istiod.old.example.com"}
    references = {"controlPlane": f"{HERE}/control-plane"}
    both = {"stack": "data-plane", "dataPlane": _document(mesh), "endpoints": [old], "references": references}
    refused = project.stack("data-plane", both).run("up", "--yes", "--skip-preview")
    assert "endpoint default: differs from the control plane's current endpoint in host" in refused.text
    other = {"stack": "data-plane", "dataPlane": {**_document(mesh), "mesh": "other"}, "endpoints": [facts]}
    refused = project.stack("data-plane", other).run("up", "--yes", "--skip-preview")
    assert "endpoint default: mesh: is demo, but dataPlane.mesh is other" in refused.text
    other["dataPlane"] = {**_document(mesh), "clusterId": "east-1"}
    refused = project.stack("data-plane", other).run("up", "--yes", "--skip-preview")
    assert "endpoint default: clusterId: is 'demo', but dataPlane.clusterId is 'east-1'" in refused.text
    assert "Traceback" not in refused.text
    assert split(project, mesh, [facts])["data-plane"].up().summary().keys() == {"unchanged"}
    for stack in reversed(stacks.values()):
        stack.destroy()


def _document(mesh: Config) -> Config:
    membership = {key: value for key, value in mesh["memberships"][0].items() if key != "crds"}
    return {**membership, "mesh": mesh["name"], "charts": mesh["revisions"][0]["charts"]}


@pytest.mark.usefixtures("clean")
def test_two_revisions_side_by_side_and_a_tag_that_moves(
    project: Project, mesh: Config, provider: Api, user: Api
) -> None:
    stack = project.stack("revisions", {"stack": "all-in-one", "mesh": mesh})
    stack.up()
    canary = {**copy.deepcopy(mesh["revisions"][0]), "name": "canary", "host": "istiod-canary.demo.sandbox.test"}
    both = changed(mesh, revisions=[mesh["revisions"][0], canary], tags={"prod": "canary"})
    project.stack("revisions", {"stack": "all-in-one", "mesh": both}).up()
    names = {one["metadata"]["name"] for one in provider.get("deployments", "-n", GROUPED)["items"]}
    assert names == {"istiod", "istiod-canary"}

    def tagged() -> tuple[str, set[str]]:
        """The tag's webhooks: which object, and whom they call."""
        found = user.get("mutatingwebhookconfiguration", f"istio-revision-tag-prod-{GROUPED}")
        return found["metadata"]["uid"], {str(one["clientConfig"]["url"]).split("/")[2] for one in found["webhooks"]}

    uid, called = tagged()
    assert called == {"istiod-canary.demo.sandbox.test:15017"}
    moved = {"stack": "all-in-one", "mesh": {**both, "tags": {"prod": "default"}}}
    assert {step["op"] for step in project.stack("revisions", moved).preview()} <= {"same", "update"}
    project.stack("revisions", moved).up()
    assert tagged() == (uid, {"istiod.demo.sandbox.test:15017"})
    project.stack("revisions", moved).destroy()


@pytest.mark.nightly
@pytest.mark.usefixtures("clean")
def test_another_revision_is_there_before_the_old_one_goes(project: Project, mesh: Config) -> None:
    """In one step: all of the new one is made, webhooks last, before anything is deleted, and of the old one webhooks
    go first."""
    canary = {**copy.deepcopy(mesh["revisions"][0]), "name": "canary"}
    project.stack("moved", {"stack": "all-in-one", "mesh": mesh}).up()
    log = project.directory / "events.json"
    moved = changed(mesh, revisions=[{**canary, "name": "next", "host": "istiod-next.demo.sandbox.test"}])
    done = project.stack("moved", {"stack": "all-in-one", "mesh": moved})
    done.succeed("up", "--yes", "--skip-preview", "--event-log", str(log))
    steps = [json.loads(line) for line in log.read_text().splitlines()]
    order = [
        (step["resOutputsEvent"]["metadata"]["op"], name_of(step["resOutputsEvent"]["metadata"]["urn"]))
        for step in steps
        if "resOutputsEvent" in step
    ]
    created = [name for op, name in order if op == "create"]
    deleted = [name for op, name in order if op == "delete"]
    position = {(op, name): at for at, (op, name) in enumerate(order)}
    assert created, order
    first_delete = min(position["delete", name] for name in deleted)
    assert max(position["create", name] for name in created) < first_delete
    webhook = "demo-next-istio-sidecar-injector-next-mesh-demo"
    assert position["create", webhook] > position["create", "demo-next-istiod:mesh-demo/istiod-next"]
    assert position["create", webhook] > position["create", "demo-next-istiod-exposed-demo-next"]
    assert position["delete", INJECTION] < position["delete", "demo-istiod:mesh-demo/istiod"]
    assert position["delete", INJECTION] < position["delete", EXPOSED]
    done.destroy()


@pytest.mark.usefixtures("clean")
def test_rotated_secrets_change_in_place(project: Project, mesh: Config, provider: Api) -> None:
    """Deleted and made anew they would be missing in a run that dies in between, and no istiod could start."""

    def uids() -> dict[str, str]:
        items = provider.get("secrets", "-n", GROUPED)["items"]
        return {one["metadata"]["name"]: one["metadata"]["uid"] for one in items}

    stack = project.stack("in-place", {"stack": "all-in-one", "mesh": mesh})
    stack.up()
    before, old = uids(), provider.get("secret", "cacerts", "-n", GROUPED)["data"]
    root = {**mesh["trust"]["root"], "lifetimeDays": 7300}
    rotated = changed(mesh, trust__root=root, memberships__0__access__tokenGeneration=2)
    project.stack("in-place", {"stack": "all-in-one", "mesh": rotated}).up()
    assert uids() == before
    assert provider.get("secret", "cacerts", "-n", GROUPED)["data"] != old
    stack.destroy()


@pytest.mark.usefixtures("clean")
def test_a_brought_authority_and_one_that_others_manage(project: Project, mesh: Config, provider: Api) -> None:
    authority = new_authority("brought")
    pems = (authority.certificate.decode(), authority.key.decode())
    files = {"ca-cert.pem": pems[0], "ca-key.pem": pems[1], "root-cert.pem": pems[0], "cert-chain.pem": pems[0]}
    files["ca-crl.pem"] = "a list of revoked certificates"
    listed = {"certificateRevocation": True}
    brought = changed(
        mesh,
        trust={"management": "brought"},
        revisions__0__features=listed,
        memberships__0__access={**mesh["memberships"][0]["access"], "features": listed},
    )
    stack = project.stack("brought", {"stack": "all-in-one", "mesh": brought, "cacerts": files})
    assert not [step for step in stack.preview() if "tls:" in step["urn"]]
    stack.up()
    stored = provider.get("secret", "cacerts", "-n", GROUPED)["data"]
    assert {name: base64.b64decode(value).decode() for name, value in stored.items()} == files
    # What istiod writes into each namespace is what injected Pods mount.
    (istiod,) = provider.get("deployment", "istiod", "-n", GROUPED)["spec"]["template"]["spec"]["containers"]
    (written,) = [one["value"] for one in istiod["env"] if one["name"] == "PILOT_CRL_CONFIGMAP"]
    injection = json.loads(provider.get("configmap", "istio-sidecar-injector", "-n", GROUPED)["data"]["values"])
    assert injection["pilot"]["crlConfigMapName"] == written == "istio-ca-crl-demo"
    stack.destroy()

    unmanaged = changed(mesh, trust={"management": "unmanaged"})
    stack = project.stack("unmanaged", {"stack": "all-in-one", "mesh": unmanaged, "rootCertificate": pems[0]})
    stack.up()
    assert "cacerts" not in {one["metadata"]["name"] for one in provider.get("secrets", "-n", GROUPED)["items"]}
    assert not any("PRIVATE KEY" in json.dumps(one) for one in stack.secrets())
    stack.destroy()


@pytest.mark.usefixtures("clean")
def test_the_roots_key_is_protected(project: Project, mesh: Config) -> None:
    root = {"name": "kept", "trust": {"root": {"protect": True}}}
    stack = project.stack("kept", {"stack": "root", "root": root})
    stack.up()
    refused = stack.run("destroy", "--yes", "--skip-preview")
    assert refused.code != 0
    assert "protect" in refused.text
    root["trust"] = {"root": {"protect": False}}
    stack = project.stack("kept", {"stack": "root", "root": root})
    stack.up()
    stack.destroy()


@pytest.mark.usefixtures("clean")
def test_two_meshes_live_in_the_same_clusters(project: Project, mesh: Config, engine_sandbox: Sandbox) -> None:
    """As docs/components/stacks.md has it: one of the two has revisions with names. Without, it is told."""

    def told() -> str:
        done = CliRunner().invoke(app, ["discover", "data-plane", "--kubeconfig", str(engine_sandbox.kubeconfig)])
        assert done.exit_code == 0, done.output
        return str(done.output)

    named = changed(mesh, name="other", revisions__0__name="other", revisions__0__host="istiod.other.sandbox.test")
    unnamed = changed(named, revisions__0__name="default")
    stacks = [project.stack(one["name"], {"stack": "all-in-one", "mesh": one}) for one in (mesh, unnamed)]
    for stack in stacks:
        assert stack.up().summary().keys() == {"created"}
    both = ("istio-sidecar-injector-mesh-demo (revision default of mesh demo)", "revision default of mesh other")
    assert all(words in told() for words in ("data-plane: injected twice", *both))
    stacks[1] = project.stack("other", {"stack": "all-in-one", "mesh": named})
    stacks[1].up()
    assert "injected twice" not in told()
    domains = {one["trustDomain"] for stack in stacks for one in stack.outputs()["endpoints"].values()}
    assert domains == {"demo.mesh.local", "other.mesh.local"}
    for stack in stacks:
        assert stack.up().summary().keys() == {"unchanged"}
        stack.destroy()


def _comparable(api: Api) -> dict[str, Any]:
    """The mesh's objects as what they are, without what differs from one installation to the next."""
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
            content["data"] = decoded(content.get("data", {}))
        for webhook in content.get("webhooks", []):
            bundle = base64.b64decode(webhook["clientConfig"]["caBundle"]).decode()
            webhook["clientConfig"]["caBundle"] = described(bundle, root=bundle)
        if item["kind"] == "Service":
            for field in ("clusterIP", "clusterIPs", "healthCheckNodePort"):
                content["spec"].pop(field, None)
            for port in content["spec"]["ports"]:
                port.pop("nodePort", None)
        if item["kind"] == "Namespace":
            content["spec"].pop("finalizers", None)
            assert content["metadata"]["annotations"].pop("hosted-mesh.io/stack").startswith("hosted-mesh/")
        if item["kind"] == "Deployment":
            annotations = content["spec"]["template"]["metadata"]["annotations"]
            for what, (secret, field) in DIGESTS.items():
                stored = base64.b64decode(api.get("secret", secret, "-n", GROUPED)["data"][field])
                assert annotations.pop(f"hosted-mesh.io/{what}-digest") == hashlib.sha256(stored).hexdigest(), what
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
    access = mesh["memberships"][0]["access"]
    project.stack(
        "rotation", {"stack": "all-in-one", "mesh": changed(mesh, memberships__0__access={**access, **both})}
    ).up()
    assert tokens() == ["istiod-token-1", "istiod-token-2"]
    assert digest() != before
    assert istiods_kubeconfig(provider, user, tmp_path).read_text() != old

    only = {"tokenGeneration": 2}
    stack = project.stack(
        "rotation", {"stack": "all-in-one", "mesh": changed(mesh, memberships__0__access={**access, **only})}
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
    stack = up(trust__intermediate={"lifetimeDays": 400}, trust__root={"lifetimeDays": 7300, "protect": False})
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

    unmanaged = changed(mesh, memberships__0__webhooks={"management": "unmanaged"})
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


@pytest.mark.usefixtures("clean")
def test_a_revision_leaves_separate_stacks_on_the_data_planes_side_first(
    project: Project, mesh: Config, provider: Api, user: Api
) -> None:
    """As docs/components/stacks.md has it: at no step a webhook of an istiod that is gone."""

    def step(revisions: list[Config], name: str, endpoints: list[Config] | None = None) -> Stack:
        stack = split(project, changed(mesh, revisions=revisions), endpoints)[name]
        stack.up()
        hooks = user.get("mutatingwebhookconfigurations", "--selector=hosted-mesh.io/mesh=demo")["items"]
        istiods = provider.get("deployments", "-n", GROUPED)["items"]
        asked, there = ({one["metadata"]["labels"]["istio.io/rev"] for one in items} for items in (hooks, istiods))
        assert asked <= there
        seen.append((asked, there))
        return stack

    (old,) = mesh["revisions"]
    new = {**copy.deepcopy(old), "name": "next", "host": "istiod-next.demo.sandbox.test"}
    seen: list[tuple[set[str], set[str]]] = []
    for stack in list(split(project, mesh).values())[:-2]:
        stack.up()
    for revisions in ([old], [old, new]):
        step(revisions, "control-plane")
        first = step(revisions, "data-plane").outputs()["injection_labels"]
        assert first == {"istio-injection": "enabled"}, "the document's first revision stays the first"
    facts = split(project, mesh)["control-plane"].outputs()["endpoints"]["default/next"]
    step([old, new], "data-plane", [facts])
    control_plane = step([new], "control-plane")
    data_plane = step([new], "data-plane")
    both = {"default", "next"}
    assert seen == [
        (set(), {"default"}),
        ({"default"}, {"default"}),
        ({"default"}, both),
        (both, both),
        ({"next"}, both),
        ({"next"}, {"next"}),
        ({"next"}, {"next"}),
    ]
    data_plane.destroy()
    control_plane.destroy()
    for stack in list(reversed(split(project, mesh).values()))[2:]:
        stack.destroy()
