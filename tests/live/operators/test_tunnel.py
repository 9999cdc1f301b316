"""The tunnel of hosted operators: a user's catalog runs as a Pod in the hosted cluster. The tests run in this order.

The image `users-catalog` stands for a user's. Its bundle is inline, because no image registry is here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.x509 import load_pem_x509_certificate

from sandbox import toolchain
from sandbox.clusters import Cluster
from sandbox.engine import operators
from sandbox.engine.deployment import POLICY_PACK
from sandbox.engine.example_catalog import OLM, Config, bundle
from sandbox.progress import Progress
from sandbox.proof import stored_secrets
from sandbox.toolchain.catalogue import FOR_OPERATORS
from tests.engine.library.engine import Project
from tests.live.operators.hosting import HOSTED, Hosting, secrets_of_the_control_plane
from tests.support.clusters import started
from tests.support.kubectl import Kubectl
from tests.support.waiting import eventually

NAMESPACE, OTHER, SHOP = "operators-north", "operators-south", "shop"
HOST = "tunnel.sandbox.test"
IMAGE = "sandbox/users-catalog:1"
PACKAGES = "/apis/packages.operators.coreos.com/v1/namespaces/shop/packagemanifests"


class Tunnelled(Hosting):
    """The hosted cluster with a user's catalogs."""

    def state(self, name: str) -> str:
        """State of catalog-operator's connection to a user's CatalogSource."""
        found = self.user.get(f"catalogsource.{OLM}", name, "-n", SHOP)
        return str(found.get("status", {}).get("connectionState", {}).get("lastObservedState", ""))

    def logged(self) -> str:
        """Destinations with the filter's answers."""
        return self.provider("logs", "deployment/tunnel", "--container=envoy", "-n", NAMESPACE)

    def packages(self) -> dict[str, str]:
        """Packages that the user sees, with their catalogs."""
        done = self.user.run("get", "--raw", PACKAGES)
        found = json.loads(done.stdout)["items"] if done.returncode == 0 else []
        return {one["metadata"]["name"]: one["status"]["catalogSource"] for one in found}


def provided() -> str:
    """The provider's catalog: one package, whose operator runs nothing."""
    name = "providers.v1.0.0"
    modes = [{"type": "OwnNamespace", "supported": True}]
    install = {"strategy": "deployment", "spec": {"deployments": []}}
    csv = {
        "apiVersion": f"{OLM}/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": name},
        "spec": {"displayName": "Providers", "version": "1.0.0", "installModes": modes, "install": install},
    }
    found = [
        {"schema": "olm.package", "name": "providers", "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": "providers", "name": "stable", "entries": [{"name": name}]},
        bundle("providers", "1.0.0", "", csv),
    ]
    return "\n---\n".join(map(json.dumps, found))


def document_of(hosted: Cluster) -> Config:
    """The document for a hosted cluster, with the sandbox's images."""
    document = operators.document(hosted)
    images = {
        "tunnelServer": "sandbox/proxy-server:1",
        "tunnelAgent": "sandbox/proxy-agent:1",
        "envoy": "sandbox/envoy:1",
    }
    return {
        **{name: value for name, value in document.items() if name not in ("version", "placement")},
        "images": {**document["images"], **images},
        "packageServer": {**document["packageServer"], "replicas": 1},
        "tunnel": {"host": HOST, "sourceRanges": document["networkPolicy"]["apiServerRanges"]},
        "catalogs": [{"name": "provider", "content": provided()}],
        "keepCrds": False,
    }


@pytest.fixture(scope="module")
def hosting(tmp_path_factory: pytest.TempPathFactory, progress: Progress) -> Iterator[Tunnelled]:
    tools = toolchain.ensure(also=FOR_OPERATORS, progress=progress)
    directory = tmp_path_factory.mktemp("tunnel")
    with started(directory / "state", tools, progress) as sandbox:
        hosted, project = sandbox.data_plane, Project.make(directory / "project", sandbox, tools)
        found = Tunnelled(sandbox, tools, project, hosted, document_of(hosted))
        found.stack().succeed("up", "--yes", "--policy-pack", str(POLICY_PACK))
        found.user("create", "namespace", SHOP)
        yield found


def source(name: str, **spec: str) -> Config:
    """A user's CatalogSource."""
    return {
        "apiVersion": f"{OLM}/v1alpha1",
        "kind": "CatalogSource",
        "metadata": {"name": name, "namespace": SHOP},
        "spec": {"sourceType": "grpc", **spec},
    }


