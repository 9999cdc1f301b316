"""Reads a data plane for a move, and changes labels of namespaces. A restart of workloads is a choice."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError
from pulumi_hosted_mesh.operations.discovery.mesh_identity import annotations_of, labels_of, name_of
from pulumi_hosted_mesh.operations.doctor.configuration import AT_ONCE, PORT
from pulumi_hosted_mesh.operations.doctor.namespaces import NAMESPACES
from pulumi_hosted_mesh.operations.doctor.proxies import RESTARTED, Proxy, labels_of_webhooks, proxies_of
from pulumi_hosted_mesh.operations.moves.health import ErrorRates, Requests, Sample, between, requests_in, verdicts
from pulumi_hosted_mesh.operations.moves.waves import MovingNamespace
from pulumi_hosted_mesh.operations.verdict import Verdict
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.vocabulary import (
    DEFAULT_TAG,
    INJECTION_LABEL,
    MESH_LABEL,
    MOVED_FROM_ANNOTATION,
    REVISION_LABEL,
    TAG_LABEL,
    namespace_of,
)

STATISTICS: Final = f":{PORT}/proxy/stats/prometheus"
LOOK: Final = 2.0
ENABLED: Final = f"{INJECTION_LABEL}=enabled"


@dataclass(frozen=True)
class HealthLimits:
    """watch: seconds of counting requests. patience: seconds until proxies are ready. rise: as `health.verdicts`."""

    watch: float = 60.0
    patience: float = 300.0
    rise: float = 1.0
    unmeasured: bool = False


@dataclass(frozen=True)
class Checked:
    """Verdicts on a wave. usual: requests to proxies of other revisions, for the next wave's comparison."""

    verdicts: Sequence[Verdict]
    usual: Requests | None


