"""Whether a data plane's API server has MutatingAdmissionPolicy: the default of `access.rootCertificateOwner`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from weakref import WeakKeyDictionary

from pulumi_hosted_mesh.clusters import exec_credential
from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError
from pulumi_hosted_mesh.clusters.cluster import Cluster, DataPlaneCluster
from pulumi_hosted_mesh.clusters.hooks import writes
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.data_plane import Access

FIELD: Final = "access.rootCertificateOwner"
GROUP_VERSION: Final = "admissionregistration.k8s.io/v1"
RESOURCE: Final = "mutatingadmissionpolicies"
SET: Final = f"Set {FIELD}: false for Kubernetes before 1.36, else true"


_answers: WeakKeyDictionary[Cluster, bool | None] = WeakKeyDictionary()


def has_policies(config: Kubeconfig) -> bool | None:
    """Whether the API server has MutatingAdmissionPolicy; None without an answer. It runs a program for a credential,
    as the provider plug-in does."""
    try:
        return RESOURCE in ApiServer(exec_credential.fetched(config, FIELD, "the kubeconfig")).resources(GROUP_VERSION)
    except (UnreachableError, InvalidInputError):
        return None


def sets_owner(access: Access, cluster: Cluster, called: str) -> bool:
    """Whether to make the policy: the document's value, else whether the API server has the kind.

    Without an answer a preview assumes that it has, and so does an analysis. A program cannot detect that it runs for
    `pulumi destroy --run-program`, so that is rejected as an update is. called: the component, for errors.
    Raises: InvalidInputError if the API server lacks a requested kind, or gives no answer in an update; for a
    kubeconfig that is an Output, when it resolves, before the first object of its cluster.
    """
    wanted = access.root_certificate_owner
    if wanted is False:
        return False

    def require(there: bool | None) -> None:
        if there is False:
            rule = "requires MutatingAdmissionPolicy (Kubernetes 1.36), which the API server does not have"
            raise InvalidInputError([Problem(FIELD, rule, f"Set {FIELD}: false")], called)
        if there is None and wanted is None and writes():
            rule = "has no default, because the data plane's API server gives no answer about its version"
            raise InvalidInputError([Problem(FIELD, rule, f"{SET}. A `pulumi destroy` of it needs this too")], called)

    if cluster.config is not None:
        if cluster not in _answers:
            _answers[cluster] = has_policies(cluster.config)
        there = _answers[cluster]
        require(there if wanted or there is None else True)
        return there is not False
    if not cluster.check_before_objects(lambda config: require(has_policies(config))):
        require(None)
    return True


def require_answers(members: Iterable[tuple[Access, DataPlaneCluster]], called: str) -> None:
    """Checks several members before the first resource. Raises: InvalidInputError, as `sets_owner`."""
    for access, cluster in members:
        if cluster.config is not None:
            sets_owner(access, cluster, called)
