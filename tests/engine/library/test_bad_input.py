"""Bad input on the real engine: one message, no stack trace, nothing touched, even without a preview."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.clusters import Sandbox
from tests.engine.library.engine import Project
from tests.support.nightly import all_but
from tests.support.split import split_configs

Config = dict[str, Any]


def not_a_kubeconfig(mesh: Config, sandbox: Sandbox) -> None:
    path = sandbox.state / "not-a-kubeconfig"
    path.write_text("users: [{user: {token: s3cr3t-t0ken}}]\n")
    mesh["memberships"][0]["cluster"]["kubeconfig"] = str(path)


def swapped(mesh: Config, sandbox: Sandbox) -> None:
    for part, context in ((mesh["controlPlane"], "control-plane"), (mesh["memberships"][0], "data-plane")):
        part["cluster"]["server"] = sandbox.clusters[context].server
    mesh["controlPlane"]["cluster"]["context"], mesh["memberships"][0]["cluster"]["context"] = (
        "data-plane",
        "control-plane",
    )


def other_address(mesh: Config, sandbox: Sandbox) -> None:
    """The provider's cluster a second time, as localhost instead of 127.0.0.1."""
    path: Path = sandbox.state / "same-cluster"
    path.write_text(sandbox.control_plane.kubeconfig.read_text().replace("https://127.0.0.1:", "https://localhost:"))
    mesh["memberships"][0]["cluster"]["kubeconfig"] = str(path)
    mesh["memberships"][0]["cluster"]["context"] = "control-plane"


BAD: dict[str, tuple[Callable[[Config, Sandbox], None], str]] = {
    "unknown field": (lambda mesh, _: mesh["revisions"][0].update(hots="x"), "revisions[0].hots: is not a field"),
    "address as host": (
        lambda mesh, _: mesh["revisions"][0].update(host="192.0.2.1"),
        "revisions[0].host: is an IP address",
    ),
    "open exposure": (lambda mesh, _: mesh["revisions"][0].update(exposure={}), "sourceRanges is empty"),
    "old charts": (
        lambda mesh, _: mesh["revisions"][0].update(charts={"version": "1.20.0"}),
        "charts.version: is too old",
    ),
    "no charts": (lambda mesh, _: mesh["revisions"][0].update(charts={"path": "/"}), "charts.path: has no chart"),
    "one cluster twice": (
        lambda mesh, _: mesh["memberships"][0]["cluster"].update(context="control-plane"),
        "same API server",
    ),
    "one cluster under two addresses": (other_address, "same kube-system namespace"),
    "swapped clusters": (swapped, "has another API server"),
    "no kubeconfig": (not_a_kubeconfig, "memberships[0].cluster.kubeconfig: is not a kubeconfig"),
    "certificates that invert": (
        lambda mesh, _: mesh.update(trust={"workloadLifetimeHours": 2000}),
        "a workload's certificate outlives",
    ),
}


DAILY = {"unknown field", "one cluster under two addresses", "swapped clusters", "no kubeconfig"}
"""One of the documents that the library rejects by themselves, and those that it compares with a cluster or a file."""


@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("case", all_but(DAILY, BAD))
def test_one_message_and_nothing_touched(case: str, project: Project, mesh: Config, engine_sandbox: Sandbox) -> None:
    document = copy.deepcopy(mesh)
    spoil, words = BAD[case]
    spoil(document, engine_sandbox)
    stack = project.stack("bad", {"stack": "all-in-one", "mesh": document})

    done = stack.run("up", "--yes", "--skip-preview")

    assert done.code != 0
    assert words in done.text
    assert "Traceback" not in done.text
    assert "s3cr3t" not in done.text


