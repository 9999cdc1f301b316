"""Documents of hosted operators that cannot be used: one line each, with the field, the rule and the fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi_hosted_mesh.cli.command import app
from pulumi_hosted_mesh.problems import InvalidInputError
from pulumi_hosted_mesh.spec.load import read_document
from pulumi_hosted_mesh.spec.operators import Operators
from typer.testing import CliRunner

from tests.unit.library.operators.documents import CONTENT, document

ADDRESS = {"name": "elsewhere", "address": "catalog.example.com:50051"}
SUBSCRIPTION = {"name": "etcd", "catalog": "provider", "channel": "stable"}
POLICY = {"apiServerRanges": ["203.0.113.7/32"]}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"name": "x" * 54}, "name: must have at most 53 characters: the namespace is operators-<name>. Choose"),
        ({"version": "v1.36"}, "version: must be a version of Kubernetes without v. Write it like"),
        ({"apiServer": "https://proxy.example.com/north"}, "apiServer: has a path, but packageserver takes"),
        ({"catalogs": [{"name": "provider"}]}, "catalogs[0]: has no image, content or address. Give one of the three."),
        (
            {"catalogs": [{"name": "provider", "image": "registry.example.com/c:1", "content": CONTENT}]},
            "catalogs[0]: has image and content. Keep one of them.",
        ),
        (
            {"catalogs": [{"name": "provider", "content": "schema: other"}]},
            "catalogs[0]: has a content without an olm.package, so it is no file-based catalog. Write it with",
        ),
        (
            {"catalogs": [{"name": "provider", "content": "{"}]},
            "catalogs[0]: has a content that is not valid YAML or JSON. Write it with",
        ),
        (
            {"catalogs": [{**ADDRESS, "address": "catalog:50051"}]},
            "catalogs[0].address: must be a DNS name with a domain",
        ),
        (
            {"catalogs": [{**ADDRESS, "address": "etcd.operators-south.svc:50051"}]},
            "catalogs[0].address: is a name that only one cluster resolves. Give a DNS name that both",
        ),
        (
            {"catalogs": [ADDRESS], "subscriptions": []},
            "catalogs[0] has an address, and networkPolicy.catalogRanges is empty. Add the address's range",
        ),
        (
            {
                "catalogs": [ADDRESS],
                "subscriptions": [],
                "networkPolicy": {**POLICY, "catalogRanges": ["203.0.113.9/32"], "catalogPorts": [443]},
            },
            "catalogs[0] has an address with a port outside of networkPolicy.catalogPorts. Add the port.",
        ),
        (
            {"subscriptions": [{**SUBSCRIPTION, "channel": "nightly"}]},
            "subscriptions[0] names channel nightly, which package etcd does not have. Use one of fast, stable.",
        ),
        (
            {"subscriptions": [{**SUBSCRIPTION, "package": "kafka"}]},
            "subscriptions[0] names package kafka, which catalog provider does not have. Correct the package",
        ),
        (
            {"subscriptions": [{**SUBSCRIPTION, "catalog": "other"}]},
            "subscriptions[0] names catalog other, which is not in catalogs. Use one of provider.",
        ),
        (
            {"catalogs": [{"name": "provider", "content": CONTENT, "listed": False}]},
            "subscriptions[0] names catalog provider, which is not listed. Set listed: true, or use another catalog.",
        ),
        (
            {"subscriptions": [{**SUBSCRIPTION, "approval": "Sometimes"}]},
            "subscriptions[0].approval: must be one of 'Automatic' or 'Manual'.",
        ),
        (
            {"subscriptions": [SUBSCRIPTION, SUBSCRIPTION]},
            "subscriptions has two called operators/etcd. Give each",
        ),
        (
            {"subscriptions": [{**SUBSCRIPTION, "channel": "a\nb"}]},
            "subscriptions[0].channel: must be at most 253 letters",
        ),
        ({"operandGroups": ["Example"]}, "operandGroups[0]: must be a DNS domain in lower case"),
        ({"networkPolicy": {"apiServerRanges": []}}, "networkPolicy.apiServerRanges: is an empty list. Give one entry"),
        ({"networkPolicy": {}}, "networkPolicy.apiServerRanges: is required"),
        (
            {"packageServer": {"host": "packages.north.example.com"}},
            "packageServer: sourceRanges is empty, which would let every address connect.",
        ),
        (
            {"placement": {"tolerations": [{"key": "pool", "value": "x"}]}},
            "placement.tolerations[0]: has a value with operator Exists. Set operator: Equal, or leave value out.",
        ),
        (
            {"placement": {"nodeSelector": {"pool": "a b"}}},
            "nodeSelector.pool: must fit into a Kubernetes label",
        ),
        (
            {"upgrades": {"override": {"etcd.v1.0.0": "yes"}}},
            "upgrades.override.etcd.v1.0.0: must be a reason",
        ),
    ],
)
def test_a_document_that_cannot_be_used_is_one_line(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        read_document(Operators, document(**fields))
    (one,) = refused.value.problems
    assert problem in str(one), str(one)
    assert "\n" not in str(one)


def test_the_command_describes_a_document(tmp_path: Path) -> None:
    file = tmp_path / "operators.yaml"
    file.write_text(yaml.safe_dump(document()))
    done = CliRunner().invoke(app, ["validate", "--kind", "operators", str(file)])
    assert done.exit_code == 0, done.output
    assert "hosted cluster north, OLM in namespace operators-north" in done.output
    assert "catalog provider, served by the control plane" in done.output


def test_a_catalog_in_an_image_is_not_read() -> None:
    catalogs = [{"name": "provider", "image": "registry.example.com/catalogs/provider:1"}]
    found = read_document(Operators, document(catalogs=catalogs))
    assert found.catalogs[0].channels("etcd") is None
