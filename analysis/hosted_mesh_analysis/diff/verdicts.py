"""The policies' verdicts on both versions of a stack. The only module here that imports the rules.

Both versions are judged with the generated secrets of their first run. A message of a policy contains no value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hosted_mesh_plan.clusters import ClusterConfig
from hosted_mesh_plan.decode import from_plain
from hosted_mesh_plan.model import STACK_TYPE, Provider, Resource, Stack
from hosted_mesh_policies.configuration import UnusableConfigurationError, at_their_levels, check
from hosted_mesh_policies.evaluation.context import Context
from hosted_mesh_policies.evaluation.finding import Finding
from hosted_mesh_policies.evaluation.rule import Rule, judge
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.rules.catalogue import RULES

from ..runner import input_files
from ..runner.capture import Capture, Registered
from ..runner.places import Known
from ..runner.program.monitor import IS_READ, IS_TRIED
from ..runner.program.process import Program
from ..runner.project import UnusableProjectError
from .masked import is_credential
from .result import Verdict

Judged = tuple[Settings, tuple[Rule, ...]]


def configured(known: Known, policy_config: Path | None) -> Judged:
    """Settings and rules: of the pack's configuration, and of the declared clusters. Raises: UnusableProjectError."""
    data: Mapping[str, Any] = {}
    if policy_config is not None:
        data = input_files.mapping(policy_config, "Give the file of --policy-pack-config")
        try:
            check(data)
        except UnusableConfigurationError as problem:
            raise UnusableProjectError(f"--policy-config {policy_config}: {problem}") from None
    settings = Settings.read({name: one for name, one in data.items() if isinstance(one, dict)})
    if settings.clusters == ClusterConfig() and known != Known():
        clusters = ClusterConfig.of(
            control_plane_servers=tuple(one for one in known.control_plane if "://" in one),
            data_plane_servers=tuple(one for one in known.data_plane if "://" in one),
            control_plane_providers=tuple(one for one in known.control_plane if "://" not in one),
            data_plane_providers=tuple(one for one in known.data_plane if "://" not in one),
        )
        settings = replace(settings, clusters=clusters)
    return settings, at_their_levels(data) if data else RULES


def findings(run: Capture, name: str, project: str, program: Program, judged: Judged) -> list[Finding]:
    """The verdicts on one run."""
    settings, rules = judged
    providers = {urn: Provider(urn, one.type, one.name, from_plain(one.inputs)) for urn, one in run.providers.items()}
    resources = [_resource(one, run, providers) for one in _written({**run.providers, **run.resources}.values())]
    root = f"urn:pulumi:{name}::{project}::{STACK_TYPE}::{project}-{name}"
    resources.append(Resource(root, STACK_TYPE, f"{project}-{name}", {}, from_plain(run.outputs)))
    stack = Stack(name, tuple(resources), project, dict(program.config), frozenset(program.secret_keys))
    context = Context(stack, settings)
    return [finding for rule in rules for finding in judge(rule, context)]


def _written(found: Iterable[Registered]) -> list[Registered]:
    return [one for one in found if one.options not in (IS_READ, IS_TRIED)]


def _resource(one: Registered, run: Capture, providers: Mapping[str, Provider]) -> Resource:
    outputs = run.answers.get(one.urn)
    return Resource(
        one.urn,
        one.type,
        one.name,
        from_plain(one.inputs),
        from_plain(dict(outputs)) if outputs is not None else None,
        provider=providers.get(one.provider),
        dependencies=one.dependencies,
    )


def compared(
    old: Iterable[Finding], new: Iterable[Finding], rules: Iterable[Rule], made_up: set[str]
) -> tuple[list[Verdict], int]:
    """The verdicts of one version alone, and the number of those of both. made_up: texts to keep out of messages."""
    mandatory = {rule.name for rule in rules if rule.mandatory}
    before, after = (Counter((one.rule, one.urn, one.message, one.advisory) for one in side) for side in (old, new))
    found = [
        _verdict(key, mandatory, made_up, added)
        for counted, added in ((after - before, True), (before - after, False))
        for key in counted
    ]
    return found, sum((before & after).values())


def _verdict(key: tuple[str, str, str, bool], mandatory: set[str], made_up: set[str], added: bool) -> Verdict:
    rule, urn, message, advisory = key
    types, _, name = urn.partition("::")[2].partition("::")[2].rpartition("::")
    called = f"{types.rpartition(':')[2]} {name}" if name else "the stack"
    texts = [
        "(hidden)" if is_credential(text) or any(one in text for one in made_up) else text for text in (called, message)
    ]
    return Verdict(rule, rule in mandatory and not advisory, texts[0], texts[1], added)
