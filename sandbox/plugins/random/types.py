"""The resource types of the random provider: their inputs, outputs and secrets."""

from __future__ import annotations

from typing import Any, Final

from sandbox.plugins.bridged.resources import Attribute, Problem, ResourceType, Values, at_least, texts
from sandbox.plugins.random import generate

# Absence and an empty map differ, but do not justify a new value.
_KEEPERS: Final = Attribute(of="{string", replaces=lambda old, new: bool(old or new))
_LENGTH: Final = Attribute(required=True, check=at_least(1), of="integer")
_NONE_AT_LEAST: Final = Attribute(default=0, check=at_least(0), of="integer")


def _numeric(inputs: Values) -> Any:
    # `number` is the old word for `numeric`; either sets both.
    return next((inputs[name] for name in ("numeric", "number") if inputs.get(name) is not None), True)


def _fits(planned: Values) -> Problem:
    least = sum(planned[name] for name in ("minNumeric", "minUpper", "minLower", "minSpecial"))
    if least > planned["length"]:
        return f"length ({planned['length']}) must not be less than the sum of the min values ({least})"
    return None


_CHARACTERS: Final = {
    "keepers": _KEEPERS,
    "length": _LENGTH,
    "special": Attribute(default=True, of="boolean"),
    "upper": Attribute(default=True, of="boolean"),
    "lower": Attribute(default=True, of="boolean"),
    "number": Attribute(default=_numeric, of="boolean"),
    "numeric": Attribute(default=_numeric, of="boolean"),
    "minNumeric": _NONE_AT_LEAST,
    "minUpper": _NONE_AT_LEAST,
    "minLower": _NONE_AT_LEAST,
    "minSpecial": _NONE_AT_LEAST,
    "overrideSpecial": Attribute(replaces=lambda old, new: (old, new) != ("", None)),
}

TYPES: Final = (
    ResourceType(
        "random:index/randomPassword:RandomPassword",
        _CHARACTERS,
        computed=texts("result", "bcryptHash"),
        secrets=frozenset({"result", "bcryptHash"}),
        create=generate.password,
        version=3,
        check=_fits,
    ),
    ResourceType(
        "random:index/randomId:RandomId",
        {"keepers": _KEEPERS, "byteLength": Attribute(required=True, of="integer"), "prefix": Attribute()},
        computed=texts("b64Std", "b64Url", "dec", "hex"),
        create=generate.identifier,
    ),
    ResourceType(
        "random:index/randomBytes:RandomBytes",
        {"keepers": _KEEPERS, "length": _LENGTH},
        computed=texts("base64", "hex"),
        secrets=frozenset({"base64", "hex"}),
        create=generate.some_bytes,
        has_id=False,
    ),
)
