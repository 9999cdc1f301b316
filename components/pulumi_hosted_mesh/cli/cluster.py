"""The cluster that options of a command name."""

from __future__ import annotations

from pulumi_hosted_mesh.clusters import exec_credential
from pulumi_hosted_mesh.clusters.kubeconfig import Asked, Kubeconfig, from_file


def cluster_of(file: str, context: str | None, option: str = "--kubeconfig") -> Kubeconfig:
    """A kubeconfig with its credential. option: that names the file, for errors. Raises: InvalidInputError."""
    asked = Asked(context=context, field=option, source="the command line")
    return exec_credential.fetched(from_file(file, asked), option, asked.source)
