"""Checks that two clusters are not the same."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pulumi_hosted_mesh import canonical
from pulumi_hosted_mesh.clusters.api_server import kube_system_uid
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.problems import InvalidInputError, Problem

FIX = "Name another cluster for one of the two"
_REQUESTS: Final = ThreadPoolExecutor(thread_name_prefix="kube-system")


@dataclass(frozen=True)
class ClusterFacts:
    """The facts for comparing a cluster.

    server: its API server's address.
    identity: its identity in the program or the document; None without one.
    config: its kubeconfig; None for an existing provider.
    """

    server: str
    identity: str | None = None
    config: Kubeconfig | None = None

    @classmethod
    def of(cls, config: Kubeconfig) -> ClusterFacts:
        """The facts in a kubeconfig."""
        return cls(config.server, config.identity, config)

    @cached_property
    def uid(self) -> Future[str | None]:
        """The uid of its kube-system, requested once for all comparisons; None if unknown.

        Only for a cluster with a kubeconfig.
        """
        assert self.config is not None
        return _REQUESTS.submit(kube_system_uid, self.config)


def refuse_same_cluster(one: ClusterFacts, other: ClusterFacts, called: tuple[str, str], source: str) -> None:
    """Raises InvalidInputError if both are one cluster; the error is about `one`.

    called: the names of the two in errors, such as fields of the document. source: the document or component.

    It compares the API servers' addresses and the identities; then the uids of kube-system, if both clusters answer;
    else the certificate authorities. Clusters with one authority count as one, unless each has its own identity.
    """

    name, others = called

    def same(rule: str, fix: str = FIX) -> InvalidInputError:
        return InvalidInputError([Problem(name, rule, fix)], source)

    if canonical.server(one.server) == canonical.server(other.server):
        raise same(f"has the same API server as {others}")
    named = one.identity and other.identity
    if named and one.identity == other.identity:
        raise same(f"has the same identity as {others}")
    if one.config is None or other.config is None:
        return
    answers = one.uid, other.uid  # both at once
    uids = {answer.result() for answer in answers}
    if None not in uids:
        if len(uids) == 1:
            raise same(f"is {others} under another address: both have the same kube-system namespace")
    elif not named and _have_one_authority(one.config, other.config):
        rule = f"is {others} under another address: both have the same certificate authority"
        raise same(rule, f"{FIX}; if they are two clusters, set `identity` of each")


def _have_one_authority(one: Kubeconfig, other: Kubeconfig) -> bool:
    first, second = (canonical.certificates(config.certificate_authority or "") for config in (one, other))
    return bool(first) and first == second
