"""Do istiod's webhooks answer the API server of a data plane? From observed facts to verdicts. Pure."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pulumi_hosted_mesh.clusters.api_server import NOT_FOUND, Answer
from pulumi_hosted_mesh.operations.discovery.overlaps import FIX, called, overlaps
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.operations.webhooks.crds import crds
from pulumi_hosted_mesh.operations.webhooks.failures import denial, failure, one_line
from pulumi_hosted_mesh.operations.webhooks.observation import Observed
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.vocabulary import MESH_LABEL, REVISION_LABEL, TAG_LABEL

PROXY = "istio-proxy"
# Refreshed, for of what somebody deleted or changed by hand the state still says that it is as it was.
INSTALL = (
    "Run `pulumi up --refresh` of the stack data-plane with today's endpoint (`hosted-mesh endpoint > endpoint.yaml`); "
)
INSTALL += "with unmanaged webhooks install its output webhook_manifests"
NOT_PRESENT = "revision-not-present"
VALIDATES = "an invalid Istio object is refused, a valid one accepted"
GATEWAYS = "gateways.networking.istio.io"
# pkg/kube/inject: what the template writes into the proxy's environment.
_MESH, _CLUSTER, _DOMAIN, _CONFIG = "ISTIO_META_MESH_ID", "ISTIO_META_CLUSTER_ID", "TRUST_DOMAIN", "PROXY_CONFIG"

Manifest = Mapping[str, Any]


def verdicts(endpoint: EndpointDocument, observed: Observed, without: Collection[str] = frozenset()) -> list[Verdict]:
    """What is installed; one verdict on injection for each name by which Pods choose the revision; one on validation;
    one on Istio's CRDs, where some are missing or say their version.

    endpoint: what the data plane was told. without: CRDs that are not there on purpose, by name.
    """
    own = [one for one in observed.configurations if _is_of(one, endpoint)]
    found = [_installed(endpoint, own, observed.configurations)]
    for wanted, answer in observed.pods.items():
        found.append(_injection(endpoint, observed, own, wanted, answer))
    validation = _untried(observed, without) or _validation(observed, own)
    return [*found, validation, *crds(endpoint.istio_version, observed.crds, without)]


def _is_of(configuration: Manifest, endpoint: EndpointDocument) -> bool:
    """Of the mesh and revision, by its labels, or by its URL where an integrator gave it others."""
    labels = configuration["metadata"].get("labels") or {}
    named = labels.get(MESH_LABEL) == endpoint.mesh and labels.get(REVISION_LABEL) == endpoint.revision
    urls = (endpoint.injection_url, endpoint.validation_url)
    return named or any(hook["clientConfig"].get("url") in urls for hook in configuration.get("webhooks") or [])


def _installed(endpoint: EndpointDocument, own: Sequence[Manifest], everything: Sequence[Manifest]) -> Verdict:
    """Static: what is there is what the endpoint asks for."""
    check = f"webhooks of revision {endpoint.revision} are installed"
    wanted = {"MutatingWebhookConfiguration": endpoint.injection_url}
    wanted["ValidatingWebhookConfiguration"] = endpoint.validation_url
    kinds = {one["kind"] for one in own} | (set() if endpoint.asked_by else {"MutatingWebhookConfiguration"})
    missing = [kind for kind in wanted if kind not in kinds]
    if missing:
        there = ", ".join(sorted(set(_revisions(everything)))) or "none of Istio's"
        return Verdict(check, NOT_PRESENT, f"no {' and no '.join(missing)}; there are: {there}", INSTALL)
    tags = {str((one["metadata"].get("labels") or {}).get(TAG_LABEL)) for one in own}
    if absent := [tag for tag in endpoint.tags if tag not in tags]:
        return Verdict(check, "tag-not-present", f"no configuration for tag {', '.join(absent)}", INSTALL)
    for one in own:
        for hook in one.get("webhooks") or []:
            client, where = hook["clientConfig"], f"{hook['name']} of {one['metadata']['name']}"
            if (url := client.get("url")) != wanted[one["kind"]]:
                seen = f"{where} calls {url or 'a Service of the data plane'}, the endpoint says {wanted[one['kind']]}"
                return Verdict(check, "another-url", seen, INSTALL)
            if not _verifies(client.get("caBundle"), endpoint.root_certificate):
                seen = f"the CA bundle of {where} lacks the mesh's root certificate"
                return Verdict(check, "wrong-ca-bundle", seen, INSTALL)
    injection = [one for one in everything if one["kind"] == "MutatingWebhookConfiguration"]
    for one, other, pods in overlaps(injection):
        if one in own or other in own:
            seen = f"{called(one)} and {called(other)} are both asked about {pods}, so each such Pod is injected twice"
            return Verdict(check, "injected-twice", seen, FIX)
    policies = sorted({str(hook.get("failurePolicy")) for one in own for hook in one.get("webhooks") or []})
    names = ", ".join(sorted(one["metadata"]["name"] for one in own))
    return Verdict(check, None, f"{names}; failurePolicy {' and '.join(policies)}")


def _revisions(configurations: Sequence[Manifest]) -> Iterator[str]:
    for one in configurations:
        labels = one["metadata"].get("labels") or {}
        if REVISION_LABEL in labels:
            mesh = labels.get(MESH_LABEL)
            yield f"revision {labels[REVISION_LABEL]} of {f'mesh {mesh}' if mesh else 'a mesh of somebody else'}"


def _verifies(bundle: object, root: str | None) -> bool:
    """Whether a bundle holds the root; True where the endpoint does not say the root yet."""
    if root is None:
        return True
    try:
        pem = base64.b64decode(str(bundle or ""), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    return "".join(root.split()) in "".join(pem.split())


def _injection(
    endpoint: EndpointDocument, observed: Observed, own: Sequence[Manifest], wanted: str, answer: Answer
) -> Verdict:
    how = f"with {REVISION_LABEL}: {wanted}" if wanted else f"of namespace {observed.namespace}"
    check = f"a Pod {how} gets a sidecar"
    if not answer.is_ok:
        return _refused(check, own, answer)
    proxy = _proxy(answer.content)
    if proxy is None:
        return Verdict(check, "not-injected", f"the Pod came back without one{_why_silent(own)}", _label_fix(wanted))
    status = (answer.content["metadata"].get("annotations") or {}).get("sidecar.istio.io/status")
    told = {
        "revision": (_value(status, "revision"), endpoint.revision),
        "mesh": (proxy.get(_MESH), endpoint.mesh),
        "cluster": (proxy.get(_CLUSTER), endpoint.cluster_id),
        "trust domain": (proxy.get(_DOMAIN), endpoint.trust_domain),
        "istiod": (_value(proxy.get(_CONFIG), "discoveryAddress"), endpoint.discovery_address),
    }
    others = [f"{name} {has} instead of {should}" for name, (has, should) in told.items() if has != should]
    if others:
        fix = "Another webhook injected it. See `kubectl get mutatingwebhookconfigurations -L istio.io/rev`, and which "
        fix += "labels the namespace has"
        return Verdict(check, "another-webhook", f"the sidecar is for {', '.join(others)}", fix)
    return Verdict(check, None, f"from {endpoint.injection_url}, for istiod at {endpoint.discovery_address}")


def _label_fix(wanted: str) -> str:
    if not wanted:
        return "Label the namespace as the output injection_labels says, and remove other revisions' labels"
    return "See the configurations' selectors and matchConditions, and istiod's log (`sidecar injection`)"


def _proxy(pod: Manifest) -> dict[str, Any] | None:
    """The environment of a Pod's sidecar."""
    spec = pod.get("spec") or {}
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        if container["name"] == PROXY:
            return {one["name"]: one.get("value") for one in container.get("env") or ()}
    return None


