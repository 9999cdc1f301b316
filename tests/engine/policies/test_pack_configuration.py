"""What the engine says of a pack's configuration that does not fit: the run ends, and nothing passes unseen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.toolchain import Tools
from tests.corpus.engine import PACK
from tests.support.environment import quick_cli
from tests.support.stacks import PASSPHRASE, new_stack

CLUSTERS = "providers-reach-their-own-cluster"
BY_URL = "data-plane-webhooks-by-url"


@pytest.mark.parametrize(
    ("configuration", "said"),
    [
        (
            {"tenants-are-appart": "mandatory"},
            "tenants-are-appart: is not a policy; did you mean tenants-are-a",
        ),
        ({"tenants-are-appart": {"sharedNamespaces": []}}, 'invalid enforcement level ""'),
        ({CLUSTERS: {"controlPlaneServer": ["https://cp"]}}, "did you mean controlPlaneServers?"),
        (
            {CLUSTERS: {"controlPlaneServers": ["https://[::1"]}},
            f"{CLUSTERS}.controlPlaneServers[0]: must be an API serve",
        ),
        ({BY_URL: {"mostTimeoutSeconds": 0}}, f"{BY_URL}: mostTimeoutSeconds: Must be greater than or equal to 1"),
    ],
    ids=["policy with a level", "policy with settings", "setting", "address", "number"],
)
def test_what_does_not_fit_ends_the_run(tmp_path: Path, tools: Tools, configuration: Any, said: str) -> None:
    settings = {"PULUMI_BACKEND_URL": f"file://{tmp_path}", "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE}
    cli = quick_cli(tools, settings)
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    (tmp_path / "__main__.py").write_text("")
    salt = new_stack(cli.program, cli.environment, tmp_path, "shop", "dev")
    (tmp_path / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"encryptionsalt": salt}))
    file = tmp_path / "policies.json"
    file.write_text(json.dumps(configuration))
    options = ("--policy-pack", str(PACK), "--policy-pack-config", str(file))
    done = cli.run("preview", "--stack", "dev", *options, cwd=tmp_path, limit=300)
    assert done.returncode != 0
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
