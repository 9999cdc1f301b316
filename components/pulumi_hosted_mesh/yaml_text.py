"""The only reader of YAML: libyaml's parser with the types of YAML 1.2's core schema. Imports nothing of the library.

`plan` has a link to this file, because scan reads manifests without the library.

- `yes`, `on` and dates are text. A number with leading zeros is decimal, and keeps its spelling for advice.
- Keys are text as written, as in JSON. Tags outside of the core schema are errors, but for dates and base64: text.
- A text whose aliases contain themselves, or repeat a part a million times, is an error.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from typing import Any, Final

import yaml

TAG: Final = "tag:yaml.org,2002:"
MOST_VALUES: Final = 1_000_000
MOST_NESTED: Final = 200
"""Levels. PyYAML's composer is recursive C code, which ends the process at some ten thousand."""
UNPARSABLE: Final = (yaml.YAMLError, ValueError, RecursionError)
"""Exceptions of `load` and `load_all`: ValueError for an impossible number, RecursionError for deep nesting."""
_INDENTED: Final = re.compile(rf"^[ \t?:-]{{{MOST_NESTED}}}", re.MULTILINE)
_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class RepeatedKeyError(yaml.MarkedYAMLError):
    """A mapping has two entries of one name."""


class RepeatedPartError(yaml.composer.ComposerError):
    """Aliases repeat a part of the text a million times, or without end."""


class ImpossibleValueError(ValueError):
    """A value contradicts its tag, or has too many digits."""

    def __init__(self, place: yaml.Mark) -> None:
        super().__init__("no value of its type")
        self.problem_mark = place


class WrittenInt(int):
    """A whole number with another spelling than Python's, such as 0123."""

    written: str

    def __str__(self) -> str:
        return self.written


class WrittenFloat(float):
    """A number with a point or an exponent, such as 1.30."""

    written: str

    def __str__(self) -> str:
        return self.written


class _Loader(_BASE):  # type: ignore[misc] # in C or in Python
    unique_keys = False

    def construct_document(self, node: yaml.Node) -> Any:
        _values(node, {}, unique_keys=self.unique_keys)
        return super().construct_document(node)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        if not isinstance(node, yaml.MappingNode):
            raise yaml.constructor.ConstructorError(problem="no mapping", problem_mark=node.start_mark)
        self.flatten_mapping(node)
        found: dict[Hashable, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(problem="a key that is no text", problem_mark=key.start_mark)
            found[key.value] = self.construct_object(value, deep=deep)
        return found


class _UniqueLoader(_Loader):
    unique_keys = True


def load(text: str, *, unique_keys: bool = False) -> Any:
    """The content of one document of YAML or JSON. unique_keys: whether a repeated key is an error.

    Raises: the exceptions in `UNPARSABLE`. Their messages quote the text.
    """
    _refuse_deep(text)
    return yaml.load(text, Loader=_UniqueLoader if unique_keys else _Loader)  # noqa: S506 (a safe loader)


def load_all(text: str) -> Iterator[Any]:
    """The content of each document, in order. Raises: as `load`, also after some documents."""
    _refuse_deep(text)
    yield from yaml.load_all(text, Loader=_Loader)


class _Dumper(yaml.SafeDumper):
    """Writes text in quotes if YAML 1.1 or 1.2 would read it as another type, such as 1e3."""


def dump(content: Any) -> str:
    """YAML text that `load`, and readers of YAML 1.1, read as the same content."""
    return str(yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=1000))


def _refuse_deep(text: str) -> None:
    """Raises: RecursionError. It reads events, which need no recursion, and only of a text that may be deep."""
    if text.count("[") + text.count("{") <= MOST_NESTED and not _INDENTED.search(text):
        return
    depth = 0
    for event in yaml.parse(text, Loader=_BASE):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_NESTED:
            raise RecursionError


def _values(node: yaml.Node, known: dict[int, int], *, unique_keys: bool) -> int:
    """The number of values, each as often as aliases repeat it. known: by node; 0 for a node that is being counted."""
    if not isinstance(node, yaml.CollectionNode):
        return 1
    if id(node) in known:
        if not known[id(node)]:
            raise RepeatedPartError(problem="an alias of itself", problem_mark=node.start_mark)
        return known[id(node)]
    known[id(node)] = 0
    inner = [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else node.value
    if unique_keys and isinstance(node, yaml.MappingNode):
        _refuse_repeated(node)
    number = 1 + sum(_values(one, known, unique_keys=unique_keys) for one in inner)
    if number > MOST_VALUES:
        raise RepeatedPartError(problem="aliases repeat a part too often", problem_mark=node.start_mark)
    known[id(node)] = number
    return number


def _refuse_repeated(node: yaml.MappingNode) -> None:
    seen = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode) and key.tag != f"{TAG}merge":
            if key.value in seen:
                raise RepeatedKeyError(problem=key.value, problem_mark=key.start_mark)
            seen.add(key.value)


def _scalar(loader: Any, node: yaml.Node) -> str:
    return str(loader.construct_scalar(node))


def _null(loader: Any, node: yaml.Node) -> None:
    _scalar(loader, node)


def _bool(loader: Any, node: yaml.Node) -> bool:
    text = _scalar(loader, node).lower()
    if text not in ("true", "false"):
        raise ImpossibleValueError(node.start_mark)
    return text == "true"


def _int(loader: Any, node: yaml.Node) -> int:
    text = _scalar(loader, node)
    base = {"0o": 8, "0x": 16}.get(text[:2])
    try:
        number = int(text[2:], base) if base else int(text)
        is_plain = str(number) == text
    except ValueError:
        raise ImpossibleValueError(node.start_mark) from None
    if is_plain:
        return number
    found = WrittenInt(number)
    found.written = text
    return found


def _float(loader: Any, node: yaml.Node) -> float:
    text = _scalar(loader, node)
    try:
        found = WrittenFloat(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        raise ImpossibleValueError(node.start_mark) from None
    found.written = text
    return found


_TYPES: Final = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""], _null),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF"), _bool),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789"), _int),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        list("-+.0123456789"),
        _float,
    ),
    ("merge", r"<<", ["<"], None),
)
_Loader.yaml_implicit_resolvers = {}
for _name, _pattern, _first, _construct in _TYPES:
    _Loader.add_implicit_resolver(f"{TAG}{_name}", re.compile(f"(?:{_pattern})$"), _first)
    if _construct is not None:
        _Loader.add_constructor(f"{TAG}{_name}", _construct)
for _name, _pattern, _first, _ in _TYPES:
    _Dumper.add_implicit_resolver(f"{TAG}{_name}", re.compile(f"(?:{_pattern})$"), _first)
for _name in ("timestamp", "binary"):
    _Loader.add_constructor(f"{TAG}{_name}", _scalar)
for _name in ("set", "omap", "pairs"):
    _Loader.add_constructor(f"{TAG}{_name}", _Loader.construct_undefined)
