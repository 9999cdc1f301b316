"""The bridge's example on the real engine: what is where, and what its accounts may do on real API servers."""

from __future__ import annotations

import base64
import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project, Stack
from tests.engine.library.lost_states import taken_in
from tests.support.waiting import eventually

EXAMPLE = CHECKOUT / "examples/dns_bridge"
TSIG = "dHNpZy1vZi10aGUtdGVzdA=="
SETTINGS = {"credentials": {"office": ["tsig-secret"]}, "office.tsig-secret": TSIG, "keepCrd": "false"}


def example(directory: Path, sandbox: Sandbox, tools: Tools, **fields: Any) -> Stack:
    """A stack of the example for clusters without nodes, where no Pod gets ready."""
    program = directory / "example"
    shutil.copytree(EXAMPLE, program)
    document = yaml.safe_load((program / "dns.yaml").read_text()) | {"waitUntilReady": False} | fields
    (program / "dns.yaml").write_text(yaml.safe_dump(document))
    return Project.make(directory / "project", sandbox, tools, program).stack("names", SETTINGS)


def kubeconfig_of(provider: Api, holder: str, directory: Path) -> Path:
    """What the bridge was given to reach the edge with."""
    secret = provider.get("secret", f"dns-edge-data-plane-{holder}", "-n", "hosted-mesh-dns")
    path = directory / holder
    path.write_text(base64.b64decode(secret["data"]["kubeconfig"]).decode())
    path.chmod(0o600)
    return path


@pytest.mark.usefixtures("clean")
def test_life_of_a_bridge(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools, provider: Api, user: Api) -> None:
    stack = example(tmp_path, engine_sandbox, tools)
    stack.up()
    assert stack.outputs()["zones"] == {"data-plane": ["data-plane.shop.example.com"]}
    # The test's configuration is plain; what the engine keeps of each resource is not.
    assert TSIG not in json.dumps(stack.resources())

    # Of the provider's credential the user's cluster has no byte, not even in what its API server keeps.
    there = json.dumps(user.everything())
    assert TSIG not in there
    assert base64.b64encode(TSIG.encode()).decode() not in there
    assert "tsig" not in there
    assert user.get("pods,deployments,jobs,daemonsets", "-n", "hosted-mesh-dns")["items"] == []

    def may(holder: str, *what: str) -> bool:
        kubeconfig = kubeconfig_of(provider, holder, tmp_path)
        return user.kubectl("auth", "can-i", *what, kubeconfig=kubeconfig).output.strip() == "yes"

    granted = [
        ("publisher", "list", "dnsendpoints", "-A"),
        ("reader", "create", "dnsendpoints", "-n", "hosted-mesh-dns"),
        ("reader", "list", "services", "-A"),
    ]
    # An API server's authorizer has new roles a moment later.
    eventually(lambda: [one for one in granted if not may(*one)] == [], "the rights that are granted")
    refused = [
        ("publisher", "create", "dnsendpoints", "-n", "hosted-mesh-dns"),
        ("publisher", "update", "dnsendpoints", "--subresource=status", "-A"),
        ("publisher", "list", "services", "-A"),
        ("reader", "create", "dnsendpoints", "-n", "default"),
        ("reader", "update", "services", "-n", "default"),
        *((holder, "list", kind, "-A") for holder in ("publisher", "reader") for kind in ("secrets", "pods", "nodes")),
    ]
    assert [one for one in refused if may(*one)] == []

    # A rotated credential reaches the Pod that read the old one when it started.
    deployment = ("deployment", "dns-publisher-data-plane-office", "-n", "hosted-mesh-dns")
    before = provider.get(*deployment)["spec"]["template"]["metadata"]["annotations"]
    assert stack.up().summary().keys() == {"unchanged"}
    other = stack.project.stack("names", SETTINGS | {"office.tsig-secret": "b3RoZXI="})
    # The Secret, the edge's publisher, and the one of the program's own records.
    assert other.up().summary()["updated"] == 3
    assert provider.get(*deployment)["spec"]["template"]["metadata"]["annotations"] != before
    stack.destroy()


@pytest.mark.usefixtures("clean")
def test_life_of_a_record_that_the_program_knows(
    tmp_path: Path, engine_sandbox: Sandbox, tools: Tools, provider: Api, user: Api
) -> None:
    host = "istiod.mesh.shop.example.com"
    project = example(tmp_path, engine_sandbox, tools).project

    def stack(**settings: Any) -> Stack:
        return project.stack("names", SETTINGS | settings)

    def targets() -> list[str]:
        (record,) = provider.get("dnsendpoint", host, "-n", "hosted-mesh-dns")["spec"]["endpoints"]
        assert (record["dnsName"], record["recordType"]) == (host, "A")
        return list(record["targets"])

    stack(records={host: ["192.0.2.7"]}).up()
    assert targets() == ["192.0.2.7"]
    assert user.get("dnsendpoints", "-A")["items"] == []
    assert stack(records={host: ["192.0.2.7"]}).up().summary().keys() == {"unchanged"}
    assert stack(records={host: ["192.0.2.8"]}).up().summary()["updated"] == 1
    assert targets() == ["192.0.2.8"]
    refused = stack(records={"web.data-plane.shop.example.com": ["192.0.2.7"]}).run("preview")
    assert refused.code != 0
    assert "lies in none of the control plane's zones (mesh.shop.example.com)" in refused.text
    assert "Traceback" not in refused.text
    assert targets() == ["192.0.2.8"]
    last = stack()
    assert last.up().summary()["deleted"] == 1
    assert provider.get("dnsendpoints", "-A")["items"] == []
    last.destroy()
    assert "dnsendpoints" not in provider.kubectl("api-resources").output
    assert provider.kubectl("get", "namespace", "hosted-mesh-dns", "--ignore-not-found").output == ""


