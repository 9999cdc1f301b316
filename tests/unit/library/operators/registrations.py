"""What a program with HostedOperators registers, for several test modules."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pulumi_hosted_mesh as hosted_mesh
import pytest
from pulumi_hosted_mesh.operators import hosted_operators

from tests.unit.library.operators.documents import kubeconfig
from tests.unit.library.program import Registered, run, secret

CONTROL_PLANE, DATA_PLANE = "control-plane-cluster", "data-plane-cluster"


def clusters() -> dict[str, Any]:
    """The component's clusters."""
    return {
        "control_plane": hosted_mesh.ControlPlaneCluster(kubeconfig=kubeconfig("centre")),
        "data_plane": hosted_mesh.DataPlaneCluster(kubeconfig=kubeconfig("north")),
    }


def answers(accounts: Iterable[str], keys: Iterable[str], generation: int = 1) -> dict[str, Any]:
    """The clusters' tokens and the engine's keys, by name of the resource. Each has its name in its value."""
    tokens = {name: base64.b64encode(f"token-of-{name}".encode()).decode() for name in accounts}
    found: dict[str, Any] = {
        f"north-{name}-token-{generation}": {"data": secret({"token": one})} for name, one in tokens.items()
    }
    return found | {name: {"privateKeyPemPkcs8": secret(f"key-of-{name}")} for name in keys}


def run_upgradable(program: Callable[[], None], outputs: Mapping[str, Any]) -> list[Registered]:
    """No API server answers here, so the upgrade gate would reject an update."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(hosted_operators, "require_upgradable", lambda *_: None)
        return run(program, outputs=dict(outputs))


def named(found: list[Registered], kind: str, provider: str = "") -> dict[str, Registered]:
    """Objects of a kind by name. provider: prefix of its name."""
    return {
        one.inputs["metadata"]["name"]: one
        for one in found
        if one.type.endswith(f":{kind}") and one.provider.startswith(provider)
    }
