"""The library's distribution, as an index would show it."""

from __future__ import annotations

import tomllib
from importlib.metadata import metadata
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
VERSION = (ROOT / "VERSION").read_text().strip()
DISTRIBUTION = "pulumi-hosted-mesh"


OTHERS = ["hosted-mesh-plan", "hosted-mesh-policies", "hosted-mesh-analysis", "hosted-mesh-controller"]


@pytest.mark.parametrize("name", [DISTRIBUTION, *OTHERS])
def test_the_version_is_the_one_of_the_repository(name: str) -> None:
    assert metadata(name)["Version"] == VERSION


@pytest.mark.parametrize("folder", ["components", "plan", "policies", "analysis", "controller"])
def test_every_distribution_reads_the_one_version(folder: str) -> None:
    """Through a link of its own: setuptools reads no file above the folder that it builds."""
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"file": "VERSION"}
    assert (ROOT / folder / "VERSION").resolve() == ROOT / "VERSION"
    assert (ROOT / folder / "LICENSE").resolve() == ROOT / "LICENSE"
    assert project["project"]["license-files"] == ["LICENSE"]
    assert project["project"]["authors"] == [{"name": "hosted-mesh maintainers"}]
    siblings = [one for one in project["project"]["dependencies"] if one.startswith("hosted-mesh-")]
    assert all(one.endswith(f"=={VERSION}") for one in siblings)


@pytest.mark.parametrize(
    "file", ["policies/PulumiPolicy.yaml", "policies/hosted_mesh_policies/policy_pack/PulumiPolicy.yaml"]
)
def test_the_policy_packs_file_states_the_same_version(file: str) -> None:
    assert yaml.safe_load((ROOT / file).read_text())["version"] == VERSION


def test_it_has_a_licence_authors_addresses_and_a_text() -> None:
    found = metadata(DISTRIBUTION)
    assert found["License-Expression"] == "Apache-2.0"
    assert found["License-File"] == "LICENSE"
    assert found["Author"] == "hosted-mesh maintainers"
    assert len(found.get_all("Project-URL", [])) == 2
    assert "Typing :: Typed" in found.get_all("Classifier", [])
    assert not any(one.startswith("License ::") for one in found.get_all("Classifier", []))
    assert found["Description-Content-Type"] == "text/markdown"
    assert "import pulumi_hosted_mesh as hosted_mesh" in (found.get_payload() or found["Description"])