def _value(text: str | None, key: str) -> str | None:
    """Of a mapping in JSON text."""
    try:
        return str(json.loads(text or "")[key])
    except (ValueError, KeyError, TypeError):
        return None


def _untried(observed: Observed, without: Collection[str]) -> Verdict | None:
    """Where the kind of the objects that are sent is left out on purpose."""
    if observed.invalid.status != NOT_FOUND or GATEWAYS not in without:
        return None
    seen = f"without {GATEWAYS} there is no object to send, so nothing is said of validation"
    return Verdict(VALIDATES, "not-tried", seen, "Install it to have validation tried", notice=True)


def _validation(observed: Observed, own: Sequence[Manifest]) -> Verdict:
    check = VALIDATES
    if observed.invalid.is_ok:
        seen = f"a Gateway of host */{observed.word}/* was accepted{_why_silent(own)}"
        fix = "See the selectors and matchConditions of the ValidatingWebhookConfigurations"
        return Verdict(check, "not-validated", seen, fix)
    refused = denial(observed.invalid.message)
    if refused is None or refused[0] not in _names(own) or observed.word not in refused[1]:
        return _refused(check, own, observed.invalid)
    if not observed.valid.is_ok:
        return _refused(check, own, observed.valid)
    return Verdict(check, None, f"{refused[0]}: {refused[1]}")


def _names(own: Sequence[Manifest]) -> set[str]:
    return {hook["name"] for one in own for hook in one.get("webhooks") or []}


def _why_silent(own: Sequence[Manifest]) -> str:
    """A webhook that fails open is silent."""
    hooks = [hook for one in own for hook in one.get("webhooks") or []]
    if any(hook.get("failurePolicy") == "Ignore" for hook in hooks):
        return "; with failurePolicy Ignore the API server does not say whether istiod could be called"
    return ": its webhook was not asked, or said so"


def _refused(check: str, own: Sequence[Manifest], answer: Answer) -> Verdict:
    """Somebody refused, or could not be called."""
    said = answer.message or f"the API server answered {answer.status}"
    if failed := failure(said):
        ours = failed.webhook in _names(own) and (failed.url is None or failed.url in _urls(own))
        where = failed.webhook + (f" at {failed.url}" if failed.url else "")
        if ours:
            return Verdict(check, failed.cause.name, f"{where}: {failed.reason}", failed.cause.fix)
        fix = "It is not this revision's, and stands in its way: repair it, or remove its configuration"
        return Verdict(check, "another-webhook", f"{where} could not be called: {failed.reason}", fix)
    if answer.status == NOT_FOUND:
        fix = "`pulumi up --refresh` of the stack access, which makes the mesh's namespace, and of the stack cluster, "
        fix += "which installs the CRDs"
        return Verdict(check, "not-there", one_line(said), fix)
    if "cannot create resource" in said:
        fix = "This check makes dry runs, for which Kubernetes wants the right to create. Use another credential"
        return Verdict(check, "not-permitted", one_line(said), fix)
    if (refused := denial(said)) and refused[0] in _names(own):
        fix = "Its log says more. Is its version the endpoint's?"
        return Verdict(check, "refused-by-istiod", f"{refused[0]}: {refused[1]}", fix)
    fix = "Somebody else's webhook or policy refuses what the mesh needs: exempt it there"
    return Verdict(check, "another-webhook", one_line(said), fix)


def _urls(own: Sequence[Manifest]) -> set[str]:
    return {str(hook["clientConfig"].get("url")) for one in own for hook in one.get("webhooks") or []}
