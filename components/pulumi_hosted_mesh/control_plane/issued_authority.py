"""The mesh's intermediate with `trust.management: cert-manager`: a Certificate, and the wait until it is issued.

The Secret `cacerts` with the key is cert-manager's. This program reads the Certificate and its CertificateRequest. Both
hold certificates only, so no key reaches it or Pulumi's state.
"""

from __future__ import annotations

import asyncio
import copy
import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import pulumi
from pulumi_kubernetes import apiextensions

from pulumi_hosted_mesh.boundary.refusals import printed_at_once
from pulumi_hosted_mesh.clusters.api_server import ApiServer, RefusedError, UnreachableError
from pulumi_hosted_mesh.clusters.cluster import ControlPlaneCluster
from pulumi_hosted_mesh.clusters.exec_credential import fetched
from pulumi_hosted_mesh.clusters.hooks import engine_calls_hooks
from pulumi_hosted_mesh.clusters.kubeconfig import Kubeconfig
from pulumi_hosted_mesh.clusters.metadata import on_control_plane
from pulumi_hosted_mesh.control_plane import certificate_manifests as manifests
from pulumi_hosted_mesh.control_plane.repeated_issuance import RepeatedIssuance
from pulumi_hosted_mesh.control_plane.validated_inputs import SOURCE
from pulumi_hosted_mesh.problems import InvalidInputError, Problem, visible
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.trust import CERT_MANAGER_GROUP, CLUSTER_ISSUER, Issuer
from pulumi_hosted_mesh.vocabulary import CACERTS_SECRET, SKIP_AWAIT_ANNOTATION, WAIT_FOR_ANNOTATION

HOOK: Final = "hosted-mesh-issuer"
FIELD: Final = "trust.issuer"
WAIT_SECONDS: Final = 180.0
POLL_SECONDS: Final = 0.5
NOTE_SECONDS: Final = 15.0


class IssuerError(Exception):
    """The control plane's cluster cannot issue the mesh's certificate. The message has the fix."""


class IssuedAuthority:
    """cert-manager's Certificate for the Secret `cacerts`.

    certificate: the resource. root: the mesh's root certificate. It resolves when istiod may start: the Certificate is
    issued under it.
    """

    certificate: apiextensions.CustomResource
    root: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        mesh: Mesh,
        issuer: Issuer,
        cluster: ControlPlaneCluster,
        root: pulumi.Output[str],
        options: pulumi.ResourceOptions,
        *,
        parent: pulumi.Resource,
    ) -> None:
        """name: prefix of the resource's name. root: the declared root certificate. options: of objects in the mesh's
        namespace."""
        namespace = mesh.control_plane_namespace if mesh.split else mesh.namespace
        # Pulumi's own wait ends without the issuer's reason. It is for clusters that this program cannot read.
        reads = engine_calls_hooks() and cluster.has_kubeconfig
        wait = {SKIP_AWAIT_ANNOTATION: "true"} if reads else {WAIT_FOR_ANNOTATION: "condition=Ready"}
        check = IssuerCheck(cluster, issuer)
        if reads:
            hook = pulumi.ResourceHook(f"{HOOK}-{name}", check.before, pulumi.ResourceHookOptions(on_dry_run=True))
            options = copy.copy(options)  # other objects have the same
            options.hooks = cluster.creation_hooks(pulumi.ResourceHookBinding(before_create=[hook]))
        self.certificate = apiextensions.CustomResource(
            f"{name}-{CACERTS_SECRET}",
            api_version=manifests.API_VERSION,
            kind=manifests.KIND,
            metadata=on_control_plane(mesh, cluster, CACERTS_SECRET, namespace=namespace, annotations=wait),
            spec=manifests.certificate_spec(mesh, issuer),
            opts=options,
        )
        if reads:
            found = pulumi.Output.all(self.certificate.id, root)
            self.root = found.apply(lambda both: check.issued(namespace, both[1], parent))
        else:
            self.root = pulumi.Output.all(self.certificate.id, root).apply(lambda both: str(both[1]))


