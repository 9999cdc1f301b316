"""What is read out of a preview, and what a stack of one's own is given: without any engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hosted_mesh_analysis.prove.compare import difference
from hosted_mesh_analysis.prove.engine import planned, private, stack_files
from hosted_mesh_analysis.prove.engine.commands import engine_variables
from hosted_mesh_analysis.prove.engine.passphrase_cipher import PassphraseCipher
from hosted_mesh_analysis.runner.capture import Capture
from hosted_mesh_analysis.runner.places import Known, Side
from hosted_mesh_analysis.runner.private_folder import private_folder
from hosted_mesh_analysis.runner.project import opened
from hosted_mesh_analysis.runner.secrets import forms
from hosted_mesh_analysis.runner.secrets.generator import SecretGenerator, SecretVariant
from hosted_mesh_analysis.runner.secrets.made_up import Answers
from hosted_mesh_analysis.runner.values import UNKNOWN

from tests.unit.analysis.prove.fake_pulumi import provider, resource, secret, written

SEAL = PassphraseCipher("password", "v1:fozI5u6B030=:v1:F+6ZduKKd8G0/V7L:PGMFeIzwobWRKmEAzUdaQHqC5mMRIQ==")
"""As pulumi/pulumi has it in pkg/secrets/passphrase/manager_test.go."""
NOBODY = Known()
MAP = "kubernetes:core/v1:ConfigMap"
SERVER = "https://dp.example.com"
KUBECONFIG = json.dumps(
    {
        "clusters": [{"name": "dp", "cluster": {"server": SERVER}}],
        "users": [],
        "contexts": [{"name": "dp", "context": {"cluster": "dp"}}],
        "current-context": "dp",
    }
)


def captured(*resources: dict[str, Any], known: Known = NOBODY, **more: Any) -> Capture:
    return planned.captured(written(list(resources)), {}, (), known, **more)


def urn(kind: str, name: str) -> str:
    return f"urn:pulumi:dev::shop::{kind}::{name}"


def test_it_encrypts_as_pulumi_does() -> None:
    assert SEAL.open(SEAL.salt.split(":", 2)[2]) == "pulumi"
    assert SEAL.open(SEAL.close("ä secret")) == "ä secret"
    assert SEAL.close("a") != SEAL.close("a")


def test_secrets_are_read_with_their_marks_and_components_are_left_out() -> None:
    inputs = {"data": secret({"x": "y", "z": [secret(1)]})}
    component = {"type": "acme:index:Thing", "name": "whole", "custom": False, "inputs": {"x": "y"}}
    [one] = captured(resource(MAP, "app", inputs, "dp"), component).resources.values()
    assert {path: (leaf.value, leaf.secret) for path, leaf in one.leaves().items()} == {
        ("data", "x"): ("y", True),
        ("data", "z", 0): (1, True),
    }


@pytest.mark.parametrize(
    ("name", "inputs", "place"),
    [
        ("mine", {"kubeconfig": KUBECONFIG}, f"{SERVER}:443"),
        ("mine", {"kubeconfig": secret(KUBECONFIG)}, f"{SERVER}:443"),
        ("mine", {"kubeconfig": UNKNOWN}, "kubernetes (mine)"),
        ("default_4_18_0", {"kubeconfig": KUBECONFIG}, f"{SERVER}:443"),
        ("default_4_18_0", {}, "kubernetes (default provider)"),
    ],
)
def test_where_things_go(name: str, inputs: dict[str, Any], place: str) -> None:
    found = captured(provider(name, **inputs), resource(MAP, "app", {"data": {}}, name))
    there = found.resources[urn(MAP, "app")].place
    assert there is not None
    assert (there.name, there.side) == (place, Side.UNKNOWN)


def test_a_provider_of_the_control_planes_is_known_by_its_address_or_name() -> None:
    resources = provider("mine", kubeconfig=KUBECONFIG), resource(MAP, "app", {"data": {"x": UNKNOWN}}, "mine")
    for known in (Known((SERVER,)), Known(("mine",))):
        assert captured(*map(dict, resources), known=known).side(urn(MAP, "app")) is Side.CONTROL_PLANE


def _named(suffix: str, name: str = "app", **marks: Any) -> Capture:
    metadata = {"name": f"{name}-{suffix}", "annotations": marks}
    other = resource(MAP, "other", {"data": {"of": f"the {name}-{suffix}."}}, "dp")
    return captured(resource(MAP, "app", {"metadata": metadata}, "dp"), other)


def test_a_generated_name_is_the_same_in_all_runs_wherever_it_stands() -> None:
    marks = {"pulumi.com/autonamed": "true"}
    assert difference(_named("1a2b3c4d", **marks), _named("9f8e7d6c", **marks)) == set()
    assert len(difference(_named("1a2b3c4d"), _named("9f8e7d6c"))) == 2
    assert len(difference(_named("1a2b3c4d", "x", **marks), _named("9f8e7d6c", "x", **marks))) == 2


def test_what_a_plug_in_fills_in_by_chance_is_the_same_in_all_runs() -> None:
    def bucket(name: str, defaults: list[str]) -> Capture:
        return captured(resource("aws:s3/bucket:Bucket", "logs", {"bucket": name, "__defaults": defaults}, "aws"))

    assert difference(bucket("logs-1a2b3c4", ["bucket"]), bucket("logs-9f8e7d6", ["bucket"])) == set()
    assert len(difference(bucket("logs-1a2b3c4", []), bucket("logs-9f8e7d6", []))) == 1


def test_a_folder_of_one_run_is_no_difference() -> None:
    def run(folder: str) -> Capture:
        made = resource("command:local:Command", "run", {"dir": f"{folder}/src", "create": "make"}, "command")
        return captured(made, instead={folder: "/original"})

    assert difference(run("/tmp/a/seat-0"), run("/tmp/a/seat-1")) == set()


@pytest.mark.parametrize("kind", ["pulumi-nodejs:dynamic:Resource", "pulumi-python:dynamic/made:Made"])
def test_a_dynamic_provider_is_said(kind: str) -> None:
    found = captured(resource(kind, "made", {"x": "y"}, "default"))
    assert found.unsure == [f"{kind} made: a dynamic provider's code was not run"]
    assert found.side(urn(kind, "made")) is Side.UNKNOWN


def test_a_secret_output_that_is_declared_and_not_there_yet_is_said() -> None:
    def made(state: dict[str, Any]) -> list[str]:
        return captured(resource("acme:index:Key", "k", {}, "x", state=state, additionalSecretOutputs=["key"])).unsure

    assert made({"key": "known"}) == []
    assert len(made({"key": UNKNOWN})) == len(made({})) == 1


def test_why_a_preview_failed_is_told_in_a_line() -> None:
    def told(*messages: str, severity: str = "error", stderr: str = "") -> str:
        return planned.reasons({"diagnostics": [{"severity": severity, "message": one} for one in messages]}, stderr)

    trace = (
        'Program failed with an unhandled exception:\nTraceback (most recent call last):\n  File "x"\nValueError: bad'
    )
    assert told("preview failed", trace, trace) == "ValueError: bad"
    assert told("error: no such stack", "preview failed") == "no such stack"
    assert told("error: Preview failed: unknown stack", "error: preview failed") == "unknown stack"
    about = {"urn": urn("acme:index:Parent$acme:index/key:Key", "mine"), "severity": "error", "message": "error: bad"}
    assert planned.reasons({"diagnostics": [about]}, "") == "Key mine: bad"
    about["urn"] = urn("pulumi:pulumi:Stack", "shop-dev")
    assert planned.reasons({"diagnostics": [about]}, "") == "bad"
    assert told(stderr="warning: using it from PATH\n") == "the engine gives no reason"
    assert told("it hums", severity="info", stderr="error: out of disk\n") == "out of disk"
    assert told("Error: bad\n    at index.js:1", severity="info#err") == "Error: bad"
    assert told() == "the engine gives no reason"
    assert len(told("long " * 1000)) <= planned.MOST_LETTERS


def test_calls_are_read_from_a_log_that_may_be_cut_off() -> None:
    def entry(service: str, token: str) -> str:
        return json.dumps({"method": f"/pulumirpc.{service}", "request": {"tok": token}})

    log = [
        entry("ResourceMonitor/Invoke", "a"),
        entry("ResourceMonitor/Call", "b"),
        entry("ResourceProvider/Invoke", "c"),
    ]
    assert planned.calls_of([*log, '{"method": "/pulumirpc.Res']) == {"a", "b"}


def test_an_engine_is_not_led_elsewhere() -> None:
    given = {
        **{f"PULUMI_{one}": "x" for one in ("ACCESS_TOKEN", "BACKEND_URL", "CONFIG_PASSPHRASE_FILE", "STACK")},
        **{f"PULUMI_{one}": "x" for one in ("DEBUG_GRPC", "OPTION_REFRESH", "ENABLE_STREAMING_JSON_PREVIEW")},
        **dict.fromkeys(("PULUMI_HOME", "PULUMI_PYTHON_CMD", "PULUMI_K8S_CLIENT_QPS", "HOME"), "y"),
    }
    assert set(engine_variables(given).values()) == {"y"}


# The stack's files --------------------------------------------------------------------------------------------------


def _settings(folder: Path, described: str, settings: str, **more: Any) -> stack_files.Settings:
    (folder / "Pulumi.yaml").write_text(f"name: shop\nruntime: go\n{described}")
    (folder / "Pulumi.dev.yaml").write_text(settings)
    secrets = more.pop("secrets", ())
    answers = Answers(SecretGenerator(), SecretVariant(1))
    return stack_files.Settings(opened(folder, "dev", None, secrets), answers, SEAL, **more)


def test_only_what_is_secret_is_another_and_encrypted_anew(tmp_path: Path) -> None:
    described = "config:\n  size: {type: integer, default: 3}\n  key: {secret: true, default: abc}\n"
    own = "encryptionsalt: v1:theirs\nsecretsprovider: awskms://x\nconfig:\n  shop:token: {secure: v1:old}\n"
    own += "  shop:db: {host: db.example.com, ports: [1, 2], password: {secure: v1:old}}\n  aws:region: eu\n"
    document = _settings(tmp_path, described, own).document()
    config = document["config"]
    assert document.keys() == {"encryptionsalt", "config"}
    assert document["encryptionsalt"] == SEAL.salt
    assert config.keys() == {"shop:token", "shop:db", "aws:region", "shop:key"}
    assert (config["aws:region"], config["shop:db"]["host"], config["shop:db"]["ports"]) == (
        "eu",
        "db.example.com",
        [1, 2],
    )
    opened_ = [SEAL.open(one["secure"]) for one in (config["shop:token"], config["shop:db"]["password"])]
    assert len(set(opened_)) == 2
    assert all(len(one) == 40 for one in opened_)
    assert SEAL.open(config["shop:key"]["secure"]) not in ("abc", "")


def test_what_is_kept_stays_and_is_still_secret(tmp_path: Path) -> None:
    made = _settings(tmp_path, "", "config: {shop:a: one, shop:b: two}\n", secrets=["a"], keep=["a"])
    config = made.document()["config"]
    assert SEAL.open(config["shop:a"]["secure"]) == "one"
    assert config["shop:b"] == "two"


def test_a_stack_that_is_referred_to_has_its_outputs(tmp_path: Path) -> None:
    answers = Answers(SecretGenerator(), SecretVariant())
    config = forms.kubeconfig({"demo": {"server": "https://api.example.com:6443"}}, "t0k3n")
    given = {"password": "[secret]", "host": "istiod.example.com", "kubeconfig": json.dumps(config)}
    made = stack_files.stack_with_outputs("organization/mesh/trust", given, answers, SEAL)
    [root] = made["checkpoint"]["latest"]["resources"]
    assert root["urn"] == "urn:pulumi:trust::mesh::pulumi:pulumi:Stack::mesh-trust"
    assert root["outputs"]["host"] == "istiod.example.com"
    assert len(json.loads(SEAL.open(root["outputs"]["password"]["ciphertext"]))) == 40
    sealed = json.loads(json.loads(SEAL.open(root["outputs"]["kubeconfig"]["ciphertext"])))
    assert sealed["clusters"] == config["clusters"]
    assert sealed["users"] != config["users"]


# The private folder -------------------------------------------------------------------------------------------------


def test_a_copy_finds_what_its_original_finds(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    program = repository / "stacks" / "shop"
    for folder in ("lib", ".git", "stacks/other", "stacks/shop/src", "stacks/shop/node_modules/x", "stacks/shop/venv"):
        (repository / folder).mkdir(parents=True)
    (program / "venv" / "pyvenv.cfg").touch()
    (program / "src" / "main.go").write_text("main")
    (program / "up").symlink_to("../../lib")
    (program / "in").symlink_to("src/main.go")
    (program / "away").symlink_to(tmp_path)
    copy = private.copied(program, tmp_path / "copy")
    (copy / "src" / "main.go").write_text("changed")
    assert (program / "src" / "main.go").read_text() == "main"
    assert (copy / "in").read_text() == "changed"
    for path, original in {
        "../../lib": "lib",
        "../other": "stacks/other",
        "up": "lib",
        "venv": "stacks/shop/venv",
    }.items():
        assert (copy / path).resolve() == (repository / original).resolve()
    assert (copy / "node_modules").is_symlink()
    assert (copy / "away").resolve() == tmp_path.resolve()
    assert not (copy / ".." / ".." / ".git").exists()


def test_credentials_in_a_copy_are_found_but_not_in_program_text(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.abc"
    for name, text in {
        "kube.yaml": KUBECONFIG,
        "token": f"{token}\n",
        "code.ts": KUBECONFIG,
        "settings.json": f'{{"x": "{token}"}}',
        "readme.md": "hello",
    }.items():
        (source / name).write_text(text)
    (source / "link").symlink_to("token")
    (source / "binary").write_bytes(bytes(range(256)))
    copy = private.copied(source, tmp_path / "copy")
    assert {str(path) for path in private.credentials_in(copy)} == {"kube.yaml", "token", "link", "settings.json"}


def test_a_private_folder_is_for_one_user_and_is_gone_afterwards() -> None:
    with private_folder("prove", "nothing") as folder:
        assert oct(folder.stat().st_mode & 0o777) == "0o700"
        (folder / "x").write_text("y")
    assert not folder.exists()
