"""`hosted-mesh prove` on programs in folders, each in a process of its own, as a user calls it."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hosted_mesh_analysis.prove.command import app
from hosted_mesh_analysis.runner.secrets import forms
from pulumi_hosted_mesh.clusters.kubeconfig import for_account
from typer.testing import CliRunner

from sandbox.bootstrap import CHECKOUT
from tests.corpus import literals
from tests.support.nightly import nightly_if
from tests.support.waiting import eventually
from tests.unit.library.documents import CERTIFICATE

TOKEN = "9dm2k7qz0xv4tn81rc6wpe35"
"""What a run must never see: the token of a kubeconfig on this machine, and a password from its environment."""

BEGINNING = """
import base64, os, socket, pathlib
import pulumi

config = pulumi.Config()
text = pathlib.Path(os.environ["KUBECONFIG"]).read_text()
assert "9dm2k7qz0xv4tn81rc6wpe35" not in text + str(dict(os.environ))
assert os.environ["KEY_PASSWORD_FILE"] == os.environ["KUBECONFIG"]

def cluster(name, context):
    inputs = {"kubeconfig": text, "context": context, "clusterIdentifier": name}
    return pulumi.ProviderResource("kubernetes", name, inputs)

def config_map(name, data, where):
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    return pulumi.CustomResource("kubernetes:core/v1:ConfigMap", name, inputs, pulumi.ResourceOptions(provider=where))

control_plane, data_plane = cluster("control-plane-cluster", "cp"), cluster("data-plane-cluster", "dp")
token = config.require_secret("token")
config_map("kept", {"token": token}, control_plane)
"""
LEAK = 'config_map("app", {"x": token.apply(lambda t: base64.b85encode(t.encode()).decode()), "y": "z"}, data_plane)'


def kubeconfig() -> str:
    names = ("cp", "dp")
    return yaml.safe_dump(
        {
            "current-context": "cp",
            "clusters": [{"name": n, "cluster": {"server": f"https://{n}.example.com"}} for n in names],
            "users": [{"name": n, "user": {"token": TOKEN}} for n in names],
            "contexts": [{"name": n, "context": {"cluster": n, "user": n}} for n in names],
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "program"
    made.mkdir()
    (made / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    (made / "Pulumi.dev.yaml").write_text("config:\n  shop:token: {secure: v1:abc}\n")
    (tmp_path / "kubeconfig").write_text(kubeconfig())
    return made


def prove(folder: Path, program: str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    (folder / "__main__.py").write_text(BEGINNING + program)
    environment = {
        **os.environ,
        "KUBECONFIG": str(folder.parent / "kubeconfig"),
        "DB_PASSWORD": TOKEN,
        "AWS_SECRET_ACCESS_KEY": f"a/{TOKEN}",
        "KEY_PASSWORD_FILE": str(folder.parent / "kubeconfig"),
        "COLUMNS": "200",
        **variables,
    }
    command = [sys.executable, "-m", "hosted_mesh_analysis.prove.command", str(folder), "--rounds", "1", *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_leak_is_said_with_its_secret_and_no_value(folder: Path) -> None:
    done = prove(folder, LEAK)
    assert (done.returncode, done.stderr) == (1, "")
    assert "ConfigMap app" in done.stdout
    assert "configuration shop:token" in done.stdout
    assert "data.x" in done.stdout
    assert "data.y" not in done.stdout
    assert TOKEN not in done.stdout


def test_a_token_that_nobody_marked_is_a_secret_by_its_form(folder: Path) -> None:
    """In the configuration, a variable and a file; what is beside it in the same text stays."""
    token = "ghp_" + TOKEN + "a7c1e9b2f4d6"
    (folder / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": {"shop:token": "a", "shop:pull": token}}))
    (folder / "settings.ini").write_text(f"[registry]\nhost = registry.example.com\nlogin = {token}\n")
    done = prove(
        folder,
        f"""
