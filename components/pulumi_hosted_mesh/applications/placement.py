"""The objects of an application in each cluster. Pure: no resource."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.application import Application, ApplicationPart
from pulumi_hosted_mesh.vocabulary import APPLICATION_LABEL, SKIP_AWAIT_ANNOTATION

SOURCE: Final = "the application"
Manifest = dict[str, Any]
Key = tuple[str, str, str]
"""Kind, namespace and name."""


def placed(application: Application) -> dict[str, list[Manifest]]:
    """The objects by cluster, for clusters with a part, sorted by name.

    A cluster's objects depend on its own parts, and on no other cluster. Parts have no files any more (`document`).
    Raises: InvalidInputError with every problem: places without a cluster, and objects that two parts have.
    """
    problems = list(_places(application))
    found: dict[str, list[Manifest]] = {}
    for cluster in sorted(application.clusters, key=lambda one: one.name):
        owners: dict[Key, str] = {}
        for part in application.parts:
            if cluster.name not in clusters_of(application, part):
                continue
            for position, one in enumerate(part.manifests):
                made = _manifest(application, one)
                first = owners.setdefault(key_of(made), f"{part.name}[{position}]")
                if first != f"{part.name}[{position}]":
                    other = first.partition("[")[0]
                    rule = f"has {' '.join(key_of(made))}, and so has part {other}, in cluster {cluster.name}"
                    problems.append(Problem(f"parts.{part.name}", rule, "Leave it out of one, or rename it"))
                found.setdefault(cluster.name, []).append(made)
    if problems:
        raise InvalidInputError(list(dict.fromkeys(problems)), SOURCE)
    return found


def clusters_of(application: Application, part: ApplicationPart) -> list[str]:
    """The names of the clusters of a part."""
    wanted = part.place.labels.items()
    return sorted(
        one.name
        for one in application.clusters
        if one.name in part.place.names or (wanted and wanted <= one.labels.items())
    )


def key_of(manifest: Mapping[str, Any]) -> Key:
    """Kind, namespace and name of an object with a namespace."""
    return manifest["kind"], manifest["metadata"]["namespace"], manifest["metadata"]["name"]


def _places(application: Application) -> Iterator[Problem]:
    names = [one.name for one in application.clusters]
    for part in application.parts:
        field = f"parts.{part.name}.place"
        for name in part.place.names:
            if name not in names:
                near = difflib.get_close_matches(name, names, n=1)
                fix = f"Did you mean {near[0]}?" if near else f"The clusters are {', '.join(sorted(names))}"
                yield Problem(f"{field}.names", f"names {name}, which is none of the clusters", fix)
        labels = part.place.labels
        if labels and not any(labels.items() <= one.labels.items() for one in application.clusters):
            shown = ", ".join(f"{key}: {value}" for key, value in sorted(labels.items()))
            rule = f"matches none of the clusters ({shown})"
            yield Problem(f"{field}.labels", rule, "Correct these labels or the clusters' labels")


def _manifest(application: Application, given: Mapping[str, Any]) -> Manifest:
    """The object with its namespace and the application's label."""
    made = copy.deepcopy(dict(given))
    metadata = made["metadata"] = {**made["metadata"]}
    metadata["namespace"] = metadata.get("namespace") or application.namespace
    metadata["labels"] = {**(metadata.get("labels") or {}), APPLICATION_LABEL: application.name}
    if not application.wait_until_ready:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), SKIP_AWAIT_ANNOTATION: "true"}
    made.pop("status", None)
    return made
