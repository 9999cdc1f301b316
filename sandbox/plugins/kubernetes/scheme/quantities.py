"""Kubernetes quantities ("2000m", "1024Mi") in the one spelling that the API server gives them ("2", "1Gi")."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Final

_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_FORM: Final = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+))(Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d+|[numkMGTPE]?)$")
_SMALLEST: Final = Fraction(1, 10**9)


def canonical(text: str) -> str:
    """The canonical spelling. Raises ValueError when the text is no quantity.

    Smaller than a nano rounds up. Binary units turn decimal where the value is below 1024 or no whole number.
    """
    match = _FORM.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not a quantity")
    number, suffix = Fraction(match[1]), match[2]
    if suffix in _BINARY:
        value = number * 1024 ** _BINARY[suffix]
        return _binary(int(value)) if abs(value) >= 1024 and value.denominator == 1 else _decimal(value)
    if suffix[:1] in ("e", "E") and len(suffix) > 1:
        return _decimal(number * Fraction(10) ** int(suffix[1:]), exponents=True)
    return _decimal(number * Fraction(10) ** _DECIMAL[suffix])


def _binary(whole: int) -> str:
    power = 0
    while whole % 1024 == 0 and power < 6:
        whole //= 1024
        power += 1
    suffix = next((name for name, exponent in _BINARY.items() if exponent == power), "")
    return f"{whole}{suffix}"


def _decimal(value: Fraction, *, exponents: bool = False) -> str:
    nanos = _away_from_zero(value / _SMALLEST)
    if nanos == 0:
        return "0"
    exponent = -9
    while nanos % 1000 == 0 and exponent < 18:
        nanos //= 1000
        exponent += 3
    if exponents:
        return f"{nanos}e{exponent}" if exponent else str(nanos)
    return f"{nanos}{next(name for name, power in _DECIMAL.items() if power == exponent)}"


def _away_from_zero(value: Fraction) -> int:
    return math.ceil(value) if value >= 0 else math.floor(value)