import configparser
settings = configparser.ConfigParser()
settings.read("settings.ini")
registry, pull = settings["registry"], config.require("pull")
assert registry["host"] == "registry.example.com"
assert pull.startswith("ghp_") and {token!r} not in (pull, registry["login"], os.environ["SHOP"])
length = dict(host=registry["host"], port=str(len(pull)))
def code(text): return base64.b85encode(text.encode()).decode()
config_map("app", dict(length, a=code(pull), b=code(registry["login"]), c=code(os.environ["SHOP"])), data_plane)
""",
        "--json",
        SHOP=f"--login {token}",
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert sorted((one["path"], one["secrets"]) for one in json.loads(done.stdout)["findings"]) == [
        ("data.a", ["configuration shop:pull"]),
        ("data.b", ["file settings.ini"]),
        ("data.c", ["environment variable SHOP"]),
    ]
    assert TOKEN not in done.stdout


def test_json_and_sarif_say_the_same(folder: Path) -> None:
    found = json.loads(prove(folder, LEAK, "--json").stdout)
    assert found["proven"] is False
    assert [(one["kind"], one["path"], one["secrets"]) for one in found["findings"]] == [
        ("leak", "data.x", ["configuration shop:token"])
    ]
    done = prove(folder, LEAK, "--sarif", "--output", str(folder / "out.sarif"))
    assert (done.returncode, done.stdout) == (1, "")
    [run] = json.loads((folder / "out.sarif").read_text())["runs"]
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [("leak", "error")]
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("__main__.py")


def test_sarif_points_at_the_program_where_it_lies(folder: Path) -> None:
    (folder / "Pulumi.yaml").write_text("{name: shop, runtime: python, main: 'the app #1'}")
    (folder / "the app #1").mkdir()
    (folder / "the app #1" / "__main__.py").write_text("raise ValueError")
    command = [sys.executable, "-m", "hosted_mesh_analysis.prove.command", "--sarif", "program"]
    done = subprocess.run(command, cwd=folder.parent, capture_output=True, text=True, check=False)
    [result] = json.loads(done.stdout)["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "program/the%20app%20%231/__main__.py"


def test_a_clean_program_is_proven_and_the_summary_says_what_on(folder: Path) -> None:
    done = prove(folder, 'config_map("app", {"x": "y"}, data_plane)')
    assert (done.returncode, done.stderr) == (0, "")
    assert "proven: no property of a data plane depends on a secret of the control plane" in done.stdout


NOT_RUN = [
    (
        "raise ValueError('the port is wrong')",
        "the program ends with ValueError (__main__.py, line 21): the port is wrong",
    ),
    ("token.apply(lambda t: 1 / len(t[999:]))", "the program ends with ZeroDivisionError"),
    ("def f(t): raise ValueError(f'{t} is wrong')\ntoken.apply(f)", "(its message contains a secret)"),
    ("socket.create_connection(('192.0.2.1', 443))", "this run has no network"),
    ("import nothing_of_this_name", "ModuleNotFoundError"),
    ("import sys; sys.exit(3)", "the program ends with sys.exit(3) (__main__.py, line 21)\n"),
    ("import sys; sys.exit('too few')", "the program ends with sys.exit(1) (__main__.py, line 21): too few"),
    ("os.write(2, b'\\xff'); raise ValueError('coding')", "ends with ValueError (__main__.py, line 21): coding"),
    ("os.kill(os.getpid(), 11)", "the program was ended by signal SIGSEGV"),
    ("os._exit(5)", "its process ended with exit code 5: install Pulumi"),
]


@pytest.mark.parametrize(
    ("program", "said"), [pytest.param(*one, marks=nightly_if(place % 2)) for place, one in enumerate(NOT_RUN)]
)
def test_a_program_that_cannot_be_run_is_said_in_a_line(folder: Path, program: str, said: str) -> None:
    done = prove(folder, program)
    assert (done.returncode, done.stderr) == (2, "")
    assert said in done.stdout
    assert "Traceback" not in done.stdout
    assert "not proven: the program could not be run" in done.stdout


@pytest.mark.parametrize("how", ["there.connect({})", "there.sendto(b'x', {})"])
def test_a_socket_among_the_files_is_no_way_out(folder: Path, tmp_path: Path, how: str) -> None:
    """Docker's leads to all that Docker may do, and an agent's to what it keeps."""
    kind = "SOCK_STREAM" if "connect" in how else "SOCK_DGRAM"
    with socket.socket(socket.AF_UNIX, getattr(socket, kind)) as agent:
        agent.bind(path := str(tmp_path / "agent"))
        if "connect" in how:
            agent.listen()
        way = how.format(repr(path))
        done = prove(folder, f"there = socket.socket(socket.AF_UNIX, socket.{kind})\n{way}")
    assert done.returncode == 2
    assert "PermissionError" in done.stdout
    assert "this run has no network" in done.stdout


def test_a_programs_own_processes_talk_by_sockets(folder: Path) -> None:
    program = """
