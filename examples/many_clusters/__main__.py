"""One template of a mesh, in each cluster that the document chooses: a mesh of its own, its istiod elsewhere.

pip install -r requirements.txt && pulumi stack init fleet && pulumi up

A document, kubeconfig or chart that cannot be used ends the run with one message and no trace.
"""

from pathlib import Path

import pulumi
import pulumi_hosted_mesh as hosted_mesh

document = pulumi.Config().get("document") or "deployment.yaml"
fleet = hosted_mesh.MeshDeployment("fleet", hosted_mesh.read_deployment(Path(__file__).parent / document))

pulumi.export("meshes", fleet.meshes)
pulumi.export("trust domains", fleet.trust_domains)
# Without external-dns: what the hosts' names lead to in DNS.
pulumi.export("addresses", fleet.addresses)
