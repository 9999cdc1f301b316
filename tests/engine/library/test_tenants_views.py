"""doctor, discover and observability of a mesh with a tenant, beside another tenant's mesh of the same name."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from typing import Any

import pytest
from pulumi_hosted_mesh.clusters.kubeconfig import minimal

from sandbox.clusters import Sandbox
from sandbox.engine.deployment import POLICY_PACK
from tests.engine.library.engine import Api, Project
from tests.support.authorities import Authority, pem

MESH, ACME, BANK = "demo", "acme", "bank"
ISTIODS = f"tenant-{ACME}--{MESH}"
OBSERVED = f"obs--{ACME}--{MESH}"
SERVER = "https://127.0.0.1:1"


def command(*words: str) -> dict[str, Any]:
    """A command's JSON."""
    python = [sys.executable, "-c", "from pulumi_hosted_mesh.cli.command import app; app()", *words, "--json"]
    done = subprocess.run(python, capture_output=True, text=True, timeout=240)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def other_tenant(mesh: dict[str, Any]) -> dict[str, Any]:
    """The control plane of another tenant's mesh of the same name."""
    document = copy.deepcopy(mesh) | {"tenant": BANK, "trust": {"management": "unmanaged"}}
    (revision,), (membership,) = document["revisions"], document["memberships"]
    revision["host"] = f"istiod.{BANK}.sandbox.test"
    membership["access"] = {"apiServer": SERVER}
    return {
        "stack": "control-plane",
        "mesh": document,
        "rootCertificate": pem(Authority("root of a test").certificate).decode(),
        "kubeconfigs": {
            "default": minimal(MESH, {"server": SERVER, "certificate-authority-data": "QQ=="}, {"token": "a-token"})
        },
    }


@pytest.mark.usefixtures("clean")
def test_each_view_is_of_one_tenants_mesh(
    project: Project, mesh: dict[str, Any], provider: Api, engine_sandbox: Sandbox
) -> None:
    acme = project.stack(ACME, {"stack": "all-in-one", "mesh": copy.deepcopy(mesh) | {"tenant": ACME}})
    acme.up()
    bank = project.stack(BANK, other_tenant(mesh))
    bank.up()

    config = str(engine_sandbox.kubeconfig)
    found = {one["name"]: one for one in command("discover", "--kubeconfig", config)["meshes"]}
    placed = {
        name: [(part["role"], part["cluster"], part["namespace"]) for part in one["installations"]]
        for name, one in found.items()
    }
    assert placed == {
        f"{ACME}--{MESH}": [
            ("control-plane", "control-plane", ISTIODS),
            ("data-plane", "data-plane", f"mesh-{MESH}"),
        ],
        f"{BANK}--{MESH}": [("control-plane", "control-plane", f"tenant-{BANK}--{MESH}")],
    }

    clusters = ["--kubeconfig", config, "--context=data-plane", "--control-plane-context=control-plane"]
    checks = command("doctor", "--mesh", MESH, "--tenant", ACME, *clusters)["checks"]
    causes = {one["cause"] for one in checks if not one["ok"]}
    assert causes == {"not-ready", "missing-root"}, "no node runs istiod, which writes the root"
    assert f"Secret cacerts in namespace {ISTIODS} of the control plane" in {
        one["check"] for one in checks if one["ok"]
    }
    checks = command("doctor", "--mesh", MESH, *clusters)["checks"]
    absent = {"missing-cacerts", "no-istiod", "missing-kubeconfig", "missing-root"}
    assert {one["cause"] for one in checks if not one["ok"]} == absent
    assert "--tenant" in str(checks)

    cluster = mesh["controlPlane"]["cluster"]
    own = {"host": "of.acme.example.com", "exposure": {"sourceRanges": ["203.0.113.0/24"]}, "serverSecret": "own"}
    document = {
        "mesh": MESH,
        "tenant": ACME,
        "collector": {**own, "image": "hosted-mesh/metrics-collector:1"},
        "prometheus": {},
        "debugProxy": {**own, "host": "debug.acme.example.com", "image": "hosted-mesh/debug-proxy:1"},
        "waitUntilReady": False,
    }
    views = project.stack(
        "views", {"stack": "observability", "observability": {"controlPlane": cluster, "observability": document}}
    )
    views.succeed("up", "--yes", "--policy-pack", str(POLICY_PACK))
    assert views.up().summary().keys() == {"unchanged"}
    assert views.outputs()["namespace"] == OBSERVED
    labels = {"hosted-mesh.io/mesh": MESH, "hosted-mesh.io/tenant": ACME}
    assert labels.items() <= provider.get("namespace", OBSERVED)["metadata"]["labels"].items()
    (endpoint,) = json.loads(provider.get("configmap", "metrics-collector", "-n", OBSERVED)["data"]["collector.json"])[
        "endpoints"
    ]
    assert (endpoint["tenant"], endpoint["trust_domain"]) == (f"{ACME}--{MESH}", f"{MESH}.{ACME}.mesh.local")
    to_istiod = [
        one
        for one in provider.get("services", "-n", ISTIODS)["items"]
        if one["metadata"]["name"].startswith("istiod-debug-")
    ]
    (container,) = provider.get("deployment", "debug-proxy", "-n", OBSERVED)["spec"]["template"]["spec"]["containers"]
    (service,) = to_istiod
    assert f"--istiod={service['metadata']['name']}.{ISTIODS}.svc:15014" in container["args"]
    for stack in (views, bank, acme):
        stack.destroy()
