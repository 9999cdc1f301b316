"""What a cluster is made of when another language gives it, as Pulumi's component host reads it.

No `from __future__ import annotations` here: the host reads the annotations of classes as they are.
"""

from typing import Optional, TypedDict

import pulumi


class ClientSettings(TypedDict, total=False):
    """How the Kubernetes provider calls the API server. For clusters with many objects, or far away."""

    qps: float
    """Requests per second on average; default 50."""
    burst: int
    """Requests at once; default 120."""
    timeout_seconds: int
    """Seconds after which one request is given up; default 32."""


class ClusterFields:
    """The arguments of a cluster that every language can give; the constructor of `Cluster` describes them."""

    kubeconfig: Optional[pulumi.Input[str]]  # noqa: UP045 the host knows Optional[Input[..]] by this spelling
    kubeconfig_file: Optional[str]  # noqa: UP045
    context: Optional[str]  # noqa: UP045
    server: Optional[pulumi.Input[str]]  # noqa: UP045
    identity: Optional[str]  # noqa: UP045
    client: Optional[ClientSettings]  # noqa: UP045


NAMES = tuple(ClusterFields.__annotations__)
