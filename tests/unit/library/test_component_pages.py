"""Each component has a page in docs/components, with an example, and with its arguments and outputs as they are."""

from __future__ import annotations

import ast
import inspect
import re
import shutil
from base64 import b64encode
from pathlib import Path
from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh
import pytest
import yaml
from pulumi_hosted_mesh.clusters.kubeconfig import for_account

from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.program import run

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "docs" / "components"
BLOCK = re.compile(r"^ *```python\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
PAGES = {
    "DataPlaneAccess": "access",
    "DataPlaneCrds": "data-plane",
    "DnsEdge": "dns",
    "ExternalControlPlane": "control-plane",
    "ExternalDNSBridge": "dns",
    "HostedMesh": "hosted-mesh",
    "MeshDeployment": "deployment",
    "MeshFederation": "federation",
    "MeshRoot": "trust",
    "MeshTrust": "trust",
    "RemoteDataPlane": "data-plane",
}
CONTEXTS = ("control-plane", "data-plane", "data-plane-2", "north", "west")
HANDED_OVER = for_account("shop", "https://api.data-plane.example.com:6443", CERTIFICATE, "made-up")
ENDPOINT = {
    "mesh": "shop",
    "host": "istiod.shop.example.com",
    "trustDomain": "shop.mesh.local",
    "clusterId": "shop",
    "istioVersion": "1.31.1",
    "rootCertificate": CERTIFICATE,
}
# What a document has is on the page of fields.
DOCUMENTS = {"HostedMesh": hosted_mesh.MeshArgs, "MeshDeployment": hosted_mesh.DeploymentArgs}


def text(page: str) -> str:
    return (FOLDER / f"{page}.md").read_text(encoding="utf-8")


def table(component: str, of: str) -> dict[str, str]:
    """The rows of a page's table of arguments, or of outputs: name and what stands in the column after it."""
    _, _, rest = text(PAGES[component]).partition(f"| {of} of `{component}` |")
    rows = [line.split("|")[1:3] for line in rest.partition("\n\n")[0].splitlines()[2:]]
    return {name.strip().strip("`"): second.strip() for name, second in rows}


def arguments(component: str) -> Any:
    return getattr(hosted_mesh, f"{component}Args")


@pytest.mark.parametrize("component", PAGES)
def test_a_page_lists_the_arguments(component: str) -> None:
    args = arguments(component)
    document = DOCUMENTS.get(component)
    own = set(args.__annotations__) - set(document.__annotations__ if document else ())
    listed = table(component, "argument")
    assert set(listed) == own
    assert {name for name, default in listed.items() if default == "required"} == own & args.__required_keys__


@pytest.mark.parametrize("component", PAGES)
def test_a_page_lists_the_outputs(component: str) -> None:
    assert set(table(component, "output")) == set(inspect.get_annotations(getattr(hosted_mesh, component)))


@pytest.mark.parametrize("component", PAGES)
def test_a_page_has_an_example_and_limits(component: str) -> None:
    page = text(PAGES[component])
    calls = [node for block in BLOCK.findall(page) for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Call)]
    assert f"hosted_mesh.{component}" in {ast.unparse(call.func) for call in calls}
    assert "\n## Limits\n" in page


def kubeconfig() -> str:
    """A cluster for each context that the pages name."""
    clusters = [
        {
            "name": name,
            "cluster": {
                "server": f"https://{name}.example.com:6443",
                "certificate-authority-data": b64encode(f"{CERTIFICATE}{name}".encode()).decode(),
            },
        }
        for name in CONTEXTS
    ]
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": CONTEXTS[0],
            "clusters": clusters,
            "users": [{"name": "me", "user": {"token": "made-up"}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": "me"}} for name in CONTEXTS],
        }
    )


@pytest.mark.usefixtures("without_transforms")
@pytest.mark.parametrize("page", sorted(set(PAGES.values())))
def test_a_pages_first_example_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an engine: the arguments are taken, and the components' objects are registered."""
    (tmp_path / "kubeconfig").write_text(kubeconfig())
    (tmp_path / "endpoint.yaml").write_text(yaml.safe_dump(ENDPOINT))
    for document in ("two_clusters/mesh.yaml", "many_clusters/deployment.yaml"):
        shutil.copy(ROOT / "examples" / document, tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    monkeypatch.chdir(tmp_path)
    example = compile(BLOCK.findall(text(page))[0], f"{page}.md", "exec")

    def program() -> None:
        pulumi.runtime.set_all_config({"project:kubeconfig": HANDED_OVER, "project:tsig": "made up"})
        exec(example, {"__name__": "__main__"})

    made = {one.type.rpartition(":")[2] for one in run(program, preview=True)}
    assert {component for component, of in PAGES.items() if of == page} <= made


@pytest.mark.parametrize("page", sorted(path.stem for path in FOLDER.glob("*.md")))
def test_examples_use_public_names(page: str) -> None:
    blocks = [ast.parse(block) for block in BLOCK.findall(text(page)) if not block.startswith('"')]
    names = {
        node.attr
        for block in blocks
        for node in ast.walk(block)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "hosted_mesh"
    }
    assert names <= set(hosted_mesh.__all__)
