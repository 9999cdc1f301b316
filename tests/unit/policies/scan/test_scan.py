"""`hosted-mesh scan`: what it reads, what it says on standard error, its exit codes, JSON and SARIF."""

from __future__ import annotations

import base64
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi_hosted_mesh.cli import command
from pulumi_hosted_mesh.cli.command import app
from typer.testing import CliRunner, Result

from tests.corpus import literals

KEY = "tls:index/privateKey:PrivateKey"
URN = "urn:pulumi:shop::project::"
MARK = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}
HIDDEN = {"kubeconfig": {**MARK, "ciphertext": "v1:abc"}}
FLOW = "control-plane-secrets-do-not-flow-to-data-plane"


ALIASES = "\n".join(
    [
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {",
        "a0: &a0 [x, x, x, x, x, x, x, x, x, x],",
        *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]," for n in range(1, 9)),
        "}}",
    ]
)
"""A hundred million values for whoever follows each alias."""


def scan(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["scan", *map(str, arguments)])


def _provider(side: str) -> dict[str, Any]:
    name = f"{side}-cluster"
    return {"urn": f"{URN}pulumi:providers:kubernetes::{name}", "type": "pulumi:providers:kubernetes", "inputs": HIDDEN}


def _object(side: str, kind: str, needs: list[str], outputs: Any = None, **inputs: Any) -> dict[str, Any]:
    body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x", "namespace": "default"}, **inputs}
    return {
        "urn": f"{URN}kubernetes:core/v1:{kind}::{side}",
        "type": f"kubernetes:core/v1:{kind}",
        "provider": f"{URN}pulumi:providers:kubernetes::{side}-cluster::id",
        "inputs": body,
        "outputs": outputs or body,
        "propertyDependencies": {"data": needs},
    }


def state(secret: Any, leak: Any) -> dict[str, Any]:
    """A stack with a key, the provider's Secret of it, and a ConfigMap for the user."""
    key: dict[str, Any] = {
        "urn": f"{URN}{KEY}::istiod",
        "type": KEY,
        "inputs": {},
        "outputs": {"privateKeyPem": secret},
    }
    providers = [_provider("control-plane"), _provider("data-plane")]
    kept = _object("control-plane", "Secret", [key["urn"]], data={"key": secret})
    given = _object("data-plane", "ConfigMap", [key["urn"]], data={"x": leak})
    return {"version": 3, "deployment": {"resources": [*providers, key, kept, given]}}


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def writer(name: str, content: Any) -> Path:
        path = tmp_path / name
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return writer


def test_a_state_with_its_secrets_encrypted_is_judged_by_flow_and_says_so(write: Any) -> None:
    hidden = {**MARK, "ciphertext": "v1:abc"}
    found = scan(write("state.json", state(hidden, hidden)))
    assert found.exit_code == 1
    assert FLOW in found.stdout
    assert "stack-values" not in found.stdout
    assert "only their flow was judged" in found.stderr
    assert "control planes 1, data planes 1" in found.stderr


def test_a_state_with_its_secrets_shown_is_judged_by_value_and_the_report_holds_none(
    write: Any, tmp_path: Path
) -> None:
    key = literals.private_key("scan")
    shown = {**MARK, "plaintext": json.dumps(key)}
    wrapped = base64.b64encode(key.encode()).decode()
    found = scan(write("state.json", state(shown, wrapped)), "--json")
    assert found.exit_code == 1
    assert scan(tmp_path / "state.json", "--format", "json").stdout == found.stdout
    told = {finding["policy"] for finding in json.loads(found.stdout)}
    assert {"control-plane-secret-values-stay-off-data-plane", "no-credentials-on-data-plane"} <= told
    assert key.splitlines()[1] not in found.output
    assert wrapped[100:130] not in found.output


def test_a_preview_hides_secrets_and_is_judged_by_flow(write: Any) -> None:
    resources = state("[secret]", "[secret]")["deployment"]["resources"]
    found = scan(write("preview.json", {"steps": [{"op": "create", "newState": r} for r in resources]}))
    assert found.exit_code == 1
    assert FLOW in found.stdout
    assert "a preview's JSON hides secret values" in found.stderr


