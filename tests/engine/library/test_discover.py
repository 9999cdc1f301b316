"""`hosted-mesh discover` on real API servers: a mesh of ours, one by Helm, a credential that may only list."""

from __future__ import annotations

import base64
import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Project
from tests.support.waiting import eventually

SYSTEM = "istio-system"
OURS, THEIRS, NEITHER = "discover-ours", "discover-theirs", "discover-neither"
PAGE = CHECKOUT / "docs/components/discover.md"


def discover(kubeconfig: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from pulumi_hosted_mesh.cli.command import app; app()", "discover"]
    return subprocess.run(
        [*command, "--kubeconfig", str(kubeconfig), *options], capture_output=True, text=True, timeout=240
    )


def meshes(kubeconfig: Path, *options: str) -> dict[str, Any]:
    done = discover(kubeconfig, "--json", *options)
    assert done.returncode == 0, done.stderr
    return {one["name"]: one for one in json.loads(done.stdout)["meshes"]}


@pytest.fixture
def theirs(user: Api, engine_sandbox: Sandbox, tools: Tools) -> Iterator[None]:
    """Istio by Helm in the user's cluster, as a user of Istio installs it, with a revision and a mesh ID."""
    helm = [str(tools["helm"]), f"--kubeconfig={user.cluster.kubeconfig}", f"--namespace={SYSTEM}"]
    settings = ["revision=r1", "global.meshID=shops", "meshConfig.trustDomain=shops.example", "global.tag=1.31.1"]
    install = ["install", "istiod-r1", str(tools.charts / "istiod"), "--create-namespace"]
    labelled = {OURS: "istio-injection=enabled", THEIRS: "istio.io/rev=r1", NEITHER: "istio-injection=disabled"}
    try:
        subprocess.run(
            [*helm, *install, *(f"--set={one}" for one in settings)], check=True, capture_output=True, timeout=120
        )
        for name, label in labelled.items():
            user.kubectl("create", "namespace", name)
            assert user.kubectl("label", "namespace", name, label).code == 0
        yield
    finally:
        subprocess.run([*helm, "uninstall", "istiod-r1"], check=True, capture_output=True, timeout=120)
        user.kubectl("delete", "namespace", SYSTEM, *labelled)


def listing(user: Api, directory: Path, *, without: str = "") -> Path:
    """A kubeconfig of an account with the page's ClusterRole and no other right. without: a resource to leave out."""
    block = PAGE.read_text().partition("```yaml\n")[2].partition("```")[0]
    role = yaml.safe_load(block)
    for rule in role["rules"]:
        rule["resources"] = [one for one in rule["resources"] if one != without]
    name = role["metadata"]["name"]
    manifest = directory / "role.yaml"
    manifest.write_text(yaml.safe_dump(role))
    assert user.kubectl("apply", "-f", str(manifest)).code == 0
    user.kubectl("create", "serviceaccount", name, "-n", "default")
    user.kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}", f"--serviceaccount=default:{name}")
    token = user.kubectl("create", "token", name, "-n", "default").output.strip()
    authority = base64.b64encode(user.cluster.certificate_authority.read_bytes()).decode()
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "c", "cluster": {"server": user.cluster.server, "certificate-authority-data": authority}}
        ],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "listing", "context": {"cluster": "c", "user": "u"}}],
    }
    file = directory / "listing.yaml"
    file.write_text(json.dumps(content))
    return file


@pytest.fixture
def no_account(user: Api) -> Iterator[None]:
    yield
    for kind in ("clusterrole", "clusterrolebinding", "serviceaccount"):
        user.kubectl("delete", kind, "mesh-discovery", "-n", "default", "--ignore-not-found")


@pytest.mark.usefixtures("clean", "theirs", "no_account")
def test_both_are_found_by_whoever_made_them(
    project: Project, mesh: dict[str, Any], user: Api, engine_sandbox: Sandbox, tmp_path: Path
) -> None:
    document = copy.deepcopy(mesh)
    document["revisions"][0]["charts"]["tag"] = "1.31-dev"
    stack = project.stack("discover", {"stack": "all-in-one", "mesh": document})
    stack.up()
    secret = ["create", "secret", "generic", "east", "-n", SYSTEM, "--from-literal=config=x"]
    assert user.kubectl(*secret).code == 0
    marks = ["istio/multiCluster=true", "networking.istio.io/cluster=east"]
    assert user.kubectl("label", "secret", "east", "-n", SYSTEM, marks[0]).code == 0
    assert user.kubectl("annotate", "secret", "east", "-n", SYSTEM, marks[1]).code == 0

    before = user.stored()
    found = meshes(engine_sandbox.kubeconfig)
    assert user.stored() == before
    assert found.keys() == {"demo", "shops"}
    _ours(found["demo"])
    _theirs(found["shops"])

    # With no more than the rights on the page, the same of that cluster.
    alone = meshes(listing(user, tmp_path))
    assert [one["members"] for one in alone["shops"]["installations"]] == [
        one["members"] for one in found["shops"]["installations"]
    ]
    assert alone["shops"]["peers"] == ["cluster east"]
    fewer = discover(listing(user, tmp_path, without="secrets"))
    assert fewer.returncode == 0
    assert "listing: this credential may not list Secret" in fewer.stdout
    stack.destroy()
    assert meshes(engine_sandbox.kubeconfig).keys() == {"shops"}


