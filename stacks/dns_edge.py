"""Stack `dns-edge`: the accounts by which the DNS bridge reads one data plane, and the kind DNSEndpoint there."""

from __future__ import annotations

from typing import Any

from pulumi_hosted_mesh import DnsEdge
from pulumi_hosted_mesh.assembly.document import data_plane_cluster
from pulumi_hosted_mesh.spec.dns import DnsEdgeStack
from pulumi_hosted_mesh.spec.stack import StackSettings

from stacks import configuration


async def build(_settings: StackSettings) -> dict[str, Any]:
    """Outputs: `publisher_kubeconfig`, `reader_kubeconfig` (secret, for `dns`)."""
    document = configuration.document(DnsEdgeStack, "dnsEdge")
    made = DnsEdge(
        document.edge.name,
        {
            "edge": document.edge.arguments(),
            "cluster": data_plane_cluster(document.cluster, "dnsEdge.cluster", configuration.SOURCE),
            "install_crd": document.install_crd,
            "keep_crd": document.keep_crd,
            "admission_zones": list(document.admission_zones),
            "token_generation": document.token_generation,
        },
    )
    return {"publisher_kubeconfig": made.publisher_kubeconfig, "reader_kubeconfig": made.reader_kubeconfig}
