"""The command line: what a data plane is handed, when certificates end, and the page that is generated."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from pulumi_hosted_mesh.cli import command
from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.operations import features_page, fields_page, rotation
from pulumi_hosted_mesh.operations.renewals import renewals
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.vocabulary import FEDERATION_LABEL, MESH_LABEL
from typer.testing import CliRunner

from tests.unit.library.documents import CERTIFICATE, document

ROOT = Path(__file__).parents[4]
FACTS: dict[str, Any] = {
    "version": 1,
    "mesh": "demo",
    "host": "istiod.demo.example.com",
    "trustDomain": "demo.mesh.local",
    "clusterId": "demo",
    "istioVersion": "1.31.1",
    "rootCertificate": CERTIFICATE,
}


def endpoint(outputs: Any, *options: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["endpoint", "-", *options], input=json.dumps(outputs))
    return done.exit_code, done.output


def test_the_page_lists_every_command() -> None:
    """Those of the other distributions too."""
    table = (ROOT / "docs/operations.md").read_text().partition("| command |")[2].partition("\n\n")[0]
    rows = " ".join(re.findall(r"^\| (`[^|]*`) \|", table, re.MULTILINE))
    commands = typer.main.get_command(app).commands
    assert {name for name in commands if f"`hosted-mesh {name}`" not in rows and f" `{name}`" not in rows} == set()
    assert {"diff", "doctor", "prove", "scan"} <= set(commands)


def test_the_file_that_a_data_plane_is_handed_can_be_read_again() -> None:
    code, text = endpoint({"endpoints": {"default/default": FACTS}})
    assert code == 0
    assert read_document(EndpointDocument, yaml.safe_load(text)).root_certificate == CERTIFICATE


def test_of_several_clusters_the_one_is_told_whose_istio_objects_hold() -> None:
    """Istio's config cluster: the first, so a member more changes nothing, and another order does."""
    members = [{"name": name} for name in ("east", "west")]
    for memberships, words in ((members, ["east"]), (members[::-1], ["west"]), (members[:1], [])):
        code, text = run("validate", "-", given=yaml.safe_dump(document({"memberships": memberships})).encode())
        told = re.findall("istiod reads Istio's objects only in membership (.*), the config cluster", text)
        assert (code, told) == (0, words)


def test_which_endpoint_is_meant_has_to_be_clear() -> None:
    outputs = {"endpoints": {"default/default": FACTS, "default/canary": {**FACTS, "revision": "canary"}}}
    code, text = endpoint(outputs)
    assert code == 1
    assert "match several endpoints; there are default/canary, default/default" in text
    code, text = endpoint(outputs, "--revision", "canary")
    assert (code, yaml.safe_load(text)["revision"]) == (0, "canary")
    assert "match no endpoint" in endpoint(outputs, "--membership", "eu")[1]
    assert "has no output `endpoints`" in endpoint({})[1]
    of_data_plane = {"endpoints": {"default": FACTS, "canary": {**FACTS, "revision": "canary"}}}
    for options in ((), ("--revision", "canary")):
        assert "Name the control plane's: --stack control-plane" in endpoint(of_data_plane, *options)[1]


def test_a_secret_in_an_endpoint_is_refused_and_not_repeated() -> None:
    code, text = endpoint({"endpoints": {"default/default": {**FACTS, "kubeconfig": "s3cr3t"}}})
    assert code == 1
    assert "kubeconfig: is not a field" in text
    assert "s3cr3t" not in text


def run(*arguments: str, given: bytes = b"") -> tuple[int, str]:
    done = CliRunner().invoke(app, arguments, input=given)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def started(*arguments: str, stdout: int, **environment: str) -> tuple[int, str]:
    """Exit code and standard error of the command in a process of its own."""
    command = [sys.executable, "-c", "from pulumi_hosted_mesh.cli.command import app; app()", *arguments]
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
    return done.returncode, done.stderr


def test_output_that_cannot_be_written_is_told_and_a_reader_that_has_gone_is_not() -> None:
    with Path("/dev/full").open("wb") as full:
        # One that prints little, which is written when it ends, and one that prints more than is kept back until then.
        for command in ("--help", "schema"):
            found = started(command, stdout=full.fileno())
            assert found == (2, "standard output cannot be written: no space left on device\n")
    reader, writer = os.pipe()
    os.close(reader)
    assert started("schema", stdout=writer) == (-signal.SIGPIPE, "")
    os.close(writer)


