"""Small git repositories with a Pulumi program, and `hosted-mesh diff` run on them as a user calls it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hosted_mesh_analysis.diff.result import Change, Difference, Property, Stack
from hosted_mesh_analysis.diff.saved import from_json

BEGINNING = """
import base64, json, os, pathlib
import pulumi

config = pulumi.Config()

def cluster(name, server):
    kubeconfig = {
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "9dm2k7qz0xv4tn81rc6wpe35"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    return pulumi.ProviderResource("kubernetes", name, {"kubeconfig": json.dumps(kubeconfig)})

def made(kind, name, inputs, where=None, **options):
    return pulumi.CustomResource(kind, name, inputs, pulumi.ResourceOptions(provider=where, **options))

def config_map(name, data, where, kind="ConfigMap", **options):
    inputs = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "shop"}, "data": data}
    return made(f"kubernetes:core/v1:{kind}", name, inputs, where, **options)

control_plane = cluster("control-plane-cluster", "https://cp.example.com:6443")
data_plane = cluster("data-plane-cluster", "https://dp.example.com:6443")
"""
"""What every program of these tests begins with."""
CONTROL_PLANE, DATA_PLANE = "https://cp.example.com:6443", "https://dp.example.com:6443"


def git(repository: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.com", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(repository), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def write(folder: Path, files: Mapping[str, str | None]) -> None:
    """Files by their paths; None removes one."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text, encoding="utf-8")


def project(program: str, stacks: Mapping[str, str] | None = None, name: str = "shop") -> dict[str, str]:
    """The files of a project: a program after `BEGINNING`, and stacks' files by their names."""
    given = {"dev": "{}\n"} if stacks is None else stacks
    return {
        "Pulumi.yaml": f"name: {name}\nruntime: python\n",
        "__main__.py": BEGINNING + program,
        **{f"Pulumi.{stack}.yaml": text for stack, text in given.items()},
    }


def repository(folder: Path, before: Mapping[str, str], after: Mapping[str, str | None]) -> Path:
    """A repository whose branch `main` has one version, and whose working tree has another, not committed."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    write(folder, before)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "before")
    write(folder, after)
    return folder


def run(folder: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hosted_mesh_analysis.diff.command", str(folder), *options]
    kept = {name: os.environ[name] for name in ("HOME", "PATH", "PYTHONPATH") if name in os.environ}
    environment = {**kept, "COLUMNS": "200", **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def difference(folder: Path, *options: str, **variables: str) -> Difference:
    """What it says as JSON, read again."""
    done = run(folder, "--base", "main", "--json", *options, **variables)
    assert done.stderr == "", done.stderr
    return from_json(done.stdout)


def only(found: Difference) -> Stack:
    """The one stack that is to be told of."""
    (stack,) = found.shown
    return stack


def resources(stack: Stack) -> dict[str, Change]:
    """What changes, by name; what has none is "(hidden)"."""
    return {one.name or "(hidden)": one for one in stack.changes}


def values(properties: list[Property] | tuple[Property, ...]) -> dict[str, tuple[Any, Any]]:
    """Old and new value by path; a value that is not shown is why."""
    return {one.path: (_plain(one.old), _plain(one.new)) for one in properties}


def _plain(value: Any) -> Any:
    if value is None:
        return None
    return f"<{value.hidden}>" if value.hidden else f"<file {value.file}>" if value.file else value.value
