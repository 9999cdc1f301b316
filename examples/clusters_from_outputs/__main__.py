"""A mesh across clusters with kubeconfigs that are Outputs, as of clusters that the same program makes.

Here they are secrets of the stack's configuration, and their contexts are called `control-plane` and `data-plane`:

    pulumi config set --secret --path hosted-mesh:controlPlane < control-plane.kubeconfig
    pulumi config set --secret --path hosted-mesh:dataPlane < data-plane.kubeconfig

In their place may stand `eks.Cluster("control-plane").kubeconfig_json`, or
`pulumi.StackReference("organization/clusters/prod").require_output("kubeconfig")`. Their values
are checked when they arrive, before the first write.
"""

from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh

config = pulumi.Config("hosted-mesh")
# Set it once: a changed identity replaces all objects.
control_plane: Any = {
    "kubeconfig": config.require_secret("controlPlane"),
    "context": "control-plane",
    "identity": "control-plane-1",
}
data_plane: Any = {
    "kubeconfig": config.require_secret("dataPlane"),
    "context": "data-plane",
    "identity": "data-plane-1",
}

revision: Any = {
    "host": "istiod.shop.example.com",
    "exposure": {"source_ranges": ["203.0.113.0/24"]},
    # A changed version is an upgrade of Istio: docs/upgrade.md.
    "charts": {"version": "1.31.1"},
    # More settings, from the stack's configuration: {istiod: {replicas: 1}}.
    **(config.get_object("revision") or {}),
}
membership: Any = {
    "cluster": data_plane,
    "access": {"api_server": "https://api.data-plane.example.com:6443"},
    **(config.get_object("membership") or {}),
}
trust: Any = config.get_object("trust") or {}

mesh = hosted_mesh.HostedMesh(
    "shop",
    {
        "name": "shop",
        "control_plane": {"cluster": control_plane},
        "revisions": [revision],
        "memberships": [membership],
        "trust": trust,
    },
)

pulumi.export("label your namespaces with", mesh.injection_labels)
