"""`hosted-mesh exports`: arguments, and the file that is printed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import yaml

from pulumi_hosted_mesh.cli.cluster import cluster_of
from pulumi_hosted_mesh.cli.errors import plain_errors
from pulumi_hosted_mesh.cli.given import document_of
from pulumi_hosted_mesh.operations.exports import read_offer
from pulumi_hosted_mesh.spec.federation import Federation


def exports(
    document: Annotated[Path, typer.Argument(help="The federation's document, YAML.", show_default=False)],
    mesh: Annotated[str, typer.Option(help="The peer whose exports these are.", show_default=False)],
    kubeconfig: Annotated[str | None, typer.Option(help="Its data plane's cluster, for exports by label.")] = None,
    context: Annotated[str | None, typer.Option(help="The context; by default the file's current one.")] = None,
) -> None:
    """Print what a mesh exports, for its peers: hosted-mesh exports federation.yaml --mesh west > west.yaml

    Public facts. Peers name the file under hosted-mesh:offers of the stack federation.
    """
    with plain_errors():
        cluster = None if kubeconfig is None else cluster_of(kubeconfig, context)
        offered = read_offer(document_of(Federation, document), mesh, cluster)
    print(yaml.safe_dump(offered.model_dump(mode="json", by_alias=True), sort_keys=False, width=1000), end="")