@dataclass(frozen=True)
class IssuerCheck:
    """Reads cert-manager's objects on the control plane's cluster."""

    cluster: ControlPlaneCluster
    issuer: Issuer

    async def before(self, _: pulumi.ResourceHookArgs) -> None:
        """Before the Certificate is created, in previews too. Raises: IssuerError."""
        if (config := await self.cluster.known_kubeconfig()) is None:
            return
        if problem := await asyncio.to_thread(self._lacks, config):
            raise IssuerError(problem)

    def _lacks(self, config: Kubeconfig) -> str | None:
        """The cluster's problem. An unreachable one rejects the object itself."""
        try:
            api = self._api(config)
            if manifests.KIND not in api.kinds(manifests.API_VERSION):
                return (
                    f"the control plane's cluster has no kind {manifests.KIND} of {manifests.API_VERSION}. Install "
                    "cert-manager there, or set another trust.management"
                )
            if self.issuer.group != CERT_MANAGER_GROUP or self.issuer.kind != CLUSTER_ISSUER:
                return None
            found = api.get(f"/apis/{manifests.API_VERSION}/clusterissuers/{quote(self.issuer.name)}")
        except (UnreachableError, InvalidInputError):
            return None
        called = f"{FIELD}: {CLUSTER_ISSUER} {self.issuer.name}"
        if found is None:
            return f"{called} does not exist on the control plane's cluster. Create it, or correct name and kind"
        ready = manifests.condition(found, "Ready")
        if ready.get("status") == "False":
            return f"{called} is not ready: {visible(str(ready.get('message')))}. Correct the issuer"
        return None

    async def issued(self, namespace: str, root: str, parent: pulumi.Resource) -> str:
        """The root, after the wait for the certificate. A preview does not wait. Raises: InvalidInputError."""
        config = await self.cluster.known_kubeconfig()
        if config is None or pulumi.runtime.is_dry_run():
            return root
        with printed_at_once():
            await self._wait(config, namespace, root, parent)
        return root

    async def _wait(self, config: Kubeconfig, namespace: str, root: str, parent: pulumi.Resource) -> None:
        began = noted = time.monotonic()
        repeated = RepeatedIssuance(namespace)
        while True:
            try:
                reason = await asyncio.to_thread(self._obstacle, config, root, repeated)
            except manifests.RefusedCertificateError as refused:
                raise InvalidInputError([Problem(FIELD, refused.rule, refused.fix)], SOURCE) from None
            except RefusedError as refused:
                fix = "Grant it get of certificates and list of certificaterequests of cert-manager.io"
                raise InvalidInputError([Problem(FIELD, f"cannot be checked: {refused}", fix)], SOURCE) from None
            except UnreachableError as error:
                reason = str(error)
            if reason is None:
                return
            now = time.monotonic()
            if now - began >= WAIT_SECONDS:
                rule = f"has issued no certificate after {WAIT_SECONDS:.0f} s: {reason}"
                fix = f"See `kubectl describe certificate,certificaterequest -n {namespace}`, and run `pulumi up` again"
                raise InvalidInputError([Problem(FIELD, rule, fix)], SOURCE)
            if now - noted >= NOTE_SECONDS:
                pulumi.log.info(f"{FIELD}: waits for cert-manager: {reason}", parent)
                noted = now
            await asyncio.sleep(POLL_SECONDS)

    def _obstacle(self, config: Kubeconfig, root: str, repeated: RepeatedIssuance) -> str | None:
        """The reason to wait, now. Raises: RefusedCertificateError, UnreachableError."""
        api = self._api(config)
        path = f"/apis/{manifests.API_VERSION}/namespaces/{quote(repeated.namespace)}"
        certificate = api.get(f"{path}/certificates/{CACERTS_SECRET}")
        requests = list(api.list(f"{path}/certificaterequests"))
        repeated.note(requests)
        try:
            return manifests.obstacle(certificate, requests, root=root, issuer=self.issuer)
        except manifests.RefusedCertificateError as refused:
            return repeated.reason(api, certificate or {}, refused)

    def _api(self, config: Kubeconfig) -> ApiServer:
        return ApiServer(fetched(config, "controlPlane.cluster", SOURCE))
