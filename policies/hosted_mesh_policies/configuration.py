"""Checks `--policy-pack-config`: a misspelt setting without effect could let a leak through."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from hosted_mesh_plan.clusters import is_server
from hosted_mesh_plan.owners import LOGIN_TYPE

from .evaluation.rule import Rule
from .rules.catalogue import RULES

BEFORE_WRITE: Final = "-before-write"
LEVEL: Final = "enforcementLevel"
LEVELS: Final = ("mandatory", "advisory", "disabled")
_KNOWN: Final = {n: rule for rule in RULES for n in (rule.name, *([rule.name + BEFORE_WRITE] if rule.check else []))}
"""Each rule by its policies' names in the engine."""


_LOGINS: Final = re.compile(rf"{LOGIN_TYPE.pattern}|(?:Instance|Server|Database\w*|Group|Cache|Redis)$")
"""Endings of the types of logins, and of databases, which have a login."""


class UnusableConfigurationError(Exception):
    """The configuration names an unknown policy or setting, or gives a value of another type."""


def check(by_policy: Mapping[str, Any]) -> None:
    """Raises UnusableConfigurationError with every problem. Shape: {policy: level | {setting: value}}."""
    _refuse([problem for name, given in by_policy.items() for problem in _problems(name, given)])


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raises UnusableConfigurationError with every problem. Shape: {setting: value}, of all policies together."""
    _refuse(list(_setting_problems("", settings, {key: one for rule in RULES for key, one in rule.schema.items()})))


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        raise UnusableConfigurationError("\n".join(problems))


def _problems(name: str, given: Any) -> Iterator[str]:
    if name == "all":  # Pulumi's word for every policy of a pack
        yield from _level_problems(name, given)
        return
    if name not in _KNOWN:
        yield f"{name}: is not a policy{_meant(name, _KNOWN)}"
        return
    yield from _level_problems(name, given)
    schema = _KNOWN[name].schema if not name.endswith(BEFORE_WRITE) else {}
    settings = {key: value for key, value in given.items() if key != LEVEL} if isinstance(given, dict) else {}
    yield from _setting_problems(f"{name}.", settings, schema)


def _setting_problems(where: str, settings: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    for key, value in settings.items():
        if key not in schema:
            yield f"{where}{key}: is not a setting{_meant(key, schema)}"
        elif not _fits(value, schema[key]):
            yield f"{where}{key}: must be {_wanted(schema[key])}"
        elif key.endswith("Servers"):
            for at, server in enumerate(value):
                if not is_server(server):
                    yield f"{where}{key}[{at}]: must be an API server's address, such as https://10.0.0.1:6443"
        elif key.endswith("Tenants"):
            for at, said in enumerate(value):
                tenant, _, server = said.partition("=")
                if not (re.fullmatch(r"[\w.-]+", tenant) and is_server(server)):
                    yield f"{where}{key}[{at}]: must be a tenant and its cluster, such as shop=https://10.0.0.2:6443"
        elif key.endswith("Logins"):
            for at, login in enumerate(value):
                kind, _, name = login.partition(":")
                if not (re.fullmatch(r"\w+", kind) and _LOGINS.search(kind) and name.strip("*")):
                    yield f"{where}{key}[{at}]: must be a login's type and name, such as RobotAccount:shop-pull"


def _level_problems(name: str, given: Any) -> Iterator[str]:
    level = given.get(LEVEL, LEVELS[0]) if isinstance(given, dict) else given
    if level not in LEVELS:
        yield f"{name}: must be an object of settings or one of {', '.join(LEVELS)}"


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    if schema["type"] == "array":
        return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
    if schema["type"] == "boolean":
        return isinstance(value, bool)
    if schema["type"] == "integer":
        is_whole = isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
        return is_whole and value >= schema["minimum"]
    return isinstance(value, str) and value in schema.get("enum", (value,))


def _wanted(schema: Mapping[str, Any]) -> str:
    if schema["type"] == "integer":
        return f"an integer of at least {schema['minimum']}"
    if schema["type"] == "boolean":
        return "true or false"
    return " or ".join(schema.get("enum", ())) or ("an array of strings" if schema["type"] == "array" else "a string")


def _meant(name: str, known: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def at_their_levels(by_policy: Mapping[str, Any]) -> tuple[Rule, ...]:
    """The rules at the levels of a configuration file, without disabled ones."""
    found = []
    for rule in RULES:
        level = _level(by_policy, rule.name) or _level(by_policy, "all") or ("mandatory" if rule.mandatory else "")
        if level != "disabled":
            found.append(replace(rule, mandatory=level == "mandatory"))
    return tuple(found)


def _level(by_policy: Mapping[str, Any], name: str) -> str:
    given = by_policy.get(name, {})
    return str(given.get(LEVEL, "")) if isinstance(given, dict) else str(given)
