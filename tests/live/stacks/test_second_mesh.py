"""A second mesh in the clusters of the first, by the recipe of docs/components/stacks.md: each Pod is one mesh's."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from lightkube import Client
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap, Namespace
from pulumi_hosted_mesh.cli.command import app
from typer.testing import CliRunner

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.engine import deployment
from sandbox.progress import Progress
from sandbox.proof.deployed import NotObserved, client_of, eventually
from sandbox.toolchain import Tools
from tests.engine.library.engine import Project, Stack
from tests.support.clusters import started

FIRSTS, SECONDS = "books", "tills"
LABELS = {FIRSTS: {"istio-injection": "enabled"}, SECONDS: {"istio.io/rev": "shop", "mesh": "shop"}}


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory, tools: Tools, progress: Progress) -> Iterator[Sandbox]:
    with started(tmp_path_factory.mktemp("second"), tools, progress) as sandbox:
        deployment.up(sandbox, tools, progress)
        yield sandbox


def second(sandbox: Sandbox, tools: Tools) -> dict[str, Any]:
    """The page's document, with what the first one's has for the sandbox's sake."""
    page = (CHECKOUT / "docs/components/stacks.md").read_text()
    (block,) = re.findall(r"```yaml\n(name: shop\n.*?)```", page, re.DOTALL)
    document: dict[str, Any] = yaml.safe_load(block)
    first = deployment.mesh_document(sandbox.state)
    (revision,), (own,) = document["revisions"], copy.deepcopy(first["revisions"])
    values = {**own.pop("chartValues"), **revision["chartValues"]}
    host = "istiod.shop.sandbox.test"
    own["exposure"]["publishName"] = True
    document["revisions"] = [{**own, "name": revision["name"], "host": host, "chartValues": values}]
    document["memberships"] = [{**first["memberships"][0], "crds": {"install": False}}]
    return {**document, "trust": first["trust"], "controlPlane": first["controlPlane"]}


def check(sandbox: Sandbox, facts: dict[str, Any], namespace: str) -> str:
    """What `hosted-mesh check-webhooks` says of a namespace's Pods, once the host is known."""
    config = ["--kubeconfig", str(sandbox.kubeconfig), "--context", sandbox.data_plane.name]
    command = ["check-webhooks", "-", *config, "--namespace", namespace]

    def look() -> str:
        done = CliRunner().invoke(app, command, input=yaml.safe_dump(facts))
        if done.exit_code != 0:
            raise NotObserved(done.output)
        return str(done.output)

    return eventually(look, seconds=60)


def have(client: Client, mesh: str) -> set[str]:
    """The namespaces into which a mesh's istiod wrote its root certificate: those that it watches."""
    found = client.list(ConfigMap, namespace="*", fields={"metadata.name": f"istio-ca-root-cert-{mesh}"})
    return {str(one.metadata.namespace) for one in found if one.metadata}


@pytest.mark.nightly
def test_each_mesh_has_its_own_pods_and_namespaces(sandbox: Sandbox, tools: Tools, tmp_path: Path) -> None:
    client = client_of(sandbox.data_plane)
    for name, labels in LABELS.items():
        client.create(Namespace(metadata=ObjectMeta(name=name, labels=labels)))
    config = {"stack": "all-in-one", "mesh": second(sandbox, tools)}
    shop: Stack = Project.make(tmp_path, sandbox, tools).stack("shop", config)
    shop.up()
    first, seconds = deployment.outputs(sandbox, tools), shop.outputs()
    assert seconds["injection_labels"] == {"istio.io/rev": "shop"}
    assert "for istiod at istiod.demo." in check(sandbox, first["endpoints"]["default/default"], FIRSTS)
    assert "for istiod at istiod.shop." in check(sandbox, seconds["endpoints"]["default/shop"], SECONDS)

    def watched() -> None:
        if (found := have(client, "shop")) != {SECONDS, "mesh-shop"}:
            raise NotObserved(f"the second mesh's istiod watches {found}")

    eventually(watched, seconds=60)
    assert have(client, "demo") >= {FIRSTS, SECONDS, "mesh-shop"}