def test_bad_settings_of_the_stack(project: Project, mesh: Config) -> None:
    unknown = project.stack("settings", {"stack": "everything", "mesh": mesh}).run("preview")
    assert "stack: must be one of" in unknown.text
    alone = project.stack("settings", {"stack": "control-plane", "mesh": mesh}).run("preview")
    assert "references.root: is required by this stack" in alone.text
    neither = project.stack("settings", {"stack": "data-plane", "dataPlane": {"mesh": "demo"}}).run("preview")
    assert "references.controlPlane, or endpoints: is required by this stack" in neither.text
    placeless = project.stack("settings", {"stack": "access", "dataPlane": {"mesh": "demo"}}).run("preview")
    assert "the stack's configuration cannot be used, dataPlane.cluster: is required here" in placeless.text
    missing = project.stack("settings", {"stack": "trust"}).run("preview")
    assert "mesh: is required" in missing.text
    cut_off = project.stack("settings", {"stack": "trust", "mesh": '{"name": "s3cr3t-t0ken'}).run("preview")
    assert "mesh: begins like JSON, but is not valid JSON" in cut_off.text
    references = {"stack": "trust", "mesh": mesh, "references": "[trust"}
    unread = project.stack("settings", references).run("preview")
    assert "references: begins like JSON, but is not valid JSON" in unread.text
    for done in (unknown, alone, neither, placeless, missing, cut_off, unread):
        assert "s3cr3t" not in done.text
        assert done.code != 0
        assert "Traceback" not in done.text


@pytest.mark.usefixtures("clean")
def test_a_stack_that_has_not_run_yet_is_named(project: Project, mesh: Config) -> None:
    here, wanted, none = "organization/hosted-mesh", "names the stack", "which has no"
    stacks = {name: project.stack(name, {"stack": name, **one}) for name, one in split_configs(mesh).items()}
    for name, missing in {
        "control-plane": f"references.{{}}: {wanted} {here}/{{}}, {none} output",
        "data-plane": f"references.controlPlane, or endpoints: {wanted} {here}/control-plane, {none} public output",
    }.items():
        done = stacks[name].run("preview")
        assert done.code != 0
        assert any(missing.format(one, one) in done.text for one in ("root", "trust", "access")), done.text
        assert (
            "Run `pulumi up` of that stack first, with this hosted-mesh or a newer one; it must be of kind" in done.text
        )
        assert "Traceback" not in done.text
    # root serves all other meshes meanwhile.
    assert f"root.stacks.demo: the stack {here}/trust has no outputs" in stacks["root"].succeed("preview").text

    stacks["trust"].up()
    config = split_configs(mesh)["data-plane"] | {"references": {"controlPlane": f"{here}/trust"}}
    of_another_kind = project.stack("data-plane", {"stack": "data-plane", **config}).run("preview")
    assert f"{here}/trust, which has no public output 'endpoints'" in of_another_kind.text
    stacks["trust"].destroy()


@pytest.mark.usefixtures("clean")
def test_a_kubeconfig_of_another_stack_is_of_the_documents_api_server(project: Project, mesh: Config) -> None:
    configs = split_configs(mesh)
    documents = configs["access"]["dataPlane"], configs["control-plane"]["mesh"]["memberships"][0]
    for document, server in zip(documents, ("https://169.254.169.254:80", "https://192.0.2.1:6443"), strict=True):
        document["access"] = {**document.get("access", {}), "apiServer": server}
    stacks = {
        name: project.stack(name, {"stack": name, **configs[name]})
        for name in ("trust", "root", "access", "control-plane")
    }
    for name in ("trust", "root", "access"):
        stacks[name].up()

    done = stacks["control-plane"].run("up", "--yes", "--skip-preview")

    assert done.code != 0
    assert "kubeconfigs.default: has another API server than apiServer in the control plane's document" in done.text
    assert "Traceback" not in done.text
    assert b"-istio-kubeconfig" not in stacks["control-plane"].state()
    # Its program runs to the end before a hook is asked, so the mistake is put right.
    documents[1]["access"]["apiServer"] = documents[0]["access"]["apiServer"]
    stacks["control-plane"] = project.stack("control-plane", {"stack": "control-plane", **configs["control-plane"]})
    for stack in reversed(stacks.values()):
        stack.destroy()
