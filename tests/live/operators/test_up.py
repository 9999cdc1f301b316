"""`make up ARGS=--operators`: a second run changes nothing, and the printed install works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sandbox import toolchain
from sandbox.engine import operators
from sandbox.progress import Progress
from sandbox.toolchain.catalogue import FOR_OPERATORS
from tests.support.clusters import started
from tests.support.kubectl import Kubectl
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly


def test_the_printed_subscription_installs_the_examples_operator(tmp_path: Path, progress: Progress) -> None:
    tools = toolchain.ensure(also=FOR_OPERATORS, progress=progress)
    with started(tmp_path / "state", tools, progress) as sandbox:
        operators.up(sandbox, tools, progress)
        provider, user = (Kubectl.of(one, tools) for one in (sandbox.control_plane, sandbox.data_plane))

        def stored() -> list[tuple[str, int | str]]:
            """Objects with their version: of a Deployment its generation, because its status changes by itself."""
            items = provider.get("deployments,secrets", "-n", "operators-north")["items"]
            metadata = [one["metadata"] for one in items]
            return [(one["name"], one.get("generation") or one["resourceVersion"]) for one in metadata]

        before = stored()
        operators.up(sandbox, tools, progress)
        assert stored() == before
        (printed,) = re.findall(r"<<'EOF'\n(.*?)EOF\n", operators.instructions(sandbox), re.DOTALL)
        user("apply", "--filename=-", text=printed)
        eventually(lambda: user.names("pods", "-n", "operators"), "the operator's Pod runs")
        assert provider.names("pods", "-n", "operators-north")
