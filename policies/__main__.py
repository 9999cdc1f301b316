"""The CrossGuard policy pack: `pulumi preview --policy-pack policies`."""

from hosted_mesh_policies.pack.server import serve

serve()