@pytest.mark.usefixtures("clean", "theirs")
def test_a_change_is_printed_and_written_at_once(user: Api, engine_sandbox: Sandbox, tmp_path: Path) -> None:
    """By watches: the next list would come after ten minutes."""
    inventory, metrics, output = tmp_path / "inventory.yaml", tmp_path / "meshes.prom", tmp_path / "output"
    command = [sys.executable, "-c", "from pulumi_hosted_mesh.cli.command import app; app()", "discover", "data-plane"]
    options = ["--kubeconfig", str(engine_sandbox.kubeconfig), "--watch", "--services", "--every=600"]
    files = [f"--inventory-file={inventory}", f"--metrics-file={metrics}"]
    with output.open("w") as file, subprocess.Popen([*command, *options, *files], stdout=file, stderr=file) as process:
        try:
            eventually(lambda: "No service of a mesh" in output.read_text())
            create = ("create", "deployment", "tills", "-n", THEIRS, "--image=registry.example.com/tills:2.4")
            assert user.kubectl(*create, "--replicas=3").code == 0
            assert user.kubectl("create", "service", "clusterip", "tills", "-n", THEIRS, "--tcp=80:8080").code == 0
            # The watches of Services and of Deployments are two: a line may come before, without the Deployment.
            line = [f"{THEIRS}/tills", "shops", "data-plane", "-", "Deployment", "tills", "2.4", "0/3"]
            eventually(lambda: line in [one.split() for one in output.read_text().splitlines()], f"the line {line}")
            eventually(lambda: 'service="tills",workload="tills",version="2.4"} 3' in metrics.read_text())
            eventually(lambda: services_in(inventory) == ["tills"], "the inventory has it")

            assert user.kubectl("delete", "deployment/tills", "service/tills", "-n", THEIRS).code == 0
            eventually(lambda: output.read_text().rstrip().endswith("No service of a mesh was found"))
        finally:
            process.kill()


def services_in(inventory: Path) -> list[str]:
    return [one["name"] for one in yaml.safe_load(inventory.read_text())["services"]]


def _ours(demo: dict[str, Any]) -> None:
    assert (demo["trust_domain"], demo["managed_by"]) == ("demo.mesh.local", ["hosted-mesh"])
    control_plane, data_plane = demo["installations"]
    seen = {key: control_plane[key] for key in ("cluster", "role", "version", "revision", "ready", "components")}
    assert seen == {
        "cluster": "control-plane",
        "role": "control-plane",
        "version": "1.31-dev",
        "revision": "default",
        "ready": "0/1",  # no node runs it
        "components": ["istiod"],
    }
    assert (data_plane["cluster"], data_plane["role"]) == ("data-plane", "data-plane")
    assert data_plane["istiod"] == "istiod.demo.sandbox.test"
    assert (data_plane["cluster_id"], data_plane["network"]) == ("demo", "demo")
    assert [one["namespace"] for one in data_plane["members"]] == [OURS]


def _theirs(shops: dict[str, Any]) -> None:
    assert (shops["trust_domain"], shops["managed_by"]) == ("shops.example", ["helm"])
    (only,) = shops["installations"]
    assert (only["cluster"], only["role"], only["revision"], only["version"]) == (
        "data-plane",
        "istiod",
        "r1",
        "1.31.1",
    )
    assert [one["namespace"] for one in only["members"]] == [THEIRS]
    assert shops["peers"] == ["cluster east"]


def test_a_cluster_that_does_not_answer_is_named_and_the_others_are_shown(
    engine_sandbox: Sandbox, tmp_path: Path
) -> None:
    config = yaml.safe_load(engine_sandbox.kubeconfig.read_text())
    for cluster in config["clusters"]:
        if cluster["name"] == "data-plane":
            cluster["cluster"]["server"] = "https://127.0.0.1:9"
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(config))
    done = discover(file)
    assert done.returncode == 4
    assert "data-plane: not read, the API server does not answer" in done.stdout
    unknown = discover(file, "elsewhere")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "given kubeconfig: elsewhere" in unknown.stderr
