"""Operators of a hosted cluster that block its upgrade, read from OperatorConditions and ClusterServiceVersions.

The Subscription misleads: with `Upgradeable=False` it reports `AtLatestKnown`, so it is not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pulumi_hosted_mesh.clusters.api_server import ApiServer
from pulumi_hosted_mesh.problems import visible

CONDITIONS: Final = "/apis/operators.coreos.com/v2/operatorconditions"
CSVS: Final = "/apis/operators.coreos.com/v1alpha1/clusterserviceversions"
COPIED: Final = "olm.copiedFrom"
PROPERTIES: Final = "olm.properties"
MOST_OPENSHIFT: Final = "olm.maxOpenShiftVersion"
MOST_KUBERNETES: Final = "olm.maxKubernetesVersion"
UPGRADEABLE: Final = "Upgradeable"
OPENSHIFT_OFFSET: Final = 13
"""OpenShift 4.x has Kubernetes 1.(x + 13)."""


@dataclass(frozen=True, order=True)
class Blocker:
    """An operator that blocks. operator: the CSV's name. reason, message: its own, from the hosted cluster."""

    operator: str
    namespace: str
    reason: str
    message: str

    def __str__(self) -> str:
        text = f"operator {self.operator} in namespace {self.namespace}: {self.reason}"
        return visible(f"{text}: {self.message}" if self.message else text)


def read_blockers(api: ApiServer, version: str | None) -> list[Blocker]:
    """The blockers of an upgrade. version: of Kubernetes, after the upgrade. Raises: UnreachableError."""
    return blockers(list(api.list(CONDITIONS)), list(api.list(CSVS)), version)


def blockers(conditions: Iterable[Any], csvs: Iterable[Any], version: str | None) -> list[Blocker]:
    """The blockers among the hosted cluster's objects, in order."""
    installed = [one for one in csvs if COPIED not in (one["metadata"].get("labels") or {})]
    names = {(_namespace(one), str(one["metadata"]["name"])) for one in installed}
    found = {
        blocker
        for one in conditions
        if (_namespace(one), str(one["metadata"]["name"])) in names and (blocker := _condition(one))
    }
    found |= {blocker for one in installed for blocker in _bounds(one, version)}
    return sorted(found)


def _namespace(one: Mapping[str, Any]) -> str:
    return str(one["metadata"].get("namespace", ""))


def _condition(one: Mapping[str, Any]) -> Blocker | None:
    """An OperatorCondition that blocks. An administrator's override comes before the operator's own condition."""
    spec, status = one.get("spec") or {}, one.get("status") or {}
    for listed in (spec.get("overrides"), spec.get("conditions"), status.get("conditions")):
        for condition in listed or []:
            if condition.get("type") == UPGRADEABLE:
                if condition.get("status") != "False":
                    return None
                reason, message = str(condition.get("reason") or "NotUpgradeable"), str(condition.get("message") or "")
                return Blocker(str(one["metadata"]["name"]), _namespace(one), reason, message)
    return None


def _bounds(csv: Mapping[str, Any], version: str | None) -> Iterator[Blocker]:
    """Blockers of a CSV with a newest supported version below the wanted one."""
    if version is None:
        return
    text = (csv["metadata"].get("annotations") or {}).get(PROPERTIES)
    try:
        properties = json.loads(text) if text else []
    except ValueError:
        return
    for one in properties if isinstance(properties, list) else []:
        if not isinstance(one, Mapping) or one.get("type") not in (MOST_OPENSHIFT, MOST_KUBERNETES):
            continue
        kind, value = str(one["type"]), str(one.get("value"))
        most = _minor(value)
        if most is not None and kind == MOST_OPENSHIFT:
            most += OPENSHIFT_OFFSET
        if most is not None and most < (_minor(version) or 0):
            message = f"supports {'OpenShift' if kind == MOST_OPENSHIFT else 'Kubernetes'} up to {value}"
            yield Blocker(str(csv["metadata"]["name"]), _namespace(csv), kind, message)


def _minor(version: str) -> int | None:
    parts = version.split(".")
    return int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else None
