"""A sandbox's API servers, as the tests' administrator asks them."""

from __future__ import annotations

from lightkube import Client, KubeConfig

from sandbox.clusters import Sandbox


def client_of(sandbox: Sandbox, name: str) -> Client:
    """Of the cluster of this name, by the kubeconfig that people use."""
    return Client(config=KubeConfig.from_file(sandbox.kubeconfig).get(context_name=name), trust_env=False)
