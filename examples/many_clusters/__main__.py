"""One template of a mesh, in each cluster that the document chooses: a mesh of its own, its istiod elsewhere.

pip install -r requirements.txt && pulumi stack init fleet && pulumi up

An invalid document, kubeconfig or chart ends the run with one message and no trace.
"""

from pathlib import Path

import pulumi
import pulumi_hosted_mesh as hosted_mesh

document = pulumi.Config().get("document") or "deployment.yaml"
fleet = hosted_mesh.MeshDeployment("fleet", hosted_mesh.read_deployment(Path(__file__).parent / document))

pulumi.export("meshes", fleet.meshes)
pulumi.export("trust domains", fleet.trust_domains)
# Without external-dns: the addresses for the hosts' records in DNS.
pulumi.export("addresses", fleet.addresses)
# Public facts: for the documents of a federation, and for checks of webhooks.
pulumi.export("root certificates", fleet.root_certificates)
pulumi.export("endpoints", fleet.endpoints)
pulumi.export("injection labels", fleet.injection_labels)
