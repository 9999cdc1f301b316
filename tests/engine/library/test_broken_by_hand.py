"""What a user breaks by hand in the data plane: doctor finds each, and `pulumi up --refresh` mends all of it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi_hosted_mesh.cli.command import app
from typer.testing import CliRunner

from tests.engine.library.engine import Api, Project, Stack

Config = dict[str, Any]
SPACE, WIDE = "mesh-demo", "hosted-mesh-istiod-demo"
INJECTOR, VALIDATOR = f"istio-sidecar-injector-{SPACE}", f"istio-validator-{SPACE}"
INJECTION, VALIDATION = "mutatingwebhookconfiguration", "validatingwebhookconfiguration"
OWN = (f"-n {SPACE} role", f"-n {SPACE} rolebinding", f"-n {SPACE} configmap", f"-n {SPACE} serviceaccount")
ROLE, BINDING, CONFIG, ACCOUNT = OWN


def merge(kind: str, name: str, change: Any) -> list[str]:
    return ["patch", *kind.split(), name, "--type=merge", "-p", json.dumps(change)]


def edit(kind: str, name: str, *steps: Any) -> list[str]:
    return ["patch", *kind.split(), name, "--type=json", "-p", json.dumps(list(steps))]


def step(op: str, path: str, **more: Any) -> Config:
    return {"op": op, "path": path, **more}


BY_HAND: dict[str, tuple[list[str], str, str]] = {
    "injection is deleted": (
        ["delete", INJECTION, INJECTOR],
        "webhooks of revision default are installed",
        "revision-not-present",
    ),
    "validation fails open": (
        edit(VALIDATION, VALIDATOR, step("replace", "/webhooks/0/failurePolicy", value="Ignore")),
        f"{VALIDATION} {VALIDATOR}",
        "failurePolicy",
    ),
    "a webhook is taken out": (
        edit(VALIDATION, VALIDATOR, step("remove", "/webhooks/1")),
        f"{VALIDATION} {VALIDATOR}",
        "are missing",
    ),
    "the role has other rules": (merge(ROLE, "istiod", {"rules": []}), f"{ROLE} istiod", "rules"),
    "the role binding has another subject": (
        merge(BINDING, "istiod", {"subjects": [{"kind": "ServiceAccount", "name": "other", "namespace": SPACE}]}),
        f"{BINDING} istiod",
        "subjects",
    ),
    "a right is taken from the cluster role": (
        edit("clusterrole", WIDE, step("remove", "/rules/0")),
        f"clusterrole {WIDE}",
        "rules",
    ),
    "the cluster role binding is deleted": (
        ["delete", "clusterrolebinding", WIDE],
        f"clusterrolebinding {WIDE}",
        "not there",
    ),
    "the mesh config has another trust domain": (
        merge(CONFIG, "istio", {"data": {"mesh": "trustDomain: other.local\n"}}),
        f"{CONFIG} istio",
        "data.mesh",
    ),
    "istiod's account is deleted": (["delete", *ACCOUNT.split(), "istiod"], f"{ACCOUNT} istiod", "not there"),
    "the namespace has lost its annotation": (
        ["annotate", "namespace", SPACE, "topology.istio.io/controlPlaneClusters-"],
        f"namespace {SPACE}",
        "topology.istio.io/controlPlaneClusters is missing",
    ),
}


class Doctor:
    """`hosted-mesh doctor` of this mesh. There is no istiod: failed calls of webhooks are not looked at."""

    def __init__(self, user: Api, endpoint: Config, directory: Path) -> None:
        self._file = directory / "endpoint.yaml"
        self._file.write_text(yaml.safe_dump(endpoint))
        self._cluster = ["--kubeconfig", str(user.cluster.kubeconfig), "--context", user.cluster.name]

    def faults(self) -> dict[str, str]:
        command = ["doctor", "--mesh", "demo", "--endpoint", str(self._file), *self._cluster, "--json"]
        done = CliRunner().invoke(app, command)
        assert done.exit_code in (0, 3), done.output
        checks = [one for one in json.loads(done.output)["checks"] if not one["ok"]]
        kinds = ("missing-object", "changed-object", "revision-not-present")
        return {one["check"]: f"{one['cause']}: {one['seen']}; {one['fix']}" for one in checks if one["cause"] in kinds}


def contents(user: Api) -> dict[str, str]:
    """Of all objects but Secrets: a new account has a new token. Without what only the API server writes."""
    found = {}
    for key, item in user.everything().items():
        if not key.startswith("Secret."):
            kept = {name: value for name, value in item.items() if name not in ("metadata", "status")}
            metadata = {name: item["metadata"].get(name) for name in ("labels", "annotations")}
            found[key] = json.dumps([metadata, kept], sort_keys=True)
    return found


@pytest.mark.nightly
@pytest.mark.usefixtures("clean")
def test_doctor_finds_each_of_ten_and_up_mends_them(project: Project, mesh: Config, user: Api, tmp_path: Path) -> None:
    stack: Stack = project.stack("broken", {"stack": "all-in-one", "mesh": copy.deepcopy(mesh)})
    stack.up()
    (endpoint,) = stack.outputs()["endpoints"].values()
    doctor = Doctor(user, endpoint, tmp_path)
    before = contents(user)
    assert doctor.faults() == {}
    found: dict[str, str] = {}
    for name, (command, check, seen) in BY_HAND.items():
        assert user.kubectl(*command).code == 0, name
        now = doctor.faults()
        new = {one: text for one, text in now.items() if found.get(one) != text}
        assert [one for one in new if one.startswith(check) and seen in new[one]], (name, now)
        assert len(new) == 1, (name, new)
        assert "pulumi up" in "".join(new.values()), (name, new)
        found = now
    assert len(BY_HAND) == 10
    stack.succeed("up", "--yes", "--skip-preview", "--refresh")
    assert doctor.faults() == {}
    after = contents(user)
    assert {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)} == set()
    stack.destroy()
