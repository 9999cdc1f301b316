"""`hosted-mesh prove --preview` with the real engine, its language hosts and plug-ins, as a user calls it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox import toolchain
from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from tests.support.environment import quick_cli
from tests.support.waiting import eventually

PYTHON = """
import base64, json, os
import pulumi

config = pulumi.Config()

def cluster(name, text):
    inputs = {"kubeconfig": text, "clusterIdentifier": name}
    return pulumi.ProviderResource("kubernetes", name, inputs)

def config_map(name, data, where, namespace="default"):
    metadata = {"name": name, "namespace": namespace} if name else {"namespace": namespace}
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    options = pulumi.ResourceOptions(provider=where)
    return pulumi.CustomResource("kubernetes:core/v1:ConfigMap", name or "unnamed", inputs, options)

control_plane = cluster("control-plane-cluster", config.require_secret("controlPlane"))
data_plane = cluster("data-plane-cluster", config.require_secret("dataPlane"))
token = config.require_secret("token")
config_map("kept", {"token": token}, control_plane)
"""
CLEAN = """
config_map("app", {"greeting": config.require("greeting")}, data_plane)
config_map("", {"greeting": config.require("greeting")}, data_plane)
"""
LEAK = """
disguised = token.apply(lambda text: base64.b85encode(text.encode()).decode())
config_map("app", {"x": disguised, "greeting": config.require("greeting")}, data_plane)
"""
GENERATED = """
options = pulumi.ResourceOptions(additional_secret_outputs=["result"])
class Password(pulumi.CustomResource):
    result: pulumi.Output[str]
    def __init__(self):
        super().__init__("random:index/randomPassword:RandomPassword", "made", {"length": 20, "result": None}, options)
config_map("app", {"x": Password().result, "greeting": "hello"}, data_plane)
"""
KEYS = """
import pulumi_random, pulumi_tls

password = pulumi_random.RandomPassword("password", length=24)
key = pulumi_tls.PrivateKey("key", algorithm="ECDSA", ecdsa_curve="P256")
root = pulumi_tls.SelfSignedCert("root", private_key_pem=key.private_key_pem, allowed_uses=["cert_signing"],
    subject={"common_name": "root"}, is_ca_certificate=True, validity_period_hours=24000)
