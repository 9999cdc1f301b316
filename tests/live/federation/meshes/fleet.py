"""The three meshes of one deployment: one template, one root of the product's own, one program for all clusters.

Bookinfo's parts get to their meshes by another one, an ApplicationDeployment.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from sandbox.bootstrap import CHECKOUT
from sandbox.proof.deployed import eventually
from tests.engine.library.engine import Project, Stack
from tests.live.federation.meshes.federated import (
    NAMESPACE,
    PROGRAMS,
    Meshes,
    gateway_address,
    mesh_document,
    programs,
)

EXAMPLES = CHECKOUT / "examples"
NAME = "fleet"
APPLICATION = "bookinfo"


@dataclass(frozen=True)
class Fleet(Meshes):
    """Meshes by MeshDeployment with `root: shared`. Their federation is a stack each, as of other owners."""

    @cached_property
    def fleet(self) -> Stack:
        """The program of examples/many_clusters with a document for these clusters."""
        return self._program("many_clusters", "deployment.yaml", self.deployment()).stack(NAME, {})

    def _program(self, example: str, file: str, document: Mapping[str, Any]) -> Project:
        """An example's program with another document."""
        folder: Path = self.project.directory / example
        shutil.copytree(EXAMPLES / example, folder / "program")
        (folder / "program" / file).write_text(yaml.safe_dump(document))
        return Project.make(folder / "project", self.sandbox, self.tools, folder / "program", limit=900)

    def deploy(self) -> None:
        self.fleet.up()

    def outputs(self, mesh: str) -> Mapping[str, Any]:
        found = self.fleet.outputs()
        return {
            "namespace": f"mesh-{mesh}",
            "endpoints": found["endpoints"][mesh],
            "injection_labels": found["injection labels"][mesh],
        }

    def run_programs(self, wanted: Mapping[str, tuple[str, ...]] = PROGRAMS, namespace: str = NAMESPACE) -> None:
        """Bookinfo's by an ApplicationDeployment; others as in other meshes."""
        if namespace != NAMESPACE:
            super().run_programs(wanted, namespace)
            return
        self._program("application", "application.yaml", self.application(wanted)).stack(APPLICATION, {}).up()
        for mesh, names in wanted.items():
            for name in names:
                eventually(lambda: self.pod(mesh, name, namespace), seconds=120)  # noqa: B023

    def application(self, wanted: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
        """The document: a part for each program, placed by labels of the meshes' clusters."""
        labels = {mesh: {f"runs-{name}": "yes" for name in names} for mesh, names in wanted.items()}
        parts = [{"name": "strict", "manifests": list(self._manifests(())), "place": {"names": list(wanted)}}]
        for name in sorted({one for names in wanted.values() for one in names}):
            manifests = [one for one in self._manifests((name,)) if one["kind"] != "PeerAuthentication"]
            parts.append({"name": name, "manifests": manifests, "place": {"labels": {f"runs-{name}": "yes"}}})
        clusters = [
            {"name": mesh, "labels": labels[mesh], "cluster": self._cluster(mesh)["cluster"]} for mesh in wanted
        ]
        return {"name": APPLICATION, "namespace": NAMESPACE, "parts": parts, "clusters": clusters}

    def _manifests(self, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
        """Of programs, without their namespace, which the deployment makes."""
        return (one for one in programs(names) if one["kind"] != "Namespace")

    def mesh_stacks(self) -> list[Stack]:
        return [self.fleet]

    def deployment(self) -> dict[str, Any]:
        """The document of one mesh as a template, with the facts of each cluster apart."""
        mesh = next(iter(self.places))
        plain = self._document(mesh, egress=False)
        (revision,), (membership,) = plain["revisions"], plain["memberships"]
        revision.pop("exposure")
        template = {"name": "{cluster}", "trust": {"root": {"protect": False}}, "revisions": [revision]}
        template["dataPlane"] = {"gateways": membership["gateways"], "namespaces": [NAMESPACE]}
        template = yaml.safe_load(yaml.safe_dump(template).replace(gateway_address(mesh), gateway_address("{cluster}")))
        template["revisions"][0]["host"] = "istiod.{cluster}.sandbox.test"
        overrides = []
        for one in sorted(self.with_egress):
            gateways = copy.deepcopy(template["dataPlane"]["gateways"])
            gateways.append(self._document(one, egress=True)["memberships"][0]["gateways"][1])
            overrides.append({"clusters": [one], "dataPlane": {"gateways": gateways}})
        return {
            "name": NAME,
            "root": "shared",
            "controlPlane": plain["controlPlane"],
            "template": template,
            "clusters": [self._cluster(one) for one in self.places],
            "overrides": overrides,
        }

    def _document(self, mesh: str, *, egress: bool) -> dict[str, Any]:
        return mesh_document(self.cluster(mesh), self.tools, mesh, egress=egress)

    def _cluster(self, mesh: str) -> dict[str, Any]:
        (membership,) = self._document(mesh, egress=False)["memberships"]
        cluster = self.cluster(mesh)
        return {
            "name": mesh,
            "cluster": membership["cluster"],
            "apiServer": membership["access"]["apiServer"],
            "sourceRanges": [f"{cluster.addresses.wan_address}/32"],
        }
