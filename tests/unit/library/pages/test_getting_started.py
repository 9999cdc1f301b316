"""docs/getting-started.md: the fields to write, the blocks that check them, the order of stacks, a host's objects."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.load import read_document_file

from sandbox.bootstrap import CHECKOUT
from tests.support.split import split_configs

PAGE = (CHECKOUT / "docs/getting-started.md").read_text()
LEFT, CHECKED, _UP = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
WRITTEN = {
    file: set(re.findall(r"`(\w+)`", row)) for file, row in re.findall(r"\| `(stacks/\S+)` \|[^|]*\|(.*)\|", PAGE)
}
IN_CLOUD = re.search(r"`(sed -i .*)`", PAGE)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(CHECKOUT / "stacks", tmp_path / "stacks")
    return tmp_path


def run(block: str, directory: Path) -> tuple[int, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shell = ["bash", "-c", block]
    done = subprocess.run(shell, cwd=directory, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def written(checkout: Path) -> None:
    """As a reader would: other addresses and files."""
    for file in WRITTEN:
        path = checkout / file
        text = path.read_text().replace("example.com", "shop.test").replace("203.0.113.0", "198.51.100.0")
        path.write_text(re.sub(r"(CONTROL|DATA)-PLANE", "mine", text))


def leaves(value: Any) -> set[str]:
    """Names of the fields that hold a value, of all depths."""
    if isinstance(value, list):
        return set().union(*map(leaves, value))
    found = {key for key, part in value.items() if not isinstance(part, dict) or not part}
    return found.union(*(leaves(part) for part in value.values() if isinstance(part, dict | list) and _nested(part)))


def _nested(part: Any) -> bool:
    return isinstance(part, dict) or any(isinstance(one, dict) for one in part)


def test_what_is_to_be_written_is_all_that_is_found(checkout: Path) -> None:
    code, text = run(LEFT, checkout)
    assert code == 0, text
    found: dict[str, set[str]] = {}
    for file, field in re.findall(r"^(stacks/[^:]+):\d+:[\s-]*(\w+): ", text, re.MULTILINE):
        found.setdefault(file, set()).add(field)
    assert len(re.findall(r"^stacks/", text, re.MULTILINE)) == sum(map(len, found.values())), text
    assert found.keys() == {file for file in WRITTEN if WRITTEN[file]}
    for file, fields in found.items():
        # The two that no sign tells of are in the table, and in the file.
        assert WRITTEN[file] - {"context", "identity"} == fields
        assert WRITTEN[file] <= leaves(yaml.safe_load((checkout / file).read_text())), file
    written(checkout)
    assert run(LEFT, checkout) == (1, "")


def test_what_is_written_can_be_used(checkout: Path) -> None:
    """With the organisation's name too, as on Pulumi Cloud."""
    written(checkout)
    assert IN_CLOUD
    assert run(IN_CLOUD[1], checkout) == (0, "")
    assert "organization/" not in "".join(file.read_text() for file in (checkout / "stacks").glob("Pulumi.*.yaml"))
    code, text = run(CHECKED, checkout)
    assert (code, text.count(": stack ")) == (0, 6), text


def test_the_name_is_where_the_page_says() -> None:
    def read(name: str) -> Any:
        return yaml.safe_load((CHECKOUT / "stacks" / name).read_text())

    root = read("Pulumi.root.yaml")["config"]["hosted-mesh:root"]
    names = {read("example.mesh.yaml")["name"], read("example.data-plane.yaml")["mesh"], *root["stacks"]}
    assert names == {"demo"}


def test_the_order_is_the_one_that_the_tests_run() -> None:
    order = re.findall(r"^\| `up ([\w-]+)`", PAGE, re.MULTILINE)
    mesh = yaml.safe_load((CHECKOUT / "stacks/Pulumi.all-in-one.yaml").read_text())["config"]["hosted-mesh:mesh"]
    assert [name for name in order if name != "cluster"] == list(split_configs(mesh))
    assert order.index("cluster") < order.index("access")


def test_the_objects_of_the_host_find_the_documents_gateway(checkout: Path) -> None:
    """In the shape of tests/live/mesh/test_gateways.py, which sends a request through such objects."""
    addition, objects = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    document = checkout / "stacks/example.data-plane.yaml"
    document.write_text(f"{document.read_text()}{addition}")
    made = read_document_file(DataPlane, document)
    (own,) = made.gateways
    gateway, route = yaml.safe_load_all(objects)
    namespace = f"mesh-{made.mesh}"
    assert (gateway["metadata"]["namespace"], gateway["spec"]["selector"]) == (namespace, {"istio": own.name})
    assert route["spec"]["gateways"] == [f"{namespace}/{gateway['metadata']['name']}"]
    assert route["spec"]["hosts"] == gateway["spec"]["servers"][0]["hosts"]
    service, _, inside = route["spec"]["http"][0]["route"][0]["destination"]["host"].partition(".")
    assert inside == f"{route['metadata']['namespace']}.svc.cluster.local"
    assert f"kubectl run {service} -n {route['metadata']['namespace']} " in PAGE
    assert f"kubectl get service {own.name} -n {namespace} " in PAGE
