"""A bridged resource type: its schema, its checks, its diff and its state. Pure.

The official plug-ins keep inputs as given and apply defaults only when planning. So state holds the inputs without
defaults and the outputs with them. A stand-in must do the same: to the other plug-in set, a default among the inputs
would be a removed property and would replace every key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sandbox.plugins.protocol.values import UNKNOWN, Secret, contains_secret, plain

META: Final = "__meta"
_NO_DEFAULT: Final = object()

Values = Mapping[str, Any]
Problem = str | None


def _always(_: Any, __: Any) -> bool:
    return True


def never(_: Any, __: Any) -> bool:
    """For `Attribute.replaces`: a change of this attribute is an update in place."""
    return False


@dataclass(frozen=True)
class Attribute:
    """An input. default: the planned value when it is absent. replaces(old, new): whether a change replaces.

    kept: an absent input keeps its value of the state (Terraform's optional and computed). check(value): the problem,
    or None; called only with values that are not unknown. secret: the output of the same name is secret. of: its type
    in the schema: string, integer, boolean, [string (a list), {string (a map) or {any.
    """

    required: bool = False
    default: Any = _NO_DEFAULT
    replaces: Callable[[Any, Any], bool] = _always
    kept: bool = False
    secret: bool = False
    check: Callable[[Any], Problem] | None = None
    of: str = "string"


@dataclass(frozen=True)
class ResourceType:
    """A bridged resource type. token: its Pulumi type. version: of the state's schema, in every output but for 0.

    computed: outputs made at creation, with their types in the schema. secrets: the secret ones of them. has_id:
    whether the id is an output too. all_anew: whether the diff of a replacement names all computed outputs.
    create(planned inputs) -> (id, computed outputs), may raise ProviderError. certain(planned inputs) -> the computed
    outputs with values before creation. overdue(state) -> outputs changed by the clock since: a refresh shows them, and
    an update replaces the resource for them.
    """

    token: str
    attributes: Mapping[str, Attribute]
    computed: Mapping[str, str]
    create: Callable[[Values], tuple[str, dict[str, Any]]]
    secrets: frozenset[str] = frozenset()
    version: int = 0
    has_id: bool = True
    all_anew: bool = False
    check: Callable[[Values], Problem] | None = None
    certain: Callable[[Values], dict[str, Any]] = lambda _: {}
    overdue: Callable[[Values], dict[str, Any]] = lambda _: {}


def check_inputs(kind: ResourceType, inputs: Values) -> list[tuple[str, str]]:
    """(property, problem) for each input that is missing, not of the type, or has a bad value."""
    problems = [(name, "is not an input of the stand-in plug-in") for name in inputs if name not in kind.attributes]
    for name, attribute in kind.attributes.items():
        value = plain(inputs.get(name))
        if value is None and attribute.required:
            problems.append((name, "is required, but was not set"))
        elif value is not None and value is not UNKNOWN and attribute.check is not None:
            problem = attribute.check(value)
            if problem:
                problems.append((name, problem))
    return problems


def planned_inputs(kind: ResourceType, inputs: Values, prior: Values | None = None) -> dict[str, Any]:
    """The inputs, unwrapped, with defaults where they are absent. prior: the plain state before, for kept ones."""
    planned = {}
    for name, attribute in kind.attributes.items():
        value = plain(inputs.get(name))
        if value is None and attribute.default is not _NO_DEFAULT:
            value = attribute.default(inputs) if callable(attribute.default) else attribute.default
        if value is None and attribute.kept and prior is not None:
            value = prior.get(name)
        if value is not None:
            planned[name] = value
    return planned


def changes(kind: ResourceType, state: Values, inputs: Values) -> dict[str, bool]:
    """The inputs that differ from the state, each with True if the change replaces the resource."""
    prior = plain(state)
    planned = planned_inputs(kind, inputs, prior)
    found: dict[str, bool] = {}
    for name, attribute in kind.attributes.items():
        old, new = prior.get(name), planned.get(name)
        if old != new:
            found[name] = attribute.replaces(old, new)
    for name, value in kind.certain(planned).items():
        if prior.get(name) != value:
            found[name] = False
    return found | dict.fromkeys(kind.overdue({**prior, **planned}), True)


def outputs(kind: ResourceType, inputs: Values, planned: Values, computed: Values) -> dict[str, Any]:
    """The state: planned inputs and computed outputs, secret where the type or the program requires it, if known."""
    values: dict[str, Any] = {}
    for name, value in {**planned, **computed}.items():
        is_secret = is_secret_by_type(kind, name) or contains_secret(inputs.get(name))
        values[name] = Secret(value) if is_secret and value is not UNKNOWN else value
    return values


def is_secret_by_type(kind: ResourceType, name: str) -> bool:
    """Whether this input or output is always secret."""
    attribute = kind.attributes.get(name)
    return name in kind.secrets or (attribute is not None and attribute.secret)


def marked(kind: ResourceType, values: Values) -> dict[str, Any]:
    """The values with the marks of always secret ones: the engine leaves out marks that it did not request."""
    return {
        name: Secret(value) if is_secret_by_type(kind, name) and not isinstance(value, Secret) else value
        for name, value in values.items()
    }


def with_meta(kind: ResourceType, state: Values) -> dict[str, Any]:
    """The state with the bridge's mark of the schema's version."""
    if kind.version == 0:
        return dict(state)
    return {**state, META: json.dumps({"schema_version": str(kind.version)}, separators=(",", ":"))}


def texts(*names: str) -> dict[str, str]:
    """Computed outputs that are all strings."""
    return dict.fromkeys(names, "string")


def one_of(*allowed: str) -> Callable[[Any], Problem]:
    """A check that accepts only these words."""

    def check(value: Any) -> Problem:
        return None if value in allowed else f"must be one of {', '.join(allowed)}, not {value!r}"

    return check


def at_least(least: int) -> Callable[[Any], Problem]:
    """A check for whole numbers with a lower bound."""

    def check(value: Any) -> Problem:
        if isinstance(value, bool) or not isinstance(value, int):
            return f"must be a whole number, not {value!r}"
        return None if value >= least else f"must be at least {least}, not {value}"

    return check


def each(check_one: Callable[[Any], Problem]) -> Callable[[Any], Problem]:
    """A check for lists: every element without unknowns passes `check_one`."""

    def check(value: Any) -> Problem:
        if not isinstance(value, list):
            return "must be a list"
        return next((problem for item in value if item is not UNKNOWN and (problem := check_one(item))), None)

    return check
