"""The bridge's document out of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.load import read_file

if TYPE_CHECKING:
    from pulumi_hosted_mesh.inputs import DnsBridgeArgs


def read_dns_bridge(path: Path) -> DnsBridgeArgs:
    """What `ExternalDNSBridge` takes, out of a YAML file. Raises: InvalidInputError with one line per problem."""
    found: DnsBridgeArgs = read_file(DnsBridge, path).arguments()
    return found
