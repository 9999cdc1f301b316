"""`cluster.exec`: the document's program is the only credential, and a kubeconfig's own one is rejected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.cluster import ClusterReference
from pulumi_hosted_mesh.spec.load import read_document

from tests.unit.library.clusters.kubeconfigs import TOKEN, content

PROGRAM = {"command": "aws", "args": ["eks", "get-token"], "env": {"AWS_PROFILE": "shop"}}
ENTRY = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "command": "aws",
    "args": ["eks", "get-token"],
    "env": [{"name": "AWS_PROFILE", "value": "shop"}],
    "interactiveMode": "Never",
    "provideClusterInfo": False,
}


def user_of(tmp_path: Path, users: list[dict[str, Any]], program: dict[str, Any] | None = None) -> dict[str, Any]:
    """The user in the kubeconfig of the run."""
    (tmp_path / "config").write_text(json.dumps(content(users=users)))
    document = {"kubeconfig": str(tmp_path / "config")} | ({} if program is None else {"exec": program})
    found = kubeconfig.read(read_document(ClusterReference, document), "dataPlane.cluster", "the document")
    (user,) = json.loads(found.text)["users"]
    return dict(user["user"])


@pytest.mark.parametrize("users", [[], [{"name": "admin", "user": {}}], [{"name": "admin", "user": {"token": ""}}]])
def test_the_documents_program_is_the_only_credential(tmp_path: Path, users: list[dict[str, Any]]) -> None:
    assert user_of(tmp_path, users, PROGRAM) == {"exec": ENTRY}


@pytest.mark.parametrize(
    "user",
    [
        {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "theirs"}},
        {"exec": ENTRY},
        {"token": TOKEN},
        {"client-certificate-data": "x", "client-key-data": "y"},
        {"tokenFile": "/etc/passwd"},
    ],
    ids=lambda user: next(iter(user)),
)
def test_a_file_with_another_credential_is_rejected(tmp_path: Path, user: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        user_of(tmp_path, [{"name": "admin", "user": user}], PROGRAM)
    (problem,) = caught.value.problems
    assert problem.field == "dataPlane.cluster.exec"
    assert problem.rule == f"is set, but the kubeconfig's user has {', '.join(sorted(user))}"
    assert TOKEN not in str(caught.value)


def test_a_file_without_a_user_is_incomplete_without_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="lacks its cluster, server or user"):
        user_of(tmp_path, [])


@pytest.mark.parametrize(
    ("program", "field"),
    [
        ({}, "exec.command"),
        ({"command": ""}, "exec.command"),
        ({"command": "aws", "args": "eks"}, "exec.args"),
        ({"command": "aws", "env": {"1A": "x"}}, "exec.env"),
        ({"command": "aws", "apiVersion": "client.authentication.k8s.io/v1alpha1"}, "exec.apiVersion"),
        ({"command": "aws", "installHint": "x"}, "exec.installHint"),
    ],
    ids=str,
)
def test_programs_that_are_rejected(tmp_path: Path, program: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError, match=field):
        user_of(tmp_path, [], program)