@pytest.mark.parametrize(
    ("name", "encoding", "told"),
    [("ü", "ascii", b"\\xfc"), (os.fsdecode(b"\xff"), "utf-8", b"\\udcff")],
    ids=["ascii", "no-utf-8"],
)
def test_a_letter_that_the_output_has_not_is_written_as_its_number(
    tmp_path: Path, name: str, encoding: str, told: bytes
) -> None:
    file, said = tmp_path / f"{name}.yaml", tmp_path / "said"
    file.write_text("mesh: demo\n")
    with said.open("wb") as out:
        found = started("validate", str(file), "--kind=data-plane", stdout=out.fileno(), PYTHONIOENCODING=encoding)
    assert found == (0, "")
    assert told + b".yaml: membership default of mesh demo" in said.read_bytes()


READERS: list[tuple[str, ...]] = [
    ("validate",),
    ("leftovers",),
    ("token",),
    ("endpoint",),
    ("status",),
    ("topology",),
    ("topology", "--federation"),
    ("check-webhooks",),
    ("doctor", "--mesh", "east"),
    ("exports", "--mesh", "east"),
]


def test_version_is_the_one_of_the_repository() -> None:
    found = CliRunner().invoke(app, ["--version"])
    assert (found.exit_code, found.stdout) == (0, f"hosted-mesh {(ROOT / 'VERSION').read_text()}")


def test_every_command_takes_a_short_question_for_help() -> None:
    for chosen in ((), ("validate",), ("scan",), ("prove",), ("diff",)):
        assert run(*chosen, "-h") == run(*chosen, "--help")


def test_one_word_means_one_thing_in_every_command() -> None:
    """`--json` prints JSON, and `--output` is a file where it is shown; the old spellings are taken, and not shown."""
    commands = typer.main.get_command(app).commands
    shown = {
        name: {option for one in found.params if not getattr(one, "hidden", False) for option in one.opts}
        for name, found in commands.items()
    }
    reporting = {"check-webhooks", "diff", "discover", "doctor", "prove", "scan", "validate"}
    orders = {"cancel", "list", "logs", "order", "show"}  # the controller's client
    assert {name for name, options in shown.items() if "--json" in options} == reporting | orders
    assert {name for name, options in shown.items() if "--output" in options} == {"diff", "prove", "scan"}
    assert not any("--format" in options for options in shown.values())


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_every_command_says_what_is_wrong_with_what_it_is_given(command: tuple[str, ...], tmp_path: Path) -> None:
    assert run(*command, str(tmp_path / "gone")) == (
        1,
        f"{tmp_path / 'gone'} cannot be used, (file): cannot be read: No such file or directory. Check the path.\n",
    )
    assert run(*command, str(tmp_path))[1].endswith("cannot be read: Is a directory. Check the path.\n")
    wrong = [
        b"",
        b"null",
        b"7",
        b"[]",
        b'["s3cr3t"]',
        b'"s3cr3t"',
        b"[" * 5000,
        b"a: *s3cr3t",
        "s3cr3t".encode("utf-16"),
    ]
    for content in wrong:
        code, said = run(*command, "-", given=content)
        assert (code, said.startswith("- cannot be used, ("), "s3cr3t" in said) == (1, True, False), content


def test_a_file_that_is_too_long_to_be_a_document_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    file.write_text("# " + "x" * 2**23)
    rule = "is longer than 8 MiB, too long for a document. Name another file."
    assert run("validate", str(file)) == (1, f"{file} cannot be used, (file): {rule}\n")


@pytest.mark.parametrize(("command", "nothing"), [("status", 4), ("topology", 0)])
def test_an_export_is_known_by_its_resources(command: str, nothing: int) -> None:
    """nothing: the exit code where there is nothing to judge, or to draw."""
    assert run(command, "-", given=b"[" * 5000)[0] == 1
    none: dict[str, Any] = {"version": 3, "deployment": {"manifest": {}}}
    empty = run(command, "-", given=json.dumps(none).encode())
    assert empty[0] == nothing, "of a stack that is new, which has no list of resources"
    assert run(command, "-", given=json.dumps(none).encode("utf-8-sig")) == empty, "as editors on Windows save it"
    key = {"urn": "urn:pulumi:s::p::tls:index/privateKey:PrivateKey::k", "type": "tls:index/privateKey:PrivateKey"}
    none["deployment"]["resources"] = [key]
    assert run(command, "-", given=json.dumps(none).encode())[0] == nothing, "of one without inputs"
    for other in ([1], {"a": key}, [{"urn": 1, "type": "t"}], [{**key, "inputs": 3}], [{"type": "t"}]):
        none["deployment"]["resources"] = other
        code, said = run(command, "-", given=json.dumps(none).encode())
        assert (code, said) == (
            1,
            "- cannot be used, (file): is not the output of `pulumi stack export`. Pipe its output in.\n",
        )


