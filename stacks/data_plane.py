"""Stack `data-plane`: the data plane's side. It needs no credential of the control plane, so its user may run it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pulumi_hosted_mesh import (
    ControlPlaneEndpoint,
    DataPlane,
    EndpointDocument,
    RemoteDataPlane,
    StackKind,
    StackSettings,
    WebhookManagement,
    data_plane_cluster,
    read_document,
    remote_data_plane_args,
    require_matching_endpoints,
    suffixed,
)

from stacks import configuration, references


async def build(settings: StackSettings) -> dict[str, Any]:
    """Outputs: `endpoints` (public facts, by revision), `namespace`, `injection_labels` (of the first revision),
    `gateway_addresses`, by namespace and name; with unmanaged webhooks also `webhook_manifests`."""
    document = configuration.document(DataPlane, "dataPlane")
    told = await _endpoints(document, settings)
    require_matching_endpoints(document, told)
    cluster = data_plane_cluster(document.cluster, "dataPlane.cluster", configuration.SOURCE)
    endpoints = [ControlPlaneEndpoint.from_facts(one.model_dump()) for one in told]
    charts = document.charts.arguments()
    data_planes = [
        RemoteDataPlane(
            suffixed(document.mesh, endpoint.revision),
            remote_data_plane_args(document, cluster, endpoint, charts, is_first=endpoint is endpoints[0]),
        )
        for endpoint in endpoints
    ]
    facts: dict[str, Any] = {
        "endpoints": {one.revision: one.model_dump(mode="json", by_alias=True) for one in told},
        "namespace": endpoints[0].namespace,
        "injection_labels": dict(endpoints[0].injection_labels),
        "gateway_addresses": data_planes[0].gateway_addresses,
    }
    if document.webhooks.management is WebhookManagement.UNMANAGED:
        facts["webhook_manifests"] = [one.webhook_manifests for one in data_planes]
    return facts


async def _endpoints(document: DataPlane, settings: StackSettings) -> list[EndpointDocument]:
    """From the files under `endpoints`, or of the stack `control-plane`; with both, the files' if they agree."""
    given = configuration.documents(EndpointDocument, "endpoints")
    if settings.references.control_plane is None and given:
        return given
    field = "references.controlPlane, or endpoints"
    stack = references.stack(settings.references.control_plane, field, StackKind.CONTROL_PLANE)
    outputs: Mapping[str, Any] = await stack.plain_output("endpoints", dict)
    members = {key: facts for key, facts in outputs.items() if key.startswith(f"{document.name}/")}
    told = [
        read_document(EndpointDocument, facts, f"the endpoint {key} of that stack") for key, facts in members.items()
    ]
    order: list[str] = await stack.plain_output("revisions", list)
    told.sort(key=lambda endpoint: order.index(endpoint.revision))
    if not given:
        return told
    require_matching_endpoints(document, given, told)
    handed = {endpoint.revision for endpoint in given}
    return [endpoint for endpoint in told if endpoint.revision in handed]
