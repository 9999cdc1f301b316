"""OLM on the control plane for one hosted cluster: packages, install, approval, a block, an upgrade, a killed operator.

The tests run in this order.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.x509 import load_pem_x509_certificate
from pulumi_hosted_mesh.cli.command import app
from typer.testing import CliRunner

from sandbox import clusters, toolchain
from sandbox.engine.deployment import POLICY_PACK
from sandbox.engine.example_catalog import OLM, Config
from sandbox.engine.operators import POOL
from sandbox.progress import Progress
from sandbox.proof import stored_secrets
from sandbox.toolchain.catalogue import FOR_OPERATORS
from tests.engine.library.engine import Project
from tests.live.operators.bundles import catalog
from tests.live.operators.hosting import HOST, HOSTED, Hosting, document_of, secrets_of_the_control_plane
from tests.support.clusters import started
from tests.support.waiting import eventually

NAMESPACE, OTHER = "operators-north", "operators-south"
AWAY = 20
"""Seconds without the hosted cluster's API server: longer than the limits of its clients' requests at rest."""
MEMORY = 120e6
"""Bytes: the goal for anonymous memory of OLM's three programs at rest."""
PACKAGES = "/apis/packages.operators.coreos.com/v1/namespaces/default/packagemanifests"


@pytest.fixture(scope="module")
def hosting(tmp_path_factory: pytest.TempPathFactory, progress: Progress) -> Iterator[Hosting]:
    tools = toolchain.ensure(also=FOR_OPERATORS, progress=progress)
    directory = tmp_path_factory.mktemp("operators")
    with started(directory / "state", tools, progress) as sandbox:
        project = Project.make(directory / "project", sandbox, tools)
        found = Hosting(sandbox, tools, project, sandbox.data_plane, document_of(sandbox.data_plane))
        found.user("label", "nodes", "--all", "example.com/pool=operators")
        found.stack().succeed("up", "--yes", "--policy-pack", str(POLICY_PACK))
        yield found


def test_olm_is_ready_on_the_control_plane(hosting: Hosting) -> None:
    names = [one["metadata"]["labels"]["app.kubernetes.io/name"] for one in hosting.pods().values()]
    assert sorted(names) == ["catalog-operator", "catalog-provider", "olm-operator", "packageserver", "packageserver"]
    statuses = [each for one in hosting.pods().values() for each in one["status"]["containerStatuses"]]
    assert [(one["ready"], one["restartCount"]) for one in statuses] == [(True, 0)] * len(names)
    programs = [one["program"] for one in hosting.processes()]
    assert sorted(programs) == ["catalog-operator", "olm", "opm", "packageserver", "packageserver"]


def test_packages_are_listed_in_the_hosted_cluster(hosting: Hosting) -> None:
    def listed() -> Any:
        done = hosting.user.run("get", "packagemanifests", "-n", "default", "-o", "json")
        return json.loads(done.stdout)["items"] if done.returncode == 0 else None

    found = eventually(listed, "packagemanifests are listed")
    packages = {one["metadata"]["name"]: one for one in found}
    assert {name: one["status"]["catalogSource"] for name, one in packages.items()} == {
        "demo": "provider",
        "gadgets": "provider",
    }
    package = packages["demo"]
    assert {one["name"]: one["currentCSV"] for one in package["status"]["channels"]} == {
        "stable": "demo.v1.0.0",
        "fast": "demo.v1.1.0",
    }


def waiting_plan(hosting: Hosting, version: str) -> str:
    """The plan that waits for this version's approval."""

    def look() -> list[str]:
        assert version not in hosting.csvs(), f"{version} is installed without an approval"
        plans = hosting.olm("installplans")
        return [name for name, one in plans.items() if one.get("status", {}).get("phase") == "RequiresApproval"]

    (plan,) = hosting.eventually(look, f"{version} waits for its approval")
    assert hosting.olm("installplans")[plan]["spec"]["clusterServiceVersionNames"] == [version]
    return plan


