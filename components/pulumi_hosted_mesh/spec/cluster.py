"""How the document names a cluster: a kubeconfig file, a context in it, and optionally the address to expect."""

from __future__ import annotations

from pulumi_hosted_mesh.spec.fields import ApiServer, DnsLabel, FilePath, Model, Text


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
