"""The reference to a cluster in a document: kubeconfig file, context, and optionally the expected address."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from pulumi_hosted_mesh.spec.charts import Charts
from pulumi_hosted_mesh.spec.fields import ApiServer, DnsLabel, FilePath, Model, Setter, Switch, Text, Variable


class Client(Model):
    """Rate limits and timeout of Pulumi's Kubernetes client."""

    qps: Annotated[float, Field(gt=0)] | None = None
    """Requests per second; by default the provider plug-in's value."""
    burst: Annotated[int, Field(strict=True, ge=1)] | None = None
    """Requests in one burst; by default the provider plug-in's value."""
    timeout_seconds: Annotated[int, Field(strict=True, ge=1)] | None = None
    """Timeout of one request, in seconds; by default 32."""


class CredentialProgram(Model):
    """A program that prints a credential, as `users[].user.exec` of a kubeconfig."""

    command: Annotated[Text, Field(min_length=1)]
    """The program: a name on PATH, or an absolute path."""
    args: list[Text] = []
    """Its arguments."""
    env: dict[Variable, Text] = {}
    """Variables to add to its environment. Not secret: no credential belongs here."""
    api_version: Literal["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"] = (
        "client.authentication.k8s.io/v1"
    )
    """The version of the ExecCredential that it prints."""
    provide_cluster_info: Switch = False
    """True passes the cluster's address and authority to it, in KUBERNETES_EXEC_INFO."""

    @property
    def entry(self) -> dict[str, Any]:
        """The value of `exec` in a kubeconfig's user."""
        return {
            "apiVersion": self.api_version,
            "command": self.command,
            "args": list(self.args),
            "env": [{"name": name, "value": value} for name, value in self.env.items()],
            "interactiveMode": "Never",
            "provideClusterInfo": self.provide_cluster_info,
        }


class ClusterReference(Model):
    """An existing cluster, by the deployer's kubeconfig."""

    kubeconfig: FilePath
    """Path of a kubeconfig file. `~` and environment variables are expanded. A relative path starts at the program."""
    context: Text | None = None
    """The context to use; by default the file's current context. Other contexts of the file are not read."""
    server: ApiServer | None = None
    """The expected API server of the context, `https://HOST:PORT`. A file or context with another address is rejected
    before the first request."""
    identity: DnsLabel | None = None
    """The cluster's name in the stacks' state, no secret; by default a hash of the kubeconfig's certificate
    authorities. A new identity replaces all objects of the cluster. Set it before you rotate the authority, and where
    clusters share an authority. For a new mesh the uid of the namespace kube-system is a good choice. For existing
    stacks, copy the state's `clusterIdentifier`, without the role before it."""
    exec: CredentialProgram | None = None
    """The program that prints the credential of this run, on this document's own terms. The kubeconfig then gives the
    address and the authority only, as of a cluster's owner; one with a credential or a program is rejected. istiod runs
    no program: it has a ServiceAccount's token."""
    client: Client = Client()
    """Settings of Pulumi's Kubernetes client."""

    @property
    def client_settings(self) -> Any:
        """The client's settings that the document has, by name."""
        return self.client.model_dump(exclude_none=True) or None


class ClusterBase(Model):
    """The objects that all meshes of a data plane's cluster share: the stack `cluster`."""

    setter = Setter.OWNER

    cluster: ClusterReference
    """The data plane's cluster."""
    charts: Charts = Charts()
    """The source of Istio's charts. The version is the newest of all meshes of this cluster."""
    keep_on_destroy: Switch = True
    """False: `pulumi destroy` removes Istio's custom resource definitions, and with them every Istio object."""