@pytest.mark.usefixtures("clean")
def test_the_two_stacks(project: Project, provider: Api, user: Api) -> None:
    """As they are committed; the credential that the centre holds comes from its own configuration."""
    edge, centre = committed("dns-edge"), committed("dns")
    edge["dnsEdge"] |= {"keepCrd": False, "admissionZones": ["north.shop.example.com"]}
    centre["dns"]["bridge"]["waitUntilReady"] = False
    there = project.stack("dns-edge", edge)
    there.up()
    refused = project.stack("dns", centre).run("preview")
    assert refused.code != 0
    assert "credentials.office: is required: provider office has authentication credentials" in refused.text
    here = project.stack("dns", centre | {"dnsCredentials": {"office": {"tsig-secret": TSIG}}})
    here.up()
    assert here.outputs() == {"namespace": "hosted-mesh-dns", "zones": {"north": ["north.shop.example.com"]}}
    kept = provider.get("secret", "dns-edge-north-publisher", "-n", "hosted-mesh-dns")["data"]["kubeconfig"]
    assert base64.b64decode(kept).decode() == there.outputs()["publisher_kubeconfig"]
    assert TSIG not in json.dumps(user.everything())

    # Admission tells honest users at once.
    def written(name: str) -> str:
        record = {"dnsName": name, "recordType": "A", "targets": ["192.0.2.1"]}
        found: dict[str, Any] = {"apiVersion": "externaldns.k8s.io/v1alpha1", "kind": "DNSEndpoint"}
        found |= {"metadata": {"name": "web", "namespace": "default"}, "spec": {"endpoints": [record]}}
        path = project.directory / "endpoint.json"
        path.write_text(json.dumps(found))
        return user.kubectl("apply", "-f", str(path)).text

    refusal = "every dnsName must lie within north.shop.example.com"
    eventually(lambda: refusal in written("web.south.shop.example.com"), "the policy is in force")
    assert refusal in written("web.evilnorth.shop.example.com")
    assert "created" in written("web.north.shop.example.com")
    user.kubectl("delete", "dnsendpoints", "web", "-n", "default")
    for stack in (there, here):
        taken_in(stack, project.directory, provider, user)
    here.destroy()
    there.destroy()


@pytest.mark.nightly
@pytest.mark.usefixtures("clean")
def test_an_edge_that_was_destroyed_is_made_again(project: Project, user: Api) -> None:
    """The kind has outlived it, with all DNSEndpoints. Where it is to go with the edge, it may be somebody else's."""

    def uid() -> str:
        return str(user.get("customresourcedefinition", "dnsendpoints.externaldns.k8s.io")["metadata"]["uid"])

    edge = committed("dns-edge")
    stack = project.stack("dns-edge-again", edge)
    stack.up()
    first = uid()
    stack.destroy()
    assert uid() == first
    edge["dnsEdge"]["keepCrd"] = False
    refused = project.stack("dns-edge-again", edge).run("up", "--yes", "--skip-preview")
    assert refused.code != 0
    assert "already exists" in refused.text
    stack.destroy()

    edge["dnsEdge"]["keepCrd"] = True
    project.stack("dns-edge-again", edge).up()
    assert stack.up().summary().keys() == {"unchanged"}
    assert uid() == first
    edge["dnsEdge"]["keepCrd"] = False
    project.stack("dns-edge-again", edge).up()
    assert uid() == first
    stack.destroy()


