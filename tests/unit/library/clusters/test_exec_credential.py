"""A credential that a program fetches: the program is run as kubectl runs it, and what it prints is never shown."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.clusters.exec_credential import environment, fetched
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.cluster import ClusterReference

from sandbox.clusters.credentials.certificates import issue, new_authority

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"
TOKEN = "t0ken-t0ken-t0ken"
FIELD = "dataPlane.cluster.kubeconfig"
CLUSTER = {
    "server": "https://api.example.com",
    "certificate-authority-data": base64.b64encode(b"authority").decode(),
    "tls-server-name": "name.example.com",
    "extensions": [
        {"name": "another", "extension": 1},
        {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}},
    ],
}


def answering(version: str = V1, **status: str) -> str:
    return json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": status})


def program(directory: Path, answer: str, exit_code: int = 0) -> Path:
    """A program that keeps how it was called in `called.json` beside it, and prints an answer."""
    path = directory / "get-token"
    path.write_text(
        f"#!{sys.executable}\n"
        "import json, os, pathlib, sys\n"
        "call = {'arguments': sys.argv[1:], 'environment': dict(os.environ), 'input': sys.stdin.read()}\n"
        "pathlib.Path(__file__).with_name('called.json').write_text(json.dumps(call))\n"
        f"print({answer!r})\n"
        f"sys.exit({exit_code})\n"
    )
    path.chmod(0o755)
    return path


def config(directory: Path, **plugin: Any) -> Kubeconfig:
    """A kubeconfig whose credential the program beside it fetches, as `kubeconfig.read` takes it from its file."""
    user = {"exec": {"apiVersion": V1, "command": "./get-token", "interactiveMode": "Never"} | plugin}
    path = directory / "kubeconfig"
    path.write_text(yaml.safe_dump(json.loads(kubeconfig.minimal("c", CLUSTER, user))))
    return kubeconfig.read(ClusterReference(kubeconfig=str(path)), "dataPlane.cluster", "data-plane.yaml")


def user_of(found: Kubeconfig) -> dict[str, Any]:
    user: dict[str, Any] = json.loads(found.text)["users"][0]["user"]
    return user


@pytest.mark.parametrize("version", [V1, V1BETA1])
def test_a_token(tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMBIENT", "here")
    program(tmp_path, answering(version, token=TOKEN))
    plugin = {"args": ["--cluster", "c"], "env": [{"name": "PROFILE", "value": "prod"}], "apiVersion": version}
    found = fetched(config(tmp_path, **plugin), FIELD, "data-plane.yaml")
    assert user_of(found) == {"token": TOKEN}
    assert TOKEN not in repr(found)

    called = json.loads((tmp_path / "called.json").read_text())
    assert called["arguments"] == ["--cluster", "c"]
    assert called["input"] == ""
    assert called["environment"]["PROFILE"] == "prod"
    assert called["environment"]["AMBIENT"] == "here"
    info = json.loads(called["environment"]["KUBERNETES_EXEC_INFO"])
    assert info == {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}


def test_a_program_that_wants_to_know_the_cluster(tmp_path: Path) -> None:
    program(tmp_path, answering(token=TOKEN))
    fetched(config(tmp_path, provideClusterInfo=True), FIELD, "data-plane.yaml")
    called = json.loads((tmp_path / "called.json").read_text())
    told = json.loads(called["environment"]["KUBERNETES_EXEC_INFO"])["spec"]["cluster"]
    assert told == {key: value for key, value in CLUSTER.items() if key != "extensions"} | {"config": {"audience": "a"}}


def test_a_client_certificate(tmp_path: Path) -> None:
    pair = issue(new_authority("company"), "admin")
    program(tmp_path, answering(clientCertificateData=pair.certificate.decode(), clientKeyData=pair.key.decode()))
    user = user_of(fetched(config(tmp_path), FIELD, "data-plane.yaml"))
    assert base64.b64decode(user["client-certificate-data"]) == pair.certificate
    assert base64.b64decode(user["client-key-data"]) == pair.key
    assert user.keys() == {"client-certificate-data", "client-key-data"}


def test_a_command_is_found_beside_the_kubeconfig_or_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, answering(token=TOKEN))
    assert user_of(config(tmp_path))["exec"]["command"] == str(tmp_path / "get-token")
    assert user_of(config(tmp_path, command="get-token"))["exec"]["command"] == "get-token"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert user_of(fetched(config(tmp_path, command="get-token"), FIELD, "data-plane.yaml")) == {"token": TOKEN}


def test_no_program_is_run_where_there_is_a_credential(tmp_path: Path) -> None:
    plain = Kubeconfig("c", "https://h", None, kubeconfig.minimal("c", CLUSTER, {"token": "t", "exec": {}}))
    assert fetched(plain, FIELD, "data-plane.yaml") is plain


REFUSED: list[tuple[str, str, int, dict[str, Any], str, str]] = [
    ("a program that fails", answering(token=TOKEN), 3, {}, "failed with exit code 3", "kubectl get namespaces"),
    ("no JSON", TOKEN, 0, {}, "printed no ExecCredential", "kubectl get namespaces"),
    ("a list", f'["{TOKEN}"]', 0, {}, "printed no ExecCredential", "log in"),
    ("another version", answering(V1BETA1, token=TOKEN), 0, {}, "printed no ExecCredential", "log in"),
    ("no credential", answering(), 0, {}, "printed no ExecCredential", "log in"),
    ("no key", answering(token=TOKEN, clientCertificateData="PEM"), 0, {}, "printed no ExecCredential", "log in"),
    ("no program", "", 0, {"command": "./gone"}, "cannot be run (No such file", "Install it"),
    ("no program, with a hint", "", 0, {"command": "gone", "installHint": "Get it"}, "cannot be run", "Get it"),
    ("a version that is gone", "", 0, {"apiVersion": "client.authentication.k8s.io/v1alpha1"}, V1BETA1, "again"),
    ("no command", "", 0, {"command": None}, "must be a mapping with a command", "again"),
    ("arguments that are no list", "", 0, {"args": 5}, "must be a mapping with a command", "again"),
    ("variables that are none", "", 0, {"env": [TOKEN]}, "must be a mapping with a command", "again"),
    ("a program that asks", answering(token=TOKEN), 0, {"interactiveMode": "Always"}, "requires input", "terminal"),
]


@pytest.mark.parametrize(
    ("answer", "exit_code", "plugin", "rule", "fix"), [pytest.param(*rest, id=name) for name, *rest in REFUSED]
)
def test_refused(tmp_path: Path, answer: str, exit_code: int, plugin: dict[str, Any], rule: str, fix: str) -> None:
    program(tmp_path, answer, exit_code)
    with pytest.raises(InvalidInputError) as caught:
        fetched(config(tmp_path, **plugin), FIELD, "data-plane.yaml")
    (problem,) = caught.value.problems
    assert problem.field == FIELD
    assert problem.rule.startswith("users[].user.exec ")
    assert rule in problem.rule
    assert fix in problem.fix
    assert TOKEN not in str(caught.value)


def test_the_error_says_where_the_kubeconfig_was_named(tmp_path: Path) -> None:
    program(tmp_path, "", 1)
    with pytest.raises(InvalidInputError, match=r"^the command line cannot be used, --kubeconfig: "):
        fetched(config(tmp_path), "--kubeconfig", "the command line")


@pytest.mark.parametrize("extensions", [None, [None], ["text"], [[]], True, {"name": "x"}, [{"name": None}]], ids=str)
def test_extensions_of_another_form_are_ignored(extensions: Any) -> None:
    """They are any tool's own."""
    cluster = {"server": "https://api.example.com", "extensions": extensions}
    plugin = {"apiVersion": V1, "command": "a", "provideClusterInfo": True}
    info = json.loads(environment(plugin, cluster, interactive=False)["KUBERNETES_EXEC_INFO"])
    assert info["spec"] == {"interactive": False, "cluster": {"server": "https://api.example.com"}}


@pytest.mark.parametrize(
    "plugin",
    [{"args": ["a\0b"]}, {"env": [{"name": "A=B", "value": "x"}]}, {"env": [{"name": "A", "value": "\0"}]}],
    ids=str,
)
def test_characters_that_no_program_accepts_are_one_line(tmp_path: Path, plugin: dict[str, Any]) -> None:
    program(tmp_path, answering(token=TOKEN))
    with pytest.raises(InvalidInputError, match="has a character that no program accepts"):
        fetched(config(tmp_path, **plugin), FIELD, "data-plane.yaml")
