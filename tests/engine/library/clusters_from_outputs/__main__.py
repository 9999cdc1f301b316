"""Objects in two clusters whose kubeconfig is an Output, as that of a cluster which the same program makes.

Configuration: `value`, of every object; `leak`, what else goes to the user's cluster (`typed`,
`own`); `second`, the context that is taken for the user's.
"""

import os
from pathlib import Path

import pulumi
from pulumi_hosted_mesh.boundary import guard
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster, DataPlaneCluster
from pulumi_kubernetes import core, meta

config = pulumi.Config("hosted-mesh")
kubeconfig = pulumi.Output.secret(Path(os.environ["KUBECONFIG"]).read_text())
second = config.get("second") or "data-plane"
provider = ControlPlaneCluster("shop", kubeconfig=kubeconfig, context="control-plane", client={"qps": 80, "burst": 200})
user = DataPlaneCluster("shop", kubeconfig=kubeconfig, context=second, client={"timeout_seconds": 60})
provider.distinct_from(user)

box = pulumi.ComponentResource("test:index:Box", "box")
here, there = provider.options(box), user.options(box)
data = {"value": config.require("value")}
core.v1.ConfigMap("settings", metadata=meta.v1.ObjectMetaArgs(name="settings"), data=data, opts=here)
token = core.v1.Secret("token", metadata=meta.v1.ObjectMetaArgs(name="token"), string_data=data, opts=here)
core.v1.Secret("there", metadata=meta.v1.ObjectMetaArgs(name="there"), string_data=data, opts=there)
value = token.data.apply(lambda found: found["value"])
if config.get("leak") == "typed":
    annotated = meta.v1.ObjectMetaArgs(name="leak", annotations={"value": value})
    core.v1.ConfigMap("leak", metadata=annotated, opts=there)
if config.get("leak") == "own":
    own = guard.data_plane_secret(value, "a password of the user's own")
    core.v1.Secret("own", metadata=meta.v1.ObjectMetaArgs(name="own"), data={"value": own}, opts=there)
pulumi.export("server", user.server)
