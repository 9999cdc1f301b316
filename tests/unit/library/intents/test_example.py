"""The commands on the example: their output is the page's; and the component, without an engine."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pulumi_hosted_mesh as hosted_mesh
import pytest
import yaml
from pulumi_hosted_mesh.cli.command import app
from typer.testing import CliRunner

from tests.unit.library.documents import CERTIFICATE
from tests.unit.library.intents.documents import INTRA, document, service
from tests.unit.library.program import run

ROOT = Path(__file__).parents[4]
EXAMPLE = ROOT / "examples/intents"
FILES = (str(EXAMPLE / "intents.yaml"), str(EXAMPLE / "inventory.yaml"))
PAGE = (EXAMPLE / "README.md").read_text()
COMPONENT = (ROOT / "docs/components/intents.md").read_text()


def command(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["intents", *arguments])
    assert done.exit_code == code, done.output
    return done.stdout


def test_the_pages_matrix_is_the_commands() -> None:
    printed = command("matrix", *FILES)
    assert f"```text\n{printed}```" in PAGE
    assert f"$ hosted-mesh intents matrix intents.yaml inventory.yaml\n{printed}```" in COMPONENT


@pytest.mark.parametrize(("page", "number"), [(PAGE, 4), (COMPONENT, 3)], ids=["example", "component"])
def test_the_pages_explanations_are_the_commands(page: str, number: int) -> None:
    calls = re.findall(r'\$ hosted-mesh intents explain "(.*)" intents.yaml', page)
    assert len(calls) == number
    for call in calls:
        text = f'$ hosted-mesh intents explain "{call}" intents.yaml inventory.yaml\n'
        shown = page.partition(text)[2]
        refused = "not allowed" in shown.splitlines()[0]
        assert shown.startswith(command("explain", call, *FILES, code=3 if refused else 0).rstrip())


def test_the_pages_diff_is_the_commands(tmp_path: Path) -> None:
    changed = yaml.safe_load((EXAMPLE / "intents.yaml").read_text())
    for group in changed["groups"]:
        group["intents"] = [one for one in group["intents"] if one["name"] != "ratings-database"]
        for one in group["intents"]:
            if one["name"] == "page-reviews":
                one["access"][0]["paths"].append("/health")
    (tmp_path / "changed.yaml").write_text(yaml.safe_dump(changed))
    printed = command("diff", FILES[0], str(tmp_path / "changed.yaml"), FILES[1], code=3)
    assert f"changed.yaml inventory.yaml\n{printed}```" in PAGE
    assert command("diff", FILES[0], *FILES) == "no call opens or closes\n"
    changes = json.loads(command("diff", FILES[0], str(tmp_path / "changed.yaml"), FILES[1], "-o", "json", code=3))
    assert [(one["opened"], one["closed"]) for one in changes] == [(["GET /health"], []), ([], ["all"])]


def test_compile_prints_all_or_writes_files(tmp_path: Path) -> None:
    printed = [one for one in yaml.safe_load_all(command("compile", *FILES)) if one]
    assert {one["kind"] for one in printed} >= {"AuthorizationPolicy", "VirtualService", "ServiceEntry", "Sidecar"}
    command("compile", *FILES, "--output-dir", str(tmp_path))
    assert {one.name for one in tmp_path.iterdir()} == {"east.yaml", "west.yaml"}
    assert command("compile", *FILES, "--cluster", "west").count("# cluster west") < len(printed)
    command("compile", *FILES, "--cluster", "nowhere", code=1)


class Elements(HTMLParser):
    """Names of a page's elements, and addresses that it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.names.append(tag)
        self.loads += [value for key, value in attrs if key in ("src", "href")]


def test_the_page_of_the_matrix_is_self_contained() -> None:
    text = command("matrix", *FILES, "-o", "html")
    found = Elements()
    found.feed(text)
    assert found.loads == []
    assert "script" not in found.names
    assert found.names.count("path") == 6 + 2, "an arrow for each open pair, and two heads"
    cells = json.loads(command("matrix", *FILES, "-o", "json"))["cells"]
    assert sum(1 for one in cells if one["calls"]) == 6


def kubeconfig(*names: str) -> str:
    authority = b64encode(CERTIFICATE.encode()).decode()
    facts = {"certificate-authority-data": authority}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": one, "cluster": {"server": f"https://api.{one}.example.com", **facts}} for one in names
            ],
            "users": [{"name": "me", "user": {"token": "made-up"}}],
            "contexts": [{"name": one, "context": {"cluster": one, "user": "me"}} for one in names],
        }
    )


@pytest.mark.usefixtures("without_transforms")
def test_the_component_makes_the_objects_of_its_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").write_text(kubeconfig("east"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    places = {
        "clusters": [{"name": "east", "mesh": "shop"}],
        "services": [service("page", "east"), service("reviews", "east")],
    }
    arguments: Any = {
        "intents": hosted_mesh.read_document(
            hosted_mesh.Intents, document({**INTRA, "egressGateway": None})
        ).arguments(),
        "inventory": hosted_mesh.read_document(hosted_mesh.Inventory, places).arguments(),
        "target": "east",
        "cluster": hosted_mesh.DataPlaneCluster(kubeconfig_file="$KUBECONFIG", context="east"),
    }
    made = run(lambda: hosted_mesh.TrafficIntents("books", arguments), preview=True)
    names = {one.inputs["metadata"]["name"] for one in made if one.type.endswith(":AuthorizationPolicy")}
    assert names == {"shop-deny-all", "shop-page-reviews"}
    wrong = {**arguments, "target": "nowhere"}
    with pytest.raises(hosted_mesh.InvalidInputError, match="target: is nowhere, which the inventory does not have"):
        run(lambda: hosted_mesh.TrafficIntents("books", wrong), preview=True)
