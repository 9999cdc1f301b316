"""A token of istiod's account that expires: asked of the data plane's API server (TokenRequest), as a kubeconfig."""

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
class Bounded:
    """kubeconfig: istiod's, as JSON, a secret. seconds: that its token is valid. ends: the same as a time, UTC."""

    kubeconfig: str = field(repr=False)
    seconds: int
    ends: str


def bounded_kubeconfig(document: DataPlane, cluster: Kubeconfig, seconds: int) -> Bounded:
    """istiod's kubeconfig with a token that is to be valid for `seconds`. The API server may give a shorter one
    (`--service-account-max-token-expiration`), and answers what it gave.

    Raises: InvalidInputError if nothing verifies the API server or the account is not there; UnreachableError.
    """
    authority = document.access.certificate_authority or cluster.certificate_authority
    if authority is None:
        rule = "is required: the kubeconfig has no authority that istiod could verify the API server with"
        raise InvalidInputError([Problem("access.certificateAuthority", rule, "Give it as PEM")], "the data plane")
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
        what = "without one, or without the time that it ends"
        raise UnreachableError(f"the API server answered the request for a token of {ACCOUNT} {what}") from None
    server = document.access.api_server or cluster.server
    cluster_id = document.cluster_id_in(document.mesh)
    return Bounded(kubeconfig.for_account(cluster_id, server, authority, token), granted, ends)
