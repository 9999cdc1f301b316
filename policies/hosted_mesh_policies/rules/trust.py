"""An external istiod signs with a supplied CA, on the control plane's side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hosted_mesh_plan.istiod import discovery_container, environment, is_external, pod_of
from hosted_mesh_plan.model import SECRET_DATA, Resource
from hosted_mesh_plan.tree import UNKNOWN, at, items
from hosted_mesh_plan.vocabulary import CACERTS_SECRET

from ..evaluation.context import Context
from ..evaluation.finding import Severity
from ..evaluation.rule import Place, Rule, not_known
from ..evaluation.settings import schema_of

KEYS: Final = ({"ca-cert.pem", "ca-key.pem", "root-cert.pem", "cert-chain.pem"}, {"tls.crt", "tls.key", "ca.crt"})
"""Keys of istiod's `cacerts` Secret: its own form, or that of a kubernetes.io/tls Secret."""


def check(context: Context, resource: Resource) -> Iterator[Place]:
    if _makes_authority(resource) and not context.clusters.on_control_plane(resource):
        what = f"cert-manager would make the key of Secret {CACERTS_SECRET}, istiod's CA, on the data plane"
        yield "spec.secretName", what
    container = discovery_container(resource)
    if container is None or not is_external(resource, container):
        return
    remote = environment(container).get("USE_REMOTE_CERTS", "")
    if remote is UNKNOWN:
        yield "spec.template.spec.containers.env", not_known("USE_REMOTE_CERTS")
    elif str(remote).lower() == "true":
        yield "spec.template.spec.containers.env", "USE_REMOTE_CERTS=true reads the CA's key from the data plane"
    if not any(at(volume, "secret", "secretName") == CACERTS_SECRET for volume in items(pod_of(resource), "volumes")):
        what = f"does not mount Secret {CACERTS_SECRET}: it would write a new CA's key to the data plane"
        yield "spec.template.spec.volumes", what


def check_stack(context: Context) -> Iterator[tuple[Resource, str, str]]:
    kept = {
        (other.provider.urn, other.namespace): other
        for other in context.stack.resources
        if other.kind == "Secret" and other.object_name == CACERTS_SECRET and other.provider is not None
    }
    issued = {
        (other.provider.urn, other.namespace)
        for other in context.stack.resources
        if other.provider is not None and _makes_authority(other)
    }
    for resource in context.stack.resources:
        container = discovery_container(resource)
        if container is None or not is_external(resource, container):
            continue
        if resource.provider and (resource.provider.urn, resource.namespace) in issued:
            continue
        if resource.namespace in context.settings.authorities_elsewhere:
            continue
        secret = kept.get((resource.provider.urn, resource.namespace)) if resource.provider else None
        if secret is None:
            where = f"namespace {resource.namespace or '(none)'} of its cluster"
            yield resource, "", f"no Secret {CACERTS_SECRET} in {where}: istiod makes a CA of its own"
        elif missing := _missing(secret):
            yield secret, "data", f"lacks {missing}, so istiod ignores it and makes a CA of its own"


def _makes_authority(resource: Resource) -> bool:
    """Whether it is a Certificate of a CA by which cert-manager makes a Secret with the name of istiod's."""
    if (resource.group, resource.kind) != ("cert-manager.io", "Certificate"):
        return False
    spec = at(resource.body, "spec", default={})
    return at(spec, "secretName") == CACERTS_SECRET and at(spec, "isCA") is True


def _missing(secret: Resource) -> str:
    """The missing keys of a `cacerts` Secret, in istiod's own form. Unknown data counts as present: the update judges
    its keys."""
    data = [at(secret.body, key, default={}) for key in SECRET_DATA]
    if UNKNOWN in data:
        return ""
    present = {key for part in data if isinstance(part, dict) for key in part}
    if any(keys <= present for keys in KEYS):
        return ""
    return " and ".join(sorted(KEYS[0] - present))


TRUST = Rule(
    name="external-istiod-has-its-own-ca",
    title="An external istiod has its own CA",
    description="An external istiod without a cacerts Secret makes a certificate authority and writes its key to the "
    "data plane; with USE_REMOTE_CERTS it reads the key from there.",
    cure="Create Secret cacerts (ca-cert.pem, ca-key.pem, cert-chain.pem, root-cert.pem) in istiod's namespace, "
    "or cert-manager's Certificate for it, before istiod, mount it, and leave USE_REMOTE_CERTS off.",
    severity=Severity.CRITICAL,
    page="istiod",
    check=check,
    check_stack=check_stack,
    schema=schema_of(authorities_elsewhere="Namespaces with a cacerts Secret of another stack."),
)
