"""Schemas, read by the commands of the engine that need them."""

from __future__ import annotations

import json

import pytest

from sandbox.plugins import VERSIONS
from tests.engine.plugins.stack import Stack

TOKENS = {
    "kubernetes": "kubernetes:apps/v1:Deployment",
    "tls": "tls:index/privateKey:PrivateKey",
    "random": "random:index/randomPassword:RandomPassword",
}


@pytest.mark.parametrize("package", TOKENS)
def test_pulumi_package_reads_the_schema(stack: Stack, package: str) -> None:
    workspace = stack.engine.workspace
    name = f"{package}@{VERSIONS[package]}"

    def pulumi_package(*arguments: str) -> str:
        environment = dict(workspace.env_vars)
        return str(workspace.pulumi_command.run(["package", *arguments], workspace.work_dir, environment).stdout)

    schema = json.loads(pulumi_package("get-schema", name))
    version, _, _ = schema["version"].partition("+")  # after it the tools' kubernetes plug-in has its commit
    assert (schema["name"], version) == (package, VERSIONS[package])
    assert TOKENS[package] in schema["resources"]
    # This one binds every reference of the schema.
    assert f"Resource: {TOKENS[package]}" in pulumi_package("info", name, *_member(TOKENS[package]))


def _member(token: str) -> tuple[str, ...]:
    _, module, resource = token.split(":")
    return ("--module", module.partition("/")[0] if module.startswith("index/") else module, "--resource", resource)
