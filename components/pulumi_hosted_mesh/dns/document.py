"""Reads the bridge's document from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pulumi_hosted_mesh.spec.dns import DnsBridge
from pulumi_hosted_mesh.spec.load import read_document_file

if TYPE_CHECKING:
    from pulumi_hosted_mesh._generated.inputs import DnsBridgeArgs


def read_dns_bridge(path: Path) -> DnsBridgeArgs:
    """`ExternalDNSBridge`'s argument `bridge` from a YAML file. Raises: InvalidInputError, one line per problem."""
    found: DnsBridgeArgs = read_document_file(DnsBridge, path).arguments()
    return found
