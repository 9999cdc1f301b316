"""Claim: the sample workloads have certificates and configuration from istiod over mTLS, at the exposed address."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Sequence
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.core_v1 import Service

from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually

AGENT = "pilot-agent"


def observe(deployed: Deployed) -> str:
    """For each workload: its certificate chain leads to the mesh's root, its proxy's listeners came from istiod, and
    its agent holds a connection to the exposed address."""
    pods = workloads.deploy(deployed)
    addresses = exposed_addresses(deployed)
    seen = [_one(deployed, name, pod, addresses) for name, pod in pods.items()]
    return f"{', '.join(seen)}; connected to {', '.join(sorted(addresses))}:{deployed.mesh.xds_port}"


def exposed_addresses(deployed: Deployed) -> set[str]:
    """Load-balancer addresses of the mesh's exposure Service in the control plane's cluster."""
    found = {
        str(ingress.ip)
        for service in deployed.control_plane.list(Service, namespace=deployed.mesh.namespace)
        if service.spec and service.spec.type == "LoadBalancer" and service.status and service.status.loadBalancer
        for ingress in service.status.loadBalancer.ingress or []
    }
    if not found:
        raise NotObserved(f"no Service of type LoadBalancer with an address in {deployed.mesh.namespace}")
    return found


def _one(deployed: Deployed, name: str, pod: PodModel, addresses: set[str]) -> str:
    process = deployed.program_of(pod, AGENT)
    dump = json.loads(deployed.of_proxy(process, "/config_dump"))
    spiffe = f"spiffe://{deployed.mesh.trust_domain}/ns/{workloads.NAMESPACE}/sa/{name}"
    listeners = seen_in(dump, spiffe, deployed.mesh.root_certificate)

    def connected() -> None:
        if not any(address in addresses and port == deployed.mesh.xds_port for address, port in process.established()):
            raise NotObserved(f"{name}: its agent has no connection to istiod's exposed address")

    # A proxy may take half a minute to connect again after istiod was replaced.
    eventually(connected, seconds=45)
    return f"{spiffe} with {listeners} listeners"


def seen_in(dump: dict[str, Any], spiffe: str, root_pem: str) -> int:
    """The number of listeners from istiod in a proxy's configuration. Raises NotObserved without any, and unless the
    proxy's certificate is for this name and of this root."""
    check_chain(_chain(dump), root_pem, spiffe)
    sections = _sections(dump, "ListenersConfigDump")
    listeners = [entry for section in sections for entry in section.get("dynamic_listeners", [])]
    if not listeners:
        raise NotObserved(f"{spiffe}: the proxy has no listener from istiod")
    return len(listeners)


def _sections(dump: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [section for section in dump["configs"] if section["@type"].endswith(kind)]


def _chain(dump: dict[str, Any]) -> list[x509.Certificate]:
    for section in _sections(dump, "SecretsConfigDump"):
        for entry in section.get("dynamic_active_secrets", []):
            if entry["name"] == "default":
                inline = entry["secret"]["tls_certificate"]["certificate_chain"]["inline_bytes"]
                return x509.load_pem_x509_certificates(base64.b64decode(inline))
    raise NotObserved("the proxy has no workload certificate yet")


def check_chain(chain: Sequence[x509.Certificate], root_pem: str, spiffe: str) -> None:
    """Raises NotObserved unless the first certificate is for this name alone and the chain leads to this root."""
    leaf, root = chain[0], x509.load_pem_x509_certificate(root_pem.encode())
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    if list(names) != [x509.UniformResourceIdentifier(spiffe)]:
        raise NotObserved(f"the workload's certificate is not for {spiffe}")
    now = datetime.datetime.now(datetime.UTC)
    if any(not one.not_valid_before_utc <= now <= one.not_valid_after_utc for one in (*chain, root)):
        raise NotObserved("a certificate of the workload's chain is not valid now")
    for certificate, signer in zip(chain, (*chain[1:], root), strict=True):
        if certificate != signer:  # the chain may end with the root itself
            _check_signed(certificate, signer)


def _check_signed(certificate: x509.Certificate, signer: x509.Certificate) -> None:
    try:
        authority = signer.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        certificate.verify_directly_issued_by(signer)
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound) as error:
        raise NotObserved("the workload's certificate chain does not lead to the mesh's root") from error
    if not authority:
        raise NotObserved("the workload's certificate chain does not lead to the mesh's root: a signer is no authority")