def catalog_pod(namespace: str) -> list[Config]:
    """A catalog without a CatalogSource, open to all Pods of its cluster."""
    within = {"name": "catalog", "namespace": namespace}
    container = {"name": "registry", "image": IMAGE, "readinessProbe": {"grpc": {"port": 50051}, "periodSeconds": 1}}
    spec = {"selector": {"app": "catalog"}, "ports": [{"port": 50051}]}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**within, "labels": {"app": "catalog"}},
            "spec": {"containers": [container]},
        },
        {"apiVersion": "v1", "kind": "Service", "metadata": within, "spec": spec},
    ]


def test_the_agent_is_the_one_pod_of_the_provider_in_the_hosted_cluster(hosting: Tunnelled) -> None:
    pods = [
        pod
        for pod in hosting.user.get("pods", "-A")["items"]
        if any(f"/{name}:" in one["image"] for one in pod["spec"]["containers"] for name in FOR_OPERATORS)
    ]
    assert [one["spec"]["serviceAccountName"] for one in pods] == ["tunnel-agent"]
    (agent,) = pods
    assert "secret" not in json.dumps(agent["spec"]["volumes"]).lower()
    may = hosting.user("auth", "can-i", "--list", f"--as=system:serviceaccount:{HOSTED}:tunnel-agent", "--no-headers")
    rights = {line.split()[0] for line in may.splitlines() if not line.startswith(" ")}
    assert rights == {name for name in rights if name.startswith("self")}


def test_a_users_catalog_becomes_ready_beside_the_providers(hosting: Tunnelled) -> None:
    hosting.user.apply(source("users", image=IMAGE))
    eventually(lambda: hosting.state("users") == "READY", "the user's catalog is reached")
    (pod,) = hosting.user.get("pods", "-n", SHOP, "-l", "olm.catalogSource=users")["items"]
    assert pod["spec"]["containers"][0]["image"] == IMAGE
    wanted = {"users-demo": "users", "providers": "provider"}
    eventually(lambda: hosting.packages() == wanted, "both catalogs' packages are listed")


def test_its_operator_is_installed(hosting: Tunnelled) -> None:
    group = {"apiVersion": f"{OLM}/v1", "kind": "OperatorGroup", "metadata": {"name": "shop", "namespace": SHOP}}
    hosting.user.apply(
        {**group, "spec": {"targetNamespaces": [SHOP]}},
        {
            "apiVersion": f"{OLM}/v1alpha1",
            "kind": "Subscription",
            "metadata": {"name": "users-demo", "namespace": SHOP},
            "spec": {"name": "users-demo", "channel": "stable", "source": "users", "sourceNamespace": SHOP},
        },
    )

    def phases() -> list[str]:
        csvs = hosting.user.get(f"clusterserviceversions.{OLM}", "-n", SHOP)["items"]
        return [one.get("status", {}).get("phase", "") for one in csvs]

    eventually(lambda: phases() == ["Succeeded"], "the operator is installed")
    assert hosting.user.get("deployment", "users-demo", "-n", SHOP)["status"]["readyReplicas"] == 1


def test_without_its_agent_the_catalog_is_away_until_the_agent_is_back(hosting: Tunnelled) -> None:
    agent = ("scale", "deployment/tunnel-agent", "-n", HOSTED)
    hosting.user(*agent, "--replicas=0")
    eventually(lambda: hosting.state("users") == "TRANSIENT_FAILURE", "the user's catalog is away")
    hosting.user(*agent, "--replicas=1")
    eventually(lambda: hosting.state("users") == "READY", "the user's catalog is back")


def test_a_users_address_leads_to_nothing_but_catalogs_of_the_hosted_cluster(hosting: Tunnelled) -> None:
    """Another hosted cluster's catalog on the control plane is open to all Pods there, but not to this user."""
    hosting.provider.apply(*catalog_pod(OTHER))
    hosting.provider("wait", "--for=condition=Ready", "pod/catalog", "-n", OTHER, "--timeout=120s")
    address = hosting.provider.get("service", "catalog", "-n", OTHER)["spec"]["clusterIP"]
    hosting.user.apply(*catalog_pod("stock"))
    refused = {
        "whole": f"catalog.{OTHER}.svc.cluster.local:50051",
        "number": f"{address}:50051",
        "port": "kubernetes.default.svc:443",
    }
    elsewhere = {"short": f"catalog.{OTHER}.svc:50051", "unlabelled": "catalog.stock.svc:50051"}
    hosting.user.apply(*(source(name, address=one) for name, one in {**refused, **elsewhere}.items()))
    for name in (*refused, *elsewhere):
        eventually(lambda name=name: hosting.state(name) == "TRANSIENT_FAILURE", f"{name} is not reached")
    wanted = {*refused.values(), *elsewhere.values()}

    def answers() -> list[tuple[str, str]]:
        """Envoy writes its log every ten seconds."""
        found = re.findall(r"CONNECT (\S+) (\d+)", hosting.logged())
        return found if {one for one, _ in found} >= wanted else []

    codes = eventually(answers, "each address is in the log")
    assert {code for one, code in codes if one in refused.values()} == {"403"}
    # The filter admits a Service's name. The agent's NetworkPolicy admits Pods with OLM's label.
    hosting.user("label", "pod", "catalog", "olm.catalogSource=stock", "-n", "stock")
    eventually(lambda: hosting.state("unlabelled") == "READY", "a catalog with OLM's label is reached")
    # The same short name in the hosted cluster is the user's own.
    hosting.user.apply(*catalog_pod(OTHER))
    hosting.user("label", "pod", "catalog", "olm.catalogSource=own", "-n", OTHER)
    eventually(lambda: hosting.state("short") == "READY", "the user's own Service of that name is reached")
    hosting.user("delete", f"catalogsource.{OLM}", *refused, *elsewhere, "-n", SHOP)


