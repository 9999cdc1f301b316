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
from pulumi_hosted_mesh.data_plane.access import DataPlaneAccess
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster
from pulumi_hosted_mesh.control_plane.external import ExternalControlPlane
from pulumi_hosted_mesh.data_plane.remote import RemoteDataPlane
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.trust.authorities import MeshTrust


def swapped(mesh: Mesh, provider: ControlPlaneCluster, user: DataPlaneCluster) -> None:
    trust = MeshTrust(mesh.name, trust=mesh.trust)
    access = DataPlaneAccess("x", mesh=mesh, cluster=provider)  # refused
    control_plane = ExternalControlPlane(
        "x",
        mesh=mesh,
        cluster=user,  # refused
        cacerts=trust.cacerts,
        credential=access.credential,
    )
    RemoteDataPlane("x", mesh=mesh, cluster=provider, endpoint=control_plane.endpoint)  # refused
    RemoteDataPlane("x", mesh=mesh, cluster=user, endpoint=trust.cacerts)  # refused
"""


def test_a_swapped_pair_is_a_type_error(tmp_path: Path) -> None:
    program = tmp_path / "swapped.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(program)], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    refused = {int(line) for line in re.findall(r"swapped\.py:(\d+): error: .*incompatible type", done.stdout)}
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
