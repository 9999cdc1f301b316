"""Stack `all-in-one`: one mesh, all sides, as the sandbox uses it. With a document `dns` also its names."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from pulumi_hosted_mesh import HostedMesh
from pulumi_hosted_mesh.assembly.document import arguments_of
from pulumi_hosted_mesh.control_plane.manifests import exposed_services
from pulumi_hosted_mesh.spec.data_plane import WebhookManagement
from pulumi_hosted_mesh.spec.dns import DnsStack
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.stack import StackSettings

from stacks import configuration, dns


async def build(settings: StackSettings) -> dict[str, Any]:
    """Outputs: `namespace`, `injection_labels`, `endpoints` (public facts), `addresses` (of istiod's hosts),
    `gateway_addresses`, by namespace and name; with unmanaged webhooks also `webhook_manifests`, to be installed."""
    mesh = configuration.document(Mesh, "mesh")
    arguments = arguments_of(mesh, configuration.called("mesh"))
    if settings.cacerts:
        arguments["cacerts"] = settings.cacerts
    if settings.root_certificate:
        arguments["root_certificate"] = settings.root_certificate
    made = HostedMesh(mesh.name, arguments)
    facts: dict[str, Any] = {
        "namespace": made.namespace,
        "injection_labels": made.injection_labels,
        "endpoints": made.endpoints,
        "addresses": made.addresses,
        "gateway_addresses": made.gateway_addresses,
    }
    if any(one.webhooks.management is WebhookManagement.UNMANAGED for one in mesh.memberships):
        facts["webhook_manifests"] = made.webhook_manifests
    if names := configuration.optional_document(DnsStack, "dns"):
        hosts = [service.host for revision in mesh.revisions for service in exposed_services(mesh, revision)]
        records: dict[str, Any] = {host: [*targets] for host, targets in settings.records.items()}
        records |= {host: made.addresses.apply(itemgetter(host)) for host in hosts}
        dns.publish(settings, names.bridge, arguments["control_plane"]["cluster"], records)
    return facts
