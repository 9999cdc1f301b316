"""What is checked before the first resource: that each chart of a mesh can be had."""

from __future__ import annotations

from pulumi_hosted_mesh.charts.chart import source
from pulumi_hosted_mesh.spec.mesh import Mesh


def check_charts(mesh: Mesh) -> None:
    """Raises InvalidInputError if a local directory has no such charts, or too old ones."""
    gateways = any(one.gateways for one in mesh.memberships)
    for revision in mesh.revisions:
        for name in ("base", "istiod", *(["gateway"] if gateways else [])):
            source(revision.charts, name)
