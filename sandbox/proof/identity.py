"""Claim: the sample workloads got certificates and configuration from istiod over mTLS, at the exposed address."""

from __future__ import annotations

import base64
import datetime
import json
from functools import partial
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from lightkube.models.core_v1 import Pod as PodModel
from lightkube.resources.core_v1 import Service

from sandbox.proof import workloads
from sandbox.proof.scene import NotObserved, Scene, eventually

AGENT = "pilot-agent"
ADMIN = "http://127.0.0.1:15000"


def observe(scene: Scene) -> str:
    """For each workload: its certificate chain leads to the mesh's root, its proxy's listeners came from istiod, and
    its agent holds a connection to the exposed address."""
    pods = workloads.deploy(scene)
    addresses = exposed_addresses(scene)
    # A proxy whose istiod has just been replaced may take half a minute to connect again.
    seen = [eventually(partial(_one, scene, name, pod, addresses), seconds=45) for name, pod in pods.items()]
    return f"{', '.join(seen)}; connected to {', '.join(sorted(addresses))}:{scene.mesh.xds_port}"


def exposed_addresses(scene: Scene) -> set[str]:
    """Load-balancer addresses of the mesh's exposure Service in the provider's cluster."""
    found = {
        str(ingress.ip)
        for service in scene.provider.list(Service, namespace=scene.mesh.namespace)
        if service.spec and service.spec.type == "LoadBalancer" and service.status and service.status.loadBalancer
        for ingress in service.status.loadBalancer.ingress or []
    }
    if not found:
        raise NotObserved(f"no Service of type LoadBalancer with an address in {scene.mesh.namespace}")
    return found


def _one(scene: Scene, name: str, pod: PodModel, addresses: set[str]) -> str:
    process = scene.program_of(pod, AGENT)
    dump = json.loads(scene.in_network_of(process, "http_get.py", f"{ADMIN}/config_dump")["body"])
    spiffe = f"spiffe://{scene.mesh.trust_domain}/ns/{workloads.NAMESPACE}/sa/{name}"
    _check_chain(_chain(dump), scene.mesh.root_certificate, spiffe)
    listeners = _names_of_dynamic_listeners(dump)
    if not listeners:
        raise NotObserved(f"{name}: the proxy has no listener from istiod")
    if not any(address in addresses and port == scene.mesh.xds_port for address, port in process.established()):
        raise NotObserved(f"{name}: its agent has no connection to istiod's exposed address")
    return f"{spiffe} with {len(listeners)} listeners"


def _sections(dump: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [section for section in dump["configs"] if section["@type"].endswith(kind)]


def _names_of_dynamic_listeners(dump: dict[str, Any]) -> list[str]:
    sections = _sections(dump, "ListenersConfigDump")
    return [entry["name"] for section in sections for entry in section.get("dynamic_listeners", [])]


def _chain(dump: dict[str, Any]) -> list[x509.Certificate]:
    for section in _sections(dump, "SecretsConfigDump"):
        for entry in section.get("dynamic_active_secrets", []):
            if entry["name"] == "default":
                inline = entry["secret"]["tls_certificate"]["certificate_chain"]["inline_bytes"]
                return x509.load_pem_x509_certificates(base64.b64decode(inline))
    raise NotObserved("the proxy has no workload certificate yet")


def _check_chain(chain: list[x509.Certificate], root_pem: str, spiffe: str) -> None:
    leaf = chain[0]
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    if spiffe not in names.get_values_for_type(x509.UniformResourceIdentifier):
        raise NotObserved(f"the workload's certificate is not for {spiffe}")
    now = datetime.datetime.now(datetime.UTC)
    if not leaf.not_valid_before_utc <= now <= leaf.not_valid_after_utc:
        raise NotObserved("the workload's certificate is not valid now")
    root = x509.load_pem_x509_certificate(root_pem.encode())
    signers = [*chain[1:], root]
    for certificate, signer in zip(chain, signers, strict=True):
        if certificate != signer:
            _check_signed(certificate, signer)


def _check_signed(certificate: x509.Certificate, signer: x509.Certificate) -> None:
    key = signer.public_key()
    algorithm = certificate.signature_hash_algorithm
    assert algorithm is not None
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(certificate.signature, certificate.tbs_certificate_bytes, padding.PKCS1v15(), algorithm)
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(certificate.signature, certificate.tbs_certificate_bytes, ec.ECDSA(algorithm))
        else:
            raise NotObserved(f"a signer has a key of an unexpected kind: {type(key).__name__}")
    except Exception as error:
        raise NotObserved("the workload's certificate chain does not lead to the mesh's root") from error
