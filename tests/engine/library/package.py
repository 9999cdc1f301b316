"""The components as other languages have them: the package's process, its TypeScript SDK, and a program with it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from sandbox import toolchain
from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.progress import Progress
from sandbox.toolchain import Tools
from sandbox.toolchain.catalogue import FOR_TYPESCRIPT, FOR_YAML
from tests.engine.library.engine import Project, Stack

PACKAGES = ("@pulumi/pulumi", "@types", "ts-node", "typescript")


def executable(directory: Path) -> Path:
    """The package as a program for the engine.

    Not the folder `components`: the language host that can be built here (v3.68) starts a package wrongly.
    """
    program = directory / "pulumi-resource-hosted-mesh"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {CHECKOUT / "components" / "__main__.py"} "$@"\n')
    program.chmod(0o755)
    return program


def describe(program: Path, runtime: str, package: Path) -> None:
    """Writes a program's Pulumi.yaml, which names where the package is, as `pulumi package add` does."""
    plugins = {"providers": [{"name": "hosted-mesh", "path": str(package.parent)}]}
    described = {"name": "package", "runtime": runtime, "plugins": plugins}
    (program / "Pulumi.yaml").write_text(yaml.safe_dump(described))


def configured(project: Project, name: str, config: Mapping[str, Any]) -> Stack:
    """A stack with this configuration under the project's own name."""
    own = yaml.safe_load((project.program / "Pulumi.yaml").read_text())["name"]
    stack = project.stack(name, {})
    written = yaml.safe_load(stack.file.read_text())
    written["config"] = {f"{own}:{key}": value for key, value in config.items()}
    stack.file.write_text(yaml.safe_dump(written))
    return stack


def checkout_of_package(directory: Path) -> Path:
    """A copy of the package's folder, beside the folder that its links lead to."""
    (directory / "checkout").mkdir()
    for name in ("components", "agents", "VERSION"):
        source, target = CHECKOUT / name, directory / "checkout" / name
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copyfile(source, target)
    return directory / "checkout/components"


def yaml_project(directory: Path, source: Path, sandbox: Sandbox, tools: Tools, progress: Progress) -> Project:
    """A copy of a YAML program, in an environment with YAML's language host."""
    program = directory / "program"
    shutil.copytree(source, program)
    host = toolchain.ensure(FOR_YAML, progress=progress)
    project = Project.make(directory / "project", sandbox, tools, program)
    path = f"{host.bin_dir}:{project.environment['PATH']}"
    return replace(project, environment={**project.environment, "PATH": path})


class TypeScript:
    """A TypeScript program with the package's SDK, made from its schema by the engine and Pulumi's generator."""

    def __init__(self, directory: Path, source: Path, sandbox: Sandbox, tools: Tools, progress: Progress) -> None:
        self.program = directory / "program"
        shutil.copytree(source, self.program)
        self.tools = toolchain.ensure(FOR_TYPESCRIPT, progress=progress)
        self.package = executable(directory)
        describe(self.program, "nodejs", self.package)
        project = Project.make(directory / "project", sandbox, tools, self.program)
        path = f"{self.tools.bin_dir}:{project.environment['PATH']}"
        # Types are checked once, by `check_types`, and not before each run.
        quick = {"PATH": path, "PULUMI_NODEJS_TRANSPILE_ONLY": "true"}
        self.project = replace(project, environment={**project.environment, **quick})
        self._link(self._sdk())

    def _sdk(self) -> Path:
        """What `pulumi package add` makes, which the language host that can be built here (v3.68) cannot."""
        schema = self.project._call(["package", "get-schema", str(self.package)], self.program)
        assert schema.code == 0, schema.text
        sdk = self.program / "sdks/hosted-mesh"
        self._run(str(self.tools["pulumi-sdk-nodejs"]), str(sdk), given=schema.output)
        return sdk

    def _link(self, sdk: Path) -> None:
        modules, installed = self.program / "node_modules", self.tools["node"].parents[1] / "node_modules"
        (modules / "@pulumi").mkdir(parents=True)
        for name in PACKAGES:
            (modules / name).symlink_to(installed / name)
        (modules / "@pulumi/hosted-mesh").symlink_to(sdk)
        # As the SDK's own script does after its installation.
        self._run(str(self.tools["node"]), str(modules / "typescript/bin/tsc"), "-p", str(sdk))
        shutil.copyfile(sdk / "package.json", sdk / "bin/package.json")

    def beside(self, source: Path) -> Project:
        """A second program with the same SDK, in a folder of the first: Node.js finds packages in folders above."""
        program = self.program / source.name
        if not program.exists():
            shutil.copytree(source, program)
            for name in ("package.json", "tsconfig.json"):
                shutil.copyfile(self.program / name, program / name)
            describe(program, "nodejs", self.package)
        return replace(self.project, program=program)

    def check_types(self, folder: str = ".") -> subprocess.CompletedProcess[str]:
        """The compiler's messages about the program, or the one in its folder."""
        compiler = self.program / "node_modules/typescript/bin/tsc"
        command = [str(self.tools["node"]), str(compiler), "--noEmit", "-p", str(self.program / folder)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def stack(self, name: str, config: Mapping[str, Any]) -> Stack:
        """A stack with this configuration of the program's own."""
        return configured(self.project, name, config)

    def _run(self, *command: str, given: str | None = None) -> None:
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
