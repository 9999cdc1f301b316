"""The corpus's engine on the session's two clusters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import plugins
from sandbox.clusters import Sandbox
from sandbox.surroundings import pulumi_home, with_tools
from sandbox.toolchain import Tools
from tests.corpus.engine import Engine


@pytest.fixture(scope="session")
def corpus_engine(engine_sandbox: Sandbox, tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The real engine; the provider's cluster is the control plane, the user's the data plane."""
    chosen = plugins.select(tools, pulumi_home())
    environment = with_tools(tools.bin_dir, chosen.path) | {"PULUMI_HOME": str(pulumi_home())} | dict(chosen.env)
    for foreign in ("PULUMI_CONFIG_PASSPHRASE_FILE", "PULUMI_CONFIG", "PULUMI_ACCESS_TOKEN", "PULUMI_STACK"):
        environment.pop(foreign, None)
    clusters = engine_sandbox.clusters
    yield Engine(
        tools["pulumi"],
        environment,
        tmp_path_factory.mktemp("corpus"),
        {"cp": Path(clusters["provider"].kubeconfig), "dp": Path(clusters["user"].kubeconfig)},
        {"cp": clusters["provider"].server, "dp": clusters["user"].server},
    )
