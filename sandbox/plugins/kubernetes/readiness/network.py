"""When Services are ready."""

from __future__ import annotations

from sandbox.plugins.kubernetes.objects import get, name_of
from sandbox.plugins.kubernetes.readiness.verdict import ENDPOINTS, Condition, Verdict, View


def _service(view: View) -> Verdict:
    """A load balancer has an address; where Pods are selected, no selected Pod is unready and Endpoints are quiet."""
    service = view.own or view.target
    kind = get(view.target, "spec", "type") or "ClusterIP"
    has_address = kind != "LoadBalancer" or bool(get(service, "status", "loadBalancer", "ingress"))
    seen = view.own is not None
    targets = kind != "ExternalName" and get(service, "spec", "clusterIP") != "None"
    selects = targets and bool(get(service, "spec", "selector"))
    subsets = get(view.all(ENDPOINTS).get(name_of(service)), "subsets") or ()
    ready = any(get(subset, "addresses") for subset in subsets)
    pending = any(get(subset, "notReadyAddresses") for subset in subsets)
    reasons = []
    if targets and not ready:
        reasons.append(
            "Service does not target any Pods. Selected Pods may not be ready, or field '.spec.selector' may not "
            "match labels on any Pods"
        )
    if targets and not has_address:
        reasons.append("Service was not allocated an IP address; does your cloud provider support this?")
    # On the last look the official plug-in takes what it has, quiet or not.
    quiet = not selects or ((view.settled or view.last) and not pending)
    note = "[2/3] Attempting to allocate IP address to Service" if ready else "[1/3] Finding Pods to direct traffic to"
    return Verdict(seen and has_address and quiet, note, tuple(reasons))


SERVICE = Condition(_service, watches=(ENDPOINTS,), on_read=True, settles=True)
