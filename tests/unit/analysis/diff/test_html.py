"""The page in HTML: one file, every text escaped, its policy by digests, and a drawing of both versions."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hosted_mesh_analysis.diff.page import as_html
from hosted_mesh_analysis.diff.result import (
    Change,
    Cluster,
    Difference,
    Effect,
    EffectKind,
    Property,
    Stack,
    StackChange,
    Step,
    Value,
    Verdict,
)
from hosted_mesh_analysis.diff.saved import UnreadableError, as_json, from_json
from hosted_mesh_plan.topology_svg import Link, TopologyPart

from tests.unit.analysis.diff.repositories import BEGINNING, project, repository, run

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>&lt;'
WHERE = Cluster("data plane", "https://dp.example.com:6443")


class Reader(HTMLParser):
    """Elements and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def hostile() -> Difference:
    part = TopologyPart("data", HOSTILE, HOSTILE, HOSTILE, HOSTILE, "changed")
    other = TopologyPart("control", "control plane", "", "Service", "istiod", "")
    stack = Stack(
        HOSTILE,
        StackChange.CHANGED,
        [Change(Step.CHANGED, f"a:b:{HOSTILE}", HOSTILE, WHERE, (Property(HOSTILE, None, Value(HOSTILE)),))],
        notes=[HOSTILE],
        effects=[Effect(EffectKind.OPENS, HOSTILE)],
        verdicts=[Verdict(HOSTILE, True, HOSTILE, HOSTILE, True)],
        parts=[part, other],
        links=[Link(part, other, HOSTILE, True, "made")],
    )
    return Difference(HOSTILE, [stack, Stack(HOSTILE, StackChange.UNCHANGED)], [HOSTILE])


def test_no_text_of_a_program_becomes_an_element() -> None:
    page = as_html(from_json(as_json(hostile())))
    found = Reader(page).found
    assert [tag for tag, _ in found].count("script") == 1
    assert "img" not in {tag for tag, _ in found}
    assert not [name for _, given in found for name in given if name.startswith("on")]
    assert page.count(html.escape("<script>alert(1)</script>")) > 8


def test_nothing_is_loaded_and_the_policy_has_the_digests() -> None:
    page = as_html(hostile())
    assert not [given for _, given in Reader(page).found if {"src", "xlink:href"} & set(given)]
    assert {str(given.get("href", "#"))[:1] for tag, given in Reader(page).found if tag == "a"} == {"#"}
    (policy,) = re.findall(r'Content-Security-Policy" content="(.*?)"', page)
    assert policy.startswith("default-src 'none';")
    for tag in ("style", "script"):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "style=" not in page


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree.replace('"control"', '"elsewhere"', 1),
        lambda tree: tree.replace('"made"', '"made\\" onclick=x"', 1),
        lambda tree: re.sub(r'"links": \[\s*\[\s*0', '"links": [[7', tree, count=1),
        lambda tree: re.sub(r'"links": \[\s*\[\s*0', '"links": [[true', tree, count=1),
    ],
)
def test_a_file_with_another_drawing_is_rejected(change: Callable[[str], str]) -> None:
    text = as_json(hostile())
    changed = change(text)
    assert changed != text
    with pytest.raises(UnreadableError):
        from_json(changed)


def test_a_drawing_has_both_versions_with_marks(tmp_path: Path) -> None:
    hooks = """
hook = {"name": "a", "clientConfig": {"url": "https://HOST/inject"}}
inputs = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
          "metadata": {"name": "hook"}, "webhooks": [hook]}
made("kubernetes:admissionregistration.k8s.io/v1:MutatingWebhookConfiguration", "hook", inputs, data_plane)
metadata = {"name": "istiod", "annotations": {"external-dns.alpha.kubernetes.io/hostname": "istiod.example.com"}}
service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
made("kubernetes:core/v1:Service", "istiod", service, control_plane)
config_map("kept", {"a": "1"}, data_plane)
"""
    before = hooks.replace("HOST", "elsewhere.example.com") + 'config_map("old", {"a": "1"}, data_plane)\n'
    after = hooks.replace("HOST", "istiod.example.com") + 'config_map("new", {"a": "1"}, data_plane)\n'
    folder = repository(tmp_path / "r", project(before), {"__main__.py": BEGINNING + after})
    page = run(folder, "--base", "main", "--html").stdout
    for text in (
        'class="name made">+ new</text>',
        'class="name removed">- old</text>',
        'class="name changed">~ hook</text>',
        'class="name">kept</text>',
        "<title>https://istiod.example.com</title>",
    ):
        assert text in page
    assert 'class="link call made"' in page


def test_options_exclude_each_other(tmp_path: Path) -> None:
    done = run(tmp_path, "--html", "--markdown")
    assert (done.returncode, done.stderr) == (2, "--markdown and --html exclude each other. Give one of them\n")
