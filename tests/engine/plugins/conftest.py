"""Programs run by the real engine against a real API server, with whichever plug-ins are selected."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pytest
from pulumi import automation

from sandbox.clusters import Cluster, Sandbox
from sandbox.plugins import PluginSet, select
from sandbox.toolchain import Tools
from tests.engine.plugins.kubectl import Kubectl
from tests.engine.plugins.stack import Stack


@pytest.fixture(scope="session")
def cluster(engine_sandbox: Sandbox) -> Cluster:
    return engine_sandbox.data_plane


@pytest.fixture(scope="session")
def kubectl(cluster: Cluster, tools: Tools) -> Kubectl:
    return Kubectl(tools["kubectl"], cluster.kubeconfig)


@pytest.fixture(scope="session")
def plugin_set(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> PluginSet:
    return select(tools, tmp_path_factory.mktemp("pulumi-home"))


@pytest.fixture
def stack(tmp_path: Path, tools: Tools, plugin_set: PluginSet) -> Iterator[Stack]:
    """An empty stack; whatever it has at the end of the test is destroyed."""
    folders = [*map(str, plugin_set.path), str(tools.bin_dir), os.environ["PATH"]]
    state = tmp_path / "state"
    state.mkdir()
    env = {
        **plugin_set.env,
        "PATH": os.pathsep.join(folders),
        "PULUMI_BACKEND_URL": f"file://{state}",
        "PULUMI_CONFIG_PASSPHRASE": secrets.token_hex(8),
    }
    command = automation.PulumiCommand(root=str(tools["pulumi"].parent.parent), skip_version_check=True)
    options = automation.LocalWorkspaceOptions(
        work_dir=str(tmp_path), env_vars=env, pulumi_command=command, pulumi_home=env["PULUMI_HOME"]
    )
    engine = automation.create_stack("test", project_name="plugins", program=lambda: None, opts=options)
    made = Stack(engine, state)
    try:
        yield made
    finally:
        engine.destroy()


@pytest.fixture
def namespace(kubectl: Kubectl) -> Iterator[str]:
    """A namespace of the test's own, made and removed without the engine."""
    name = f"test-{secrets.token_hex(4)}"
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def provider(cluster: Cluster, namespace: str) -> Callable[..., pulumi.ResourceOptions]:
    """provider(**settings) -> resource options with a provider for the cluster and the test's namespace."""

    def make(**settings: Any) -> pulumi.ResourceOptions:
        settings = {
            "kubeconfig": pulumi.Output.secret(cluster.kubeconfig.read_text()),
            "context": cluster.context,
            "namespace": namespace,
            "cluster_identifier": "the-cluster",
            **settings,
        }
        return pulumi.ResourceOptions(provider=kubernetes.Provider("cluster", **settings))

    return make
