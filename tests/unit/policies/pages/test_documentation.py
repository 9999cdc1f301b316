"""The policies' pages are what the policies do: every example on them runs, every verdict is the rule's own."""

from __future__ import annotations

import contextvars
import json
import re
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pulumi
import pytest
from hosted_mesh_policies.configuration import BEFORE_WRITE
from hosted_mesh_policies.evaluation.finding import Finding
from hosted_mesh_policies.evaluation.rule import Rule
from hosted_mesh_policies.rules.catalogue import RULES
from hosted_mesh_policies.rules.credentials import FLOW
from hosted_mesh_policies.rules.unproven import UNPROVEN
from hosted_mesh_policies.scan.command import app as scan
from typer.testing import CliRunner

from tests.corpus import detectors, literals
from tests.corpus.simulated_engine import SERVERS, run
from tests.unit.policies.pages.documentation import FOLDER, Block, Example, anchors, pages, read, sections

BY_NAME = {rule.name: rule for rule in RULES}
PAGES = [path.name for path in pages()]
EXAMPLES = {f"{s.page} {s.title} {n}": example for s in sections() for n, example in enumerate(s.examples)}
README = {section.title: section for section in read(FOLDER / "README.md")}
PREAMBLE = next(block for section in README.values() for block in section.blocks if block.part == "preamble")
PROJECT = "hosted-mesh-corpus"


def _clusters() -> dict[str, Any]:
    """The configuration of clusters that the entry page shows."""
    shown = next(json.loads(b.text) for s in README.values() for b in s.blocks if b.part == "config")
    found: dict[str, Any] = shown["providers-reach-their-own-cluster"]
    return found


def configuration() -> dict[str, str]:
    """What the examples read from their stack's configuration."""
    values = {
        "controlPlaneKubeconfig": literals.kubeconfig(SERVERS["cp"], literals.opaque("cp", 40)),
        "dataPlaneKubeconfig": literals.kubeconfig(SERVERS["dp"], literals.opaque("dp", 40)),
        "dnsToken": literals.opaque("dns", 40),
        "usersDnsToken": literals.opaque("users dns", 40),
        "fleetKubeconfig": literals.kubeconfig("https://fleet.example.com:6443"),
        "backupKey": literals.credentials()["AWS key"],
        "caKey": literals.private_key("own-ca"),
        "caCertificate": literals.certificate("own-ca", authority=True),
    }
    return {f"{PROJECT}:{key}": value for key, value in values.items()}


def _run(
    block: Block, page: str, *, preview: bool, state: dict[str, Any], evidence: Any = None
) -> tuple[list[Finding], Any]:
    """What all rules say about an example, before its writes and at its end; and the evidence of its preview."""
    code = compile(f"{PREAMBLE.text}\n{block.text}", page, "exec")

    def in_own_context() -> tuple[list[Finding], Any]:
        config = configuration()
        pulumi.runtime.set_all_config(config)
        refused, said, kept, _ = run(
            lambda _: exec(code, {"__name__": "__main__"}),
            preview=preview,
            state=state,
            evidence=evidence,
            stack=block.settings.get("stack", "corpus"),
            more=_clusters(),
            surroundings={"config": config, "secret_config_keys": frozenset(config)},
        )
        return [*refused, *said], kept

    return contextvars.copy_context().run(in_own_context)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_failing_example_is_refused_by_its_rule_in_the_words_of_the_page(name: str) -> None:
    example = EXAMPLES[name]
    found, _ = _run(example.refused, example.page, preview=_in_preview(example), state={})
    assert {rule for rule in _spoke(found) if BY_NAME[rule].mandatory or rule == example.section} == {example.section}
    assert [finding.message for finding in found if finding.rule == example.section] == example.verdict


@pytest.mark.parametrize("name", [name for name, example in EXAMPLES.items() if BY_NAME[example.section].mandatory])
def test_a_failing_example_is_refused_in_an_update_without_preview_too(name: str) -> None:
    example = EXAMPLES[name]
    found, _ = _run(example.refused, example.page, preview=False, state={})
    needs_preview = {FLOW.name: UNPROVEN.name}  # before a write nothing tells where a secret comes from
    assert _spoke(found) >= {needs_preview.get(example.section, example.section)}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_cure_passes_its_rule_and_all_mandatory_ones_in_preview_and_update(name: str) -> None:
    example, state, evidence = EXAMPLES[name], dict[str, Any](), None
    for preview in (True, False) if _in_preview(example) else (False,):
        found, evidence = _run(example.cure, example.page, preview=preview, state=state, evidence=evidence)
        assert {rule for rule in _spoke(found) if BY_NAME[rule].mandatory or rule == example.section} == set()


