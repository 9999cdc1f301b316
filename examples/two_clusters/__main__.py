"""A mesh across two clusters that exist: istiod in the provider's, proxies in the user's.

pip install -r requirements.txt && pulumi stack init shop && pulumi up

A document, kubeconfig or chart that cannot be used ends the run with one message (`InvalidInputError`) and no trace.
"""

from pathlib import Path

import pulumi
from pulumi_hosted_mesh.assembly import preflight
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster
from pulumi_hosted_mesh.control_plane.external import ExternalControlPlane
from pulumi_hosted_mesh.data_plane.access import DataPlaneAccess
from pulumi_hosted_mesh.data_plane.crds import DataPlaneCrds
from pulumi_hosted_mesh.data_plane.remote import RemoteDataPlane
from pulumi_hosted_mesh.spec.load import read_mesh_file
from pulumi_hosted_mesh.trust.authorities import MeshTrust

document = pulumi.Config().get("document") or "mesh.yaml"
mesh = read_mesh_file(Path(__file__).parent / document)
kubeconfigs = preflight.both(mesh)
provider = ControlPlaneCluster.from_config(kubeconfigs.control_plane)
user = DataPlaneCluster.from_config(kubeconfigs.data_plane)

# The user's side gives istiod an account with few rights; the trust stays on the provider's side.
trust = MeshTrust(mesh.name, trust=mesh.trust)
access = DataPlaneAccess(mesh.name, mesh=mesh, cluster=user)
crds = [DataPlaneCrds(mesh.name, mesh=mesh, cluster=user)] if mesh.data_plane.crds.install else []

# istiod gets both; what comes back is public.
control_plane = ExternalControlPlane(
    mesh.name, mesh=mesh, cluster=provider, cacerts=trust.cacerts, credential=access.credential, after=crds
)
RemoteDataPlane(
    mesh.name,
    mesh=mesh,
    cluster=user,
    endpoint=control_plane.endpoint,
    after=[access.namespace],
    gateways_after=[control_plane],
)

pulumi.export("label your namespaces with", dict(control_plane.endpoint.injection_labels))
