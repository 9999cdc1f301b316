"""Checks that istiod's webhooks answer a data plane's API server: from observed facts to verdicts. Pure."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pulumi_hosted_mesh import canonical
from pulumi_hosted_mesh.clusters.api_server import NOT_FOUND, Answer
from pulumi_hosted_mesh.operations.discovery.overlaps import FIX, called, overlaps
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.operations.webhooks.crds import crds
from pulumi_hosted_mesh.operations.webhooks.failures import denial, failure, one_line
from pulumi_hosted_mesh.operations.webhooks.observation import WebhookObservation
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.vocabulary import GENERATION_ANNOTATION, MESH_LABEL, REVISION_LABEL, TAG_LABEL

PROXY = "istio-proxy"
# `--refresh`, because the state does not show manual changes in the cluster.
INSTALL = (
    "Run `pulumi up --refresh` of the stack data-plane with a new endpoint (`hosted-mesh endpoint > endpoint.yaml`); "
)
INSTALL += "with unmanaged webhooks install its output webhook_manifests"
AGAIN = "Get a new endpoint file (`hosted-mesh endpoint > endpoint.yaml`)"
OLDER = f"{AGAIN}, and check again: the file is older than a moved tag"
# No request makes an API server open a connection. It keeps one transport for each CA bundle
# (k8s.io/client-go/transport/cache.go), whose connections stay open while each is used within 90 s.
EVIDENCE = "; by a connection that may be older than a change of source ranges: an API server keeps one until 90 s "
EVIDENCE += "without a call. Proxies connect from other addresses, which `hosted-mesh doctor` checks"
NOT_PRESENT = "revision-not-present"
VALIDATES = "an invalid Istio object is rejected, a valid one accepted"
GATEWAYS = "gateways.networking.istio.io"
# pkg/kube/inject: variables that the template writes into the proxy's environment.
_MESH, _CLUSTER, _DOMAIN, _CONFIG = "ISTIO_META_MESH_ID", "ISTIO_META_CLUSTER_ID", "TRUST_DOMAIN", "PROXY_CONFIG"

Manifest = Mapping[str, Any]


def verdicts(
    endpoint: EndpointDocument, observed: WebhookObservation, without: Collection[str] = frozenset()
) -> list[Verdict]:
    """Verdicts on the installation, on injection for each name of the revision, on validation, and on Istio's CRDs.

    The last is missing if all CRDs exist without a version. endpoint: as the data plane received it. without: names of
    CRDs that are left out on purpose.
    """
    own = [one for one in observed.configurations if _is_of(one, endpoint)]
    found = [_installed(endpoint, own, observed.configurations)]
    for wanted, answer in observed.pods.items():
        found.append(_injection(endpoint, observed, own, wanted, answer))
    validation = _untried(observed, without) or _validation(observed, own)
    return [*found, validation, *crds(endpoint.istio_version, observed.crds, without)]


def _is_of(configuration: Manifest, endpoint: EndpointDocument) -> bool:
    """Whether a configuration is of the mesh and revision, by its labels, or by its URL for an integrator's labels."""
    labels = configuration["metadata"].get("labels") or {}
    named = labels.get(MESH_LABEL) == endpoint.mesh and labels.get(REVISION_LABEL) == endpoint.revision
    urls = (endpoint.injection_url, endpoint.validation_url)
    return named or any(hook["clientConfig"].get("url") in urls for hook in configuration.get("webhooks") or [])


