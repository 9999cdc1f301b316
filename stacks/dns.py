"""Stack `dns`: the DNS bridge in the control plane's cluster. Needs no credential of any data plane's administrator."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh import ExternalDNSBridge
from pulumi_hosted_mesh.assembly.document import control_plane_cluster
from pulumi_hosted_mesh.spec.dns import DnsCentre
from pulumi_hosted_mesh.spec.stack import StackSettings

from stacks import configuration, references


async def build(settings: StackSettings) -> dict[str, Any]:
    """Outputs: `namespace`, and `zones` in which each edge may publish (public)."""
    document = configuration.document(DnsCentre, "dns")
    named = settings.references.edges or {}
    edges = {
        edge.name: references.stack(named.get(edge.name), f"references.edges.{edge.name}")
        for edge in document.bridge.edges
        if edge.publishes
    }
    made = ExternalDNSBridge(
        "names",
        {
            "bridge": document.bridge.arguments(),
            "cluster": control_plane_cluster(document.cluster),
            "publisher_kubeconfigs": {name: one.require_output("publisher_kubeconfig") for name, one in edges.items()},
            "reader_kubeconfigs": {name: one.require_output("reader_kubeconfig") for name, one in edges.items()},
            "credentials": {name: dict(keys) for name, keys in (settings.dns_credentials or {}).items()},
        },
    )
    return {"namespace": made.namespace, "zones": made.zones}
