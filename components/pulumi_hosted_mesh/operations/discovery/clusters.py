"""The clusters of a discovery: contexts of kubeconfig files, read in parallel, and watched if requested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from pulumi_hosted_mesh.clusters import exec_credential, kubeconfig
from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError
from pulumi_hosted_mesh.operations.discovery.cluster_observation import ClusterObservation, observe
from pulumi_hosted_mesh.operations.discovery.facts import Discovery
from pulumi_hosted_mesh.operations.discovery.meshes import discover_all
from pulumi_hosted_mesh.operations.discovery.watching import follow
from pulumi_hosted_mesh.problems import InvalidInputError, Problem

AT_ONCE: Final = 16
FIELD: Final = "--kubeconfig"
Chosen = Sequence[tuple[str, str, str]]
"""Of each cluster: name, kubeconfig file, context."""


def choose(files: Sequence[str], contexts: Sequence[str]) -> Chosen:
    """The clusters by the name of their context. If two files have a context of one name, the file's name is added.

    contexts: the wanted ones; empty for all of all files. Raises: InvalidInputError.
    """
    available = [(file, context) for file in files for context in kubeconfig.contexts(file)]
    if missing := sorted(set(contexts) - {context for _, context in available}):
        rule = f"are in no given kubeconfig: {', '.join(missing)}"
        raise InvalidInputError([Problem("contexts", rule, "`kubectl config get-contexts` lists them")], "discover")
    wanted = [(file, context) for file, context in available if not contexts or context in contexts]
    if not wanted:
        problem = Problem(FIELD, "has no context", "Name a kubeconfig, or set KUBECONFIG")
        raise InvalidInputError([problem], ", ".join(files) or "discover")
    repeated = Counter(context for _, context in wanted)
    return [(context if repeated[context] == 1 else f"{context} of {file}", file, context) for file, context in wanted]


def read(chosen: Chosen) -> list[ClusterObservation]:
    """The current objects of these clusters."""
    with ThreadPoolExecutor(min(AT_ONCE, len(chosen))) as pool:
        return list(pool.map(_observe, chosen))


def look(chosen: Chosen) -> Discovery:
    """The current meshes of these clusters."""
    return discover_all(read(chosen))


def watch(chosen: Chosen, every: float) -> Iterator[tuple[list[ClusterObservation], Discovery]]:
    """The current objects and facts, and again after each change of the facts.

    every: seconds until a list is tried again that the credential may not watch.
    """
    before = None
    for observed in follow([(one[0], partial(_connect, one)) for one in chosen], every):
        found = discover_all(observed)
        if found != before:
            yield observed, found
        before = found


def _connect(one: tuple[str, str, str]) -> ApiServer:
    """A client for a context. Its exec plugin runs again, because its credential expires."""
    _, file, context = one
    request = kubeconfig.KubeconfigRequest(context=context, field=FIELD, source=file)
    return ApiServer(exec_credential.fetched(kubeconfig.from_file(file, request), FIELD, file))


def _observe(one: tuple[str, str, str]) -> ClusterObservation:
    """Facts of one cluster. An unusable context makes only this cluster `unreachable`."""
    try:
        return observe(one[0], _connect(one))
    except (InvalidInputError, UnreachableError) as error:
        return ClusterObservation(one[0], unreachable=str(error))
