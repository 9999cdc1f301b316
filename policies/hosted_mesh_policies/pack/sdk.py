"""The rules as policies of Pulumi's Python policy SDK, for a pack with other policies too.

    from hosted_mesh_policies.pack.sdk import policies
    PolicyPack("ours", [*policies(), ...])

The SDK drops the secret marks, so verdicts on marks are missing here: prefer the pack itself (`server`). Needs the
distribution pulumi-policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hosted_mesh_plan.model import Provider, Resource, Stack
from hosted_mesh_plan.tree import UNKNOWN, Tree
from pulumi_policy import (
    EnforcementLevel,
    PolicyConfigSchema,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UnknownValueError

from ..configuration import BEFORE_WRITE, check_settings
from ..evaluation.context import Context
from ..evaluation.rule import Rule, judge, judge_resource
from ..evaluation.settings import Settings
from ..rules.catalogue import RULES
from ..rules.unproven import UNPROVEN


def policies(settings: Mapping[str, Any] | None = None) -> list[StackValidationPolicy | ResourceValidationPolicy]:
    """All rules except the one that rests on secret marks of a preview. `settings` are those of all policies together
    (docs/policies/README.md#settings). Raises UnusableConfigurationError."""
    check_settings(settings or {})
    read = replace(
        Settings.read({"": settings or {}}), strict=True
    )  # the SDK has one level for all of a policy's verdicts
    found: list[StackValidationPolicy | ResourceValidationPolicy] = []
    for rule in (rule for rule in RULES if rule is not UNPROVEN):
        found.append(_stack_policy(rule, read))
        if rule.check:
            found.append(_resource_policy(rule, read))
    return found


def _stack_policy(rule: Rule, settings: Settings) -> StackValidationPolicy:
    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        resources = tuple(
            _resource(r, {k: tuple(d.urn for d in v) for k, v in r.property_dependencies.items()})
            for r in args.resources
        )
        stack = Stack(resources[0].urn.split(":")[2] if resources else "", resources, marks=False)
        for finding in judge(rule, Context(stack, settings)):
            report(f"{finding.message}\n{rule.remedy}", finding.urn or None)

    return StackValidationPolicy(validate=validate, **_common(rule, ""))


def _resource_policy(rule: Rule, settings: Settings) -> ResourceValidationPolicy:
    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        resource = _resource(args, {})
        context = Context(Stack("", (resource,), partial=True, marks=False), settings)
        for finding in judge_resource(rule, context, resource):
            report(f"{finding.message}\n{rule.remedy}", None)

    return ResourceValidationPolicy(validate=validate, **_common(rule, BEFORE_WRITE))


def _common(rule: Rule, suffix: str) -> dict[str, Any]:
    schema = {key: dict(value) for key, value in rule.schema.items()}
    return {
        "name": rule.name + suffix,
        "description": rule.description,
        "display_name": rule.title,
        "severity": Severity(rule.severity.value),
        "enforcement_level": EnforcementLevel.MANDATORY if rule.mandatory else EnforcementLevel.ADVISORY,
        "config_schema": PolicyConfigSchema(schema) if schema and not suffix else None,
        "remediation_steps": rule.remedy,
        "url": rule.url,
    }


def _resource(args: Any, dependencies: Mapping[str, tuple[str, ...]]) -> Resource:
    provider = args.provider
    return Resource(
        urn=args.urn,
        type=args.resource_type,
        name=args.name,
        inputs=tree_of(args.props),
        provider=Provider(provider.urn, provider.resource_type, provider.name, tree_of(provider.props))
        if provider
        else None,
        dependencies=dependencies,
    )


def tree_of(value: Any) -> Tree:
    """The SDK's proxies as plain data. Reading an unknown through a proxy raises; here it becomes UNKNOWN."""
    if isinstance(value, str | bytes):
        return value
    if hasattr(value, "keys"):
        return {key: _read(value, key) for key in value}
    if hasattr(value, "__len__") and hasattr(value, "__getitem__"):
        return [_read(value, position) for position in range(len(value))]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _read(container: Any, key: Any) -> Tree:
    try:
        return tree_of(container[key])
    except UnknownValueError:
        return UNKNOWN
