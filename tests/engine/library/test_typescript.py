"""The components in a TypeScript program on the real engine, and the same stack from Python."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from tests.engine.library.engine import Api, Stack
from tests.engine.library.package import TypeScript, configured, describe

EXAMPLE = CHECKOUT / "examples/typescript"
PROGRAMS = Path(__file__).parent / "languages"
# One deployment's tests share the SDK, which takes seconds to make.
pytestmark = pytest.mark.xdist_group("typescript")


@pytest.fixture(scope="module")
def program(
    tmp_path_factory: pytest.TempPathFactory, engine_sandbox: Sandbox, tools: Tools, progress: Progress
) -> TypeScript:
    """The example, which makes a mesh by HostedMesh, and beside it a mesh by the components for each side."""
    made = TypeScript(tmp_path_factory.mktemp("typescript"), EXAMPLE, engine_sandbox, tools, progress)
    shutil.copy(PROGRAMS / "books.ts", made.program)
    index = made.program / "index.ts"
    index.write_text(index.read_text() + 'export const books = config.get("alone") ? undefined : require("./books");\n')
    return made


def configuration(sandbox: Sandbox, tools: Tools) -> dict[str, Any]:
    return {
        "kubeconfig": sandbox.kubeconfig.read_text(),
        "revision": {"charts": {"path": str(tools.charts)}, "istiod": {"waitUntilReady": False}},
        "membership": {"crds": {"install": False}},
        "trust": {"root": {"protect": False}},
    }


def in_python(stack: Stack, directory: Path, program: TypeScript) -> Stack:
    """The same stack, run by the Python program."""
    source = directory / "python"
    shutil.copytree(PROGRAMS, source)
    describe(source, "python", program.package)
    return replace(stack, project=replace(stack.project, program=source))


@pytest.mark.usefixtures("clean")
def test_typescript_and_python_make_the_same(
    tmp_path: Path, program: TypeScript, engine_sandbox: Sandbox, tools: Tools, provider: Api, user: Api
) -> None:
    stack = program.stack("shop", configuration(engine_sandbox, tools))
    foreseen = Counter(step["op"] for step in stack.preview())
    assert stack.up().summary() == {"created": foreseen["create"]}

    outputs = stack.outputs()
    assert outputs["namespace"] == "mesh-shop"
    assert outputs["injectionLabels"] == {"istio-injection": "enabled"}
    assert outputs["rootCertificate"].startswith("-----BEGIN CERTIFICATE-----")
    assert outputs["endpoints"]["default/default"]["host"] == "istiod.shop.example.com"
    assert outputs["webhooks"] == ["istio-sidecar-injector-mesh-shop", "istio-validator-mesh-shop"]
    # What the program says of its control plane, to be plain, is what the control plane says itself.
    told = outputs["books"]["told"]["default/default"]
    assert outputs["books"]["endpoint"].items() <= told.items()
    for mesh in ("shop", "books"):
        assert provider.get("deployment", "istiod", "-n", f"mesh-{mesh}")["spec"]["replicas"] == 2
        (webhook, *_) = user.get("mutatingwebhookconfiguration", f"istio-sidecar-injector-mesh-{mesh}")["webhooks"]
        assert webhook["clientConfig"]["url"].startswith(f"https://istiod.{mesh}.example.com:15017/inject")
    # A kubeconfig that is a secret of the program's is one wherever the engine keeps it.
    assert not [one["urn"] for one in stack.resources() if "client-key-data" in str(one)]

    assert stack.up().summary() == {"unchanged": foreseen["create"]}
    from_python = in_python(stack, tmp_path, program).succeed("preview")
    assert from_python.summary() == {"unchanged": foreseen["create"]}, from_python.text
    stack.destroy()


def documents(tools: Tools) -> dict[str, Any]:
    """The examples' documents, for clusters without nodes, and an end that leaves nothing."""

    def example(path: str) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load((CHECKOUT / "examples" / path).read_text())
        return found

    fleet = example("many_clusters/deployment.yaml")
    template = fleet["template"]
    template["revisions"][0] |= {"charts": {"path": str(tools.charts)}, "istiod": {"waitUntilReady": False}}
    template["trust"] = {"root": {"protect": False}}
    # The intents' own namespace is there already.
    template["dataPlane"] = {"crds": {"install": False}, "namespaces": ["shop"]}
    return {
        "fleet": {"name": fleet["name"], "template": template},
        "federation": example("federation/federation.yaml"),
        "intents": example("intents/intents.yaml"),
        "inventory": example("intents/inventory.yaml"),
        "bridge": {**example("dns_bridge/dns.yaml"), "waitUntilReady": False},
        "tsigSecret": "dHNpZy1vZi10aGUtdGVzdA==",
    }