import multiprocessing, os
name = f"\\0of this program {os.getpid()}"  # abstract names are the machine's, and other tests run this program too
with socket.socket(socket.AF_UNIX) as own, socket.socket(socket.AF_UNIX) as other:
    own.bind(name)
    own.listen()
    other.connect(name)
with multiprocessing.get_context("fork").Manager() as manager:
    config_map("app", {"x": manager.dict({"y": "z"})["y"]}, data_plane)
"""
    assert prove(folder, program).returncode == 0


def test_what_the_program_draws_for_itself_is_a_secret_too(folder: Path) -> None:
    program = """
import secrets, uuid
def secret(name, text, where):
    inputs = {"metadata": {"name": name}, "stringData": {"x": text}}
    pulumi.CustomResource("kubernetes:core/v1:Secret", name, inputs, pulumi.ResourceOptions(provider=where))
drawn = secrets.token_hex(16)
secret("kept-too", drawn, control_plane)
config_map("app", {"id": str(uuid.uuid4()), "own": secrets.token_hex(16), "x": drawn[::-1]}, data_plane)
"""
    found = json.loads(prove(folder, program, "--json").stdout)
    leaks = [(one["path"], one["secrets"]) for one in found["findings"] if one["kind"] == "leak"]
    assert leaks == [("data.x", ["random bytes drawn in __main__.py, line 26"])]
    assert [one["path"] for one in found["findings"] if one["kind"] == "its own secret"] == ["data.own"]


def test_an_output_of_another_stack_is_made_up_by_its_name(folder: Path) -> None:
    program = """
import yaml
trust = pulumi.StackReference("organization/mesh/trust")
def server(text): return yaml.safe_load(text)["clusters"][0]["cluster"]["server"]
config_map("app", {
    "certificate": trust.require_output("root_certificate"),
    "server": trust.require_output("kubeconfig").apply(server),
    "password": trust.get_output("password"),
}, data_plane)
"""
    found = json.loads(prove(folder, program, "--json").stdout)
    assert [(one["kind"], one["path"], one["secrets"]) for one in found["findings"]] == [
        ("leak", "data.password", ["output password of stack organization/mesh/trust"]),
        ("public fact", "data.certificate", []),
    ]
    outputs = folder / "outputs.json"
    outputs.write_text(json.dumps({"password": "none at all", "root_certificate": "x", "kubeconfig": "[secret]"}))
    assert prove(folder, program, "--stack-outputs", f"organization/mesh/trust={outputs}").returncode == 0


def test_a_kubeconfig_among_another_stacks_outputs_keeps_its_clusters_and_is_a_secret(folder: Path) -> None:
    program = """
import yaml
access = pulumi.StackReference("organization/mesh/access")
def checked(text):
    (cluster,) = yaml.safe_load(text)["clusters"]
    assert cluster == {"name": "demo", "cluster": {"server": "https://other.example.com:6443"}}
    return yaml.safe_load(text)["users"][0]["user"]["token"]
