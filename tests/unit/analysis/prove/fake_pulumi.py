#!/usr/bin/env python3
"""Stands in for the engine: runs `program.py` of its folder, whose `plan` says what a preview would plan.

Its files are the engine's own: what a real one writes is in tests/engine/policies/test_prove_preview.py.
"""

from __future__ import annotations

import base64
import json
import os
import runpy
import sys
import time
from pathlib import Path
from typing import Any

import yaml
from hosted_mesh_analysis.prove.engine.passphrase_cipher import PassphraseCipher

SALT = f"v1:{base64.b64encode(b'eight by').decode()}:v1:none:none"
SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}


def provider(name: str, **inputs: Any) -> dict[str, Any]:
    return {"type": "pulumi:providers:kubernetes", "name": name, "custom": True, "inputs": inputs}


def resource(kind: str, name: str, inputs: Any, where: str, **more: Any) -> dict[str, Any]:
    own = f"urn:pulumi:dev::shop::pulumi:providers:kubernetes::{where}::an-id"
    return {"type": kind, "name": name, "custom": True, "inputs": inputs, "provider": own, **more}


def secret(value: Any) -> dict[str, Any]:
    return {**SECRET, "plaintext": json.dumps(value)}


def written(resources: list[dict[str, Any]]) -> dict[str, Any]:
    """As --save-plan writes it."""
    plans = {}
    for one in resources:
        state, inputs = one.pop("state", None), one.pop("inputs")
        goal = {"inputDiff": {"adds": inputs}, "outputDiff": {}, "protect": False, **one}
        plans[f"urn:pulumi:dev::shop::{one['type']}::{one['name']}"] = {
            "goal": goal,
            "steps": ["create"],
            "state": state,
        }
    return {"manifest": {}, "resourcePlans": plans}


def config(settings: Path) -> dict[str, str]:
    document = yaml.safe_load(settings.read_text())
    seal = PassphraseCipher(os.environ["PULUMI_CONFIG_PASSPHRASE"], document["encryptionsalt"])

    def opened(value: Any) -> Any:
        return seal.open(value["secure"]) if isinstance(value, dict) and "secure" in value else value

    return {key: opened(value) for key, value in (document.get("config") or {}).items()}


def preview(arguments: list[str]) -> int:
    def given(option: str) -> Path:
        return Path(arguments[arguments.index(option) + 1])

    answer: dict[str, Any] = {}
    program = runpy.run_path("program.py")
    if "hangs" in program:
        making = Path(f"{program['hangs']}.{os.getpid()}")  # another run does the same
        making.write_text(str(Path.cwd()))
        making.replace(program["hangs"])
        time.sleep(600)
    try:
        resources = program["plan"](config(given("--config-file")), answer)
    except Exception as problem:
        message = f"Program failed with an unhandled exception:\nTraceback\n  File\n{type(problem).__name__}: {problem}"
        print(json.dumps({"diagnostics": [{"severity": "error", "message": message}]}))
        return 255
    given("--save-plan").write_text(json.dumps(written(resources)))
    calls = [
        {"method": "/pulumirpc.ResourceMonitor/Invoke", "request": {"tok": one}} for one in answer.get("calls", ())
    ]
    Path(os.environ["PULUMI_DEBUG_GRPC"]).write_text("".join(json.dumps(one) + "\n" for one in [{}, *calls]))
    print(json.dumps({"steps": answer.get("steps", [])}))
    return 0


def main(arguments: list[str]) -> int:
    assert "PULUMI_ACCESS_TOKEN" not in os.environ
    assert os.environ["PULUMI_BACKEND_URL"].startswith("file:///")
    if "init" in arguments:
        stack = arguments[arguments.index("init") + 1]
        Path(f"Pulumi.{stack}.yaml").write_text(f"encryptionsalt: {SALT}\n")
        return 0
    return preview(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
