"""`make up ARGS=--controller` prints orders that its controller accepts. Without clusters."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hosted_mesh_controller.documents import MESHES, checked, configuration
from hosted_mesh_controller.settings import Settings
from hosted_mesh_controller.vocabulary import Role
from hosted_mesh_controller.watcher.documents_of import checked_order

from sandbox.engine import controller
from sandbox.engine.controller import TENANT, Controller
from sandbox.errors import SandboxError


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    names = ("control-plane", "data-plane", "data-plane-2")
    clusters = {name: SimpleNamespace(name=name) for name in names}
    sandbox: Any = SimpleNamespace(
        clusters=clusters, control_plane=clusters["control-plane"], kubeconfig=tmp_path / "kubeconfig"
    )
    tools: Any = SimpleNamespace(charts=tmp_path / "charts")
    return Settings.model_validate(controller.settings(sandbox, tools, tmp_path, 20000))


def test_each_data_plane_is_watched(settings: Settings) -> None:
    assert {name: one.watch is not None for name, one in settings.clusters.items()} == {
        "control-plane": False,
        "data-plane": True,
        "data-plane-2": True,
    }


def test_the_printed_orders_are_valid(settings: Settings, tmp_path: Path) -> None:
    order = controller.order("books")
    assert checked(MESHES, order, settings, TENANT, Role.TENANT) == "books"
    mesh = configuration(MESHES, order, settings, TENANT)["mesh"]
    assert mesh["revisions"][0]["charts"]["path"] == str(tmp_path / "charts")
    assert mesh["memberships"][0]["cluster"]["context"] == "data-plane"
    watch = settings.clusters["data-plane"].watch
    assert watch
    key, documents = checked_order(settings, "data-plane", watch, controller.hosted_mesh("shop"))
    assert key.name == "shop"
    assert documents["mesh"]["memberships"][0]["cluster"] == {"kubeconfig": "data-plane"}


def test_the_closing_text_has_no_token(tmp_path: Path) -> None:
    folder = tmp_path / "controller"
    folder.mkdir()
    (folder / "token").write_text("hmc_a_secret")
    found = Controller("http://127.0.0.1:20000", folder / "token", folder / "provider-token")
    text = controller.instructions(found, tmp_path, tmp_path / "kubeconfig")
    assert "secret" not in text
    assert str(folder / "token") in text
    assert (folder / "order.json").exists()
    assert (folder / "hostedmesh.yaml").exists()


def test_one_kind_of_mesh_in_a_sandbox(tmp_path: Path) -> None:
    controller.require_none(tmp_path)
    (tmp_path / "controller").mkdir()
    with pytest.raises(SandboxError, match="has the controller"):
        controller.require_none(tmp_path)
    (tmp_path / "pulumi").mkdir()
    (tmp_path / "pulumi/deployed").touch()
    sandbox: Any = SimpleNamespace(state=tmp_path)
    tools: Any = None
    progress: Any = None
    with pytest.raises(SandboxError, match="has the mesh of `make up`"):
        controller.start(sandbox, tools, progress)
