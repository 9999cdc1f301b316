"""The bridge's inputs other than its document: kubeconfigs of edges, credentials of providers, records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pulumi

from pulumi_hosted_mesh.clusters.account_kubeconfig import account_kubeconfig
from pulumi_hosted_mesh.clusters.kubeconfig import KubeconfigRequest
from pulumi_hosted_mesh.dns import credentials, records
from pulumi_hosted_mesh.dns.plan import SOURCE, Plan
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.dns import DnsBridge, Edge

PUBLISHER: Final = "publisher"
READER: Final = "reader"
Kubeconfigs = Mapping[str, pulumi.Input[str]]


@dataclass(frozen=True)
class BridgeInputs:
    """The program's inputs.

    publisher_kubeconfigs, reader_kubeconfigs: of the two accounts, by name of the edge. Secret.
    credentials: by id of the provider, then by key. Secret. records: targets by host.
    """

    publisher_kubeconfigs: Kubeconfigs
    reader_kubeconfigs: Kubeconfigs
    credentials: Mapping[str, Mapping[str, pulumi.Input[str]]]
    records: records.Records

    def require_whole(self, bridge: DnsBridge, plan: Plan) -> None:
        """Checks the inputs before resources are created; values of Outputs are checked later.

        Raises: InvalidInputError unless every edge has its kubeconfigs, every provider its credentials, and every
        record a zone and valid targets.
        """
        found = [
            *records.problems(self.records, plan.own),
            *self._missing_kubeconfigs(plan),
            *credentials.all_problems(bridge.providers, self.credentials),
        ]
        if found:
            raise InvalidInputError(found, SOURCE)

    def kubeconfigs(self, edges: Mapping[str, Edge]) -> dict[tuple[str, str], pulumi.Output[str]]:
        """Kubeconfigs by name of the edge and holder, reduced as `account_kubeconfig` describes. Secret.

        Raises: InvalidInputError for a kubeconfig of any other form: at once for plain text, for an Output once it
        resolves.
        """
        return {
            (name, holder): account_kubeconfig(found[name], _request(edge, holder), "Use its DnsEdge's")
            for holder, found in self._by_holder().items()
            for name, edge in edges.items()
        }

    def _missing_kubeconfigs(self, plan: Plan) -> list[Problem]:
        return [
            Problem(f"{holder}_kubeconfigs", f"has none for edge {edge}", "Add that of its DnsEdge")
            for edge in plan.edges
            for holder, found in self._by_holder().items()
            if edge not in found
        ]

    def _by_holder(self) -> dict[str, Kubeconfigs]:
        return {PUBLISHER: self.publisher_kubeconfigs, READER: self.reader_kubeconfigs}


def _request(edge: Edge, holder: str) -> KubeconfigRequest:
    field = f"{holder}_kubeconfigs.{edge.name}"
    return KubeconfigRequest(server=edge.api_server, identity=edge.name, field=field, source=SOURCE)
