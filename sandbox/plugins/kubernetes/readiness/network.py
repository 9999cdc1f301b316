"""When Services and Ingresses are ready."""

from __future__ import annotations

from sandbox.plugins.kubernetes.objects import get, name_of
from sandbox.plugins.kubernetes.readiness.verdict import ENDPOINTS, SERVICES, Condition, Verdict, View


def _service(view: View) -> Verdict:
    """A load balancer has an address; where Pods are selected, no selected Pod is unready and Endpoints are quiet."""
    service = view.own or view.target
    kind = get(view.target, "spec", "type") or "ClusterIP"
    has_address = kind != "LoadBalancer" or bool(get(service, "status", "loadBalancer", "ingress"))
    seen = view.own is not None
    selects = (
        bool(get(service, "spec", "selector"))
        and kind != "ExternalName"
        and get(service, "spec", "clusterIP") != "None"
    )
    subsets = get(view.all(ENDPOINTS).get(name_of(service)), "subsets") or ()
    ready = any(get(subset, "addresses") for subset in subsets)
    pending = any(get(subset, "notReadyAddresses") for subset in subsets)
    reasons = []
    if selects and not ready:
        reasons.append(
            "Service does not target any Pods. Selected Pods may not be ready, or field '.spec.selector' may not "
            "match labels on any Pods"
        )
    if not has_address:
        reasons.append("Service was not allocated an IP address; does your cloud provider support this?")
    # On the last look the official plug-in takes what it has, quiet or not.
    quiet = not selects or ((view.settled or view.last) and not pending)
    note = "[2/3] Attempting to allocate IP address to Service" if ready else "[1/3] Finding Pods to direct traffic to"
    return Verdict(seen and has_address and quiet, note, tuple(reasons))


def _ingress(view: View) -> Verdict:
    """It has an address, and every Service that its paths name has Endpoints or is an external name."""
    ingress = view.own or view.target
    backends = [
        get(path, "backend", "service", "name")
        for rule in get(ingress, "spec", "rules") or ()
        for path in get(rule, "http", "paths") or ()
    ]
    external = {name for name, one in view.all(SERVICES).items() if get(one, "spec", "type") == "ExternalName"}
    missing = [one for one in backends if one and one not in external and one not in view.all(ENDPOINTS)]
    has_address = bool(get(ingress, "status", "loadBalancer", "ingress"))
    found = not missing or view.settled
    reasons = []
    if not found:
        reasons.append("Ingress has at least one rule with an unavailable target endpoint.")
    if not has_address:
        reasons.append("Ingress .status.loadBalancer field was not updated with a hostname/IP address.")
    note = (
        "[2/3] Waiting for update of .status.loadBalancer with hostname/IP"
        if found
        else "[1/3] Finding a matching service for each Ingress path"
    )
    return Verdict(view.own is not None and has_address and found, note, tuple(reasons))


SERVICE = Condition(_service, watches=(ENDPOINTS,), on_read=True, settles=True)
INGRESS = Condition(_ingress, watches=(ENDPOINTS, SERVICES), on_read=True, settles=True)
