"""`hosted-mesh exports`: arguments and output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pulumi_hosted_mesh import yaml_text
from pulumi_hosted_mesh.cli.cluster import cluster_of
from pulumi_hosted_mesh.cli.errors import plain_errors
from pulumi_hosted_mesh.cli.input_files import document_of
from pulumi_hosted_mesh.operations.exports import read_offer
from pulumi_hosted_mesh.spec.federation import Federation


def exports(
    document: Annotated[Path, typer.Argument(help="The federation's document, YAML.", show_default=False)],
    mesh: Annotated[str, typer.Option(help="The exporting peer.", show_default=False)],
    kubeconfig: Annotated[str | None, typer.Option(help="Its data plane's cluster, for exports by label.")] = None,
    context: Annotated[str | None, typer.Option(help="The context; by default the file's current one.")] = None,
) -> None:
    """Print the exports of a mesh for its peers: hosted-mesh exports federation.yaml --mesh west > west.yaml

    The file has public facts only. Peers name it under hosted-mesh:offers of the stack federation.
    """
    with plain_errors():
        cluster = None if kubeconfig is None else cluster_of(kubeconfig, context)
        offered = read_offer(document_of(Federation, document), mesh, cluster)
    print(yaml_text.dump(offered.model_dump(mode="json", by_alias=True)), end="")
