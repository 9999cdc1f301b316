"""`hosted-mesh check-webhooks`: arguments and output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pulumi_hosted_mesh.cli.cluster import cluster_of
from pulumi_hosted_mesh.cli.errors import plain_errors
from pulumi_hosted_mesh.cli.input_files import document_of
from pulumi_hosted_mesh.cli.report import JsonOption, Output, OutputOption, print_report
from pulumi_hosted_mesh.cli.without_crd import WithoutCrdOption
from pulumi_hosted_mesh.operations.webhooks import observation
from pulumi_hosted_mesh.operations.webhooks.check import verdicts
from pulumi_hosted_mesh.operations.webhooks.crds import require_crds
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument


def check_webhooks(
    endpoint: Annotated[
        Path,
        typer.Argument(help="The data plane's endpoint file; `-` reads a pipe.", show_default=False),
    ],
    kubeconfig_file: Annotated[
        str, typer.Option("--kubeconfig", help="Kubeconfig of the data plane's cluster.")
    ] = "$KUBECONFIG",
    context: Annotated[str | None, typer.Option(help="Its context; by default the current one.")] = None,
    namespace: Annotated[
        str | None, typer.Option(help="Send an unlabelled Pod to this namespace, to check the namespace's labels.")
    ] = None,
    without_crd: WithoutCrdOption = None,
    is_json: JsonOption = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Make the data plane's API server call istiod's webhooks, and report failures with fixes.

    hosted-mesh endpoint | hosted-mesh check-webhooks - --context data-plane

    It sends a Pod, an invalid and a valid Gateway as dry runs; nothing is stored.
    The Pod must get a sidecar of this mesh and revision. istiod must reject only the invalid Gateway.

    All of Istio's CRDs must exist, except those that --without-crd names. If they have a version, it must be istiod's
    or newer.

    Rights: list webhook configurations and CRDs; create Pods and Gateways in one namespace, by default the mesh's own.

    Exit code 3 if a check fails, 1 if the API server does not answer or forbids the requests.
    With --json each check has: check, ok, notice, cause (an identifier, `time-out`), seen, fix.
    """
    with plain_errors():
        without = require_crds(without_crd or [])
        facts = document_of(EndpointDocument, endpoint)
        cluster = cluster_of(kubeconfig_file, context)
        found = verdicts(facts, observation.observe(facts, cluster, namespace), without)
    print_report(found, Output.JSON if is_json else output, mesh=facts.mesh, revision=facts.revision)
