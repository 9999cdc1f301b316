"""Kinds whose readiness shows in the object itself, and the conditions that a program asks for by annotation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.plugins.kubernetes.objects import Object, get
from sandbox.plugins.kubernetes.readiness.verdict import Condition, Verdict, View
from sandbox.plugins.protocol.errors import NotImplementedHere, ProviderError


def _quota(view: View) -> Verdict:
    hard = get(view.own, "spec", "hard")
    done = isinstance(hard, dict) and hard == get(view.own, "status", "hard")
    text = "the quota controller has not taken the quota over yet"
    return Verdict(done, text, (text,))


def _token(view: View) -> Verdict:
    """A service account token is filled in by a controller; other Secrets are ready when they exist."""
    text = "the token controller has not filled in the token yet"
    return Verdict(bool(get(view.own, "data")), text, (text,))


RESOURCE_QUOTA = Condition(_quota, seconds=60)
TOKEN = Condition(_token, seconds=5)


def asked_for(text: str) -> Condition:
    """The condition of the annotation pulumi.com/waitFor: one expression, or a JSON list of which all must hold."""
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = text
    expressions = parsed if isinstance(parsed, list) else [text]
    if not expressions:
        raise ProviderError("at least one condition must be specified")
    tests = [_expression(str(one)) for one in expressions]

    def judge(view: View) -> Verdict:
        open_ones = [label for label, test in tests if view.own is None or not test(view.own)]
        note = f"Waiting for {', '.join(open_ones)}"
        return Verdict(not open_ones, note, (note,))

    return Condition(judge)


def _expression(text: str) -> tuple[str, Callable[[Object], bool]]:
    if text.startswith("condition="):
        kind, _, wanted = text.removeprefix("condition=").partition("=")
        return text, lambda obj: _has_condition(obj, kind, wanted or "True")
    if text.startswith("jsonpath="):
        match = re.fullmatch(r"\{\s*\$?((?:\.[A-Za-z0-9_-]+)+)\s*\}(?:=(.+))?", text.removeprefix("jsonpath="))
        if match is None:
            raise NotImplementedHere(f"the JSONPath expression {text!r} (only paths of plain fields)")
        path, value = match[1].strip(".").split("."), match[2]
        return text, lambda obj: _matches(obj, path, value)
    raise ProviderError(f'expected a "jsonpath=" or "condition=" prefix, got "{text}"')


def _is_stale(obj: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    observed = entry.get("observedGeneration", get(obj, "status", "observedGeneration"))
    generation = get(obj, "metadata", "generation")
    return observed is not None and generation is not None and observed < generation


def _has_condition(obj: Object, kind: str, wanted: str) -> bool:
    for entry in get(obj, "status", "conditions") or ():
        if str(entry.get("type")).lower() == kind.lower():
            return not _is_stale(obj, entry) and str(entry.get("status")).lower() == wanted.lower()
    return False


def _matches(obj: Object, path: list[str], wanted: str | None) -> bool:
    value = get(obj, *path)
    if value is None or _is_stale(obj, {}):
        return False
    found = str(value).lower() if isinstance(value, bool) else str(value)
    return wanted is None or found == wanted