config_map("made", {"password": password.result, "key": key.private_key_pem}, control_plane)
config_map("shown", {"key": key.public_key_pem, "certificate": root.cert_pem, "token": "none"}, data_plane)
"""
LEAKING_KEYS = """
import base64
packed = password.result.apply(lambda text: base64.b85encode(text.encode()).decode())
backwards = lambda text: text[::-1]
data = {"x": packed, "y": key.private_key_pem.apply(backwards), "z": token.apply(backwards)}
config_map("more", data, data_plane)
"""
REFERRING = """
trust = pulumi.StackReference("organization/mesh/trust")
config_map("app", {"x": trust.require_output("password"), "host": trust.require_output("host")}, data_plane)
"""
SLOW = """
import time
open("PLACE", "w").close()
time.sleep(120)
"""
NODE = """
const pulumi = require("@pulumi/pulumi");
const config = new pulumi.Config();
const cluster = (name, kubeconfig) => new (class extends pulumi.ProviderResource {
    constructor() { super("kubernetes", name, { kubeconfig, clusterIdentifier: name }); }
})();
const configMap = (name, data, provider) => new pulumi.CustomResource("kubernetes:core/v1:ConfigMap", name,
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" }, data }, { provider });
const controlPlane = cluster("control-plane-cluster", config.requireSecret("controlPlane"));
const dataPlane = cluster("data-plane-cluster", config.requireSecret("dataPlane"));
const token = config.requireSecret("token");
configMap("kept", { token }, controlPlane);
const x = token.apply(text => text.split("").reverse().join(""));
configMap("app", { x, y: config.require("greeting") }, dataPlane);
"""
TOKEN = "9dm2k7qz0xv4tn81rc6wpe35"


@pytest.fixture
def environment(tools: Tools, engine_sandbox: Sandbox) -> Mapping[str, str]:
    cli = quick_cli(tools, {})
    path = os.pathsep.join([str(CHECKOUT / name) for name in ("components", "plan", "policies", "analysis")])
    return {**cli.environment, "KUBECONFIG": str(engine_sandbox.kubeconfig), "PYTHONPATH": path}


@pytest.fixture
def folder(tmp_path: Path, engine_sandbox: Sandbox) -> Path:
    """A project whose secrets are configuration: two kubeconfigs that open clusters, and a token of nobody's."""
    (tmp_path / "tmp").mkdir()
    made = tmp_path / "program"
    made.mkdir()
    config = {
        "shop:controlPlane": Path(engine_sandbox.control_plane.kubeconfig).read_text(),
        "shop:dataPlane": Path(engine_sandbox.data_plane.kubeconfig).read_text(),
        "shop:token": TOKEN,
        "shop:greeting": "hello",
    }
    (made / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": config}))
    return made


def started(
    folder: Path, environment: Mapping[str, str], runtime: str, program: Mapping[str, str], *options: str
) -> subprocess.Popen[str]:
    (folder / "Pulumi.yaml").write_text(f"name: shop\nruntime: {runtime}\n")
    for name, text in program.items():
        (folder / name).write_text(text)
    secret = [word for key in ("controlPlane", "dataPlane", "token") for word in ("--secret", key)]
    command = [sys.executable, "-m", "hosted_mesh_analysis.prove.command", str(folder), "--preview", "--json"]
    return subprocess.Popen(
        [*command, "--rounds", "1", *secret, *options],
        env={**environment, "TMPDIR": str(folder.parent / "tmp")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def prove(
    folder: Path, environment: Mapping[str, str], runtime: str, program: Mapping[str, str], *options: str
) -> dict[str, Any]:
    """The report and the exit code, `code`. Nothing is left, and the project's folder is as it was."""
    process = started(folder, environment, runtime, program, *options)
    before = contents(folder)
    output, error = process.communicate()
    assert error == ""
    assert TOKEN not in output
    assert left(folder) == []
    assert contents(folder) == before
    return {**json.loads(output), "code": process.returncode}


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def left(folder: Path) -> list[Path]:
    """Private folders that are still there. What else is made for a while is the interpreter's own."""
    return list((folder.parent / "tmp").glob("hosted-mesh-prove-*"))


def leaks(found: Mapping[str, Any]) -> list[tuple[str, str, list[str]]]:
    return [(one["resource"], one["path"], one["secrets"]) for one in found["findings"] if one["kind"] == "leak"]


def test_a_clean_program_is_proven_and_makes_nothing(
    folder: Path, environment: Mapping[str, str], engine_sandbox: Sandbox
) -> None:
    clusters = (engine_sandbox.control_plane, engine_sandbox.data_plane)
    found = prove(folder, environment, "python", {"__main__.py": PYTHON + CLEAN})
    assert (found["code"], found["unsure"], found["problems"], found["findings"]) == (0, [], [], [])
    assert found["sides"] == {clusters[0].server: "control plane", clusters[1].server: "data plane"}
    assert found["values"] > 4
    for cluster in clusters:
        assert not [key for key in cluster.etcd_keys() if key.endswith(("default/app", "default/kept"))]


def test_a_disguised_secret_is_found_and_a_public_value_is_not(folder: Path, environment: Mapping[str, str]) -> None:
    found = prove(folder, environment, "python", {"__main__.py": PYTHON + LEAK})
    assert found["code"] == 1
    assert leaks(found) == [("ConfigMap app", "data.x", ["configuration shop:token"])]
    assert [one["kind"] for one in found["findings"]] == ["leak"]


def test_a_program_in_another_language_whose_plug_in_logs_in(
    folder: Path, environment: Mapping[str, str], progress: Progress
) -> None:
    tools = toolchain.ensure({"node", "pulumi-language-nodejs"}, progress=progress)
    (folder / "node_modules").symlink_to(tools["node"].parents[1] / "node_modules")
    with_node = {**environment, "PATH": f"{tools.bin_dir}{os.pathsep}{environment['PATH']}"}
    program = {"index.js": NODE, "package.json": '{"main": "index.js"}'}
    found = prove(folder, with_node, "nodejs", program, "--keep", "controlPlane", "--keep", "dataPlane")
    assert leaks(found) == [("ConfigMap app", "data.x", ["configuration shop:token"])]
    kept = [text.partition(" ")[0] for text in found["remarks"] if "was kept unchanged" in text]
    assert kept == ["controlPlane", "dataPlane"]


def test_what_only_an_update_knows_is_not_proven(folder: Path, environment: Mapping[str, str]) -> None:
    found = prove(folder, environment, "python", {"__main__.py": PYTHON + GENERATED})
    assert found["code"] == 2
    assert [(one["kind"], one["path"], one["why"]) for one in found["findings"]] == [
        ("undecided", "data.x", "only an update computes it")
    ]
    assert [text.partition(":index")[0] for text in found["unsure"]] == ["random"]


@pytest.fixture
def deployed(folder: Path, environment: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """The environment in which the stack has been updated once: keys are made, and objects that hold them."""
    backend = folder.parent / "backend"
    backend.mkdir()
    own = {**environment, "PULUMI_BACKEND_URL": f"file://{backend}", "PULUMI_CONFIG_PASSPHRASE": "its own"}
    (folder / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    (folder / "__main__.py").write_text(PYTHON + KEYS)
    pulumi(folder, own, "stack", "init", "dev")
    pulumi(folder, own, "config", "set", "--secret", "token", TOKEN)
    pulumi(folder, own, "up", "--yes", "--skip-preview")
    yield own
    pulumi(folder, own, "destroy", "--yes", "--skip-preview")


def pulumi(folder: Path, environment: Mapping[str, str], *words: str) -> str:
    command = ["pulumi", "--non-interactive", *words, "--stack", "dev"][: -2 if "init" in words else None]
    return subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def test_from_a_stacks_state_what_it_has_made_is_made_up_too(folder: Path, deployed: Mapping[str, str]) -> None:
    """Without the state the keys are made at the update alone, and nothing would be decided."""
    before = pulumi(folder, deployed, "stack", "export")
    found = prove(folder, deployed, "python", {"__main__.py": PYTHON + KEYS}, "--state")
    assert (found["code"], found["unsure"], found["problems"]) == (0, [], []), found
    assert [(one["kind"], one["path"]) for one in found["findings"]] == [
        ("public fact", "data.certificate"),
        ("public fact", "data.key"),
    ]
    found = prove(folder, deployed, "python", {"__main__.py": PYTHON + KEYS + LEAKING_KEYS}, "--state")
    assert (found["code"], found["unsure"]) == (1, [])
    assert leaks(found) == [
        ("ConfigMap more", "data.x", ["RandomPassword password"]),
        ("ConfigMap more", "data.y", ["PrivateKey key"]),
        ("ConfigMap more", "data.z", ["configuration shop:token"]),
    ]
    assert pulumi(folder, deployed, "stack", "export") == before


def test_outputs_of_another_stack_are_made_up(folder: Path, environment: Mapping[str, str]) -> None:
    outputs = folder.parent / "outputs.json"
    outputs.write_text(json.dumps({"password": "[secret]", "host": "istiod.example.com"}))
    program = {"__main__.py": PYTHON + REFERRING}
    found = prove(folder, environment, "python", program)
    assert (found["code"], found["findings"]) == (2, [])
    assert "Give the other stack's outputs with --stack-outputs STACK=FILE" in found["problems"][0]
    found = prove(folder, environment, "python", program, "--stack-outputs", f"organization/mesh/trust={outputs}")
    assert leaks(found) == [("ConfigMap app", "data.x", ["output password of stack organization/mesh/trust"])]


def test_an_interrupt_leaves_neither_folder_nor_process(folder: Path, environment: Mapping[str, str]) -> None:
    here = folder.parent / "here"
    process = started(folder, environment, "python", {"__main__.py": PYTHON + SLOW.replace("PLACE", str(here))})
    eventually(here.exists, seconds=120)
    [private] = left(folder)
    assert running(private)
    process.send_signal(signal.SIGINT)
    output, error = process.communicate()
    assert (process.returncode, output, error) == (130, "", "interrupted: nothing is proven\n")
    assert left(folder) == []
    eventually(lambda: not running(private))


def running(private: Path) -> list[str]:
    """Processes that were started for a private folder: the engine's, the program's, the plug-ins'."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(private).encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text())
        except OSError:  # it has ended
            continue
    return [one for one in found if one]  # what nobody has waited for yet has none