config_map("app", {"token": access.require_output("kubeconfig").apply(checked)}, data_plane)
"""
    given = forms.kubeconfig({"demo": {"server": "https://other.example.com:6443"}}, "t0k3n")
    outputs = folder / "outputs.json"
    outputs.write_text(json.dumps({"kubeconfig": json.dumps(given)}))
    done = prove(folder, program, "--stack-outputs", f"organization/mesh/access={outputs}", "--json")
    assert [(one["kind"], one["path"], one["secrets"]) for one in json.loads(done.stdout)["findings"]] == [
        ("leak", "data.token", ["kubeconfig of https://other.example.com:6443"])
    ]
    assert "t0k3n" not in done.stdout


def test_the_whole_name_of_a_stack_leads_to_its_file(folder: Path) -> None:
    done = prove(folder, "assert pulumi.get_stack() == 'dev'", "--stack", "company/shop/dev")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_policy_configuration_says_whose_cluster_it_is(folder: Path, tmp_path: Path) -> None:
    config = tmp_path / "clusters.json"
    settings = {"controlPlaneServers": ["https://DP.example.com/"], "controlPlaneProviders": ["control-plane-*"]}
    config.write_text(json.dumps({"providers-reach-their-own-cluster": settings, "tenants-are-apart": "advisory"}))
    done = prove(folder, LEAK.replace("data_plane", "cluster('x', 'dp')"), "--policy-config", str(config))
    assert (done.returncode, done.stderr) == (0, "")
    assert "place: https://dp.example.com:443 (control plane)" in done.stdout


def test_configuration_of_an_environment_is_said_to_be_missing(folder: Path) -> None:
    (folder / "Pulumi.dev.yaml").write_text("{environment: [shop/prod], config: {shop:token: {secure: abc}}}")
    done = prove(folder, 'config_map("app", {"x": config.get("more") or "y"}, data_plane)')
    assert (done.returncode, done.stderr) == (2, "")
    assert "could not run: Pulumi.dev.yaml: configuration of its `environment` is not read" in done.stdout


def test_a_project_without_stack_files_has_no_configuration(folder: Path) -> None:
    (folder / "Pulumi.dev.yaml").unlink()
    done = prove(folder, "config_map('app', {'x': token}, data_plane)")
    assert (done.returncode, done.stderr) == (2, "")
    assert "Missing required configuration variable 'shop:token'" in done.stdout


@pytest.mark.parametrize(("python", "why"), [("/nothing", "No such file or directory"), ("/", "Permission denied")])
def test_a_python_that_cannot_be_run_is_said(folder: Path, python: str, why: str) -> None:
    done = prove(folder, LEAK, "--python", python)
    assert (done.returncode, done.stderr) == (2, "")
    assert f"could not run: its Python cannot be run ({why}). Choose one with --python" in done.stdout


def test_a_branch_on_a_preview_is_said(folder: Path) -> None:
    done = prove(folder, "if pulumi.runtime.is_dry_run(): config_map('app', {'x': token}, data_plane)")
    assert done.returncode == 2
    assert "the program reads whether this is a preview" in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--stack-outputs", "x"], "is not STACK=FILE"),
        (["--secret", "nothing"], "the configuration has no such key"),
        (["--config-file", "/nothing/x.yaml"], "/nothing/x.yaml: cannot be read"),
        (["--policy-config", "/nothing/x.json"], "/nothing/x.json: cannot be read as JSON (No such file or directory)"),
        (["--stack", "prod"], "Pulumi.prod.yaml: does not exist; this folder has files of stacks dev. Name one"),
        (["--stack", "x" * 300], "cannot be read (File name too long). Name one with --config-file"),
        (["--control-plane", "https://[::1"], "--control-plane https://[::1: is no address. Write an address such as"),
        (["--data-plane", "https://:6443"], "--data-plane https://:6443: is no address"),
        (["--json", "--sarif"], "exclude each other"),
        (["--output", "."], "--output .: cannot be written"),
        (["--output", "/nothing/x.json"], "--output /nothing/x.json: cannot be written"),
        (["--output", "x" * 300], "cannot be written. Name a file"),
    ],
)
def test_a_mistake_is_one_line_on_standard_error(folder: Path, options: list[str], said: str) -> None:
    (folder / "__main__.py").write_text(BEGINNING + LEAK)
    done = CliRunner().invoke(app, [str(folder), *options])
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_folder_that_leads_to_itself_is_told(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    done = CliRunner().invoke(app, [str(loop)])
    assert (done.exit_code, "cannot be read" in done.stderr, len(done.stderr.splitlines())) == (2, True, 1)


def test_what_a_file_says_wrongly_is_one_line_on_standard_error(folder: Path, tmp_path: Path) -> None:
    config, stack = tmp_path / "clusters.json", tmp_path / "stack.yaml"
    config.write_text(json.dumps({"providers-reach-their-own-cluster": {"controlPlaneServer": ["https://10.0.0.1"]}}))
    stack.write_text("config: {shop:since: 2024-13-01}\n")
    for options, said in (
        (
            ["--policy-config", str(config)],
            f"{config}: providers-reach-their-own-cluster.controlPlaneServer: is not a setting; did you mean",
        ),
        (["--config-file", str(stack)], f"{stack}: is not YAML"),
    ):
        done = prove(folder, LEAK, *options)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_value_that_only_begins_like_json_is_text(folder: Path, tmp_path: Path) -> None:
    stack = tmp_path / "stack.yaml"
    stack.write_text("config: {shop:token: {secure: abc}, shop:greeting: '[hello', shop:template: '{{ name }}'}\n")
    done = prove(folder, LEAK, "--config-file", str(stack))
    assert "1 property depends on the control plane's secrets" in done.stdout


def test_an_interrupt_ends_the_program(folder: Path) -> None:
    (folder / "__main__.py").write_text("import pathlib, time\npathlib.Path('started').touch()\ntime.sleep(300)")
    command = [sys.executable, "-m", "hosted_mesh_analysis.prove.command", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        eventually((folder / "started").exists)
        process.send_signal(signal.SIGINT)
        output, error = process.communicate(timeout=120)
    assert (process.returncode, output, error) == (130, "", "interrupted: nothing is proven\n")


def test_what_a_program_leaves_behind_is_not_waited_for(folder: Path) -> None:
    began = time.monotonic()
    done = prove(folder, "import subprocess; subprocess.Popen(['sleep', '300'])")
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - began < 250


def test_a_project_of_another_language_is_refused(folder: Path) -> None:
    (folder / "Pulumi.yaml").write_text("name: shop\nruntime: nodejs\n")
    done = prove(folder, LEAK)
    assert done.returncode == 2
    assert "runtime is not python. Run other languages with --preview" in done.stderr


def test_a_transform_of_the_program_is_run(folder: Path) -> None:
    program = """
