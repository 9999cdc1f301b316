"""The engine that the corpus's tests use, on the bench's clusters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sandbox import plugins
from sandbox.clusters import Sandbox
from sandbox.surroundings import pulumi_home, with_tools
from sandbox.toolchain import Tools

# The bench measures on the corpus that the tests prove the policies with. A copy of it here would drift from that one,
# and a place of its own for both would be a folder of test programs outside tests/. Nothing else of the sandbox does.
from tests.corpus.engine import Engine


def engine_on(sandbox: Sandbox, tools: Tools, folder: Path, settings: Mapping[str, str] | None = None) -> Engine:
    """The provider's cluster is the control plane, the user's the data plane. `settings` are environment variables for
    the program; `folder` gets the state."""
    chosen = plugins.select(tools, pulumi_home())
    environment = with_tools(tools.bin_dir, chosen.path) | {"PULUMI_HOME": str(pulumi_home())} | dict(chosen.env)
    for foreign in ("PULUMI_CONFIG_PASSPHRASE_FILE", "PULUMI_CONFIG", "PULUMI_ACCESS_TOKEN", "PULUMI_STACK"):
        environment.pop(foreign, None)
    folder.mkdir(parents=True, exist_ok=True)
    provider, user = sandbox.clusters["provider"], sandbox.clusters["user"]
    return Engine(
        tools["pulumi"],
        environment | dict(settings or {}),
        folder,
        {"cp": Path(provider.kubeconfig), "dp": Path(user.kubeconfig)},
        {"cp": provider.server, "dp": user.server},
    )
