"""The identity of a sender, from its certificate only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

# security/pkg/pki/util/san.go in Istio: spiffe://<trust domain>/ns/<namespace>/sa/<service account>
_SPIFFE = re.compile(r"spiffe://([^/]+)/ns/([a-z0-9][-a-z0-9]*)/sa/([a-z0-9][-.a-z0-9]*)")
_POD = r"([a-z0-9][-.a-z0-9]{0,252})\.([a-z0-9][-a-z0-9]{0,62})"
_NODE = re.compile(rf"(?:sidecar|router)~[0-9a-fA-F.:]+~{_POD}~[^~]+")


class ForeignPeerError(Exception):
    """A certificate without a SPIFFE identity of the endpoint's trust domain, or a node of another namespace."""


@dataclass(frozen=True)
class Peer:
    """A workload's identity."""

    principal: str
    namespace: str

    @classmethod
    def of(cls, auth_context: Mapping[str, Iterable[bytes]], trust_domain: str) -> Self:
        """Raises: ForeignPeerError."""
        names = [one.decode("utf-8", "replace") for one in auth_context.get("x509_subject_alternative_name", ())]
        found = [match for name in names if (match := _SPIFFE.fullmatch(name))]
        # Envoy and Istio reject certificates with several SPIFFE ids: which one would count?
        if len(found) != 1 or found[0][1] != trust_domain:
            raise ForeignPeerError("the certificate has no single SPIFFE identity of this endpoint's trust domain")
        return cls(principal=found[0][0], namespace=found[0][2])

    def pod(self, node: str) -> str:
        """The Pod's name in Envoy's node id, or in an access log's `POD.NAMESPACE`. Raises: ForeignPeerError.

        The sender chooses it. It keeps apart the proxies of one principal, and is used for nothing else.
        """
        match = _NODE.fullmatch(node) or re.fullmatch(_POD, node)
        if not match or match[2] != self.namespace:
            raise ForeignPeerError("the node id is not of the certificate's namespace")
        return match[1]
