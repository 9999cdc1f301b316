"""The corpus's engine on the session's two clusters."""

from __future__ import annotations

import pytest

from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.corpus.engine import Engine


@pytest.fixture(scope="session")
def corpus_engine(engine_sandbox: Sandbox, tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """The real engine; the provider's cluster is the control plane, the user's the data plane."""
    return Engine.on(engine_sandbox, tools, tmp_path_factory.mktemp("corpus"))
