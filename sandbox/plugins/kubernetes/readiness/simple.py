"""Kinds whose readiness shows in the object itself or beside it, and what a program asks for by annotation."""

from __future__ import annotations

import re
from typing import Final

from sandbox.plugins.kubernetes.objects import WAIT_FOR, get, name_of
from sandbox.plugins.kubernetes.readiness.verdict import ENDPOINTS, Condition, Verdict, View
from sandbox.plugins.protocol.errors import NotImplementedHere

_JSON_PATH: Final = re.compile(r"jsonpath=\{\s*\$?((?:\.[A-Za-z0-9_-]+)+)\s*\}(?:=(.+))?")


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


def _quota(view: View) -> Verdict:
    hard = get(view.own, "spec", "hard")
    done = isinstance(hard, dict) and hard == get(view.own, "status", "hard")
    text = "the quota controller has not taken the quota over yet"
    return Verdict(done, text, (text,))


def _token(view: View) -> Verdict:
    """A service account token is filled in by a controller; other Secrets are ready when they exist."""
    text = "the token controller has not filled in the token yet"
    return Verdict(bool(get(view.own, "data")), text, (text,))


SERVICE: Final = Condition(_service, others=(ENDPOINTS,), on_read=True)
RESOURCE_QUOTA: Final = Condition(_quota, seconds=60)
TOKEN: Final = Condition(_token, seconds=5)


def asked_for(text: str) -> Condition:
    """The condition of the annotation pulumi.com/waitFor: a field that is there, or has a value."""
    match = _JSON_PATH.fullmatch(text)
    if match is None:
        raise NotImplementedHere(f"{WAIT_FOR}: {text} (only a jsonpath= of plain fields, with or without a value)")
    path, wanted = match[1].strip(".").split("."), match[2]

    def judge(view: View) -> Verdict:
        value = get(view.own, *path)
        observed, generation = get(view.own, "status", "observedGeneration"), get(view.own, "metadata", "generation")
        is_stale = observed is not None and generation is not None and observed < generation
        found = str(value).lower() if isinstance(value, bool) else str(value)
        done = value is not None and not is_stale and wanted in (None, found)
        return Verdict(done, f"Waiting for {text}", (f"Waiting for {text}",))

    return Condition(judge)