def test_what_the_plug_in_repeats_of_a_secret_is_no_second_secret(write: Any) -> None:
    """The Kubernetes plug-in keeps `__inputs` in its outputs: a certificate there was once taken for a secret."""
    certificate = base64.b64encode(literals.certificate("web").encode()).decode()
    kept = _object("control-plane", "Secret", [], data={"tls.crt": certificate})
    kept["outputs"] = {**kept["inputs"], "__inputs": {**MARK, "plaintext": json.dumps(kept["inputs"])}}
    given = _object("data-plane", "Secret", [], data={"ca.crt": certificate})
    resources = [_provider("control-plane"), _provider("data-plane"), kept, given]
    found = scan(write("state.json", {"deployment": {"resources": resources}}))
    assert (found.exit_code, found.stdout.strip()) == (0, "0 mandatory and 0 advisory findings")


def test_manifests_are_the_users_unless_said_otherwise(write: Any) -> None:
    password = literals.opaque("scan")
    manifest = "apiVersion: v1\nkind: {}\nmetadata: {{name: a}}\n{}: {{p: {}}}\n"
    secret = write("secret.yaml", manifest.format("Secret", "stringData", password))
    leak = write("leak.yaml", manifest.format("ConfigMap", "data", password))
    assert scan(leak).exit_code == 0
    found = scan(leak, "--control-plane", secret)
    assert found.exit_code == 1
    assert password not in found.output


@pytest.mark.parametrize(
    "forms", [("--json", "--sarif"), ("--format", "sarif", "--json"), ("--format", "json", "--sarif")], ids=" ".join
)
def test_two_forms_exclude_each_other(write: Any, forms: tuple[str, ...]) -> None:
    found = scan(write("state.json", state("secret", "secret")), *forms)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == "--json and --sarif exclude each other. Give one of them\n"


def test_sarif_names_rule_place_and_help(write: Any) -> None:
    hidden = {**MARK, "ciphertext": "v1:abc"}
    path = write("my stäte #1.json", state(hidden, hidden))
    found = scan(path, "--sarif")
    assert scan(path, "--format", "sarif").stdout == found.stdout
    run = json.loads(found.stdout)["runs"][0]
    result = run["results"][0]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert rule["id"] == result["ruleId"] == FLOW
    assert rule["helpUri"].endswith(f"#{FLOW}")
    location = result["locations"][0]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == f"{path.parent}/my%20st%C3%A4te%20%231.json"
    assert location["logicalLocations"][0]["fullyQualifiedName"].endswith("data-plane#data.x")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("broken.json", "{", "cannot be read as JSON or YAML"),
        ("broken.yaml", "a:\n  - b: }", "syntax is wrong in line 2. Correct it"),
        ("umlaut.yaml", b"\xe4", "is not UTF-8 text. Save it as UTF-8"),
        ("aliases.yaml", ALIASES, "its aliases repeat a part of it a million times. Write it out"),
        ("nothing.yaml", "a: b", "no state, preview or Kubernetes object"),
        ("number.json", {"deployment": {"resources": [1]}}, "has an invalid"),
        (
            "list.json",
            {"deployment": {"resources": [{"urn": "u", "propertyDependencies": [1]}]}},
            "has an invalid resource",
        ),
        ("provider.json", {"deployment": {"resources": [{"urn": "u", "provider": "a::b"}]}}, "has an invalid"),
    ],
)
def test_what_cannot_be_judged_is_not_clean(write: Any, name: str, content: str, why: str) -> None:
    found = scan(write(name, content))
    assert found.exit_code == 2
    assert why in found.stderr


def test_a_state_is_known_by_its_content(tmp_path: Path) -> None:
    """As `pulumi stack export > state` leaves it, and as it comes through a pipe."""
    file = tmp_path / "state"
    hidden = {**MARK, "ciphertext": "v1:abc"}
    for encoding in ("utf-8", "utf-8-sig"):
        content = json.dumps(state(hidden, hidden)).encode(encoding)
        file.write_bytes(content)
        piped = CliRunner().invoke(app, ["scan", "-"], input=content)
        assert (scan(file).exit_code, piped.exit_code) == (1, 1)
        assert FLOW in scan(file).stdout
        assert FLOW in piped.stdout
    file.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
    assert "data planes 1" in scan(file).stderr


