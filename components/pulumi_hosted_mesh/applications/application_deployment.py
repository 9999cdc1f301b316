"""One application in several clusters, from one document.

No `from __future__ import annotations` here: Pulumi's component host reads the annotations as they are.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pulumi

from pulumi_hosted_mesh._generated.inputs import ApplicationArgs
from pulumi_hosted_mesh.applications.document import with_manifests
from pulumi_hosted_mesh.applications.placement import SOURCE, Manifest, key_of, placed
from pulumi_hosted_mesh.boundary.arguments import cluster_of, without_cluster
from pulumi_hosted_mesh.boundary.typed_arguments import typed_arguments
from pulumi_hosted_mesh.clusters.cluster import DataPlaneCluster, refuse_one_given_twice, refuse_providers
from pulumi_hosted_mesh.spec.application import Application
from pulumi_hosted_mesh.spec.load import read_arguments
from pulumi_hosted_mesh.vocabulary import TYPE_APPLICATION_DEPLOYMENT

# Made after the objects that their Pods use, and removed before them.
WORKLOADS = ("CronJob", "DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "StatefulSet")


class ApplicationDeploymentArgs(ApplicationArgs):
    """An application: its document as arguments, with its clusters."""


class ApplicationDeployment(pulumi.ComponentResource):
    """The parts of an application, each in its clusters.

    Raises: InvalidInputError for invalid arguments, files or kubeconfigs, before the first resource.
    """

    placed: pulumi.Output[dict[str, list[str]]]
    """The objects by cluster, such as `Deployment bookinfo/reviews`."""

    def __init__(self, name: str, args: ApplicationDeploymentArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        called = f"ApplicationDeployment {name}"
        args = typed_arguments(ApplicationDeploymentArgs, args, called)
        refuse_providers(opts, called)
        found = placed(with_manifests(_document(args), Path()))
        super().__init__(TYPE_APPLICATION_DEPLOYMENT, name, {}, opts)
        given: Any = args["clusters"]
        clusters = {
            str(one["name"]): (
                f"clusters[{position}].cluster",
                DataPlaneCluster.of(
                    cluster_of(one, f"clusters[{position}]", SOURCE), name=f"{name}-{one['name']}", parent=self
                ),
            )
            for position, one in enumerate(given)
            if one["name"] in found
        }
        refuse_one_given_twice(dict(clusters.values()), SOURCE)
        for cluster, manifests in found.items():
            self._make(f"{name}-{cluster}", clusters[cluster][1], manifests)
        self.placed = pulumi.Output.from_input(
            {cluster: [_called(one) for one in manifests] for cluster, manifests in found.items()}
        )
        self.register_outputs({"placed": self.placed})

    def _make(self, name: str, cluster: DataPlaneCluster, manifests: Sequence[Manifest]) -> None:
        used: list[pulumi.Resource] = []
        for one in sorted(manifests, key=lambda found: found["kind"] in WORKLOADS):
            is_workload = one["kind"] in WORKLOADS
            options = cluster.options(self, depends_on=used if is_workload else [])
            logical = "-".join((name, *key_of(one))).lower()
            made = pulumi.CustomResource(_type_of(one), logical, one, options)
            if not is_workload:
                used.append(made)


def _type_of(manifest: Manifest) -> str:
    """Pulumi's type of an object: `kubernetes:core/v1:Service`."""
    version = manifest["apiVersion"]
    return f"kubernetes:{version if '/' in version else f'core/{version}'}:{manifest['kind']}"


def _called(manifest: Manifest) -> str:
    kind, namespace, name = key_of(manifest)
    return f"{kind} {namespace}/{name}"


def _document(args: Any) -> Application:
    """The application in arguments, without clusters. Raises: InvalidInputError."""
    plain = dict(args)
    if isinstance(plain.get("clusters"), Sequence) and not isinstance(plain["clusters"], str):
        plain["clusters"] = [without_cluster(one) if isinstance(one, Mapping) else one for one in plain["clusters"]]
    return read_arguments(Application, plain, SOURCE)
