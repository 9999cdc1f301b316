"""Serves the components to programs in other languages: `pulumi package add <this directory>`."""

from pulumi_hosted_mesh.assembly.package import serve

if __name__ == "__main__":
    serve()