def _installed(endpoint: EndpointDocument, own: Sequence[Manifest], everything: Sequence[Manifest]) -> Verdict:
    """Compares the configurations with the endpoint, without a request to istiod."""
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
        if moved := [seen for tag in absent for seen in _elsewhere(endpoint, tag, everything)]:
            return Verdict(check, "stale-endpoint", " and ".join(moved), OLDER)
        return Verdict(check, "tag-not-present", f"no configuration for tag {', '.join(absent)}", INSTALL)
    if stale := _denied_by_file(endpoint, own):
        seen = (
            f"{stale} is installed, but by the endpoint file its label chooses no Pods of revision {endpoint.revision}"
        )
        return Verdict(check, "stale-endpoint", seen, OLDER)
    for one in own:
        for hook in one.get("webhooks") or []:
            client, where = hook["clientConfig"], f"{hook['name']} of {one['metadata']['name']}"
            if (url := client.get("url")) != wanted[one["kind"]]:
                seen = f"{where} calls {url or 'a Service of the data plane'}, the endpoint has {wanted[one['kind']]}"
                return Verdict(check, "another-url", seen, INSTALL)
            if not _verifies(client.get("caBundle"), endpoint.root_certificate):
                seen = f"the CA bundle of {where} lacks the mesh's root certificate"
                return Verdict(check, "wrong-ca-bundle", seen, INSTALL)
    if made_from := _of_another_generation(endpoint, own):
        seen = f"{made_from}, but the endpoint file has {endpoint.generation}"
        return Verdict(check, "stale-endpoint", seen, f"{AGAIN}, and check again. If it is the newest: {INSTALL}")
    injection = [one for one in everything if one["kind"] == "MutatingWebhookConfiguration"]
    for one, other, pods in overlaps(injection):
        if one in own or other in own:
            seen = f"{called(one)} and {called(other)} both select {pods}, so each such Pod is injected twice"
            return Verdict(check, "injected-twice", seen, FIX)
    policies = sorted({str(hook.get("failurePolicy")) for one in own for hook in one.get("webhooks") or []})
    names = ", ".join(sorted(one["metadata"]["name"] for one in own))
    return Verdict(check, None, f"{names}; failurePolicy {' and '.join(policies)}")


def _elsewhere(endpoint: EndpointDocument, tag: str, everything: Sequence[Manifest]) -> Iterator[str]:
    """Other revisions of the mesh with a tag that the endpoint has."""
    for one in everything:
        labels = one["metadata"].get("labels") or {}
        if (labels.get(MESH_LABEL), labels.get(TAG_LABEL)) == (endpoint.mesh, tag):
            yield f"tag {tag} is of revision {labels.get(REVISION_LABEL)}, not of {endpoint.revision}"


def _denied_by_file(endpoint: EndpointDocument, own: Sequence[Manifest]) -> str:
    """Name of an injector of this revision for a label that the endpoint does not have; empty without one."""
    for one in own:
        if one["kind"] != "MutatingWebhookConfiguration":
            continue
        labels = one["metadata"].get("labels") or {}
        if labels.get(TAG_LABEL, endpoint.revision) not in endpoint.asked_by:
            return str(one["metadata"]["name"])
    return ""


def _of_another_generation(endpoint: EndpointDocument, own: Sequence[Manifest]) -> str:
    """A configuration of another generation than the file's; empty without one, or where one of them has none."""
    for one in own:
        made_from = (one["metadata"].get("annotations") or {}).get(GENERATION_ANNOTATION)
        if endpoint.generation and made_from and made_from != endpoint.generation:
            return f"{one['metadata']['name']} was made from generation {made_from}"
    return ""


def _revisions(configurations: Sequence[Manifest]) -> Iterator[str]:
    for one in configurations:
        labels = one["metadata"].get("labels") or {}
        if REVISION_LABEL in labels:
            mesh = labels.get(MESH_LABEL)
            yield f"revision {labels[REVISION_LABEL]} of {f'mesh {mesh}' if mesh else 'a mesh of another owner'}"


