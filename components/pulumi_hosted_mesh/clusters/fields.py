"""The arguments of a cluster in other languages, for Pulumi's component host.

No `from __future__ import annotations` here: the host reads the annotations of classes as they are.
"""

from typing import Optional, TypedDict

import pulumi


class ClientSettings(TypedDict, total=False):
    """Rate limits and timeout of the Kubernetes provider's client. For clusters with many objects, or far away."""

    qps: float
    """Requests per second on average; default 50."""
    burst: int
    """Requests in one burst; default 120."""
    timeout_seconds: int
    """Timeout of one request, in seconds; default 32."""


class ClusterFields:
    """The arguments of a cluster in every language; the docstring of `Cluster` describes them."""

    kubeconfig: Optional[pulumi.Input[str]]  # noqa: UP045 the host recognizes Optional[Input[..]] by this spelling
    kubeconfig_file: Optional[str]  # noqa: UP045
    context: Optional[str]  # noqa: UP045
    server: Optional[pulumi.Input[str]]  # noqa: UP045
    identity: Optional[str]  # noqa: UP045
    client: Optional[ClientSettings]  # noqa: UP045


NAMES = tuple(ClusterFields.__annotations__)