@pytest.mark.nightly("others")
@pytest.mark.usefixtures("clean")
def test_the_components_for_several_meshes_and_for_names(
    program: TypeScript, engine_sandbox: Sandbox, tools: Tools, provider: Api, user: Api
) -> None:
    """MeshDeployment, MeshFederation, TrafficIntents, DnsEdge and ExternalDNSBridge, by the examples' documents."""
    others = program.beside(PROGRAMS / "others")
    config = {"kubeconfig": engine_sandbox.kubeconfig.read_text(), **documents(tools)}
    stack = configured(others, "others", config)
    with user.with_istio(tools, "mesh-east", "mesh-shop", "bookinfo"):
        done = stack.up()
        assert done.summary().keys() == {"created"}, done.text
        outputs = stack.outputs()
        assert outputs["meshes"] == {"berlin": "fleet-berlin"}
        assert outputs["zones"] == {"data-plane": ["data-plane.shop.example.com"]}
        assert outputs["imports"][0]["service"] == "ratings"
        provider.get("deployment", "istiod", "-n", "mesh-fleet-berlin")
        provider.get("deployment", "dns-reader-data-plane", "-n", "hosted-mesh-dns")
        assert user.get("serviceentries", "-n", "mesh-east")["items"]
        user.get("authorizationpolicy", "bookinfo-page-reviews", "-n", "bookinfo")
        assert config["tsigSecret"] not in str(stack.resources())
        assert stack.up().summary().keys() == {"unchanged"}
        stack.destroy()


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a field": ({"revision": {"host": "192.0.2.1"}}, "revisions[0].host: is an IP address"),
    # Known only when the component has been made.
    "a secret": ({"kubeconfig": "users: [{user: {token: s3cr3t-t0ken}}]"}, "kubeconfig: is not a kubeconfig"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_one_message(case: str, program: TypeScript, engine_sandbox: Sandbox, tools: Tools) -> None:
    spoilt, words = BAD[case]
    config = configuration(engine_sandbox, tools) | spoilt | {"alone": True}
    done = program.stack("bad", config).run("preview")
    assert done.code != 0
    said = done.text.partition("\nDiagnostics:\n")[2]
    (message,) = [line for line in said.splitlines() if "cannot be used" in line]
    assert "HostedMesh resource 'shop' has a problem: " in message
    assert words in message
    # What the component's own process would add.
    for word in ("Unexpected <class", "Traceback", '  File "', "s3cr3t"):
        assert word not in done.text


def test_the_compiler_knows_the_fields(program: TypeScript) -> None:
    """It takes the programs of these tests, and names a field that there is not."""
    wrong = program.program / "wrong.ts"
    wrong.write_text(
        'import * as hostedMesh from "@pulumi/hosted-mesh";\n'
        'new hostedMesh.HostedMesh("shop", { name: "shop", controlPlane: {}, memberships: [{}], '
        'revisions: [{ host: "istiod.shop.example.com", exposure: {}, hots: "x" }] });\n'
    )
    program.beside(PROGRAMS / "others")
    try:
        said = program.check_types().stdout
    finally:
        wrong.unlink()
    assert program.check_types("others").stdout == ""
    mistakes = [line for line in said.splitlines() if line.strip()]
    assert len(mistakes) == 1, said
    (mistake,) = mistakes
    assert "/wrong.ts(2," in f"/{mistake}"
    assert "'hots' does not exist in type 'RevisionArgsArgs'" in mistake
