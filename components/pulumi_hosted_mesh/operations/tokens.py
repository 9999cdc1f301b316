"""A token of istiod's account that expires, requested from the data plane's API server (TokenRequest)."""

from __future__ import annotations

from dataclasses import dataclass, field

from pulumi_hosted_mesh.clusters import kubeconfig
from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.vocabulary import namespace_of

ACCOUNT = "istiod"


@dataclass(frozen=True)
class BoundedToken:
    """kubeconfig: istiod's, as JSON, a secret. seconds: lifetime of its token. ends: the token's end, UTC."""

    kubeconfig: str = field(repr=False)
    seconds: int
    ends: str


def bounded_kubeconfig(document: DataPlane, cluster: Kubeconfig, seconds: int) -> BoundedToken:
    """istiod's kubeconfig with a new token. seconds: requested lifetime. The API server may return a shorter one
    (`--service-account-max-token-expiration`).

    Raises: InvalidInputError if no authority verifies the API server; UnreachableError, also without the account.
    """
    authority = document.access.certificate_authority or cluster.certificate_authority
    if authority is None:
        rule = "is required: the kubeconfig has no authority by which istiod can verify the API server"
        raise InvalidInputError([Problem("access.certificateAuthority", rule, "Set it as PEM")], "the data plane")
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
    try:
        status, granted = answer["status"], int(answer["spec"]["expirationSeconds"])
        token, ends = str(status["token"]), str(status["expirationTimestamp"])
    except (KeyError, TypeError, ValueError):
        lack = "without a token, or without its end"
        raise UnreachableError(f"the API server answered the TokenRequest for {ACCOUNT} {lack}") from None
    server = document.access.api_server or cluster.server
    cluster_id = document.cluster_id_in(document.mesh)
    return BoundedToken(kubeconfig.for_account(cluster_id, server, authority, token), granted, ends)
