"""`make up ARGS=--observability`: its document, its closing text, and the restart for missing programs."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pulumi_hosted_mesh import ObservabilityStack, read_document

from sandbox import clusters
from sandbox.clusters import Sandbox, Topology
from sandbox.clusters.network.addresses import addresses_of
from sandbox.clusters.processes.node_config import config_path
from sandbox.clusters.state import Layout
from sandbox.engine import deployment, observability
from sandbox.node.runtime import images
from sandbox.toolchain.catalogue import FOR_OBSERVABILITY, NAMES

TOKEN = "header.payload.signature"


def fake(state: Path) -> Sandbox:
    """Two data planes of a sandbox that does not run."""

    def cluster(name: str, address: str) -> SimpleNamespace:
        server = f"https://api.{name}.sandbox.test:6443"
        return SimpleNamespace(name=name, wan_server=server, addresses=SimpleNamespace(wan_address=address))

    users = [cluster("data-plane", "10.90.0.20"), cluster("data-plane-2", "10.90.0.30")]
    own = cluster("control-plane", "10.90.0.10")
    found = SimpleNamespace(
        state=state, kubeconfig=state / "kubeconfig", control_plane=own, data_plane=users[0], data_planes=users
    )
    return cast(Sandbox, found)


@pytest.mark.parametrize(("users", "login", "readers"), [(False, "anonymous", ("login",)), (True, "token", ())])
def test_the_document_is_valid_and_has_one_view(tmp_path: Path, users: bool, login: str, readers: Any) -> None:
    sandbox = fake(tmp_path)
    config = observability.config(sandbox, observability.document(sandbox, "demo", users))
    assert config["stack"] == "observability"
    found = read_document(ObservabilityStack, config["observability"], "the test").observability
    assert (str(found.kiali.login), found.kiali.readers) == (login, readers)
    assert found.own_namespace == observability.NAMESPACE
    assert found.collector.host == deployment.COLLECTOR
    assert config["observability"]["observability"]["collector"]["exposure"]["sourceRanges"] == [
        "10.90.0.20/32",
        "10.90.0.30/32",
    ]
    # The image of the real page, with the programs that the command makes.
    image = images.find(found.kiali.image)
    assert set(image.tools.values()) == {"kiali", "kiali-page"} <= FOR_OBSERVABILITY <= set(NAMES)


def test_the_closing_text_names_the_token_s_file_and_never_the_token(tmp_path: Path) -> None:
    sandbox = fake(tmp_path)
    file = tmp_path / "observability" / "token"
    file.parent.mkdir()
    file.write_text(TOKEN)
    users = observability.instructions(observability.Shown("bookshop", file), sandbox)
    providers = observability.instructions(observability.Shown("bookshop", None), sandbox)
    assert str(file) in users
    assert "token" not in providers.replace("token@", "")
    for text in (users, providers):
        assert TOKEN not in text
        assert f"  address                      {observability.ADDRESS}\n" in text
        assert "kubectl --context control-plane -n obs-demo port-forward service/kiali 20001" in text
        assert "namespaces=bookshop" in text
    assert "make up ARGS='--observability --users-view'" in providers
    assert "make up ARGS=--observability\n" in users


def test_proxies_push_from_the_request_on(tmp_path: Path) -> None:
    assert observability.programs(tmp_path) == frozenset()
    observability.request(tmp_path)
    assert observability.programs(tmp_path) == FOR_OBSERVABILITY
    assert deployment.observability_folder(tmp_path) in deployment.files(tmp_path), "`make down` removes it"
    assert deployment.observability_folder(tmp_path).stat().st_mode & 0o777 == 0o700


def test_a_token_s_end_is_read() -> None:
    payload = base64.urlsafe_b64encode(json.dumps({"exp": 1234}).encode()).rstrip(b"=").decode()
    assert observability._expiry(f"a.{payload}.b") == 1234


def test_nodes_without_a_program_are_found(tmp_path: Path) -> None:
    layout, topology = Layout(tmp_path), Topology.of(2)
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "kiali").touch()
    for cluster in addresses_of(topology).values():
        for node in cluster.nodes:
            path = config_path(layout, cluster, node)
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps({"bin_dir": str(folder)}))
    assert clusters._nodes_have(layout, topology, ())
    assert clusters._nodes_have(layout, topology, {"kiali"})
    assert not clusters._nodes_have(layout, topology, {"kiali", "prometheus"})
