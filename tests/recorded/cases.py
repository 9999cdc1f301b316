"""The cases: inputs as a program sends them, and what is changed in them afterwards. Read from YAML.

A file has `cases`, by name. Each case: `type`, a Pulumi token; `inputs`; `provider`, settings of the provider beside
its cluster (those of the file, if it has none of its own); `planned`, true for one that is previewed only; `steps`, by
name and in order, each one or both of
  edit: a JSON merge patch (null takes away) of the inputs of the case, kept for later steps only where it was applied
  drift: a merge patch that somebody else makes to the live object; the state is then read anew
`held`, true for one that a finalizer keeps when it is deleted, so that it can be seen whether the plug-in waits: a
controller may be done before anybody looks.
In values `!secret X` is a secret, `!unknown` is not known yet, and `!from case.output` is what an earlier case of the
file got; where that is secret, so is this.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from sandbox.plugins.protocol.values import UNKNOWN, Secret

FOLDER: Final = Path(__file__).parent
PROVIDER: Final = "kubernetes-provider"  # the file of its settings
_NO_PATCH: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True)
class Reference:
    """An output of an earlier case."""

    case: str
    output: str


@dataclass(frozen=True)
class Step:
    """One change, by the program or by somebody else."""

    name: str
    edit: Mapping[str, Any] | None
    drift: Mapping[str, Any] | None


@dataclass(frozen=True)
class Case:
    """One resource and its life. name: in its URN with dashes for spaces."""

    name: str
    type: str
    inputs: Mapping[str, Any]
    provider: Mapping[str, str] = field(default_factory=dict)
    planned: bool = False
    held: bool = False
    steps: tuple[Step, ...] = ()

    @property
    def urn(self) -> str:
        return f"urn:pulumi:recorded::recorded::{self.type}::{self.resource}"

    @property
    def resource(self) -> str:
        """The resource's name in the program."""
        return self.name.replace(" ", "-")


@dataclass(frozen=True)
class ProviderCase:
    """A change of a provider's settings."""

    name: str
    olds: Mapping[str, Any]
    news: Mapping[str, Any]


class _Loader(yaml.SafeLoader):
    pass


def _secret(loader: yaml.SafeLoader, node: yaml.Node) -> Secret:
    if isinstance(node, yaml.MappingNode):
        return Secret(loader.construct_mapping(node, deep=True))
    if isinstance(node, yaml.SequenceNode):
        return Secret(loader.construct_sequence(node, deep=True))
    plain = yaml.ScalarNode(loader.resolve(yaml.ScalarNode, node.value, (node.style is None, True)), node.value)
    return Secret(loader.construct_object(plain))


def _reference(loader: yaml.SafeLoader, node: yaml.Node) -> Reference:
    case, _, output = str(loader.construct_scalar(node)).partition(".")
    return Reference(case, output)


_Loader.add_constructor("!secret", _secret)
_Loader.add_constructor("!from", _reference)
_Loader.add_constructor("!unknown", lambda *_: UNKNOWN)


def load(name: str) -> list[Case]:
    """The cases of a file, in order."""
    content = _content(name)
    settings = content.get("provider", {})
    return [_case(each, {"provider": settings, **one}) for each, one in content["cases"].items()]


def of_provider() -> list[ProviderCase]:
    """The cases of the kubernetes provider's settings, in order."""
    return [ProviderCase(each, one["olds"], one["news"]) for each, one in _content(PROVIDER)["cases"].items()]


def _content(name: str) -> dict[str, Any]:
    text = (FOLDER / "cases" / f"{name}.yaml").read_text()
    content: dict[str, Any] = yaml.load(text, _Loader)
    return content


def _case(name: str, given: Mapping[str, Any]) -> Case:
    unknown = set(given) - {"type", "inputs", "provider", "planned", "held", "steps"}
    assert not unknown, f"case {name}: {unknown}"
    steps = tuple(Step(each, one.get("edit"), one.get("drift")) for each, one in given.get("steps", {}).items())
    planned, held = given.get("planned", False), given.get("held", False)
    return Case(name, given["type"], given["inputs"], given["provider"], planned=planned, held=held, steps=steps)


def merged(value: Any, patch: Any) -> Any:
    """A JSON merge patch applied to a copy of the value."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result = copy.deepcopy(dict(value)) if isinstance(value, Mapping) else {}
    for key, change in patch.items():
        if change is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key, _NO_PATCH), change)
    return result


def resolved(value: Any, outputs: Mapping[str, Mapping[str, Any]]) -> Any:
    """The value with references replaced. outputs: what each case got, by its name."""
    if isinstance(value, Reference):
        return outputs[value.case][value.output]
    if isinstance(value, Mapping):
        return {key: resolved(item, outputs) for key, item in value.items()}
    if isinstance(value, list):
        return [resolved(item, outputs) for item in value]
    return value
