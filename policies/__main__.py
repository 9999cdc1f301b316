"""The CrossGuard policy pack: `pulumi preview --policy-pack policies`."""

from hosted_mesh_policies.server import serve

serve()