@pytest.mark.parametrize(
    ("inputs", "options"),
    [
        ({"metadata": "s3cr3t"}, ()),
        ({"metadata": {"annotations": {}}, "webhooks": ["s3cr3t"]}, ()),
        (
            {"metadata": {"name": "f", "labels": {FEDERATION_LABEL: "f", MESH_LABEL: "m"}}, "spec": {}},
            ("--federation",),
        ),
    ],
    ids=["metadata", "webhooks", "gateway"],
)
def test_an_object_that_somebody_broke_is_told(inputs: dict[str, Any], options: tuple[str, ...]) -> None:
    provider = "urn:pulumi:s::p::pulumi:providers:kubernetes::data-plane-cluster"
    broken = {
        "urn": "urn:pulumi:s::p::kubernetes:networking.istio.io/v1:Gateway::g",
        "type": "kubernetes:networking.istio.io/v1:Gateway",
        "inputs": {"apiVersion": "networking.istio.io/v1", "kind": "Gateway", **inputs},
        "provider": f"{provider}::id",
    }
    state = {"version": 3, "deployment": {"resources": [broken]}}
    code, said = run("topology", "-", *options, given=json.dumps(state).encode())
    rule = "has an object of a form that this program does not create. Export the state again."
    assert (code, said) == (1, f"- cannot be used, (file): {rule}\n")


def test_a_state_and_a_preview_are_drawn_as_svg() -> None:
    key = {"urn": "urn:pulumi:s::p::tls:index/privateKey:PrivateKey::k", "type": "tls:index/privateKey:PrivateKey"}
    state = {"version": 3, "deployment": {"resources": [key]}}
    steps = {"steps": [{"op": "create", "urn": key["urn"], "newState": key}, {"op": "delete", "urn": "x"}]}
    drawn = [run("topology", "-", "--svg", given=json.dumps(given).encode()) for given in (state, steps)]
    assert drawn[0] == drawn[1]
    assert drawn[0][0] == 0
    assert drawn[0][1].startswith("<svg ")
    assert "PrivateKey" in drawn[0][1]
    rule = "does not draw --federation. Leave one of them out."
    refused = run("topology", "-", "--svg", "--federation", given=json.dumps(state).encode())
    assert refused == (1, f"the command line cannot be used, --svg: {rule}\n")


def test_a_document_of_another_kind_is_told(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("mesh: demo\n")
    assert run("validate", str(file), "--kind", "data-plane") == (
        0,
        f"{file}: membership default of mesh demo\n"
        f"{file}: valid, as kind data-plane; it names no kubeconfig. No cluster was contacted. It can be used\n",
    )
    code, said = run("validate", str(file))
    assert code == 1
    assert said.startswith(f"{file} is valid as another kind: --kind data-plane\n{file} cannot be used:\n")
    file.write_text("mesh: demo\nmesh2: x\n")
    assert "is valid as another kind" not in run("validate", str(file))[1]
    file.write_text("config: {'hosted-mesh:stack': access}\n")
    assert run("validate", str(file))[1].startswith(f"{file} is valid as another kind: --kind stack\n")


@pytest.mark.parametrize("command", ["leftovers", "token"])
def test_the_document_that_names_a_kubeconfig_is_named(command: str, tmp_path: Path) -> None:
    file = tmp_path / "data-plane.yaml"
    file.write_text("mesh: demo\ncluster: {kubeconfig: /nowhere}\n")
    code, said = run(command, str(file))
    assert (code, said.startswith(f"{file} cannot be used, cluster.kubeconfig: cannot be read")) == (1, True)


@pytest.mark.parametrize(("days", "due"), [(61, False), (59, True), (-1, True)])
def test_a_renewal_is_due_inside_its_window(days: int, due: bool) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    state = {
        "urn": "urn:pulumi:s::p::tls:index/locallySignedCert:LocallySignedCert::demo-signs-demo",
        "type": "tls:index/locallySignedCert:LocallySignedCert",
        "outputs": {"validityEndTime": (now + timedelta(days=days)).isoformat(), "earlyRenewalHours": 60 * 24.0},
    }
    (one,) = renewals([state, {"urn": "x", "type": "y"}], now)
    assert (one.name, one.due) == ("demo-signs-demo", due)
    assert ("RENEWAL IS DUE" in str(one)) == due
    assert ("then of each control-plane" in str(one)) == due
    assert "data-plane" not in str(one)
    root = {**state, "type": "tls:index/selfSignedCert:SelfSignedCert"}
    (one,) = renewals([root], now)
    assert ("then of each data-plane, with a new endpoint file" in str(one)) == due


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("validityEndTime", "s3cr3t", "a time"),
        ("validityEndTime", None, "a time"),
        ("validityEndTime", {"ciphertext": "s3cr3t"}, "a time"),
        ("validityEndTime", "0001-01-01T00:00:00+14:00", "a time"),
        ("earlyRenewalHours", "s3cr3t", "a number of hours"),
        ("earlyRenewalHours", [1], "a number of hours"),
        ("earlyRenewalHours", 1e300, "a number of hours"),
    ],
    ids=str,
)
def test_a_certificate_whose_times_cannot_be_read_is_named(field: str, value: Any, rule: str) -> None:
    certificate: dict[str, Any] = {
        "urn": "urn:pulumi:s::p::tls:index/selfSignedCert:SelfSignedCert::root",
        "type": "tls:index/selfSignedCert:SelfSignedCert",
        "outputs": {"validityEndTime": "2031-01-01T00:00:00Z", field: value},
    }
    state = {"version": 3, "deployment": {"resources": [certificate]}}
    said = f"{field} of certificate root: cannot be read as {rule}. Export the state again.\n"
    assert run("status", "-", given=json.dumps(state).encode()) == (1, f"- cannot be used, {said}")