def add(args):
    if args.type_.endswith(":ConfigMap") and args.name == "app":
        return pulumi.ResourceTransformResult({**args.props, "data": {"x": token}}, args.opts)
pulumi.runtime.register_resource_transform(add)
config_map("app", {"y": "z"}, data_plane)
"""
    found = json.loads(prove(folder, program, "--json").stdout)
    assert [one["path"] for one in found["findings"]] == ["data.x"]


def test_help_teaches() -> None:
    command = [sys.executable, "-m", "hosted_mesh_analysis.prove.command", "--help"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for part in ("Exit code 0", "--control-plane", "hosted-mesh prove app", "The program has no network"):
        assert part in " ".join(said.split())


CHART = """
import pulumi_kubernetes as k8s
from pulumi_kubernetes import helm
def add(args):
    if "data" not in args.props:
        return None
    return pulumi.ResourceTransformResult({**args.props, "data": {**args.props["data"], "added": ADDED}}, args.opts)
helm.v4.Chart("shop", chart="shop", version="1.0.0", values={"a": "b"},
              opts=pulumi.ResourceOptions(provider=data_plane, transforms=[add]))
"""


@pytest.mark.parametrize(("added", "code"), [('"plain"', 0), ("token", 1)])
def test_a_chart_is_said_not_to_be_rendered_and_its_transforms_are_tried(folder: Path, added: str, code: int) -> None:
    done = prove(folder, CHART.replace("ADDED", added))
    assert "note: kubernetes:helm.sh/v4:Chart shop: was not rendered; its inputs are compared" in done.stdout
    assert (done.returncode, "ConfigMap shop (tried)" in done.stdout) == (code, bool(code))


def test_the_librarys_control_plane_alone_is_proven_with_the_other_stacks_outputs(tmp_path: Path) -> None:
    kubeconfig = for_account("demo", "https://api.data-plane.example.com:6443", CERTIFICATE, "any token")
    outputs: dict[str, Any] = {
        "access": {"kubeconfig": kubeconfig},
        "root": {"certificate": CERTIFICATE, "certificates": {"demo": CERTIFICATE}},
        "trust": {"private_key": "[secret]"},
    }
    options = ["--stack", "control-plane", "--config-file", "stacks/Pulumi.control-plane.yaml", "--rounds", "1"]
    for stack, found in outputs.items():
        (tmp_path / stack).write_text(json.dumps(found))
        options += ["--stack-outputs", f"organization/hosted-mesh/{stack}={tmp_path / stack}"]
    command = [sys.executable, "-m", "hosted_mesh_analysis.prove.command", ".", *options]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert (done.returncode, "proven: no property" in done.stdout) == (0, True), done.stdout


EXAMPLE = "examples/two_clusters"
LEAKY = "tests/corpus/leaky --config-file stacks/Pulumi.all-in-one.yaml --rounds 1"
_HOSTED_MESH = "from pulumi_hosted_mesh.cli.command import app; app(prog_name='hosted-mesh')"
MADE_UP = ("https://control-plane.example.com:6443", "https://data-plane.example.com:6443")


def _shown(page: str, arguments: str) -> list[str]:
    """What a page shows of a command, and its words without the table's lines."""
    text = (CHECKOUT / page).read_text(encoding="utf-8")
    return _words(text.partition(f"hosted-mesh prove {arguments}\n```")[2].split("```")[1].removeprefix("text"))


