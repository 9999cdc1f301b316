"""Telling two clusters from one cluster that was given twice."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pulumi_hosted_mesh.clusters import address
from pulumi_hosted_mesh.clusters.api_server import kube_system_uid
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.problems import InvalidInputError, Problem

FIX = "Name another cluster for one of the two"
_ASKING: Final = ThreadPoolExecutor(thread_name_prefix="kube-system")


@dataclass(frozen=True)
class Facts:
    """What is known of a cluster.

    server: its API server's address.
    identity: what the program or the document calls it; None if it does not.
    config: its kubeconfig; None for a provider that somebody else made.
    """

    server: str
    identity: str | None = None
    config: Kubeconfig | None = None

    @classmethod
    def of(cls, config: Kubeconfig) -> Facts:
        """The facts that a kubeconfig tells."""
        return cls(config.server, config.identity, config)

    @cached_property
    def uid(self) -> Future[str | None]:
        """The uid of its kube-system, asked once however many clusters this one is compared with; None if unknown.

        Only for a cluster with a kubeconfig.
        """
        assert self.config is not None
        return _ASKING.submit(kube_system_uid, self.config)


def refuse_same_cluster(one: Facts, other: Facts, called: tuple[str, str], source: str) -> None:
    """Raises InvalidInputError if both are one cluster; the error is about `one`.

    called: what errors call the two, such as fields of the document. source: what these belong to.

    Told by the API server's address and by the given identities; by the uid of kube-system where both clusters
    answer; else by their authority: clusters whose authority is the same count as one, unless they were seen to be two
    or each was given an identity of its own.
    """

    name, others = called

    def same(rule: str, fix: str = FIX) -> InvalidInputError:
        return InvalidInputError([Problem(name, rule, fix)], source)

    if address.normal(one.server) == address.normal(other.server):
        raise same(f"has the same API server as {others}")
    named = one.identity and other.identity
    if named and one.identity == other.identity:
        raise same(f"has the same identity as {others}")
    if one.config is None or other.config is None:
        return
    asked = one.uid, other.uid  # both at once
    uids = {answer.result() for answer in asked}
    if None not in uids:
        if len(uids) == 1:
            raise same(f"is {others} under another address: both have the same kube-system namespace")
    elif not named and _have_one_authority(one.config, other.config):
        rule = f"is {others} under another address: both have the same certificate authority"
        raise same(rule, f"{FIX}; if they are two, give each an `identity`")


def _have_one_authority(one: Kubeconfig, other: Kubeconfig) -> bool:
    first, second = one.certificate_authority, other.certificate_authority
    return bool(first and second) and str(first).strip() == str(second).strip()
