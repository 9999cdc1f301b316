"""A swapped pair of clusters does not type-check, and does not run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pulumi_hosted_mesh.clusters.cluster import (
    Cluster,
    ControlPlaneCluster,
    DataPlaneCluster,
    require_control_plane,
    require_data_plane,
)
from pulumi_hosted_mesh.problems import InvalidInputError

ROOT = Path(__file__).parents[3]
PROGRAM = """
import pulumi_hosted_mesh as hosted_mesh
from pulumi_hosted_mesh.inputs import EndpointArgs, MeshArgs


def swapped(
    mesh: MeshArgs,
    endpoint: EndpointArgs,
    control_plane: hosted_mesh.ControlPlaneCluster,
    data_plane: hosted_mesh.DataPlaneCluster,
) -> None:
    access = hosted_mesh.DataPlaneAccess("x", {"mesh": "x", "cluster": control_plane})  # refused
    hosted_mesh.ExternalControlPlane(
        "x",
        {
            "mesh": mesh,
            "cluster": data_plane,  # refused
            "kubeconfigs": {"default": access.kubeconfig},
            "root_certificate": "",
        },
    )
    hosted_mesh.RemoteDataPlane("x", {"cluster": control_plane, "endpoint": endpoint})  # refused
    hosted_mesh.RemoteDataPlane("x", {"cluster": data_plane, "endpoint": mesh})  # refused
    hosted_mesh.RemoteDataPlane("x", {"cluster": data_plane, "endpoint": endpoint})
"""


def test_a_swapped_pair_is_a_type_error(tmp_path: Path) -> None:
    program = tmp_path / "swapped.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(program)], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    refused = {int(line) for line in re.findall(r"swapped\.py:(\d+): error: .*[Ii]ncompatible type", done.stdout)}
    marked = {number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# refused")}
    assert refused == marked, done.stdout


def test_a_swapped_pair_is_refused_when_it_runs() -> None:
    provider, user = object.__new__(ControlPlaneCluster), object.__new__(DataPlaneCluster)
    require_control_plane(provider)
    require_data_plane(user)
    with pytest.raises(InvalidInputError, match="must be a DataPlaneCluster, but a ControlPlaneCluster was given"):
        require_data_plane(provider)
    with pytest.raises(InvalidInputError, match="swapped"):
        require_control_plane(user)
    with pytest.raises(InvalidInputError):
        require_control_plane(object.__new__(Cluster))