def _in_preview(example: Example) -> bool:
    """False for an example of what is refused only in an update without preview."""
    return example.refused.settings.get("mode") != "update"


def _spoke(found: list[Finding]) -> set[str]:
    return {finding.rule for finding in found}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_has_its_section_with_an_example_and_its_settings(rule: Rule) -> None:
    path = FOLDER / Path(rule.url.partition("#")[0]).name
    section = next((section for section in read(path) if section.title == rule.name), None)
    assert section is not None, f"{path.name} has no heading {rule.name}"
    assert section.examples
    shown = [row for row in section.rows if row[0].startswith("`") and row[0].strip("`") in rule.schema]
    assert shown == [_setting(key, dict(schema)) for key, schema in rule.schema.items()]
    assert ("before each write" in " ".join(section.text.split())) == bool(rule.check)
    assert bool(rule.schema) == any(rule.name in json.loads(b.text) for b in section.blocks if b.part == "config")


def _setting(key: str, schema: dict[str, Any]) -> list[str]:
    kind = f"list of {schema['items']['type']}s" if schema["type"] == "array" else schema["type"]
    kind = " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"]) if "enum" in schema else kind
    return [f"`{key}`", kind, f"`{json.dumps(schema['default'])}`", schema["description"]]


@pytest.mark.parametrize("page", PAGES)
def test_a_configuration_on_a_page_is_valid(page: str) -> None:
    for block in [block for section in read(FOLDER / page) for block in section.blocks if block.part == "config"]:
        for name, given in json.loads(block.text).items():
            settings = {"enforcementLevel": given} if isinstance(given, str) else given
            level = settings.pop("enforcementLevel", "mandatory")
            assert level in {"mandatory", "advisory", "disabled"}
            rule = BY_NAME[name.removesuffix(BEFORE_WRITE)]
            assert not (settings and name.endswith(BEFORE_WRITE)), "settings belong to the policy without the suffix"
            assert set(settings) <= set(rule.schema)
            jsonschema.validate(settings, {"type": "object", "properties": rule.schema})


def test_the_entry_page_lists_exactly_the_rules() -> None:
    rows = [row for row in README["The policies"].rows if row[0].startswith("[")]
    assert rows == [
        [
            f"[{rule.name}]({rule.page}.md#{rule.name})",
            rule.severity.value,
            "mandatory" if rule.mandatory else "advisory",
            rule.description,
        ]
        for rule in RULES
    ]


def test_the_table_of_detectors_is_what_they_see() -> None:
    """`python3 -m tests.corpus.detectors` writes it anew."""
    shown = detectors.PLACE.findall(detectors.PAGE.read_text(encoding="utf-8"))
    assert shown == [detectors.table()]


@pytest.mark.parametrize("page", [page for page in PAGES if page != "README.md"])
def test_the_entry_page_links_to_each_page(page: str) -> None:
    assert f"]({page}" in (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_a_link_to_a_heading_leads_to_one(page: str) -> None:
    text = (FOLDER / page).read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\(([\w./-]*)#([^)]+)\)", text):
        path = FOLDER / (target or page)
        assert not path.exists() or anchor in anchors(path), f"{target}#{anchor}"


@pytest.mark.parametrize("part", ["scan", "findings"])
def test_the_page_about_scan_shows_what_it_prints(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = [block for section in read(FOLDER / "scan.md") for block in section.blocks]
    for block in blocks:
        if block.language == "yaml" and block.part.endswith(".yaml"):
            file = tmp_path / block.part
            file.parent.mkdir()
            file.write_text(block.text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    form = ["--json"] if part == "findings" else []
    done = CliRunner().invoke(scan, ["--control-plane", "control-plane", "data-plane", *form])
    shown = next(block.text for block in blocks if block.part == part)
    assert done.exit_code == 1
    if part == "findings":
        assert json.loads(done.stdout) == json.loads(shown)
    else:
        assert (done.stdout + done.stderr).split() == shown.split()
