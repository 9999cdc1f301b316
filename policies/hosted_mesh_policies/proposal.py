"""A first settings file: the clusters, accounts and stacks of one preview, each with a guess or a question."""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hosted_mesh_plan.clusters import ClusterConfig, Clusters, Role, names_of
from hosted_mesh_plan.model import PROVIDER_PREFIX, REFERENCE_TYPE, Provider, Resource, Stack
from hosted_mesh_plan.owners import CLOUDS, GENERATORS
from hosted_mesh_plan.tree import at

from .evaluation.settings import Settings
from .rules.credentials import FLOW
from .rules.providers import PROVIDERS

_CONTROL_PLANES: Final = re.compile(
    r"control-?plane|\b(?:cp|hub|mgmt|management|platform|provider|seed|admin|ops|infra|central|host|hosting|core|main"
    r"|master|root|trust|dns|ours|deployer)s?\d*\b"
)
_DATA_PLANES: Final = re.compile(
    r"data-?plane|\b(?:dp|data|tenant|customer|user|client|edge|spoke|workload|guest|member|remote|app|team|agent)s?\d*\b"
)
_JOINTS: Final = re.compile(r"[_./:@]+")
PROPOSED: Final = "HOSTED_MESH_SETTINGS"
"""Environment variable: the settings file that the pack writes at the end of a preview."""
_LOCAL: Final = ("command:local:", "local:", "archive:")
"""Types that stay on the deployer's machine."""


_GUESSED: Final = "Guessed"


@dataclass
class Proposal:
    """The lists of a settings file. `guesses` and `questions` are its comments: a person corrects and answers them."""

    lists: dict[str, list[str]] = field(default_factory=dict)
    guesses: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)

    def add(self, setting: str, entry: str, guess: str) -> None:
        entries = self.lists.setdefault(setting, [])
        if entry not in entries:
            entries.append(entry)
            self.guesses.append(guess)

    def ask(self, question: str) -> None:
        if question not in self.questions:
            self.questions.append(question)

    @property
    def by_policy(self) -> dict[str, dict[str, Any]]:
        """The file's content, as `--policy-pack-config` reads it."""
        asked = [f"QUESTION {number}: {text}" for number, text in enumerate(self.questions, 1)]
        clusters: dict[str, Any] = {"comments": [*asked, *(f"{_GUESSED}: {text}" for text in self.guesses)]}
        clusters |= {key: value for key, value in self.lists.items() if key in PROVIDERS.schema}
        flow = {key: value for key, value in self.lists.items() if key in FLOW.schema}
        return {PROVIDERS.name: clusters} | ({FLOW.name: flow} if flow else {})

    def text(self) -> str:
        return json.dumps(self.by_policy, indent=2) + "\n"


def proposal(stacks: Sequence[Stack]) -> Proposal:
    """The settings for the programs of some previews. The library's own names need no setting."""
    found = Proposal()
    for stack in stacks:
        clusters = Clusters(stack, ClusterConfig())
        for provider in clusters.providers.values():
            if not clusters.claimed(provider):
                _cluster(found, clusters, provider)
        for provider, used_by in _accounts(stack, clusters):
            _account(found, provider, used_by)
        for name in _references(stack):
            _stack(found, name)
    return found


def _cluster(found: Proposal, clusters: Clusters, provider: Provider) -> None:
    cluster = clusters.clusters[provider.urn]
    if cluster.server and len(clusters.by_server.get(cluster.server, ())) == 1:
        return  # another provider of the library's reaches it
    called = names_of(provider.type.rpartition(":")[2], provider.name, "")[1]
    host = urllib.parse.urlsplit(cluster.server).hostname or "" if cluster.server else ""
    role = None if provider.is_default and not host else guess(provider.name if not provider.is_default else "", host)
    entry, kind = (cluster.server, "Servers") if cluster.server else (called, "Providers")
    shown = (
        f"API server {cluster.server} of provider {called}" if cluster.server else f"the cluster of provider {called}"
    )
    if role is None:
        problem = f" ({cluster.problem})" if cluster.problem and not cluster.server else ""
        found.ask(
            f"Who owns {shown}{problem}? Add {entry} to controlPlane{kind} if it is the control plane's, to "
            f"dataPlane{kind} if it is a tenant's."
        )
    else:
        side = "controlPlane" if role is Role.CONTROL_PLANE else "dataPlane"
        found.add(f"{side}{kind}", entry, f"{shown} is a {role.value}'s, by its name.")