def test_a_path_of_which_nothing_was_judged_is_named(write: Any) -> None:
    values = write("values.yaml", "replicas: 2\n")
    manifest = write("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    for found in (scan(values, manifest), scan(manifest, "--control-plane", values)):
        assert found.exit_code == 0
        assert f"{values}: has no state, preview or Kubernetes object, so it was not judged" in found.stderr
    assert "nothing of it" not in scan(manifest).stderr


@pytest.mark.parametrize("place", [".", "gone/report.json"])
def test_a_report_that_cannot_be_written_is_no_finding(write: Any, tmp_path: Path, place: str) -> None:
    found = scan(write("state.json", state("secret", "secret")), "--output", tmp_path / place)
    assert found.exit_code == 2
    assert f"--output {tmp_path / place}: cannot be written" in found.stderr


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    found = scan(tmp_path / "missing.json")
    assert found.exit_code == 2
    assert "does not exist" in found.stderr


def test_a_path_that_cannot_be_looked_at_is_told(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for path, why in ((tmp_path / ("x" * 300), "file name too long"), (tmp_path / "loop", "too many levels")):
        found = scan(path)
        assert (found.exit_code, found.stdout) == (2, "")
        assert found.stderr.startswith(f"{path}: cannot be read: {why}")


def test_a_folder_below_that_cannot_be_looked_at_does_not_pass_unseen(
    write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    closed, listed = tmp_path / "closed", os.scandir
    closed.mkdir()
    assert scan(tmp_path).exit_code == 0

    def refusing(place: Any) -> Any:  # as for anybody but root
        if Path(place) == closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
        return listed(place)

    monkeypatch.setattr(os, "scandir", refusing)
    found = scan(tmp_path)
    assert (found.exit_code, found.stdout.strip()) == (2, "0 mandatory and 0 advisory findings")
    told = f"{closed}: cannot be read: permission denied. Check the path and the file's mode"
    assert told in found.stderr.splitlines()
    write("b.yaml", LEAK)
    found = scan(tmp_path)
    assert (found.exit_code, LEAKS in found.stdout, told in found.stderr) == (1, True, True)


LEAKS = "no-credentials-on-data-plane"
LEAK = yaml.safe_dump(
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "leak"},
        "data": {"key": literals.private_key("beside")},
    }
)


@pytest.mark.parametrize("order", [1, -1], ids=["before", "after"])
@pytest.mark.parametrize("in_folder", [True, False], ids=["folder", "paths"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.json", "{"),
        ("m.yaml", "a:\n  - b: }"),
        ("m.yaml", b"\xe4"),
        ("m.yaml", ALIASES),
        ("m.yaml", "[" * 20000),
        ("m.json", {"deployment": {"resources": [1]}}),
        ("m.json", {"deployment": {"resources": [{"urn": "u", "provider": "a::b"}]}}),
    ],
    ids=["JSON", "YAML", "not UTF-8", "aliases", "deep", "state", "provider"],
)
def test_a_file_that_cannot_be_read_hides_no_finding_in_another(
    write: Any, tmp_path: Path, name: str, content: Any, in_folder: bool, order: int
) -> None:
    """The finding decides the exit code; the file is named on standard error, in the report's forms too."""
    broken, leaking = write(name, content), write("a.yaml" if order == 1 else "z.yaml", LEAK)
    paths = [tmp_path] if in_folder else [broken, leaking][::order]
    for options in ([], ["--json"], ["--sarif"]):
        found = scan(*paths, *options)
        assert (found.exit_code, LEAKS in found.stdout) == (1, True), found.output
        assert found.stderr.count(f"{broken}: ") == 1
        assert literals.private_key("beside").splitlines()[1] not in found.output
    leaking.unlink()
    assert scan(tmp_path).exit_code == 2


def test_documents_before_an_unreadable_one_of_the_same_file_are_judged(write: Any) -> None:
    found = scan(write("a.yaml", f"{LEAK}---\na:\n  - b: }}\n"))
    assert (found.exit_code, LEAKS in found.stdout) == (1, True)
    assert "its syntax is wrong" in found.stderr


def test_a_cluster_that_nobody_classified_is_named(write: Any) -> None:
    document = state("x", "y")
    for resource in document["deployment"]["resources"]:
        resource["urn"] = resource["urn"].replace("-plane-cluster", "-side")
        resource["provider"] = resource.get("provider", "").replace("-plane-cluster", "-side")
    found = scan(write("state.json", document))
    assert "no declared owner: the cluster of provider control-side, data-side" in found.stderr


@pytest.mark.parametrize(
    ("name", "package"),
    [("scan", "hosted-mesh-policies"), ("prove", "hosted-mesh-analysis"), ("diff", "hosted-mesh-analysis")],
)
def test_a_command_without_its_package_names_the_package(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = command.typer.Typer()
    alone.command()(lambda: None)
    monkeypatch.setattr(command, "app", alone)
    monkeypatch.setattr(command, "entry_points", lambda group: ())
    command._add_commands_of_other_packages()
    found = CliRunner().invoke(alone, [name, "state.json", "--format", "json"])
    assert found.exit_code == 2
    assert f"Install {package} too" in found.stderr
