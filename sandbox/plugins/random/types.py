"""The resource types of the random provider: their inputs, outputs, and which of them are secret."""

from __future__ import annotations

from typing import Any, Final

from sandbox.plugins.bridged.resources import Attribute, Problem, ResourceType, Values, at_least
from sandbox.plugins.random import generate

VERSION: Final = "4.21.4"

_KEEPERS: Final = Attribute()
_LENGTH: Final = Attribute(required=True, check=at_least(1))
_NONE_AT_LEAST: Final = Attribute(default=0, check=at_least(0))


def _numeric(inputs: Values) -> Any:
    # `number` is the old word for `numeric`; either sets both.
    return next((inputs[name] for name in ("numeric", "number") if inputs.get(name) is not None), True)


def _no_seed(value: Any) -> Problem:
    return f"(a seed, here {value!r}) needs Go's random generator: the stand-in does not implement it"


def _fits(planned: Values) -> Problem:
    least = sum(planned[name] for name in ("minNumeric", "minUpper", "minLower", "minSpecial"))
    if least > planned["length"]:
        return f"length ({planned['length']}) must not be less than the sum of the min values ({least})"
    return None


def _range(planned: Values) -> Problem:
    return None if planned["min"] <= planned["max"] else "min must not be greater than max"


_CHARACTERS: Final = {
    "keepers": _KEEPERS,
    "length": _LENGTH,
    "special": Attribute(default=True),
    "upper": Attribute(default=True),
    "lower": Attribute(default=True),
    "number": Attribute(default=_numeric),
    "numeric": Attribute(default=_numeric),
    "minNumeric": _NONE_AT_LEAST,
    "minUpper": _NONE_AT_LEAST,
    "minLower": _NONE_AT_LEAST,
    "minSpecial": _NONE_AT_LEAST,
    "overrideSpecial": Attribute(replaces=lambda old: old not in (None, "")),
}

TYPES: Final = (
    ResourceType(
        "random:index/randomPassword:RandomPassword",
        _CHARACTERS,
        computed=("result", "bcryptHash"),
        secrets=frozenset({"result", "bcryptHash"}),
        create=generate.password,
        version=3,
        check=_fits,
        importer=generate.imported_password,
    ),
    ResourceType(
        "random:index/randomString:RandomString",
        _CHARACTERS,
        computed=("result",),
        create=generate.string,
        version=2,
        check=_fits,
        importer=generate.imported_string,
    ),
    ResourceType(
        "random:index/randomId:RandomId",
        {"keepers": _KEEPERS, "byteLength": _LENGTH, "prefix": Attribute()},
        computed=("b64Std", "b64Url", "dec", "hex"),
        create=generate.identifier,
    ),
    ResourceType(
        "random:index/randomBytes:RandomBytes",
        {"keepers": _KEEPERS, "length": _LENGTH},
        computed=("base64", "hex"),
        secrets=frozenset({"base64", "hex"}),
        create=generate.some_bytes,
    ),
    ResourceType(
        "random:index/randomUuid:RandomUuid",
        {"keepers": _KEEPERS},
        computed=("result",),
        create=generate.uuid,
        importer=generate.imported_uuid,
    ),
    ResourceType(
        "random:index/randomInteger:RandomInteger",
        {
            "keepers": _KEEPERS,
            "min": Attribute(required=True),
            "max": Attribute(required=True),
            "seed": Attribute(check=_no_seed),
        },
        computed=("result",),
        create=generate.integer,
        check=_range,
    ),
    ResourceType(
        "random:index/randomPet:RandomPet",
        {
            "keepers": _KEEPERS,
            "length": Attribute(default=2, check=at_least(1)),
            "prefix": Attribute(),
            "separator": Attribute(default="-"),
        },
        computed=(),
        create=generate.pet,
    ),
)