def _accounts(stack: Stack, clusters: Clusters) -> Iterable[tuple[Provider, list[Resource]]]:
    """The providers that reach no cluster, and the resources of each."""
    found: dict[str, tuple[Provider, list[Resource]]] = {}
    for resource in stack.resources:
        provider = resource.provider
        package = resource.type.split(":")[0]
        if provider is None or provider.urn in clusters.providers or resource.is_provider or package in GENERATORS:
            continue
        if provider.type != f"{PROVIDER_PREFIX}pulumi":
            found.setdefault(provider.urn, (provider, []))[1].append(resource)
    return found.values()


def _account(found: Proposal, provider: Provider, used_by: Sequence[Resource]) -> None:
    package = provider.type.rpartition(":")[2]
    called = f"{package}:{provider.name}"
    question = (
        "Add it to controlPlaneProviders if it is the control plane's, to dataPlaneProviders if it is a tenant's."
    )
    if provider.is_default:
        if package in CLOUDS:
            return  # the deployer's own account counts as the control plane's
        entry = f"{package}:default*"
        if all(one.type.startswith(_LOCAL) for one in used_by):
            found.add("controlPlaneProviders", entry, f"{package}'s default provider works on the deployer's machine.")
        else:
            found.ask(
                f"Who can read the resources of {package}'s default provider? "
                f"{question.replace('it to', f'{entry} to', 1)}"
            )
        return
    role = guess(provider.name)
    if role is None:
        found.ask(f"Who owns the account of provider {called}? {question}")
    else:
        side = "controlPlane" if role is Role.CONTROL_PLANE else "dataPlane"
        found.add(f"{side}Providers", called, f"the account of provider {called} is a {role.value}'s, by its name.")


def _references(stack: Stack) -> Iterator[str]:
    for resource in stack.by_urn.values():
        if resource.type == REFERENCE_TYPE:
            named = at(resource.body, "name")
            yield named if isinstance(named, str) else resource.name


def _stack(found: Proposal, name: str) -> None:
    role = guess(name)
    if role is Role.DATA_PLANE:
        found.lists.setdefault("dataPlaneStacks", list(Settings.data_plane_stacks))
        found.add("dataPlaneStacks", name, f"stack {name} is a data plane's, by its name.")
    elif role is None:
        found.ask(f"Who owns stack {name}? Add it to dataPlaneStacks of {FLOW.name} if it is a tenant's.")


def guess(*names: str) -> Role | None:
    """The owner by the first of the names with a word for one side alone."""
    for name in names:
        words = _JOINTS.sub("-", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name)).lower()
        ours, theirs = bool(_CONTROL_PLANES.search(words)), bool(_DATA_PLANES.search(words))
        if ours != theirs:
            return Role.CONTROL_PLANE if ours else Role.DATA_PLANE
    return None


def read(text: str) -> Proposal:
    """Reads the output of `Proposal.text`."""
    found = Proposal()
    for policy in json.loads(text).values():
        for key, entries in policy.items():
            if key != "comments":
                found.lists[key] = list(entries)
            for one in entries if key == "comments" else ():
                kind, _, said = one.partition(": ")
                (found.guesses if kind == _GUESSED else found.questions).append(said)
    return found


def summary(found: Proposal) -> Iterator[str]:
    """Lines for a terminal: each guess, each question."""
    yield from (f"guessed: {one}" for one in found.guesses)
    yield from (f"question: {one}" for one in found.questions)


def is_empty(stacks: Iterable[Stack]) -> bool:
    return not any(resource.provider or resource.is_provider for stack in stacks for resource in stack.resources)
