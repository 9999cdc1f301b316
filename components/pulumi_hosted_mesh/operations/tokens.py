"""A token of istiod's account that expires: asked of the data plane's API server (TokenRequest), as a kubeconfig."""

from __future__ import annotations

from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.vocabulary import namespace_of

ACCOUNT = "istiod"


def bounded_kubeconfig(document: DataPlane, cluster: Kubeconfig, seconds: int) -> str:
    """istiod's kubeconfig with a token that is valid for `seconds`, as JSON. A secret.

    Raises: InvalidInputError if nothing verifies the API server or the account is not there; UnreachableError.
    """
    authority = document.access.certificate_authority or cluster.certificate_authority
    if authority is None:
        rule = "is required: the kubeconfig has no authority that istiod could verify the API server with"
        raise InvalidInputError([Problem("access.certificateAuthority", rule, "Give it as PEM")])
    path = f"/api/v1/namespaces/{namespace_of(document.mesh)}/serviceaccounts/{ACCOUNT}/token"
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": seconds},
    }
    answer = ApiServer(cluster).post(path, body)
    if answer is None:
        raise UnreachableError(
            f"there is no ServiceAccount {ACCOUNT} of mesh {document.mesh}: run the stack access first"
        )
    status = answer.get("status")
    token = status.get("token") if isinstance(status, dict) else None
    if not token:
        raise UnreachableError(f"the API server answered the request for a token of {ACCOUNT} without one")
    server = document.access.api_server or cluster.server
    cluster_id = document.cluster_id_in(document.mesh)
    return kubeconfig.for_account(cluster_id, server, authority, str(token))
