"""Kubernetes quantities as exact numbers: "500m" -> 1/2, "1Gi" -> 2**30."""

import math
from fractions import Fraction

_SUFFIXES = {
    "": Fraction(1), "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000),
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", 1)},
}  # fmt: skip


def parse(quantity: str) -> Fraction:
    """Raises ValueError if ``quantity`` is not one."""
    text = str(quantity).strip()
    number = text.rstrip("numkKMGTPEi")
    suffix = text[len(number) :]
    if suffix not in _SUFFIXES:  # "1e3" and "12E6" are decimal exponents
        number, suffix = text, ""
    try:
        return Fraction(number) * _SUFFIXES[suffix]
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{quantity!r} is not a quantity such as 500m, 2 or 1Gi") from None


def divide(quantity: str, divisor: str) -> int:
    """How many ``divisor`` the quantity is, rounded up: what resourceFieldRef gives. "0" as divisor means 1."""
    unit = parse(divisor) or Fraction(1)
    return math.ceil(parse(quantity) / unit)
