"""Serves the components to programs in other languages: `pulumi package add <this directory>`."""

from pulumi.provider.experimental import component_provider_host
from pulumi_hosted_mesh.assembly.hosted_mesh import HostedMesh
from pulumi_hosted_mesh.vocabulary import PACKAGE

if __name__ == "__main__":
    component_provider_host(name=PACKAGE, components=[HostedMesh])
