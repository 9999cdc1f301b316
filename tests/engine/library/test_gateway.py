"""Stacks behind one gateway on a real API server: a mesh comes and goes, and no object of another one changes."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from pulumi_hosted_mesh.clusters.kubeconfig import minimal

from sandbox.engine.deployment import POLICY_PACK
from tests.engine.library.engine import Api, Project, Stack, differences, versions
from tests.support.authorities import Authority, pem
from tests.support.split import HERE

Config = dict[str, Any]
NAMESPACE = "hosted-mesh-gateway"
ZONE = "meshes.sandbox.test"
SETTINGS: Config = {"zones": [ZONE], "openToAll": True, "waitUntilReady": False}
SERVER = "https://127.0.0.1:1"
# Written by the cluster itself: statuses, and what belongs to Deployments and Services.
_KINDS = (
    "masterleases|peerserverleases|ranges|services/endpoints|endpointslices|pods|events|leases|replicasets|deployments"
    "|resourcequotas|poddisruptionbudgets"
)
OF_CLUSTER = re.compile(f"/registry/({_KINDS})/")


def hosts(mesh: str) -> list[str]:
    return [f"hooks.{mesh}.{ZONE}", f"istiod.{mesh}.{ZONE}"]


@pytest.fixture(scope="module")
def authority() -> str:
    return pem(Authority("root of a test").certificate).decode()


@pytest.fixture
def gateway(project: Project, mesh: Config) -> Iterator[Stack]:
    """The gateway's stack, deployed."""
    document = {"cluster": mesh["controlPlane"]["cluster"], "gateway": SETTINGS}
    stack = project.stack("gateway", {"stack": "gateway", "gateway": document})
    stack.up()
    yield stack
    stack.destroy()


@pytest.fixture
def tenants(project: Project, mesh: Config, authority: str) -> Any:
    """Makes the stack of one mesh's control plane, as its deployer writes it."""

    def make(name: str, *, host: str | None = None, tenant: str | None = None, **exposure: Any) -> Stack:
        document = copy.deepcopy(mesh)
        (revision,), (membership,) = document["revisions"], document["memberships"]
        hooks, istiod = hosts(f"{tenant}.{name}" if tenant else name)
        made = {"kind": "gateway", "sourceRanges": ["10.90.0.20/32"], "webhooks": {"host": hooks, "openToAll": True}}
        revision |= {"host": host or istiod, "exposure": {**made, **exposure}}
        membership["access"] = {"apiServer": SERVER}
        document |= {"name": name, "trust": {"management": "unmanaged"}}
        if tenant:
            document |= {"tenant": tenant, "controlPlane": {**document["controlPlane"], "priority": 1000}}
        user = {"server": SERVER, "certificate-authority-data": "QQ=="}
        config = {
            "stack": "control-plane",
            "mesh": document,
            "rootCertificate": authority,
            "kubeconfigs": {"default": minimal(name, user, {"token": "a-token"})},
            "references": {"gateway": f"{HERE}/gateway"},
        }
        return project.stack(f"{tenant}-{name}" if tenant else name, config)

    return make


def written_since(provider: Api, revision: int, *parts: str) -> set[str]:
    """Keys with one of these parts that were written after a revision of etcd, also if the value is the same again."""
    keys = {key.decode() for key, _ in provider.cluster.etcd_items(revision)}
    return {key for key in keys if any(part in key for part in parts) and not OF_CLUSTER.search(key)}


def rows(provider: Api) -> dict[str, Config]:
    """The hosts at the gateway."""
    found = provider.get("configmaps", "-n", NAMESPACE, "--selector=hosted-mesh.io/gateway-host=true")["items"]
    return {one["metadata"]["name"]: json.loads(one["data"]["row"]) for one in found}


@pytest.mark.usefixtures("clean")
def test_a_mesh_comes_and_goes_and_no_object_of_another_one_is_written(
    project: Project, provider: Api, gateway: Stack, tenants: Any
) -> None:
    assert gateway.up().summary().keys() == {"unchanged"}
    gateway.succeed("preview", "--policy-pack", str(POLICY_PACK))
    assert gateway.outputs()["facts"] == {"namespace": NAMESPACE, "zones": [ZONE], "ports": [443]}

    shop = tenants("shop")
    shop.up()
    assert shop.up().summary().keys() == {"unchanged"}
    assert {step["op"] for step in shop.preview()} == {"same", "read"}, "it reads the gateway's stack"
    assert sorted(rows(provider)) == hosts("shop")
    assert rows(provider)[hosts("shop")[1]]["sourceRanges"] == ["10.90.0.20/32"]

    before, revision = versions(provider), provider.cluster.etcd_revision()
    shops = (NAMESPACE, "mesh-shop", "shop.")
    bank = tenants("bank")
    bank.up()
    added = {f"/registry/configmaps/{NAMESPACE}/{host}" for host in hosts("bank")}
    assert written_since(provider, revision, *shops) == added
    assert "mesh-bank" in str(written_since(provider, revision, "mesh-bank")), "the second mesh was not seen either"
    assert set(differences(before, versions(provider)).values()) == {"made"}
    assert gateway.up().summary().keys() == {"unchanged"}, "the gateway's stack knows no mesh"

    revision = provider.cluster.etcd_revision()
    bank.destroy()
    assert written_since(provider, revision, *shops) <= added, "but for those that go"
    assert differences(before, versions(provider)) == {}
    assert sorted(rows(provider)) == hosts("shop")
    shop.destroy()


