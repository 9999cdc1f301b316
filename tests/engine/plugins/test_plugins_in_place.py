"""Changes that need no new object: mutable data, fields taken from others."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pytest
from pulumi.automation.errors import CommandError

from tests.engine.plugins.stack import Program, Stack
from tests.support.kubectl import Kubectl

Provider = Callable[..., pulumi.ResourceOptions]


def _data(provider: Provider, data: dict[str, str], *, immutable: bool | None = None) -> Program:
    """A ConfigMap and a Secret with the data, where the provider may change both in place."""

    def program() -> None:
        options = provider(enable_config_map_mutable=True, enable_secret_mutable=True)
        metadata = {"name": "settings"}
        kubernetes.core.v1.ConfigMap("map", metadata=metadata, data=data, immutable=immutable, opts=options)
        kubernetes.core.v1.Secret("secret", metadata=metadata, string_data=data, immutable=immutable, opts=options)

    return program


def test_mutable_data_changes_in_place(stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str) -> None:
    def live(kind: str) -> dict[str, Any]:
        return kubectl.get(kind, "settings", "--namespace", namespace)

    stack.up(_data(provider, {"a": "1", "gone": "1"}))
    before = [live(kind) for kind in ("configmap", "secret")]
    changed = _data(provider, {"a": "2", "new": "1"})
    assert stack.preview(changed) == {"same": 2, "update": 2}
    assert stack.up(changed) == {"same": 2, "update": 2}
    after = [live(kind) for kind in ("configmap", "secret")]
    assert [one["metadata"]["uid"] for one in after] == [one["metadata"]["uid"] for one in before]
    assert [one["data"] for one in after] == [{"a": "2", "new": "1"}, {"a": "Mg==", "new": "MQ=="}]
    assert stack.preview() == {"same": 4}
    stack.engine.refresh()
    assert stack.preview() == {"same": 4}


def test_immutable_data_is_replaced_all_the_same(
    stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str
) -> None:
    stack.up(_data(provider, {"a": "1"}, immutable=True))
    changed = _data(provider, {"a": "2"}, immutable=True)
    assert stack.preview(changed) == {"same": 2, "replace": 2}
    assert stack.up(changed) == {"same": 2, "replace": 2}
    assert kubectl.get("configmap", "settings", "--namespace", namespace)["data"] == {"a": "2"}


def test_mutable_by_environment(stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str) -> None:
    def program(value: str) -> Program:
        def run() -> None:
            kubernetes.core.v1.ConfigMap("map", metadata={"name": "settings"}, data={"a": value}, opts=provider())

        return run

    workspace = stack.engine.workspace
    workspace.env_vars = {**workspace.env_vars, "PULUMI_K8S_ENABLE_CONFIGMAP_MUTABLE": "true"}
    stack.up(program("1"))
    assert stack.preview(program("2"))["update"] == 1


def test_patch_force_takes_a_field_from_another_manager(
    stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str
) -> None:
    def program(value: str, *, everywhere: bool = False, **annotations: str) -> Program:
        def run() -> None:
            marks = {f"pulumi.com/{key}": text for key, text in annotations.items()}
            metadata: Any = {"name": "settings", "annotations": marks}
            options = provider(enable_config_map_mutable=True, enable_patch_force=everywhere or None)
            kubernetes.core.v1.ConfigMap("map", metadata=metadata, data={"a": value}, opts=options)

        return run

    stack.up(program("1"))
    stack.up(program("2"))
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "3"}}
    apply = ("apply", "--server-side", "--force-conflicts", "--field-manager=somebody", "--filename=-")
    for value, forced in (("4", program("4", patchForce="true")), ("5", program("5", everywhere=True))):
        kubectl(*apply, "--namespace", namespace, text=json.dumps(theirs))
        with pytest.raises(CommandError, match="conflict"):
            stack.up(program(value))
        assert kubectl.get("configmap", "settings", "--namespace", namespace)["data"] == {"a": "3"}
        stack.up(forced)
        assert kubectl.get("configmap", "settings", "--namespace", namespace)["data"] == {"a": value}
