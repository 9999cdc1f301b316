"""Registers a stack of the size in the environment, on the clusters of the kubeconfigs in the environment.

Plain `CustomResource`s instead of the SDK's classes: they are the same for the engine, and a program starts in a
quarter of the time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

import pulumi  # noqa: E402

from bench.policies.synthetic import Planned, planned  # noqa: E402

KUBECONFIGS = {"cp": "CORPUS_CONTROL_PLANE", "dp": "CORPUS_DATA_PLANE"}


def _provider(side: str) -> pulumi.ProviderResource:
    text = Path(os.environ[KUBECONFIGS[side]]).read_text(encoding="utf-8")
    inputs = {"kubeconfig": pulumi.Output.secret(text), "clusterIdentifier": side}
    return pulumi.ProviderResource("kubernetes", f"{side}-cluster", inputs)


def _register(one: Planned, provider: pulumi.ProviderResource) -> None:
    inputs: dict[str, Any] = one.manifest
    if one.secret:
        inputs["stringData"] = pulumi.Output.secret(one.secret)
    options = pulumi.ResourceOptions(provider=provider)
    pulumi.CustomResource(f"kubernetes:core/v1:{one.kind}", one.name, inputs, options)


providers = {side: _provider(side) for side in KUBECONFIGS}
for resource in planned(int(os.environ["BENCH_RESOURCES"]), int(os.environ["BENCH_SECRETS"])):
    _register(resource, providers[resource.side])