def _words(text: str) -> list[str]:
    counted = re.sub(r"\d+ values", "some values", text)  # each field that the library writes is one
    return [word for word in re.split(r"[\s│┃┏┓┡┩├┤└┘━─┳╇┼┴]+", counted) if word]


def _printed(arguments: str, **variables: str) -> str:
    """By the pages' command, on a machine with nothing but these variables: each called a token is a secret more."""
    command = [sys.executable, "-c", _HOSTED_MESH, "prove", *arguments.split()]
    kept = {name: os.environ[name] for name in ("HOME", "PATH", "PYTHONPATH") if name in os.environ}
    environment = {**kept, "COLUMNS": "100", **variables}
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout


def test_the_pages_show_what_prove_prints() -> None:
    assert _shown("docs/policies/prove.md", EXAMPLE) == _words(_printed(EXAMPLE))
    assert _shown("docs/first-run.md", LEAKY) == _words(_printed(LEAKY, LEAK="control-plane"))


@pytest.mark.nightly
def test_in_a_sandbox_it_prints_the_same_but_for_the_addresses(tmp_path: Path) -> None:
    def cluster(name: str, server: str) -> dict[str, str]:
        authority = literals.certificate(name, authority=True)
        return {"server": server, "certificate-authority-data": base64.b64encode(authority.encode()).decode()}

    servers = ("https://127.0.0.1:40001", "https://127.0.0.1:40002")
    clusters = {name: cluster(name, at) for name, at in zip(("control-plane", "data-plane"), servers, strict=True)}
    (tmp_path / "kubeconfig").write_text(json.dumps(forms.kubeconfig(clusters, TOKEN)))
    printed = _printed(EXAMPLE, KUBECONFIG=str(tmp_path / "kubeconfig"))
    for server, made_up in zip(servers, MADE_UP, strict=True):
        assert f"place: {server} (" in printed
        printed = printed.replace(server, made_up)
    assert _words(printed) == _shown("docs/policies/prove.md", EXAMPLE)
