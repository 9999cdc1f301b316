"""A new request to cert-manager after a refusal from before this run, so that the next `up` finishes a failed one."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from pulumi_hosted_mesh.clusters.api_server import ApiServer, RefusedError
from pulumi_hosted_mesh.control_plane import certificate_manifests as manifests
from pulumi_hosted_mesh.control_plane.certificate_manifests import RefusedCertificateError
from pulumi_hosted_mesh.vocabulary import CACERTS_SECRET

AGAIN_SECONDS: Final = 5.0
BY_HAND: Final = f"run `cmctl renew {CACERTS_SECRET} --namespace {{namespace}}`, and `pulumi up` again"


class RepeatedIssuance:
    """One run's handling of refusals. Those from before it get one more request; those of its own end it.

    cert-manager waits for an hour or more after a failed request, and its issuer may be correct since.
    """

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self._earlier: frozenset[str] | None = None
        self._next = 0.0

    def note(self, requests: Sequence[Mapping[str, Any]]) -> None:
        """Takes the requests of the run's first look as earlier ones."""
        if self._earlier is None:
            self._earlier = frozenset(map(manifests.uid_of, requests))

    def reason(self, api: ApiServer, certificate: Mapping[str, Any], refused: RefusedCertificateError) -> str:
        """The reason to wait on, after a request for a new certificate.

        Raises: RefusedCertificateError with the whole fix if the refusal is of this run, or the mesh runs.
        """
        keeps = refused.is_issued and self._has_istiod(api)
        if keeps or refused.request not in (self._earlier or ()):
            then = f"Then {BY_HAND.format(namespace=self.namespace)}. No run replaces the authority of a running mesh"
            again = "Then run `pulumi up` again: it requests a new certificate at once"
            raise RefusedCertificateError(refused.rule, f"{refused.fix}. {then if keeps else again}")
        is_issuing = manifests.condition(certificate, manifests.ISSUING).get("status") == "True"
        if not is_issuing and time.monotonic() >= self._next:
            self._renew(api, certificate, refused)
            self._next = time.monotonic() + AGAIN_SECONDS
        return f"a new certificate is requested. Before, {refused.rule}"

    def _renew(self, api: ApiServer, certificate: Mapping[str, Any], refused: RefusedCertificateError) -> None:
        path = f"/apis/{manifests.API_VERSION}/namespaces/{quote(self.namespace)}/certificates/{CACERTS_SECRET}/status"
        try:
            api.patch(path, manifests.renewed(certificate, api.clock()))
        except RefusedError:
            fix = f"{refused.fix}. Then {BY_HAND.format(namespace=self.namespace)}. Or grant the control plane's "
            fix += "credential patch of certificates/status of cert-manager.io"
            raise RefusedCertificateError(refused.rule, fix) from None

    def _has_istiod(self, api: ApiServer) -> bool:
        """Whether the mesh has an istiod, which has the certificate that is refused now. True if that is unreadable."""
        path = f"/apis/apps/v1/namespaces/{quote(self.namespace)}/deployments?labelSelector=app%3Distiod"
        try:
            return next(iter(api.list(path, metadata_only=True)), None) is not None
        except RefusedError:
            return True
