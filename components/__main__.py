"""Serves the components to programs in other languages: `pulumi package add <this directory>`."""

import pulumi_hosted_mesh as hosted_mesh
from pulumi_hosted_mesh.assembly.package import serve

if __name__ == "__main__":
    serve(
        [
            hosted_mesh.DataPlaneAccess,
            hosted_mesh.DataPlaneCrds,
            hosted_mesh.DnsEdge,
            hosted_mesh.ExternalControlPlane,
            hosted_mesh.ExternalDNSBridge,
            hosted_mesh.HostedMesh,
            hosted_mesh.MeshDeployment,
            hosted_mesh.MeshFederation,
            hosted_mesh.MeshRoot,
            hosted_mesh.MeshTrust,
            hosted_mesh.RemoteDataPlane,
        ]
    )
