"""The templates for a federation's upkeep: the script with the real `hosted-mesh exports`, and both that run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.bootstrap import CHECKOUT
from tests.unit.library.federation.documents import HOST, document

UPKEEP = CHECKOUT / "examples/federation/upkeep"
CALLED = '#!/bin/sh\necho "$@" >> "$CALLS"\n'
EXPORTS = """#!/bin/sh
exec {python} -c 'from pulumi_hosted_mesh.cli.command import app; app()' "$@"
"""
REQUIRED = {"MESH", "STACK", "FEDERATION", "OFFER", "KUBECONFIG"}


def ran(directory: Path, content: Any, **more: str) -> tuple[int, str]:
    """The script's exit code, and the calls of pulumi."""
    for name, text in (("pulumi", CALLED), ("hosted-mesh", EXPORTS.format(python=sys.executable))):
        program = directory / name
        program.write_text(text)
        program.chmod(0o700)
    (directory / "federation.yaml").write_text(yaml.safe_dump(content))
    calls = directory / "calls"
    settings = {
        "MESH": "west",
        "STACK": "federation-west",
        "FEDERATION": str(directory / "federation.yaml"),
        "OFFER": str(directory / "offer.yaml"),
        "KUBECONFIG": str(directory / "missing"),
        "CALLS": str(calls),
        "PATH": f"{directory}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    done = subprocess.run(["/bin/sh", UPKEEP / "upkeep.sh"], env={**settings, **more}, capture_output=True, timeout=60)
    return done.returncode, calls.read_text() if calls.exists() else ""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    file = tmp_path / "kubeconfig"
    user = {"name": "u", "user": {"token": "t"}}
    cluster = {"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    content = {"apiVersion": "v1", "kind": "Config", "current-context": "x"}
    file.write_text(yaml.safe_dump({**content, "clusters": [cluster], "users": [user], "contexts": [context]}))
    return str(file)


def test_the_script_writes_the_offer_and_then_updates_the_stack(tmp_path: Path, kubeconfig: str) -> None:
    code, calls = ran(tmp_path, document(), KUBECONFIG=kubeconfig)
    assert (code, calls) == (0, "up --yes --skip-preview --non-interactive --stack federation-west\n")
    offer = yaml.safe_load((tmp_path / "offer.yaml").read_text())
    assert [one["host"] for one in offer["services"]] == [HOST]


def test_a_cluster_that_does_not_answer_withdraws_nothing(tmp_path: Path, kubeconfig: str) -> None:
    (tmp_path / "offer.yaml").write_text("the old offer")
    by_labels = document()
    by_labels["peers"][1]["exports"] = [{"namespace": "books", "to": [{"mesh": "east", "identities": ["a/b"]}]}]
    code, calls = ran(tmp_path, by_labels, KUBECONFIG=kubeconfig)
    assert (code != 0, calls, (tmp_path / "offer.yaml").read_text()) == (True, "", "the old offer")
    assert not (tmp_path / "offer.yaml.new").exists()


@pytest.mark.parametrize("missing", sorted(REQUIRED))
def test_the_script_requires_its_settings(tmp_path: Path, missing: str) -> None:
    assert ran(tmp_path, document(), **{missing: ""})[0] != 0


def test_the_cron_job_runs_the_script_with_its_settings_and_never_twice_at_once() -> None:
    job = yaml.safe_load((UPKEEP / "cronjob.yaml").read_text())
    assert (job["kind"], job["spec"]["concurrencyPolicy"]) == ("CronJob", "Forbid")
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["command"] == ["/bin/sh", "/program/upkeep.sh"]
    assert {one["name"] for one in container["env"]} == REQUIRED
    assert pod["automountServiceAccountToken"] is False


def test_the_workflow_runs_the_script_with_its_settings_and_never_twice_at_once() -> None:
    workflow = yaml.safe_load((UPKEEP / "workflow.yaml").read_text())
    assert workflow["concurrency"]["cancel-in-progress"] is False
    *_, step = workflow["jobs"]["upkeep"]["steps"]
    assert step["run"].endswith("./upkeep.sh\n")
    assert step["env"].keys() >= REQUIRED
