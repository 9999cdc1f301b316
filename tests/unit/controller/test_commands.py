"""The commands: tokens of the service, and the client against the application."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from hosted_mesh_controller import client, json_logs
from hosted_mesh_controller.cli import orders as commands
from hosted_mesh_controller.cli.service import app
from hosted_mesh_controller.store import orders
from hosted_mesh_controller.store.tokens import caller_of
from hosted_mesh_controller.vocabulary import State
from starlette.testclient import TestClient
from typer.testing import CliRunner

from tests.unit.controller.service import Service, documents

Run = Callable[..., Any]


@pytest.fixture
def settings_file(service: Service, tmp_path: Path) -> Path:
    file = tmp_path / "settings.yaml"
    file.write_text(yaml.safe_dump(service.settings.model_dump(mode="json", by_alias=True)))
    return file


@pytest.fixture
def run(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The client's commands of `acme`, without a network."""
    monkeypatch.setattr(client.httpx2, "Client", lambda **how: TestClient(service.app, headers=how["headers"]))
    program = typer.Typer()
    for name in ("order", "show", "logs", "cancel"):
        program.command(name)(getattr(commands, name))
    program.command("list")(commands.list_objects)
    (tmp_path / "token").write_text(f"{service.tokens['acme']}\n")
    own = {"HOSTED_MESH_CONTROLLER": "http://x", "HOSTED_MESH_TENANT": "acme"}
    own["HOSTED_MESH_TOKEN_FILE"] = str(tmp_path / "token")
    return lambda *arguments: CliRunner().invoke(program, [str(one) for one in arguments], env=own)


def test_tokens_are_made_and_revoked(service: Service, settings_file: Path) -> None:
    made = CliRunner().invoke(app, ["token", str(settings_file), "--tenant", "acme"])
    assert made.exit_code == 0, made.output
    holder = caller_of(service.database, made.stdout.strip())
    assert holder
    assert (holder.role, holder.tenant, made.stderr.strip()) == ("tenant", "acme", f"id: {holder.token}")
    assert CliRunner().invoke(app, ["revoke", str(settings_file), holder.token]).exit_code == 0
    assert caller_of(service.database, made.stdout.strip()) is None
    again = CliRunner().invoke(app, ["revoke", str(settings_file), holder.token])
    assert (again.exit_code, again.stderr.strip()) == (1, f"there is no valid token {holder.token}")


@pytest.mark.parametrize("options", [[], ["--tenant", "nobody"], ["--role", "provider", "--tenant", "acme"]])
def test_tokens_that_are_not_made(settings_file: Path, options: list[str]) -> None:
    done = CliRunner().invoke(app, ["token", str(settings_file), *options])
    assert (done.exit_code, done.stdout) == (1, "")
    assert "tenant" in done.stderr


def test_an_order_by_the_command_line(service: Service, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mesh.yaml"
    file.write_text(yaml.safe_dump(documents("meshes", "acme")))
    made = run("order", "meshes", file, "--no-wait")
    assert made.exit_code == 0, made.output
    identifier = made.stdout.strip()
    orders.start(service.database, identifier)
    step = {"type": "step", "action": "create", "resource": "demo", "kind": "x:y:Z"}
    for phase in ("begin", "end"):
        orders.add_event(service.database, identifier, {**step, "phase": phase})
    orders.finish(service.database, identifier, orders.Outcome(State.SUCCEEDED, {"changes": {"create": 3}}))
    followed = run("logs", identifier)
    assert (followed.exit_code, followed.stdout.splitlines()) == (
        0,
        ["create     demo (x:y:Z)", "meshes/acme-mesh: succeeded (3 create)"],
    )
    assert run("list", "meshes").stdout.split() == ["acme-mesh", "ready", "1/1", identifier]
    assert yaml.safe_load(run("show", "meshes", "acme-mesh").stdout)["documents"] == documents("meshes", "acme")

    changed = run("order", "meshes", file, "--no-wait").stdout.strip()
    assert service.call("acme", "GET", f"/v1/tenants/acme/operations/{changed}").json()["generation"] == 2
    assert run("cancel", changed).stdout.strip() == "cancelled"
    failed = run("logs", changed)
    assert (failed.exit_code, failed.stderr.strip()) == (3, "cancelled before its start")
    removed = run("order", "meshes", "--remove", "acme-mesh", "--no-wait").stdout.strip()
    assert service.call("acme", "GET", f"/v1/tenants/acme/operations/{removed}").json()["action"] == "destroy"


def test_json_of_the_command_line(service: Service, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mesh.yaml"
    file.write_text(yaml.safe_dump(documents("meshes", "acme")))
    made = json.loads(run("order", "meshes", file, "--no-wait", "--json", "--repair", "always").stdout)
    assert (made["state"], made["action"]) == ("queued", "up")
    orders.start(service.database, made["id"])
    orders.add_event(service.database, made["id"], {"type": "message", "severity": "warning", "text": "slow"})
    orders.finish(service.database, made["id"], orders.Outcome(State.FAILED, {}, "no API server"))
    failed = run("logs", made["id"], "--json")
    message, end = map(json.loads, failed.stdout.splitlines())
    assert (failed.exit_code, message["text"], end["state"], end["error"]) == (3, "slow", "failed", "no API server")
    (listed,) = map(json.loads, run("list", "meshes", "--json").stdout.splitlines())
    shown = json.loads(run("show", "meshes", "acme-mesh", "--json").stdout)
    assert listed == shown
    assert (shown["readyGeneration"], shown["upkeep"]["repair"]) == (0, "always")
    assert json.loads(run("cancel", made["id"], "--json").stdout)["state"] == "failed"
    for wrong in (["--remove", "acme-mesh"], [file, "--dry-run"]):
        assert run("order", "meshes", *wrong, "--repair", "always").exit_code == 2


def test_errors_of_the_command_line(run: Run, tmp_path: Path) -> None:
    bad = documents("meshes", "acme")
    bad["mesh"]["revisions"][0]["host"] = "localhost"
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump(bad))
    (tmp_path / "list.yaml").write_text("[]")
    rejected = run("order", "meshes", tmp_path / "bad.yaml")
    assert rejected.exit_code == 1
    assert rejected.stderr.splitlines()[1].strip().startswith("mesh.revisions[0].host: must be a DNS name")
    for arguments, code, text in (
        (["show", "meshes", "absent"], 1, "there is no such object"),
        (["order", "meshes", tmp_path / "list.yaml"], 1, "mapping"),
        (["order", "meshes", tmp_path / "absent.yaml"], 1, "cannot be read"),
        (["order", "meshes"], 2, "either FILE or --remove"),
        (["list", "meshes", "--token-file", tmp_path / "absent"], 1, "cannot be read"),
        (["list", "pods"], 2, "pods"),
    ):
        done = run(*arguments)
        assert done.exit_code == code, (arguments, done.output)
        assert text in done.stderr, arguments
        assert "Traceback" not in done.output


def test_a_line_of_the_log_is_json() -> None:
    record = logging.LogRecord("a", logging.ERROR, "", 0, "it\n%s", ("broke",), None)
    record.facts = json_logs.facts(name="demo", level="x", path=Path("/a"))["facts"]
    line = json.loads(json_logs.JsonFormatter().format(record))
    assert {key: line[key] for key in line if key != "time"} == {
        "level": "error",
        "logger": "a",
        "message": "it\nbroke",
        "name": "demo",
        "path": "/a",
    }