@dataclass(frozen=True)
class Move:
    """A move of a mesh's namespaces to a revision. restart: True to restart the moved workloads too."""

    api: ApiServer
    mesh: str
    revision: str
    limits: HealthLimits = HealthLimits()
    restart: bool = False

    def namespaces(self) -> list[MovingNamespace]:
        """The namespaces with injection by this mesh, but not its own one: gateways move with the document.

        Raises: InvalidInputError if the data plane has no webhooks of the revision; UnreachableError.
        """
        revisions = self._revisions()
        if self.revision not in revisions.values():
            rule = f"has no webhooks in this cluster: mesh {self.mesh} has {', '.join(sorted({*revisions.values()}))}"
            fix = "Run `pulumi up` with the revision first, or name one of these"
            raise InvalidInputError([Problem("--to", rule, fix)], "the command line")
        own = namespace_of(self.mesh)
        there = [one for one in self.api.list(NAMESPACES, metadata_only=True) if name_of(one) != own]
        found = (_moving(one, revisions) for one in there if "deletionTimestamp" not in one["metadata"])
        return [one for one in found if one is not None]

    def begin(self, those: Collection[MovingNamespace]) -> None:
        """Sets the revision's label on namespaces, and keeps the former one in an annotation. Raises: RefusedError."""
        for one in those:
            labels = {INJECTION_LABEL: None, REVISION_LABEL: self.revision}
            self._label(one.name, labels, one.origin or one.label)
        if self.restart:
            self._restart({one.name for one in those})

    def restore(self, those: Collection[MovingNamespace]) -> None:
        """Sets the former labels again. Raises: RefusedError."""
        moved = [one for one in those if one.origin]
        for one in moved:
            key, _, value = str(one.origin).partition("=")
            self._label(one.name, {INJECTION_LABEL: None, REVISION_LABEL: None, key: value}, None)
        if self.restart:
            revisions = self._revisions()
            back = {one.name: revisions.get(_name(str(one.origin)), "") for one in moved}
            self._restart({one.name for one in moved}, back)

    def checked(self, moved: Collection[str], usual: Requests | None = None) -> Checked:
        """Waits for the proxies of moved namespaces, counts requests, and judges.

        usual: requests of an earlier time, for when no namespace has another revision. Raises: UnreachableError.
        """
        ends = time.monotonic() + self.limits.patience
        found = self._verdicts(moved, None)
        while not all(one.ok for one in found):
            if not self.restart or time.monotonic() > ends:
                return Checked(found, usual)
            time.sleep(LOOK)
            found = self._verdicts(moved, None)
        rates = self.rates(moved)
        others = rates.others if rates.others is not None and rates.others.received else usual
        return Checked(self._verdicts(moved, ErrorRates(rates.moved, others)), others)

    def rates(self, moved: Collection[str]) -> ErrorRates:
        """Requests during the watch, of moved namespaces' proxies and of all others. Raises: UnreachableError."""
        proxies = [one for one in self._proxies() if one.ready]
        before = self._sample(proxies)
        time.sleep(self.limits.watch)
        after = self._sample(proxies)
        pods = {True: set[tuple[str, str]](), False: set[tuple[str, str]]()}
        for one in proxies:
            pods[one.namespace in moved].add((one.namespace, one.pod))
        return ErrorRates(between(before, after, pods[True]), between(before, after, pods[False]))

    def _verdicts(self, moved: Collection[str], rates: ErrorRates | None) -> list[Verdict]:
        proxies = [one for one in self._proxies() if one.namespace in moved]
        return list(verdicts(self.revision, proxies, rates, self.limits.rise, unmeasured=self.limits.unmeasured))

    def _revisions(self) -> dict[str, str]:
        """The mesh's revisions by the name that chooses them: their own, or a tag."""
        hooks = [one for one in labels_of_webhooks(self.api) if one.get(MESH_LABEL) == self.mesh]
        return {one.get(TAG_LABEL, one[REVISION_LABEL]): one[REVISION_LABEL] for one in hooks if REVISION_LABEL in one}

    def _proxies(self) -> Iterator[Proxy]:
        return (one for one in proxies_of(self.api) if one.injected is None or one.injected.mesh in ("", self.mesh))

    def _sample(self, proxies: Collection[Proxy]) -> Sample:
        def read(one: Proxy) -> Requests | None:
            path = f"/api/v1/namespaces/{quote(one.namespace)}/pods/{quote(one.pod)}{STATISTICS}"
            try:
                text = self.api.text(path)
            except UnreachableError:  # a Pod that ends meanwhile
                return None
            return None if text is None else requests_in(text)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            return dict(zip([(one.namespace, one.pod) for one in proxies], pool.map(read, proxies), strict=True))

    def _label(self, namespace: str, labels: Mapping[str, str | None], origin: str | None) -> None:
        metadata = {"labels": labels, "annotations": {MOVED_FROM_ANNOTATION: origin}}
        self.api.patch(f"{NAMESPACES}/{quote(namespace)}", {"metadata": metadata})

    def _restart(self, namespaces: Collection[str], wanted: Mapping[str, str] | None = None) -> None:
        """As `kubectl rollout restart`, of the workloads that have proxies of another revision than the wanted."""
        workloads = {
            (one.namespace, one.injected.workload)
            for one in self._proxies()
            if one.namespace in namespaces
            and one.injected
            and one.revision != (wanted or {}).get(one.namespace, self.revision)
        }
        stamp = {"kubectl.kubernetes.io/restartedAt": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
        for namespace, workload in sorted(workloads):
            kind, _, name = workload.partition("/")
            if kind in RESTARTED:
                path = f"/apis/apps/v1/namespaces/{quote(namespace)}/{kind}s/{quote(name)}"
                self.api.patch(path, {"spec": {"template": {"metadata": {"annotations": stamp}}}})


def _moving(namespace: Mapping[str, Any], revisions: Mapping[str, str]) -> MovingNamespace | None:
    labels = labels_of(namespace)
    label = ENABLED if INJECTION_LABEL in labels else f"{REVISION_LABEL}={labels.get(REVISION_LABEL)}"
    if labels.get(INJECTION_LABEL, "enabled") != "enabled" or _name(label) not in revisions:
        return None
    origin = annotations_of(namespace).get(MOVED_FROM_ANNOTATION)
    return MovingNamespace(name_of(namespace), label, revisions[_name(label)], origin)


def _name(label: str) -> str:
    """The revision or tag in a label of a namespace."""
    return DEFAULT_TAG if label == ENABLED else label.partition("=")[2]
