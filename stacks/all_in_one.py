"""Stack `all-in-one`: one mesh, all sides, as the sandbox uses it. With a document `dns` also its names."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from pulumi_hosted_mesh import (
    AuthorityManagement,
    DnsStack,
    HostedMesh,
    Mesh,
    StackSettings,
    WebhookManagement,
    exposed_services,
    hosted_mesh_args,
)

from stacks import configuration, dns, references
from stacks.control_plane import signed_elsewhere


async def build(settings: StackSettings) -> dict[str, Any]:
    """Outputs: `namespace`, `injection_labels`, `endpoints` (public facts), `addresses` (of istiod's hosts),
    `api_server_clients` (source addresses for the owners of the data planes' API servers), `gateway_addresses`, by
    namespace and name; with unmanaged webhooks also `webhook_manifests`, to be installed."""
    mesh = configuration.document(Mesh, "mesh")
    arguments = hosted_mesh_args(mesh, configuration.called("mesh"))
    if settings.cacerts:
        arguments["cacerts"] = settings.cacerts
    elif mesh.trust.management is AuthorityManagement.BROUGHT and settings.references.trust:
        arguments["cacerts"] = signed_elsewhere(mesh.owner, settings).files
    if settings.root_certificate:
        arguments["root_certificate"] = settings.root_certificate
    if gateway := await references.gateway(settings.references.gateway):
        arguments["gateway"] = gateway
    made = HostedMesh(mesh.name, arguments)
    facts: dict[str, Any] = {
        "namespace": made.namespace,
        "injection_labels": made.injection_labels,
        "endpoints": made.endpoints,
        "addresses": made.addresses,
        "api_server_clients": made.api_server_clients,
        "gateway_addresses": made.gateway_addresses,
    }
    if any(one.webhooks.management is WebhookManagement.UNMANAGED for one in mesh.memberships):
        facts["webhook_manifests"] = made.webhook_manifests
    if names := configuration.optional_document(DnsStack, "dns"):
        hosts = [service.host for revision in mesh.revisions for service in exposed_services(mesh, revision)]
        records: dict[str, Any] = {host: [*targets] for host, targets in settings.records.items()}
        records |= {host: made.addresses.apply(itemgetter(host)) for host in hosts}
        await dns.publish(settings, names.bridge, arguments["control_plane"]["cluster"], records)
    return facts
