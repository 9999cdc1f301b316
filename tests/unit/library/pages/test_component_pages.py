"""Each component has a page in docs/components, with its arguments and outputs as they are; all pages' examples run."""

from __future__ import annotations

import ast
import inspect
import re
import shutil
import sys
from base64 import b64encode
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh
import pulumi_kubernetes as kubernetes
import pytest
import typer
import yaml
from pulumi_hosted_mesh import yaml_text
from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.cli.document_kinds import DocumentKind
from pulumi_hosted_mesh.clusters.cluster import Cluster
from pulumi_hosted_mesh.clusters.kubeconfig import for_account
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.observability import Observability

from tests.support.authorities import Authority, pem
from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.program import run

ROOT = Path(__file__).parents[4]
FOLDER = ROOT / "docs" / "components"
BLOCK = re.compile(r"^ *```python\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
YAML = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = {
    "ApplicationDeployment": "application",
    "TrafficIntents": "intents",
    "DataPlaneAccess": "access",
    "DataPlaneCrds": "data-plane",
    "DnsEdge": "dns",
    "ExternalControlPlane": "control-plane",
    "ExternalDNSBridge": "dns",
    "HostedMesh": "hosted-mesh",
    "HostedOperators": "operators",
    "MeshDeployment": "deployment",
    "MeshFederation": "federation",
    "MeshObservability": "observability",
    "MeshRoot": "trust",
    "MeshTrust": "trust",
    "RemoteDataPlane": "data-plane",
    "SharedGateway": "gateway",
}
CONTEXTS = (
    "control-plane",
    "data-plane",
    "data-plane-2",
    "data-plane-3",
    "north",
    "west",
    "prod",
    "gke_project_region_name",
)
HANDED_OVER = for_account("shop", "https://api.data-plane.example.com:6443", CERTIFICATE, "made-up")
EXAMPLES = [
    page
    for folder in ("clusters", "components")
    for page in sorted((ROOT / "docs" / folder).glob("*.md"))
    if BLOCK.search(page.read_text())
]
ENDPOINT = {
    "mesh": "shop",
    "host": "istiod.shop.example.com",
    "trustDomain": "shop.mesh.local",
    "clusterId": "shop",
    "istioVersion": "1.31.1",
    "rootCertificate": CERTIFICATE,
}
# What a document has is on the page of fields.
DOCUMENTS = {
    "ApplicationDeployment": hosted_mesh.ApplicationArgs,
    "HostedMesh": hosted_mesh.MeshArgs,
    "MeshDeployment": hosted_mesh.DeploymentArgs,
}


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


def test_the_page_of_documents_lists_every_kind_and_command() -> None:
    page = text("mesh-document")
    listed = set(re.findall(r"schema/([\w-]+)\.schema\.json", page))
    assert listed == set(DocumentKind)
    rows = page.partition("| `hosted-mesh` | purpose |")[2].partition("\n\n")[0].splitlines()[2:]
    named = {span.split()[0] for row in rows for span in re.findall(r"`([^`]+)`", row.split("|")[1])}
    assert named == set(typer.main.get_command(app).commands)


@pytest.mark.parametrize(
    "block", [block for block in YAML.findall(text("observability")) if block.startswith("observability:")]
)
def test_the_documents_of_observability_can_be_used(block: str) -> None:
    """`collector: {}  # as above` stands for the collector of the first example; a stack's file has one too."""
    document = yaml_text.load(block)["observability"]
    if document.get("collector") == {}:
        stack = yaml_text.load((ROOT / "stacks" / "Pulumi.observability.yaml").read_text())
        document["collector"] = stack["config"]["hosted-mesh:observability"]["observability"]["collector"]
    read_document(Observability, document)


def kubeconfig(*names: str) -> str:
    """A cluster for each context; the first is the current one."""
    clusters = [
        {
            "name": name,
            "cluster": {
                "server": f"https://api.{name}.example.com",
                "certificate-authority-data": b64encode(pem(Authority(name).certificate)).decode(),
            },
        }
        for name in names
    ]
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": names[0],
            "clusters": clusters,
            "users": [{"name": "me", "user": {"token": "made-up"}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": "me"}} for name in names],
        }
    )


class Reference:
    """Another stack, by what the pages read of it."""

    def __init__(self, name: str) -> None:
        self.outputs = {
            "addresses": {"istiod.mesh.example.com": "192.0.2.1"},
            "registry": name,
            "certificate": CERTIFICATE,
            "certificates": {"berlin": CERTIFICATE, "tokyo": CERTIFICATE},
            "private_key": "made up",
        }

    def require_output(self, name: str) -> pulumi.Output[Any]:
        return pulumi.Output.from_input(self.outputs[name])

    get_output = require_output


def cloud_cluster(name: str, **_: object) -> SimpleNamespace:
    """A cluster as the clouds' SDKs give it, by what the pages read of it."""
    facts = {
        "name": name,
        "kubeconfig_json": kubeconfig(name),
        "endpoint": "192.0.2.1",
        "master_auth": {"cluster_ca_certificate": b64encode(CERTIFICATE.encode()).decode()},
    }
    return SimpleNamespace(**{fact: pulumi.Output.from_input(value) for fact, value in facts.items()})


def aks_credentials(**_: object) -> SimpleNamespace:
    found = SimpleNamespace(value=b64encode(kubeconfig("prod").encode()).decode())
    return SimpleNamespace(kubeconfigs=pulumi.Output.from_input([found]))


CLOUDS = {
    "pulumi_eks": SimpleNamespace(Cluster=cloud_cluster),
    "pulumi_gcp": SimpleNamespace(container=SimpleNamespace(Cluster=cloud_cluster)),
    "pulumi_azure_native": SimpleNamespace(
        resources=SimpleNamespace(ResourceGroup=cloud_cluster),
        containerservice=SimpleNamespace(
            ManagedCluster=cloud_cluster, list_managed_cluster_user_credentials_output=aks_credentials
        ),
    ),
}


@pytest.mark.usefixtures("without_transforms")
@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.stem)
def test_a_pages_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an engine, one after the other, as one program: the arguments are taken, and the objects are registered.

    The clouds' SDKs are stand-ins; the kubeconfigs that the pages make of them are read as any.
    """
    everything = kubeconfig(*CONTEXTS)
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text(everything)
    (tmp_path / "endpoint.yaml").write_text(yaml.safe_dump(ENDPOINT))
    files = ("two_clusters/mesh.yaml", "many_clusters/deployment.yaml")
    for file in (*files, *(f"application/{name}.yaml" for name in ("application", "page", "reviews"))):
        shutil.copy(ROOT / "examples" / file, tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / ".kube" / "config"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pulumi, "StackReference", Reference)
    for name, module in CLOUDS.items():
        monkeypatch.setitem(sys.modules, name, module)
    examples = [compile(block, page.name, "exec") for block in BLOCK.findall(page.read_text())]

    def program() -> None:
        pulumi.runtime.set_all_config({"project:kubeconfig": HANDED_OVER, "project:tsig": "made up"})
        names: dict[str, Any] = {"__name__": "__main__"}
        for example in examples:
            exec(example, names)
        parent = pulumi.ComponentResource("test:pages:Parent", "parent")
        for name, value in names.items():
            if isinstance(value, Cluster):  # an object in each, so that its kubeconfig is read
                kubernetes.core.v1.ConfigMap(name, opts=value.options(parent))

    made = {one.type.rpartition(":")[2] for one in run(program, preview=True)}
    assert {component for component, of in PAGES.items() if of == page.stem} <= made


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.stem)
def test_examples_use_public_names(page: Path) -> None:
    blocks = [ast.parse(block) for block in BLOCK.findall(page.read_text())]
    names = {
        node.attr
        for block in blocks
        for node in ast.walk(block)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "hosted_mesh"
    }
    assert names <= set(hosted_mesh.__all__)
