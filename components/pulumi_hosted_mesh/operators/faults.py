"""Faults of a hosted cluster's operators, read from its API server, each with the instruction that ends it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh.operators.blockers import COPIED
from pulumi_hosted_mesh.problems import visible

DEPLOYMENTS: Final = "/apis/apps/v1/deployments?labelSelector=olm.owner"
NODES: Final = "/api/v1/nodes"
READY: Final = "READY"
_REACH: Final = {
    True: "Look at its Pod on the control plane, or at its address: networkPolicy.catalogRanges contains an outer one",
    False: "Set tunnel, or expose its Pod within networkPolicy.catalogRanges and list that by address",
}
_SUBSCRIPTION: Final = {
    "ResolutionFailed": (
        "resolution-failed",
        "Correct the Subscription's package, channel or catalog. An unreachable catalog fails all of its namespace",
    ),
    "BundleUnpackFailed": (
        "unpack-failed",
        "Look at the bundle's Job in the catalog's namespace: the hosted cluster's nodes pull the bundle's image",
    ),
    "InstallPlanFailed": (
        "install-failed",
        "Correct the cause, delete the InstallPlan, CSV and Subscription, and create the Subscription again",
    ),
}


@dataclass(frozen=True)
class Fault:
    """subject: the object. cause: stable identifier, such as `catalog-unreachable`. seen: the finding, without a
    secret. fix: the instruction."""

    subject: str
    cause: str
    seen: str
    fix: str

    def __str__(self) -> str:
        seen = visible(self.seen)
        return f"{visible(self.subject)}: {self.cause}: {seen}{'' if seen.endswith('.') else '.'} {self.fix}"


def faults(
    catalogs: Iterable[Any],
    subscriptions: Iterable[Any],
    csvs: Iterable[Any],
    packages: Any | None,
    deployments: Iterable[Any],
    nodes: Sequence[Any],
) -> list[Fault]:
    """All faults, by kind. packages: packageserver's APIService. deployments: those with the label `olm.owner`."""
    csvs = list(csvs)
    succeeded = {_name(one) for one in csvs if (one.get("status") or {}).get("phase") == "Succeeded"}
    return [
        *_packages(packages),
        *(fault for one in catalogs for fault in _catalog(one)),
        *(fault for one in subscriptions for fault in _subscription(one, succeeded)),
        *(fault for one in csvs for fault in _csv(one)),
        *_placed(deployments, nodes),
    ]


def connection_of(catalog: Mapping[str, Any]) -> str:
    """State of the connection to a CatalogSource, such as READY."""
    return str(((catalog.get("status") or {}).get("connectionState") or {}).get("lastObservedState") or "unknown")


def available_of(packages: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The condition Available of an APIService; empty without one."""
    return next((one for one in _conditions(packages or {}) if one.get("type") == "Available"), {})


def _packages(packages: Any | None) -> Iterator[Fault]:
    subject = "packageserver's API"
    if packages is None:
        yield Fault(subject, "packages-missing", "there is no APIService", "Run `pulumi up --refresh` of the operators")
        return
    available = available_of(packages)
    if available.get("status") == "True":
        return
    seen = ": ".join(_texts(available, "reason", "message")) if available else "it has no status yet"
    fix = "Look at Deployment packageserver on the control plane, and at packageServer.host's records and sourceRanges"
    yield Fault(subject, "packages-unavailable", seen, fix)


def _catalog(one: Mapping[str, Any]) -> Iterator[Fault]:
    state = connection_of(one)
    if state != READY:
        # A CatalogSource with an image has a Pod in the hosted cluster, which the control plane does not reach.
        fix = _REACH[bool((one.get("spec") or {}).get("address"))]
        yield Fault(f"catalog {_name(one)}", "catalog-unreachable", f"its connection is {state}", fix)


def _subscription(one: Mapping[str, Any], succeeded: Collection[str]) -> Iterator[Fault]:
    status = one.get("status") or {}
    # While an upgrade's two versions exist, OLM sets ResolutionFailed, and keeps it until the namespace changes.
    if status.get("state") == "AtLatestKnown" and _installed(one, status) in succeeded:
        return
    for condition in _conditions(one):
        known = _SUBSCRIPTION.get(str(condition.get("type")))
        if known and condition.get("status") == "True":
            cause, fix = known
            seen = ": ".join(_texts(condition, "reason", "message"))
            yield Fault(f"Subscription {_name(one)}", cause, seen, fix)


def _csv(one: Mapping[str, Any]) -> Iterator[Fault]:
    status = one.get("status") or {}
    if status.get("phase") == "Failed" and COPIED not in (one["metadata"].get("labels") or {}):
        seen = ": ".join(_texts(status, "reason", "message"))
        fix = "Look at the operator's Deployment and its Pods in that namespace"
        yield Fault(f"operator {_name(one)}", "operator-failed", seen, fix)


def _placed(deployments: Iterable[Any], nodes: Sequence[Any]) -> Iterator[Fault]:
    labels = [(one["metadata"].get("labels") or {}).items() for one in nodes]
    for one in deployments:
        selector = ((one["spec"].get("template") or {}).get("spec") or {}).get("nodeSelector") or {}
        if not any(selector.items() <= each for each in labels):
            wanted = ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
            seen = f"none of {len(nodes)} nodes has {wanted}" if wanted else "the cluster has no nodes"
            fix = "Label a node, or correct placement.nodeSelector"
            yield Fault(f"Deployment {_name(one)}", "no-node", seen, fix)


def _conditions(one: Mapping[str, Any]) -> list[Any]:
    return (one.get("status") or {}).get("conditions") or []


def _installed(one: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    return f"{one['metadata'].get('namespace', '')}/{status.get('installedCSV', '')}"


def _texts(one: Mapping[str, Any], *fields: str) -> list[str]:
    return [str(one[field]) for field in fields if one.get(field)]


def _name(one: Mapping[str, Any]) -> str:
    return f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}"
