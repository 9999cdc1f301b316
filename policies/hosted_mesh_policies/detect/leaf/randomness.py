"""Distinguishes random letters and digits, as in keys, tokens and passwords, from words."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

LEAST_RANDOM: Final = 10
LEAST_MIXED: Final = 16
"""A run of this length with digits between its letters twice is no word."""
LONGEST_WORD: Final = 24
"""A run of letters longer than this is not a word."""


_SEPARATORS: Final = re.compile(r"[^A-Za-z0-9]+")
SEGMENTS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_HEX: Final = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_CONSONANTS: Final = re.compile(r"[bcdfghjklmnpqrstvwxz]{6,}", re.IGNORECASE)


@lru_cache(maxsize=16384)
def is_random(token: str) -> bool:
    """True for letters and digits without words: keys, tokens, generated passwords. Hash suffixes are short."""
    return any(map(_is_random_run, _SEPARATORS.split(token)))


def _is_random_run(run: str) -> bool:
    if len(run) < LEAST_RANDOM:
        return False
    segments = SEGMENTS.findall(run)
    if run.isdigit():
        return len(run) > LONGEST_WORD
    if run.isalpha():
        return bool(_CONSONANTS.search(run)) or len(run) < 2.6 * len(segments) or max(map(len, segments)) > LONGEST_WORD
    if len(run) >= 20 and _HEX.fullmatch(run):
        return True
    if any(_CONSONANTS.search(segment) for segment in segments):
        return True
    between = sum(segment.isdigit() for segment in segments[1:-1])
    return len(segments) >= 5 and (len(run) < 5 * len(segments) or (between >= 2 and len(run) >= LEAST_MIXED))


_WORD_RUN: Final = re.compile(r"[A-Za-z]+\d{0,4}|\d+[A-Za-z]{0,3}|[A-Za-z0-9]{1,10}")


def are_words(token: str) -> bool:
    """True for words, numbers and short codes, with any joining signs."""
    return all(map(_is_word_run, _SEPARATORS.split(token)))


def _is_word_run(run: str) -> bool:
    return not run or (bool(_WORD_RUN.fullmatch(run)) and not _is_random_run(run))


_ALNUM: Final = re.compile(r"[A-Za-z0-9]+")
# Alone or joined: words, abbreviations, numbers with a unit, versions.
_REGULAR: Final = re.compile(
    r"[A-Z]?[a-z]{2,}\d{0,4}|[a-zA-Z]|[A-Z]+\d{0,4}|\d+[a-zA-Z]{0,3}|v\d+(?:(?:alpha|beta)\d+)?|[A-Za-z]\d[a-z]"
    r"|(?:[a-z]{2,}|[A-Z])?(?:[A-Z][a-z]{2,}\d{0,2}|[A-Z]{2,4}\d{0,2})+"
)
_RANGES: Final = re.compile(r"a-z|A-Z|0-9|a-f|A-F")  # in a regular expression
_OF_NAMES: Final = frozenset("._/:-,'\"\\`")
_BRACKETS: Final = frozenset("()[]{}<>")
LEAST_SCRAMBLED: Final = 12


def is_scrambled(chunk: str) -> bool:
    """True for a generated password with pieces, between its punctuation, so short that each could be a word.

    chunk: text without blanks. Two of the pieces are unusual, or they are numbers with three kinds of signs and no
    bracket, or capitals, small letters, digits and punctuation follow at random.
    """
    chunk = _RANGES.sub("", chunk)
    if len(chunk) < LEAST_SCRAMBLED:
        return False
    odd, runs = {one for one in chunk if not one.isalnum()} - _OF_NAMES, _ALNUM.findall(chunk)
    if len(odd) >= 2 and sum(not _REGULAR.fullmatch(run) for run in runs) >= 2:
        return True
    if len(odd - _BRACKETS) >= 3 and len(runs) >= LEAST_SCRAMBLED and all(map(str.isdigit, runs)):
        return True
    kinds = ["A" if one.isupper() else "a" if one.isalpha() else "0" if one.isdigit() else "." for one in chunk]
    if kinds.count("A") < 2 or kinds.count("a") < 2 or "0" not in kinds:
        return False
    changes = sum(one != next_ and (one, next_) != ("A", "a") for one, next_ in pairwise(kinds))
    return changes > 0.42 * len(chunk)
