"""How the document names a cluster: a kubeconfig file, a context in it, and optionally the address to expect."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from pulumi_hosted_mesh.spec.charts import Charts
from pulumi_hosted_mesh.spec.fields import ApiServer, DnsLabel, FilePath, Model, Text


class Client(Model):
    """How fast, and how patiently, Pulumi's Kubernetes client asks the API server."""

    qps: Annotated[float, Field(gt=0)] | None = None
    """Requests per second; by default the provider plug-in's."""
    burst: Annotated[int, Field(strict=True, ge=1)] | None = None
    """Requests at once; by default the provider plug-in's."""
    timeout_seconds: Annotated[int, Field(strict=True, ge=1)] | None = None
    """How long one request may take, in seconds; by default 32."""


class ClusterReference(Model):
    """A cluster that exists, as the one who runs Pulumi reaches it."""

    kubeconfig: FilePath
    """Path of a kubeconfig file; `~` and environment variables are expanded, a relative path starts at the program."""
    context: Text | None = None
    """The context to use; by default the file's current one. Nothing but this context leaves the file."""
    server: ApiServer | None = None
    """The API server that the context must point at, `https://HOST:PORT`. Set it, and a wrong file or context is
    refused before anything is touched."""
    identity: DnsLabel | None = None
    """What the cluster is called in the stacks' state, no secret; by default a hash of the kubeconfig's certificate
    authorities. While it stays, objects are updated in place; when it changes, all of them are replaced. So set it
    before the authority is rotated, and where clusters share one; for a new mesh the uid of the namespace kube-system
    is a good choice. For stacks that exist, set what the state has: clusterIdentifier without the role before it."""
    client: Client = Client()
    """Settings of Pulumi's Kubernetes client."""

    @property
    def client_settings(self) -> Any:
        """The settings that are given, by name."""
        return self.client.model_dump(exclude_none=True) or None


class ClusterBase(Model):
    """What a data plane's cluster has once, however many meshes it is a member of: the stack `cluster`."""

    cluster: ClusterReference
    """The data plane's cluster."""
    charts: Charts = Charts()
    """Where Istio's charts come from, and the newest version that a mesh of this cluster has."""
    keep_on_destroy: Annotated[bool, Field(strict=True)] = True
    """False removes Istio's custom resource definitions with the stack, and with them every Istio object."""