@pytest.mark.usefixtures("clean")
def test_a_host_of_another_mesh_is_rejected_in_previews_and_by_the_api_server(
    provider: Api, gateway: Stack, tenants: Any
) -> None:
    shop = tenants("shop")
    shop.up()
    owned = rows(provider)
    thief = tenants("thief", host=hosts("shop")[1])
    for command in (["preview"], ["up", "--yes", "--skip-preview"]):
        done = thief.run(*command)
        assert done.code != 0, done.text
        message = rf"host {re.escape(hosts('shop')[1])} belongs to mesh shop at the gateway\. Choose another host"
        assert re.search(message, done.text), done.text
    assert {host: row for host, row in rows(provider).items() if host in owned} == owned
    # Without the program's check, as with a stack at the same time.
    again = provider.kubectl("create", "configmap", hosts("shop")[1], "-n", NAMESPACE)
    assert again.code != 0
    assert "already exists" in again.text
    thief.destroy()
    shop.destroy()


@pytest.mark.usefixtures("clean")
def test_hosts_and_ports_that_the_gateway_does_not_serve_are_rejected_before_any_change(
    provider: Api, gateway: Stack, tenants: Any
) -> None:
    before = provider.stored()
    bad: list[tuple[Config, str]] = [
        ({"host": "istiod.shop.example.com"}, r"revisions\[0\]\.host: is outside of the gateway's zones"),
        ({"host": f"*.{ZONE}"}, r"revisions\[0\]\.host: must be a DNS name"),
        ({"xdsPort": 15012}, r"revisions\[0\]\.exposure\.xdsPort: is a port without a listener"),
        ({"sourceRanges": []}, r"revisions\[0\]\.exposure: sourceRanges is empty"),
    ]
    for given, words in bad:
        done = tenants("shop", **given).run("up", "--yes", "--skip-preview")
        assert done.code != 0
        assert re.search(words, done.text), done.text
        assert "Traceback" not in done.text
    assert provider.stored() == before
    tenants("shop").destroy()


@pytest.mark.usefixtures("clean")
def test_two_tenants_with_one_mesh_name_are_rejected(
    project: Project, provider: Api, gateway: Stack, tenants: Any
) -> None:
    """The second one's namespace exists already, so its stack changes nothing of the first."""
    shop = tenants("shop")
    shop.up()
    before = versions(provider)
    config = json.loads(json.dumps(_config_of(shop)).replace(ZONE, f"second.{ZONE}"))
    config["hosted-mesh:references"] = {"gateway": f"{HERE}/gateway"}
    second = project.stack("second", {key.partition(":")[2]: value for key, value in config.items()})
    done = second.run("up", "--yes", "--skip-preview")
    assert done.code != 0
    assert "already exists" in done.text
    assert "changed" not in differences(before, versions(provider)).values()
    second.destroy()
    assert differences(before, versions(provider)) == {}
    shop.destroy()


@pytest.mark.usefixtures("clean")
def test_two_tenants_may_call_their_meshes_alike_and_one_leaves_the_other_byte_for_byte(
    provider: Api, gateway: Stack, tenants: Any
) -> None:
    acme = tenants("shop", tenant="acme")
    acme.up()
    before, revision = bytes_in_etcd(provider), provider.cluster.etcd_revision()
    ours = ("tenant-acme--shop", "acme.shop.")
    other = tenants("shop", tenant="umbra")
    other.up()
    assert other.up().summary().keys() == {"unchanged"}
    assert acme.up().summary().keys() == {"unchanged"}
    assert written_since(provider, revision, *ours) == set()
    own = {one["namespace"] for one in _services(provider)}
    assert own >= {"tenant-acme--shop", "tenant-umbra--shop"}
    assert {row["tenant"] for row in rows(provider).values()} == {"acme", "umbra"}
    for kind in ("resourcequota", "limitrange", "networkpolicy"):
        assert provider.get(kind, "mesh", "-n", "tenant-umbra--shop")["metadata"]["labels"]["hosted-mesh.io/tenant"]
    priority = provider.get("priorityclass", "tenant-umbra--shop")
    assert (priority["value"], priority["preemptionPolicy"]) == (1000, "Never")
    thief = tenants("shop", tenant="umbra", host=hosts("acme.shop")[1]).run("preview")
    assert thief.code != 0
    assert "belongs to mesh acme--shop at the gateway" in thief.text, thief.text
    tenants("shop", tenant="umbra").destroy()
    after = bytes_in_etcd(provider)
    assert [key for key in before.keys() | after.keys() if before.get(key) != after.get(key)] == []
    acme.destroy()


def bytes_in_etcd(provider: Api) -> dict[str, bytes]:
    """The stored value of each key, but for those that the cluster writes by itself."""
    found, live = dict[str, bytes](), provider.cluster.etcd_keys()
    for key, value in provider.cluster.etcd_items():  # live values first, then earlier ones
        found.setdefault(key.decode(), value)
    return {key: found[key] for key in live if not OF_CLUSTER.search(key)}


def _services(provider: Api) -> list[Config]:
    return [one["metadata"] for one in provider.get("services", "--all-namespaces", "--selector=app=istiod")["items"]]


def _config_of(stack: Stack) -> Config:
    found: Config = yaml.safe_load(stack.file.read_text())["config"]
    return found
