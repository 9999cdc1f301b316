"""A root and what it signs, below a component that is renamed: an alias says what that was called.

Configuration: `name`; `alias`, its name before; `open`: as the library made it before names in certificates were kept.
"""

import pulumi
import pulumi_hosted_mesh as hosted_mesh

config = pulumi.Config("hosted-mesh")


def opened(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult:
    args.opts.ignore_changes = None
    return pulumi.ResourceTransformationResult(args.props, args.opts)


name, alias = config.require("name"), config.get("alias")
opts = pulumi.ResourceOptions(
    aliases=[pulumi.Alias(name=alias)] if alias else [], transformations=[opened] if config.get("open") else []
)
# As HostedMesh has them below it, by its own name.
below = pulumi.ResourceOptions(parent=pulumi.ComponentResource("test:index:Mesh", name, {}, opts))
trust = hosted_mesh.MeshTrust(name, {}, below)
settings: hosted_mesh.RootArgs = {"protect": False}
root = hosted_mesh.MeshRoot(name, {"requests": {"shop": trust.request}, "trust": {"root": settings}}, below)
pulumi.export("root", root.certificate)
pulumi.export("intermediate", root.certificates["shop"])
pulumi.export("key", trust.private_key)
