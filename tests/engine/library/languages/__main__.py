"""The two meshes of the TypeScript programs, by the same components in Python."""

from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh

config = pulumi.Config("package")
kubeconfig = config.require_secret("kubeconfig")
trust = config.require_object("trust")
settings = config.require_object("revision")
charts = settings["charts"]
control_plane_cluster: Any = {"kubeconfig": kubeconfig, "context": "control-plane"}
data_plane_cluster: Any = {"kubeconfig": kubeconfig, "context": "data-plane"}
# As the example names them.
named_control_plane: Any = {**control_plane_cluster, "identity": "control-plane-1"}
named_data_plane: Any = {**data_plane_cluster, "identity": "data-plane-1"}
exposure = {"source_ranges": ["203.0.113.0/24"]}
istiod = {"wait_until_ready": settings["istiod"]["waitUntilReady"]}


def revision(host: str) -> Any:
    return {"host": host, "exposure": exposure, "charts": charts, "istiod": istiod}


shop = hosted_mesh.HostedMesh(
    "shop",
    {
        "name": "shop",
        "control_plane": {"cluster": named_control_plane},
        "revisions": [revision("istiod.shop.example.com")],
        "memberships": [
            {
                "cluster": named_data_plane,
                "access": {"api_server": "https://api.data-plane.example.com:6443"},
                "crds": {"install": False},
            }
        ],
        "trust": trust,
    },
)

intermediate = hosted_mesh.MeshTrust("books", {"trust": trust})
root = hosted_mesh.MeshRoot("books", {"trust": trust, "requests": {"books": intermediate.request}})
certificate = root.certificates["books"]
access = hosted_mesh.DataPlaneAccess(
    "books", {"mesh": "books", "cluster": data_plane_cluster, "cluster_id": "books", "network": "books"}
)
mesh: Any = {"name": "books", "revisions": [revision("istiod.books.example.com")], "memberships": [{}]}
control_plane = hosted_mesh.ExternalControlPlane(
    "books",
    {
        "mesh": mesh,
        "cluster": control_plane_cluster,
        "kubeconfigs": {"default": access.kubeconfig},
        "root_certificate": root.certificate,
        "cacerts": hosted_mesh.cacerts(certificate, intermediate.private_key, root.certificate),
    },
)
hosted_mesh.RemoteDataPlane(
    "books",
    {
        "cluster": data_plane_cluster,
        "endpoint": {
            "mesh": "books",
            "host": "istiod.books.example.com",
            "cluster_id": "books",
            "network": "books",
            "cross_network": "none",
            "trust_domain": "books.mesh.local",
            "istio_version": "1.31.1",
            "root_certificate": root.certificate,
        },
        "charts": {"path": charts["path"]},
    },
    pulumi.ResourceOptions(depends_on=[access, control_plane]),
)
