"""Schemas, read by the commands of the engine that need them."""

from __future__ import annotations

import json

import pytest

from sandbox.plugins import VERSIONS, PluginSet
from tests.engine.plugins.stack import Stack

TOKENS = {
    "kubernetes": "kubernetes:apps/v1:Deployment",
    "tls": "tls:index/privateKey:PrivateKey",
    "random": "random:index/randomPassword:RandomPassword",
}


@pytest.mark.parametrize("package", TOKENS)
def test_pulumi_package_reads_the_schema(stack: Stack, plugin_set: PluginSet, package: str) -> None:
    workspace = stack.engine.workspace
    name = f"{package}@{VERSIONS[package]}"

    def pulumi_package(*arguments: str) -> str:
        environment = dict(workspace.env_vars)
        return str(workspace.pulumi_command.run(["package", *arguments], workspace.work_dir, environment).stdout)

    schema = json.loads(pulumi_package("get-schema", name))
    assert schema["name"] == package
    if package != "kubernetes" or plugin_set.kind == "official":  # what the sandbox builds has a version of its own
        assert schema["version"] == VERSIONS[package]
    assert TOKENS[package] in schema["resources"]
    # This one binds every reference of the schema.
    assert f"Resource: {TOKENS[package]}" in pulumi_package("info", name, *_member(TOKENS[package]))


def _member(token: str) -> tuple[str, ...]:
    _, module, resource = token.split(":")
    return ("--module", module.partition("/")[0] if module.startswith("index/") else module, "--resource", resource)
