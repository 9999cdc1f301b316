"""A document of another kind than a command takes: one line, with the commands for that kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi_hosted_mesh.cli import document_kinds
from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.cli.document_kinds import COMMANDS, DocumentKind
from typer.main import get_command
from typer.testing import CliRunner

from tests.unit.library.cli.documents import ENDPOINT, FEDERATION, MEMBER, OFFER, STACK
from tests.unit.library.clusters.kubeconfigs import content
from tests.unit.library.dns import documents as dns
from tests.unit.library.documents import document

GIVEN: dict[DocumentKind, Any] = {
    DocumentKind.MESH: document(),
    DocumentKind.DATA_PLANE: {"mesh": "demo", **MEMBER},
    DocumentKind.ENDPOINT: ENDPOINT,
    DocumentKind.FEDERATION: FEDERATION,
    DocumentKind.OFFER: OFFER,
    DocumentKind.DNS: dns.document(),
    DocumentKind.STACK: STACK,
}
TAKEN = {
    ("doctor", "FILE", "--mesh=demo"): DocumentKind.FEDERATION,
    ("doctor", "--mesh=demo", "--endpoint=FILE"): DocumentKind.ENDPOINT,
    ("check-webhooks", "FILE"): DocumentKind.ENDPOINT,
    ("token", "FILE"): DocumentKind.DATA_PLANE,
    ("leftovers", "FILE"): DocumentKind.DATA_PLANE,
    ("exports", "FILE", "--mesh=east"): DocumentKind.FEDERATION,
}


@pytest.mark.parametrize("command", TAKEN, ids=" ".join)
@pytest.mark.parametrize("kind", GIVEN)
def test_the_commands_for_the_given_kind_are_named(
    tmp_path: Path, kind: DocumentKind, command: tuple[str, ...]
) -> None:
    file = tmp_path / "given.yaml"
    file.write_text(yaml.safe_dump(GIVEN[kind]))
    arguments = [one.replace("FILE", str(file)) for one in command]
    done = CliRunner().invoke(app, arguments, env={"KUBECONFIG": "/nowhere"})
    is_another = kind is not TAKEN[command]
    assert ("which this command does not take here" in done.output) == is_another, done.output
    if is_another:
        assert done.exit_code == 1
        (line,) = done.output.splitlines()
        assert line.startswith(f"{file} cannot be used, (file): is a document of kind {kind}, ")
        assert line.endswith(f"{COMMANDS[kind]}.")


@pytest.mark.parametrize("kind", DocumentKind)
def test_each_kind_names_commands_that_exist(kind: DocumentKind) -> None:
    words = document_kinds.COMMANDS[kind].split("`")[1::2]
    commands = get_command(app).commands
    assert words
    assert {one.split()[1] for one in words} <= commands.keys()
    assert all(one.startswith("hosted-mesh ") for one in words)


def test_the_last_line_of_validate_has_kubeconfig_and_context(tmp_path: Path) -> None:
    kubeconfig, file = tmp_path / "kubeconfig", tmp_path / "mesh.yaml"
    kubeconfig.write_text(yaml.safe_dump(content()))
    own = {"kubeconfig": str(kubeconfig), "context": "user"}
    file.write_text(yaml.safe_dump(document({"controlPlane.cluster": own, "memberships.0.cluster": own})))
    done = CliRunner().invoke(app, ["validate", str(file)])
    assert (done.exit_code, done.stderr) == (0, "")
    read = ", ".join(f"{kubeconfig} with context user ({one}.cluster)" for one in ("controlPlane", "memberships[0]"))
    end = f"valid, as kind mesh; read too: {read}. No cluster was contacted. It can be used"
    assert done.stdout.splitlines()[-1] == f"{file}: {end}"
    kubeconfig.unlink()
    done = CliRunner().invoke(app, ["validate", str(file)])
    assert done.exit_code == 0
    assert done.stderr.count("cluster.kubeconfig: cannot be read") == 2
    assert done.stdout.splitlines()[-1].endswith("It cannot be used from here before the warning is mended")