def _verifies(bundle: object, root: str | None) -> bool:
    """Whether a bundle contains the root; True if the endpoint has no root yet."""
    if root is None:
        return True
    try:
        pem = base64.b64decode(str(bundle or ""), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    return canonical.certificates(root) <= canonical.certificates(pem)


def _injection(
    endpoint: EndpointDocument, observed: WebhookObservation, own: Sequence[Manifest], wanted: str, answer: Answer
) -> Verdict:
    how = f"with {REVISION_LABEL}: {wanted}" if wanted else f"of namespace {observed.namespace}"
    check = f"a Pod {how} gets a sidecar"
    if not answer.is_ok:
        return _refused(check, own, answer)
    proxy = _proxy(answer.content)
    if proxy is None:
        return Verdict(check, "not-injected", f"the Pod came back without one{_why_silent(own)}", _label_fix(wanted))
    status = (answer.content["metadata"].get("annotations") or {}).get("sidecar.istio.io/status")
    settings = {
        "revision": (_value(status, "revision"), endpoint.revision),
        "mesh": (proxy.get(_MESH), endpoint.mesh),
        "cluster": (proxy.get(_CLUSTER), endpoint.cluster_id),
        "trust domain": (proxy.get(_DOMAIN), endpoint.trust_domain),
        "istiod": (_value(proxy.get(_CONFIG), "discoveryAddress"), endpoint.discovery_address),
    }
    others = [f"{name} {has} instead of {should}" for name, (has, should) in settings.items() if has != should]
    if others:
        fix = "Another webhook injected it. See `kubectl get mutatingwebhookconfigurations -L istio.io/rev`, and the "
        fix += "namespace's labels"
        return Verdict(check, "another-webhook", f"the sidecar is for {', '.join(others)}", fix)
    seen = f"from {endpoint.injection_url}, for istiod at {endpoint.discovery_address}{EVIDENCE}"
    return Verdict(check, None, seen)


def _label_fix(wanted: str) -> str:
    if not wanted:
        return "Set the labels of the output injection_labels on the namespace, and remove other revisions' labels"
    return "See the configurations' selectors and matchConditions, and istiod's log (`sidecar injection`)"


def _proxy(pod: Manifest) -> dict[str, Any] | None:
    """The environment of a Pod's sidecar."""
    spec = pod.get("spec") or {}
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        if container["name"] == PROXY:
            return {one["name"]: one.get("value") for one in container.get("env") or ()}
    return None


def _value(text: str | None, key: str) -> str | None:
    """A value of a mapping in JSON text; None without one."""
    try:
        return str(json.loads(text or "")[key])
    except (ValueError, KeyError, TypeError):
        return None


def _untried(observed: WebhookObservation, without: Collection[str]) -> Verdict | None:
    """The verdict on validation if the CRD of the test objects is left out on purpose; else None."""
    if observed.invalid.status != NOT_FOUND or GATEWAYS not in without:
        return None
    seen = f"without {GATEWAYS} there is no object to send, so validation was not checked"
    return Verdict(VALIDATES, "not-tried", seen, "Install it to check validation", notice=True)


def _validation(observed: WebhookObservation, own: Sequence[Manifest]) -> Verdict:
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
    """The reason for a missing response: a webhook that fails open reports no error."""
    hooks = [hook for one in own for hook in one.get("webhooks") or []]
    if any(hook.get("failurePolicy") == "Ignore" for hook in hooks):
        return "; with failurePolicy Ignore the API server does not report whether it reached istiod"
    return ": its webhook was not called, or accepted it"


def _refused(check: str, own: Sequence[Manifest], answer: Answer) -> Verdict:
    """The verdict on a rejection, or on a webhook that the API server could not call."""
    message = answer.message or f"the API server answered {answer.status}"
    if failed := failure(message):
        ours = failed.webhook in _names(own) and (failed.url is None or failed.url in _urls(own))
        where = failed.webhook + (f" at {failed.url}" if failed.url else "")
        if ours:
            return Verdict(check, failed.cause.name, f"{where}: {failed.reason}", failed.cause.fix)
        fix = "It is not this revision's, but blocks it: repair it, or remove its configuration"
        return Verdict(check, "another-webhook", f"{where} could not be called: {failed.reason}", fix)
    if answer.status == NOT_FOUND:
        fix = "`pulumi up --refresh` of the stack access, which creates the mesh's namespace, and of the stack "
        fix += "cluster, which installs the CRDs"
        return Verdict(check, "not-there", one_line(message), fix)
    if "cannot create resource" in message:
        fix = (
            "This check needs the right to create, because Kubernetes requires it for dry runs. Use another credential"
        )
        return Verdict(check, "not-permitted", one_line(message), fix)
    if (refused := denial(message)) and refused[0] in _names(own):
        fix = "See istiod's log, and compare its version with the endpoint's"
        return Verdict(check, "refused-by-istiod", f"{refused[0]}: {refused[1]}", fix)
    fix = "Another owner's webhook or policy rejects an object of the mesh: exempt it there"
    return Verdict(check, "another-webhook", one_line(message), fix)


def _urls(own: Sequence[Manifest]) -> set[str]:
    return {str(hook["clientConfig"].get("url")) for one in own for hook in one.get("webhooks") or []}
