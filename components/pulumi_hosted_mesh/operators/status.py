"""Operators of a hosted cluster as its API server lists them: catalogs, Subscriptions, versions, blockers, faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError
from pulumi_hosted_mesh.operators.blockers import CONDITIONS, COPIED, CSVS, Blocker, blockers
from pulumi_hosted_mesh.operators.faults import DEPLOYMENTS, NODES, Fault, available_of, connection_of, faults
from pulumi_hosted_mesh.problems import visible

CATALOGS: Final = "/apis/operators.coreos.com/v1alpha1/catalogsources"
SUBSCRIPTIONS: Final = "/apis/operators.coreos.com/v1alpha1/subscriptions"
PACKAGES_API: Final = "/apis/apiregistration.k8s.io/v1/apiservices/v1.packages.operators.coreos.com"


@dataclass(frozen=True)
class Catalog:
    """A CatalogSource. runs: `hosted cluster` for one with a Pod there, else its address. state: of the connection."""

    namespace: str
    name: str
    runs: str
    state: str


@dataclass(frozen=True)
class Operator:
    """A Subscription with its version. installed: name of the CSV; empty before the first one. phase: the CSV's."""

    namespace: str
    subscription: str
    package: str
    channel: str
    approval: str
    installed: str
    version: str
    phase: str
    reason: str
    is_upgradeable: bool


@dataclass(frozen=True)
class OperatorsStatus:
    """One hosted cluster. packages: the condition Available of packageserver's API. error: set without an answer."""

    cluster: str
    packages: str = ""
    catalogs: tuple[Catalog, ...] = ()
    operators: tuple[Operator, ...] = ()
    blockers: tuple[Blocker, ...] = ()
    faults: tuple[Fault, ...] = ()
    error: str = ""


def read_status(cluster: str, api: ApiServer, version: str | None) -> OperatorsStatus:
    """The status of one hosted cluster. version: of Kubernetes, of a planned upgrade."""
    try:
        return status_of(
            cluster,
            list(api.list(CATALOGS)),
            list(api.list(SUBSCRIPTIONS)),
            list(api.list(CSVS)),
            list(api.list(CONDITIONS)),
            api.get(PACKAGES_API),
            list(api.list(DEPLOYMENTS)),
            list(api.list(NODES)),
            version,
        )
    except UnreachableError as error:
        return OperatorsStatus(cluster, error=str(error))


def status_of(
    cluster: str,
    catalogs: Sequence[Any],
    subscriptions: Sequence[Any],
    csvs: Sequence[Any],
    conditions: Sequence[Any],
    packages: Any | None,
    deployments: Sequence[Any],
    nodes: Sequence[Any],
    version: str | None = None,
) -> OperatorsStatus:
    """The status from the hosted cluster's objects."""
    blocking = blockers(conditions, csvs, version)
    installed = {_key(one): one for one in csvs if COPIED not in (one["metadata"].get("labels") or {})}
    return OperatorsStatus(
        cluster,
        _available(packages),
        tuple(sorted(map(_catalog, catalogs), key=lambda one: (one.namespace, one.name))),
        tuple(
            sorted(
                (_operator(one, installed, blocking) for one in subscriptions),
                key=lambda one: (one.namespace, one.subscription),
            )
        ),
        tuple(blocking),
        tuple(faults(catalogs, subscriptions, csvs, packages, deployments, nodes)),
    )


def as_json(found: Sequence[OperatorsStatus]) -> list[dict[str, Any]]:
    """For programs: the fields by Kubernetes' spelling."""
    return [
        {
            "cluster": one.cluster,
            "error": one.error,
            "packagesAvailable": one.packages,
            "catalogs": [vars(catalog) for catalog in one.catalogs],
            "operators": [
                {("upgradeable" if key == "is_upgradeable" else key): value for key, value in vars(operator).items()}
                for operator in one.operators
            ],
            "blockers": [vars(blocker) for blocker in one.blockers],
            "faults": [vars(fault) for fault in one.faults],
        }
        for one in found
    ]


def table(found: Sequence[OperatorsStatus]) -> str:
    """For people: two tables, then the blockers and faults of each hosted cluster."""
    catalogs = [("CLUSTER", "CATALOG", "SERVED BY", "STATE")]
    operators = [("CLUSTER", "OPERATOR", "CHANNEL", "APPROVAL", "INSTALLED", "PHASE", "UPGRADEABLE")]
    lines = []
    for one in found:
        catalogs += [(one.cluster, f"{each.namespace}/{each.name}", each.runs, each.state) for each in one.catalogs]
        operators += [
            (
                one.cluster,
                f"{each.namespace}/{each.package}",
                each.channel,
                each.approval,
                each.installed or "-",
                f"{each.phase or '-'}{f' ({each.reason})' if each.reason else ''}",
                "yes" if each.is_upgradeable else "no",
            )
            for each in one.operators
        ]
        lines += [f"{one.cluster}: {each} blocks an upgrade" for each in one.blockers]
        lines += [f"{one.cluster}: {each}" for each in (*one.faults, *([one.error] if one.error else []))]
    parts = ["\n".join(_columns(rows)) for rows in (catalogs, operators) if len(rows) > 1]
    return "\n\n".join([*parts, *(["\n".join(lines)] if lines else [])]) or "no operators"


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    shown = [tuple(map(visible, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in shown]


def _key(one: Mapping[str, Any]) -> tuple[str, str]:
    return str(one["metadata"].get("namespace", "")), str(one["metadata"]["name"])


def _catalog(one: Mapping[str, Any]) -> Catalog:
    return Catalog(*_key(one), str((one.get("spec") or {}).get("address") or "hosted cluster"), connection_of(one))


def _operator(
    one: Mapping[str, Any], installed: Mapping[tuple[str, str], Any], blocking: Sequence[Blocker]
) -> Operator:
    namespace, name = _key(one)
    spec, status = one.get("spec") or {}, one.get("status") or {}
    csv_name = str(status.get("installedCSV") or "")
    # A new version that waits: the Subscription reports AtLatestKnown meanwhile.
    csv = installed.get((namespace, str(status.get("currentCSV") or csv_name))) or {}
    state = csv.get("status") or {}
    return Operator(
        namespace,
        name,
        str(spec.get("name") or ""),
        str(spec.get("channel") or ""),
        str(spec.get("installPlanApproval") or "Automatic"),
        csv_name,
        str((csv.get("spec") or {}).get("version") or ""),
        str(state.get("phase") or ""),
        str(state.get("reason") or "") if state.get("phase") != "Succeeded" else "",
        not any((each.namespace, each.operator) == (namespace, csv_name) for each in blocking),
    )


def _available(packages: Any | None) -> str:
    found = available_of(packages)
    return "True" if found.get("status") == "True" else str(found.get("reason") or "False") if found else ""
