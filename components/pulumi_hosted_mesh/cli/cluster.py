"""Reads the kubeconfig that options of a command name."""

from __future__ import annotations

from pulumi_hosted_mesh.clusters import exec_credential
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig, KubeconfigRequest, from_file


def cluster_of(file: str, context: str | None, option: str = "--kubeconfig") -> Kubeconfig:
    """A kubeconfig with its credential. option: name of the file's option, for errors. Raises: InvalidInputError."""
    request = KubeconfigRequest(context=context, field=option, source="the command line")
    return exec_credential.fetched(from_file(file, request), option, request.source)