@pytest.mark.usefixtures("clean")
def test_the_stack_publishes_what_other_stacks_know(
    project: Project, mesh: dict[str, Any], provider: Api, user: Api
) -> None:
    """Of istiod and of a gateway. Nothing here gives load balancers addresses: the test says them instead."""
    istiod, eastwest, here = (
        "istiod.mesh.shop.example.com",
        "eastwest.mesh.shop.example.com",
        "organization/hosted-mesh",
    )
    document = copy.deepcopy(mesh)
    document["revisions"][0]["host"] = istiod
    document["memberships"][0]["gateways"] = [{"name": "eastwest"}]
    whole = project.stack("known", {"stack": "all-in-one", "mesh": document})
    whole.up()
    edge, centre = committed("dns-edge"), committed("dns")
    edge["dnsEdge"]["keepCrd"] = False
    there = project.stack("dns-edge", edge)
    there.up()
    peers = [
        {"mesh": name, "gateway": {"address": address}}
        for name, address in (("demo", eastwest), ("other", "eastwest.example.org"))
    ]
    centre["dns"]["bridge"] |= {"waitUntilReady": False}
    centre["dns"]["bridge"]["providers"][0]["controlPlaneZones"] = ["mesh.shop.example.com"]
    centre["references"] |= {"controlPlanes": {"demo": f"{here}/known"}, "dataPlanes": {"demo": f"{here}/known"}}
    centre |= {
        "federation": {"name": "shops", "domain": "shops.example.com", "peers": peers},
        "dnsCredentials": {"office": {"tsig-secret": TSIG}},
    }
    bridge = project.stack("dns", centre)
    assert f"controlPlanes.demo: names a stack that has no address for {istiod}" in bridge.run("preview").text
    for api, service, address in ((provider, "istiod-exposed-demo", "192.0.2.7"), (user, "eastwest", "192.0.2.9")):
        given = json.dumps({"status": {"loadBalancer": {"ingress": [{"ip": address}]}}})
        of = ("service", service, "-n", "mesh-demo", "--subresource=status")
        done = api.kubectl("patch", *of, "--type=merge", "-p", given)
        assert done.code == 0, done.text
    whole.succeed("up", "--yes", "--skip-preview", "--refresh")
    assert whole.outputs()["addresses"] == {istiod: ["192.0.2.7"]}
    assert whole.outputs()["gateway_addresses"] == {"mesh-demo/eastwest": ["192.0.2.9"]}
    bridge.up()
    records = provider.get("dnsendpoints", "-n", "hosted-mesh-dns")["items"]
    found = {one["metadata"]["name"]: [each["targets"] for each in one["spec"]["endpoints"]] for one in records}
    assert found == {istiod: [["192.0.2.7"]], eastwest: [["192.0.2.9"]]}
    for stack in (bridge, there, whole):
        stack.destroy()


def committed(stack: str) -> dict[str, Any]:
    """A stack's configuration as it is committed, by key."""
    keys = yaml.safe_load((CHECKOUT / f"stacks/Pulumi.{stack}.yaml").read_text())["config"]
    return {key.removeprefix("hosted-mesh:"): value for key, value in keys.items()}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"edges": [{"name": "data-plane"}, {"name": "data-plane"}]},
            "edges has two called data-plane. Give each a name of its own.",
        ),
        (
            {"owner": "Mesh"},
            "owner: must be a Kubernetes name",
        ),
    ],
)
def test_a_document_that_cannot_be_used_is_one_message(
    tmp_path: Path, engine_sandbox: Sandbox, tools: Tools, fields: dict[str, Any], message: str
) -> None:
    done = example(tmp_path, engine_sandbox, tools, **fields).run("preview")
    assert done.code != 0
    assert message in done.text
    assert "Traceback" not in done.text


@pytest.mark.usefixtures("clean")
def test_an_edge_without_a_user_facing_service_costs_nothing_until_it_has_one(
    project: Project, engine_sandbox: Sandbox, provider: Api, user: Api
) -> None:
    def cluster(api: Api) -> dict[str, str]:
        return {"kubeconfig": str(engine_sandbox.kubeconfig), "context": api.cluster.name}

    edge = {"name": "east", "onlyUserFacing": True, "sources": ["service"]}
    side = {"cluster": cluster(user), "edge": edge, "keepCrd": False}
    there = project.stack("dns-edge", {"stack": "dns-edge", "dnsEdge": side})
    server = {"id": "office", "type": "coredns", "authentication": "none", "zones": [{"name": "{edge}.example.com"}]}
    bridge = {
        "edges": [edge],
        "providers": [{**server, "coredns": {"endpoints": ["http://etcd.example.com:2379"]}}],
        "waitUntilReady": False,
    }
    references = {"edges": {"east": "organization/hosted-mesh/dns-edge"}}
    config = {"stack": "dns", "dns": {"cluster": cluster(provider), "bridge": bridge}, "references": references}
    here = project.stack("dns", config)

    def deployments() -> list[str]:
        found = provider.get("deployments", "-n", "hosted-mesh-dns")["items"]
        return sorted(one["metadata"]["name"] for one in found)

    there.up()
    assert there.outputs()["user_facing"] is False
    assert "nothing runs for these edges: east" in here.up().text
    assert deployments() == []

    assert user.kubectl("create", "service", "loadbalancer", "web", "-n", "default", "--tcp=80:8080").code == 0
    try:
        hostname = "external-dns.alpha.kubernetes.io/hostname=web.east.example.com"
        assert user.kubectl("annotate", "service", "web", "-n", "default", hostname).code == 0
        there.up()
        assert there.outputs()["user_facing"] is True
        here.up()
        assert deployments() == ["dns-publisher-east-office", "dns-reader-east"]
    finally:
        user.kubectl("delete", "service", "web", "-n", "default")
    here.destroy()
    there.destroy()