def test_another_accounts_token_opens_no_tunnel(hosting: Tunnelled, tmp_path: Path) -> None:
    """From the hosted cluster's network: the agent's token, and those of another account, audience and cluster."""
    authority = tmp_path / "ca.crt"
    authority.write_text(hosting.user.get("configmap", "tunnel-agent", "-n", HOSTED)["data"]["ca.crt"])

    def answer(port: int, kubectl: Kubectl, account: str, audience: str) -> str:
        token = tmp_path / f"token-{port}"
        token.write_text(kubectl("create", "token", account, "-n", HOSTED, f"--audience={audience}").strip())
        program = [str(hosting.tools["proxy-agent"]), f"--proxy-server-host={HOST}", "--proxy-server-port=8132"]
        files = [f"--ca-cert={authority}", f"--service-account-token-path={token}"]
        ports = [f"--health-server-port={port}", f"--admin-server-port={port + 1}", "--sync-interval=1s", "--v=2"]
        network = hosting.sandbox.data_plane.name
        said = ""
        for seconds in ("5", "20", "60"):  # the later ones for a busy machine, on which it has not begun to connect
            command = ["timeout", "--signal=KILL", seconds, *program, *files, *ports]
            done = hosting.sandbox.run(network, command, capture_output=True, text=True, timeout=120)
            said += str(done.stdout + done.stderr)
            if "Connect to server" in said or "cannot connect once" in said:
                break
        return said

    audience = "hosted-mesh-tunnel"
    hosting.provider("create", "namespace", HOSTED)
    hosting.provider("create", "serviceaccount", "tunnel-agent", "-n", HOSTED)
    with ThreadPoolExecutor() as pool:
        admitted, *refused = pool.map(
            answer,
            range(19100, 19140, 10),
            # The last one is another cluster's, with the same name.
            (hosting.user, hosting.user, hosting.user, hosting.provider),
            ("tunnel-agent", "default", "tunnel-agent", "tunnel-agent"),
            (audience, audience, "other", audience),
        )
    assert "Connect to server" in admitted
    for one in refused:
        assert "cannot connect once" in one
        assert "Connect to server" not in one
    log = ("logs", "deployment/tunnel", "--container=server", "-n", NAMESPACE)
    eventually(lambda: hosting.provider(*log).count("Client authentication failed") >= 3, "the server's log has them")


def test_no_secret_of_the_control_plane_is_in_the_hosted_clusters_etcd(hosting: Tunnelled) -> None:
    """Every byte, older revisions too."""
    search = secrets_of_the_control_plane(hosting.sandbox, hosting.stack())
    # Public, and there: the search finds it.
    authority = hosting.user.get("configmap", "tunnel-agent", "-n", HOSTED)["data"]["ca.crt"]
    search.add_bytes(stored_secrets.CONTROL, load_pem_x509_certificate(authority.encode()).signature)
    stored_secrets.look(search, hosting.sandbox.data_plane.etcd_items())


def test_without_the_field_the_catalog_is_unreachable(hosting: Tunnelled) -> None:
    hosting.stack(tunnel=None).succeed("up", "--yes", "--skip-preview")
    eventually(lambda: hosting.state("users") == "TRANSIENT_FAILURE", "the user's catalog is away")
    assert not hosting.user.exists("deployment", "tunnel-agent", "-n", HOSTED)
    left = hosting.provider("get", "deployment,service,secret,configmap", "-n", NAMESPACE, "-o", "name")
    assert "tunnel" not in left