@pytest.mark.parametrize(("name", "package"), [("diff", "analysis"), ("prove", "analysis"), ("scan", "policies")])
def test_a_command_of_another_package_names_it_without_it(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "app", typer.Typer())
    monkeypatch.setattr(command, "entry_points", lambda group: ())
    command._add_commands_of_other_packages()
    with pytest.raises(SystemExit) as ended:
        command.app([name, "examples/two_clusters", "--rounds", "1"])
    assert ended.value.code == 2
    message = f"{name} is a command of another package. Install hosted-mesh-{package} too\n"
    assert capsys.readouterr().err == message


class Died(Exception):
    """The run was interrupted."""


def rotated(token: dict[str, Any], current: int, dies_at: int | None = None) -> list[str]:
    """The commands of a rotation; the run dies at the one of this number."""
    ran: list[str] = []

    def pulumi(*arguments: str) -> None:
        if len(ran) == dies_at:
            raise Died
        ran.append(" ".join(one for one in arguments if one not in ("--path", "--stack")))

    stacks = rotation.Stacks("a", "c")

    with contextlib.suppress(Died):
        list(rotation.rotate(stacks, {"token_generation": current}, token, pulumi, lambda one: pulumi("up", one)))
    return ran


def test_a_token_is_rotated_stack_by_stack() -> None:
    setting = "--plaintext hosted-mesh:token.generation=2 --plaintext hosted-mesh:token.keepPrevious=true"
    last = ["config set hosted-mesh:token.keepPrevious false a", "up a"]
    everything = [f"config set-all {setting} a", "up a", "up c", *last]
    assert rotated({}, 1) == everything
    assert rotated({"generation": 1, "keepPrevious": False}, 1) == everything
    # Interrupted after the setting, or after the first `up`: no third token is made.
    under_way = {"generation": 2, "keepPrevious": True}
    assert rotated(under_way, 1) == rotated(under_way, 2) == everything[1:]
    # The token before is removed only once istiod has the new one.
    for dies_at in range(4):
        assert "config set hosted-mesh:token.keepPrevious false a" not in rotated({}, 1, dies_at)[:3]


def test_with_several_members_the_previous_token_stays_until_kubelets_have_the_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """istiod takes it from a file, which its Pods get up to two minutes later."""
    ran: list[str] = []
    monkeypatch.setattr(rotation.time, "sleep", lambda seconds: ran.append(f"sleep {seconds}"))

    def pulumi(*arguments: str) -> None:
        ran.append(arguments[1] if arguments[0] == "config" else " ".join(arguments))

    def up(stack: str) -> None:
        ran.append(f"up {stack}")

    list(rotation.rotate(rotation.Stacks("a", "c"), {"token_generation": 1}, {}, pulumi, up, lambda: True))
    assert ran == ["set-all", "up a", "up c", "sleep 120", "set", "up a"]
    ran.clear()
    list(rotation.rotate(rotation.Stacks("a", "c"), {"token_generation": 1}, {}, pulumi, up, lambda: False))
    assert ran == ["set-all", "up a", "up c", "set", "up a"]


def test_a_rotation_wants_a_stack_that_is_up() -> None:
    with pytest.raises(InvalidInputError, match="--access: names a stack that has no output"):
        list(rotation.rotate(rotation.Stacks("a", "c"), {}, {}, lambda *_: None, lambda _: None))


def test_a_rotation_that_nobody_can_agree_to_does_not_begin() -> None:
    """Not even the setting of the next generation is written."""
    code, said = run("rotate")
    assert (code, "--yes: is required without a terminal" in said) == (1, True)


@pytest.mark.parametrize(("name", "page"), [("features", features_page.page), ("fields", fields_page.page)])
def test_generated_pages_are_current(name: str, page: Callable[[], str]) -> None:
    assert (ROOT / f"docs/components/{name}.md").read_text() == page(), "see the page for how it is made"
