"""The clusters that discovery is asked to look at: contexts of kubeconfig files, read side by side, again and again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from pulumi_hosted_mesh.clusters import exec_credential, kubeconfig
from pulumi_hosted_mesh.clusters.api_server import ApiServer, UnreachableError
from pulumi_hosted_mesh.operations.discovery.facts import Discovery
from pulumi_hosted_mesh.operations.discovery.meshes import discover
from pulumi_hosted_mesh.operations.discovery.observed import Observed, observe
from pulumi_hosted_mesh.problems import InvalidInputError, Problem

AT_ONCE: Final = 16
FIELD: Final = "--kubeconfig"
Chosen = Sequence[tuple[str, str, str]]
"""Of each cluster: what it is called, its kubeconfig's file, its context there."""


def choose(files: Sequence[str], contexts: Sequence[str]) -> Chosen:
    """The clusters by the name of their context; with the file's name where two files have one of that name.

    contexts: which; empty means all of all files. Raises: InvalidInputError.
    """
    known = [(file, context) for file in files for context in kubeconfig.contexts(file)]
    if missing := sorted(set(contexts) - {context for _, context in known}):
        rule = f"no kubeconfig that is given has a context {', '.join(missing)}"
        raise InvalidInputError([Problem("contexts", rule, "`kubectl config get-contexts` lists them")], "discover")
    wanted = [(file, context) for file, context in known if not contexts or context in contexts]
    if not wanted:
        problem = Problem(FIELD, "has no context", "Give a kubeconfig, or set KUBECONFIG")
        raise InvalidInputError([problem], ", ".join(files) or "discover")
    repeated = Counter(context for _, context in wanted)
    return [(context if repeated[context] == 1 else f"{context} of {file}", file, context) for file, context in wanted]


def look(chosen: Chosen) -> Discovery:
    """The meshes of these clusters now."""
    with ThreadPoolExecutor(min(AT_ONCE, len(chosen))) as pool:
        return discover(list(pool.map(_observe, chosen)))


def watch(
    look: Callable[[], Discovery], every: float, wait: Callable[[float], None] = time.sleep
) -> Iterator[Discovery]:
    """What is found now, and again whenever it is not what was found before. every: seconds between two looks."""
    before = None
    while True:
        found = look()
        if found != before:
            yield found
        before = found
        wait(every)


def _observe(one: tuple[str, str, str]) -> Observed:
    """One cluster. Its credential is fetched for each look, for what a program prints expires.

    A context that cannot be used is no reason to say nothing of the others.
    """
    name, file, context = one
    asked = kubeconfig.Asked(context=context, field=FIELD, source=file)
    try:
        return observe(name, ApiServer(exec_credential.fetched(kubeconfig.from_file(file, asked), FIELD, file)))
    except (InvalidInputError, UnreachableError) as error:
        return Observed(name, unreachable=str(error))