def approve(hosting: Hosting, plan: str) -> None:
    target = (f"installplan.{OLM}", plan, "-n", "operators")
    hosting.user("patch", *target, "--type=merge", "-p", '{"spec":{"approved":true}}')


def test_a_subscription_becomes_a_running_operator_on_its_nodes(hosting: Hosting) -> None:
    began = time.monotonic()
    # OLM lists the Subscriptions twice for one resolution: first for the approval, then for the channel. If both change
    # in between, the upgrade is approved by the old value. So the approval is Manual long before the channel changes.
    hosting.subscribe("stable", approval="Manual")
    approve(hosting, waiting_plan(hosting, "demo.v1.0.0"))
    hosting.eventually(lambda: hosting.has("demo.v1.0.0"), "demo.v1.0.0 is installed")
    print(f"\nfrom Subscription to a running operator: {time.monotonic() - began:.1f} s")
    # One ReplicaSet, with the placement: the first Pod had it too.
    sets = hosting.user.get("replicasets", "-n", "operators")["items"]
    assert [one["spec"]["template"]["spec"].get("nodeSelector") for one in sets] == [POOL]
    (pod,) = hosting.user.get("pods", "-n", "operators")["items"]
    assert pod["status"]["phase"] == "Running"


def test_no_program_of_olm_runs_in_the_hosted_cluster(hosting: Hosting) -> None:
    pods = hosting.user.get("pods", "-A")["items"]
    images = {each["image"] for one in pods for each in one["spec"]["containers"]}
    assert "sandbox/sample:1" in images
    assert not [image for image in images for name in FOR_OPERATORS if f"/{name}:" in image]
    assert hosting.user.get("pods", "-n", HOSTED)["items"] == []


def test_olms_programs_need_little_memory_at_rest(hosting: Hosting) -> None:
    found = {one["program"]: one for one in hosting.processes()}
    lines = [
        f"{name}: {one['rss'] / 1e6:.0f} MB, {one['anonymous'] / 1e6:.0f} MB anonymous" for name, one in found.items()
    ]
    print("", *sorted(lines), sep="\n")
    assert sum(one["anonymous"] for name, one in found.items() if name != "opm") < MEMORY


def test_the_hosted_clusters_api_server_judges_packageservers_callers(hosting: Hosting) -> None:
    """Asked directly, without the API server before it: with a token of each cluster's administrator."""
    tokens = {}
    for name, api in (("hosted", hosting.user), ("provider", hosting.provider)):
        api("create", "serviceaccount", "caller", "-n", "default")
        role = ("--clusterrole=cluster-admin", "--serviceaccount=default:caller")
        api("create", "clusterrolebinding", "caller", *role)
        tokens[name] = api("create", "token", "caller", "-n", "default").strip()
    hosting.user("create", "serviceaccount", "nobody", "-n", "default")
    tokens["nobody"] = hosting.user("create", "token", "nobody", "-n", "default").strip()

    def answer(token: str) -> str:
        options = ("--insecure-skip-tls-verify", f"--server=https://{HOST}", f"--token={token}")
        command = [str(hosting.tools["kubectl"]), "--kubeconfig=/dev/null", *options, "get", "--raw", PACKAGES]
        done = hosting.sandbox.run(hosting.sandbox.data_plane.name, command, capture_output=True, text=True, timeout=60)
        return str(done.stdout + done.stderr)

    assert '"kind":"PackageManifestList"' in answer(tokens["hosted"])
    assert "Unauthorized" in answer(tokens["provider"])
    assert "forbidden" in answer(tokens["nobody"])


