"""Parts of Bookinfo in three meshes: the page in one, reviews in the two others.

pip install -r requirements.txt && pulumi stack init application && pulumi up

The meshes exist, with the namespace `bookinfo`; examples/federated_fleet makes and federates them.
"""

from pathlib import Path

import pulumi
import pulumi_hosted_mesh as hosted_mesh

document = Path(__file__).parent / "application.yaml"
bookinfo = hosted_mesh.ApplicationDeployment("bookinfo", hosted_mesh.read_application(document))

pulumi.export("placed", bookinfo.placed)
