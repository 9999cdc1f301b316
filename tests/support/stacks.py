"""New stacks without `pulumi stack init`, which takes 1.2 CPU seconds: one is made and then copied."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from sandbox.program_environment import with_tools

PASSPHRASE = "only-tests-know-this"


def new_stack(pulumi: Path, environment: Mapping[str, str], backend: Path, project: str, name: str) -> str:
    """Makes an empty stack in a file backend; returns the salt for its configuration.

    environment: with all variables of the CLI; its passphrase must be PASSPHRASE.
    """
    assert environment["PULUMI_CONFIG_PASSPHRASE"] == PASSPHRASE
    meta, state, salt = _initialised(pulumi)
    folder = backend / ".pulumi"
    (folder / "stacks" / project).mkdir(parents=True, exist_ok=True)
    if not (folder / "meta.yaml").exists():
        making = folder / f"meta.{os.getpid()}.new"
        making.write_text(meta)
        making.replace(folder / "meta.yaml")
    checkpoint: dict[str, Any] = json.loads(state)
    checkpoint["checkpoint"]["stack"] = f"organization/{project}/{name}"
    (folder / "stacks" / project / f"{name}.json").write_text(json.dumps(checkpoint))
    return salt


@cache
def _initialised(pulumi: Path) -> tuple[str, str, str]:
    """The backend's own file, an empty stack's state and its salt, as the CLI makes them."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "Pulumi.yaml").write_text("name: original\nruntime: python\n")
        own = {name: value for name, value in with_tools().items() if not name.startswith("PULUMI_")}
        settings = {
            "PULUMI_HOME": f"{folder}/home",
            "PULUMI_BACKEND_URL": f"file://{folder}",
            "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
            "PULUMI_SKIP_UPDATE_CHECK": "true",
        }
        command = [pulumi, "--non-interactive", "stack", "init", "original", "--no-select"]
        made = subprocess.run(command, cwd=place, env=own | settings, capture_output=True, text=True, timeout=300)
        assert made.returncode == 0, made.stderr
        salt: str = yaml.safe_load((place / "Pulumi.original.yaml").read_text())["encryptionsalt"]
        state = place / ".pulumi" / "stacks" / "original" / "original.json"
        return (place / ".pulumi" / "meta.yaml").read_text(), state.read_text(), salt