def condition(hosting: Hosting, status: str) -> None:
    blocked = {"type": "Upgradeable", "status": status, "reason": "Migrating", "message": "data moves"}
    blocked["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    patch = json.dumps({"spec": {"conditions": [blocked]}})
    target = (f"operatorconditions.{OLM}", "demo.v1.0.0", "-n", "operators")
    hosting.user("patch", *target, "--type=merge", "-p", patch)


def status(hosting: Hosting, *options: str) -> tuple[int, str]:
    """The command's exit code and its answer."""
    config = ["--kubeconfig", str(hosting.sandbox.kubeconfig), "--context", hosting.sandbox.data_plane.name]
    done = CliRunner().invoke(app, ["operators", "status", *config, *options])
    return done.exit_code, done.stdout


def test_an_upgrade_waits_for_its_approval_and_a_blocking_operator_keeps_all_versions(hosting: Hosting) -> None:
    hosting.subscribe("fast", approval="Manual")
    plan = waiting_plan(hosting, "demo.v1.1.0")
    assert hosting.csvs() == {"demo.v1.0.0": ("Succeeded", "InstallSucceeded")}

    condition(hosting, "False")
    approve(hosting, plan)
    waits = ("Pending", "OperatorConditionNotUpgradeable")
    hosting.eventually(lambda: hosting.csvs().get("demo.v1.1.0") == waits, "demo.v1.1.0 waits")
    assert hosting.csvs()["demo.v1.0.0"][0] in ("Succeeded", "Replacing")

    code, text = status(hosting, "--output", "json")
    assert code == 3
    (found,) = json.loads(text)
    assert [one["operator"] for one in found["blockers"]] == ["demo.v1.0.0"]
    assert (found["packagesAvailable"], [one["state"] for one in found["catalogs"]]) == ("True", ["READY"])
    code, text = status(hosting)
    assert code == 3
    assert "operator demo.v1.0.0 in namespace operators: Migrating: data moves blocks an upgrade" in text
    refused = hosting.stack(version="1.37").run("preview")
    assert refused.code != 0
    assert "blocked by operator demo.v1.0.0 in namespace operators: Migrating: data moves" in refused.text

    condition(hosting, "True")
    hosting.eventually(lambda: hosting.has("demo.v1.1.0"), "demo.v1.1.0 is installed")
    eventually(lambda: "demo.v1.0.0" not in hosting.csvs(), "the old version is gone")
    sets = hosting.user.get("replicasets", "-n", "operators")["items"]
    assert all(one["spec"]["template"]["spec"].get("nodeSelector") == POOL for one in sets)
    eventually(lambda: status(hosting)[0] == 0, "nothing blocks, and no fault is left")
    assert "operators/demo" in status(hosting)[1]
    hosting.stack(version="1.37").succeed("preview")


def test_an_install_ends_after_olm_operator_is_killed_in_its_middle(hosting: Hosting) -> None:
    hosting.remove()
    eventually(lambda: not hosting.user.names("deployments", "-n", "operators"), "its Deployment is removed")
    (process,) = (one for one in hosting.processes() if one["program"] == "olm")
    # Without a node for the operator's Pod, the install cannot end before the signal.
    hosting.user("label", "nodes", "--all", "example.com/pool-")
    hosting.subscribe("stable")
    hosting.eventually(lambda: hosting.csvs().get("demo.v1.0.0", ("",))[0] == "Installing", "the install begins")
    hosting.send("KILL", process)
    hosting.user("label", "nodes", "--all", "example.com/pool=operators")
    hosting.eventually(lambda: hosting.has("demo.v1.0.0"), "demo.v1.0.0 is installed")
    (container,) = hosting.pods()[process["pod"]]["status"]["containerStatuses"]
    assert container["restartCount"] == 1


def faults(hosting: Hosting) -> list[tuple[str, str]]:
    """Subjects and causes that the command names."""
    _, text = status(hosting, "--output", "json")
    (found,) = json.loads(text)
    return [(one["subject"], one["cause"]) for one in found["faults"]]


def test_an_operator_with_webhooks_and_an_aggregated_api_serves_the_hosted_cluster(hosting: Hosting) -> None:
    hosting.subscribe("stable", package="gadgets")
    hosting.eventually(lambda: hosting.has("gadgets.v1.0.0"), "gadgets.v1.0.0 is installed")
    pods = hosting.user.get("pods", "-n", "operators", "-l", "app in (gadgets,views)")["items"]
    assert [one["spec"]["nodeSelector"] for one in pods] == [POOL, POOL]

    def gadget(version: str, name: str, **spec: int) -> str:
        made = {"apiVersion": f"example.com/{version}", "kind": "Gadget", "metadata": {"name": name}, "spec": spec}
        done = hosting.user.run("create", "-f", "-", text=json.dumps(made))
        return done.stderr

    assert gadget("v1", "small", count=10) == ""
    assert "spec.count is at most 10" in gadget("v1", "large", count=11)
    assert gadget("v1alpha1", "old", size=7) == ""
    assert "spec.count is at most 10" in gadget("v1alpha1", "older", size=11)
    assert hosting.user.get("gadgets.v1.example.com", "old")["spec"] == {"count": 7}
    assert hosting.user.get("gadgets.v1alpha1.example.com", "small")["spec"] == {"size": 10}
    (view,) = hosting.user.get("views.views.example.com", "-n", "default")["items"]
    assert view["metadata"]["name"] == "one"

    # The API server calls Services of its own cluster: neither a URL nor an object of the control plane.
    (webhook,) = (
        one
        for each in hosting.user.get("validatingwebhookconfigurations")["items"]
        for one in each["webhooks"]
        if one["name"] == "vgadgets.example.com"
    )
    assert webhook["clientConfig"]["service"]["namespace"] == "operators"
    assert not [name for name in hosting.pods() if "gadgets" in name or "views" in name]
    assert faults(hosting) == []

    hosting.user.run("delete", "gadgets", "--all", "-n", "default")
    kinds = f"subscription.{OLM}/gadgets,clusterserviceversion.{OLM}/gadgets.v1.0.0"
    hosting.user.run("delete", *kinds.split(","), "-n", "operators")
    eventually(
        lambda: hosting.user.run("get", "apiservice", "v1.views.example.com").returncode != 0, "its API is removed"
    )


def test_the_status_names_each_fault_and_the_fault_ends_with_it(hosting: Hosting) -> None:
    deployment = "Deployment operators/demo"
    hosting.user.run("label", "nodes", "--all", "example.com/pool-")
    assert faults(hosting) == [(deployment, "no-node")]
    hosting.user.run("label", "nodes", "--all", "example.com/pool=operators")

    hosting.subscribe("absent", package="gadgets")
    wrong = ("Subscription operators/gadgets", "resolution-failed")
    eventually(lambda: wrong in faults(hosting), "the channel does not exist")
    hosting.user.run("delete", f"subscription.{OLM}", "gadgets", "-n", "operators")

    scaled = ("scale", "deployment/packageserver", "-n", NAMESPACE)
    hosting.provider(*scaled, "--replicas=0")
    away = ("packageserver's API", "packages-unavailable")
    eventually(lambda: away in faults(hosting), "packageserver is away")
    hosting.provider(*scaled, "--replicas=2")
    eventually(lambda: not faults(hosting), "all is as it was")


def test_an_install_continues_after_the_hosted_clusters_api_server_was_away(hosting: Hosting) -> None:
    hosting.remove()
    before = {name: one["status"]["containerStatuses"][0]["restartCount"] for name, one in hosting.pods().items()}
    hosting.subscribe("stable")
    server = f"{hosting.sandbox.data_plane.name}-apiserver"
    (pid,) = (one.pid for one in clusters.status(hosting.sandbox.state).processes if one.name == server)
    hosting.sandbox.run("wan", ["kill", "-STOP", str(pid)], check=True)
    try:
        time.sleep(AWAY)
    finally:
        hosting.sandbox.run("wan", ["kill", "-CONT", str(pid)], check=True)
    hosting.eventually(lambda: hosting.has("demo.v1.0.0"), "demo.v1.0.0 is installed")
    after = {name: one["status"]["containerStatuses"][0]["restartCount"] for name, one in hosting.pods().items()}
    assert after == before


def source(name: str, address: str) -> Config:
    """A user's CatalogSource."""
    return {
        "apiVersion": f"{OLM}/v1alpha1",
        "kind": "CatalogSource",
        "metadata": {"name": name, "namespace": "hostile"},
        "spec": {"sourceType": "grpc", "address": address},
    }


def test_a_users_catalog_leads_to_no_other_namespace_of_the_control_plane(hosting: Hosting) -> None:
    """The address of another hosted cluster's catalog, which is open to all Pods here."""
    provider = hosting.provider
    labels = {"app": "catalog"}
    container = {
        "name": "registry",
        "image": "sandbox/opm:1",
        "args": [
            "serve",
            "/configs",
            "--cache-dir=/cache",
            "--cache-enforce-integrity=false",
            "--termination-log=/tmp/e",
        ],
        "readinessProbe": {"grpc": {"port": 50051}, "periodSeconds": 1},
        "volumeMounts": [
            {"name": "configs", "mountPath": "/configs/catalog.yaml", "subPath": "catalog.yaml"},
            *({"name": name, "mountPath": f"/{name}"} for name in ("cache", "tmp")),
        ],
    }
    volumes = [
        {"name": "configs", "configMap": {"name": "catalog"}},
        *({"name": one, "emptyDir": {}} for one in ("cache", "tmp")),
    ]
    within = {"namespace": OTHER, "name": "catalog"}
    provider.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OTHER}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": within, "data": {"catalog.yaml": catalog()}},
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**within, "labels": labels},
            "spec": {"containers": [container], "volumes": volumes},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": within,
            "spec": {"selector": labels, "ports": [{"port": 50051}]},
        },
    )
    provider("wait", "--for=condition=Ready", "pod/catalog", "-n", OTHER, "--timeout=120s")

    def state(name: str) -> str:
        status = hosting.olm("catalogsources", "hostile").get(name, {}).get("status", {})
        return str(status.get("connectionState", {}).get("lastObservedState", ""))

    hosting.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "hostile"}})
    stranger = source("stranger", f"catalog.{OTHER}.svc:50051")
    hosting.apply(stranger, source("own", f"catalog-provider.{NAMESPACE}.svc:50051"))
    eventually(lambda: state("own") == "READY", "its own catalog is reached")
    eventually(lambda: state("stranger") == "TRANSIENT_FAILURE", "the other one is not")
    assert faults(hosting) == [("catalog hostile/stranger", "catalog-unreachable")]

    # With one more NetworkPolicy it is: the closed way was the reason.
    opened = {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "catalog-operator"}}, "egress": [{}]}
    policy = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "o", "namespace": NAMESPACE},
    }
    provider.apply({**policy, "spec": {**opened, "policyTypes": ["Egress"]}})
    hosting.user.run("delete", f"catalogsource.{OLM}", "stranger", "-n", "hostile")
    hosting.apply(stranger)
    eventually(lambda: state("stranger") == "READY", "the other one is reached")
    provider("delete", "networkpolicy", "o", "-n", NAMESPACE)
    hosting.user.run("delete", "namespace", "hostile")


def test_no_secret_of_the_control_plane_is_in_the_hosted_clusters_etcd(hosting: Hosting) -> None:
    """Every byte, older revisions too."""
    search = secrets_of_the_control_plane(hosting.sandbox, hosting.stack())
    # Public, and there: the search finds it.
    bundle = hosting.user.get("apiservice", "v1.packages.operators.coreos.com")["spec"]["caBundle"]
    search.add_bytes(stored_secrets.CONTROL, load_pem_x509_certificate(base64.b64decode(bundle)).signature)
    stored_secrets.look(search, hosting.sandbox.data_plane.etcd_items())


def test_it_leaves_nothing_of_its_own(hosting: Hosting) -> None:
    hosting.remove()
    hosting.stack().destroy()
    assert hosting.provider("get", "namespace", NAMESPACE, "--ignore-not-found") == ""
    left = hosting.user("get", "namespaces,apiservices,clusterroles,mutatingadmissionpolicies", "-o", "name")
    ours = ("olm", "operators", "packages", "hosted-mesh-olm-operator", "hosted-mesh-operators")
    names = [one.rpartition("/")[2] for one in left.splitlines()]
    assert [one for one in names if one in ours] == []
