"""Two meshes under one root, east and west: west exports a Service, and one account of east may call it.

pip install -r requirements.txt && pulumi stack init federation && pulumi up

east.yaml and west.yaml are the meshes' documents, federation.yaml is theirs in common; README.md explains them.
"""

from pathlib import Path
from typing import Any

import pulumi
import pulumi_hosted_mesh as hosted_mesh
import yaml

FOLDER = Path(__file__).parent
config = pulumi.Config("hosted-mesh")
shops: Any = yaml.safe_load((FOLDER / "federation.yaml").read_text())
documents: dict[str, Any] = {
    peer["mesh"]: hosted_mesh.read_mesh(FOLDER / f"{peer['mesh']}.yaml") for peer in shops["peers"]
}

# One root, and an intermediate for each mesh, so that each verifies the other's workloads.
trusts = {mesh: hosted_mesh.MeshTrust(mesh, {}) for mesh in documents}
root = hosted_mesh.MeshRoot(
    shops["name"],
    {
        "requests": {mesh: trust.request for mesh, trust in trusts.items()},
        "trust": {"root": {"protect": config.get_bool("protectRoot", True)}},
    },
)

for name, document in documents.items():
    files = hosted_mesh.cacerts(root.certificates[name], trusts[name].private_key, root.certificate)
    arguments: Any = {**document, "cacerts": files}
    mesh = hosted_mesh.HostedMesh(name, arguments)
    part = hosted_mesh.MeshFederation(
        f"{shops['name']}-{name}",
        {"federation": shops, "mesh": name, "cluster": document["memberships"][0]["cluster"]},
        pulumi.ResourceOptions(depends_on=[mesh]),
    )
    pulumi.export(f"{name}: label your namespaces with", mesh.injection_labels)
    # The names of gateways in federation.yaml lead to these.
    pulumi.export(f"{name}: addresses of gateways", mesh.gateway_addresses)
    pulumi.export(f"{name}: imported hosts", part.hosts)
