"""Links and citations of the documentation lead somewhere; each page is found, and begins with its use."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from sandbox.bootstrap import CHECKOUT

LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
PROGRAM = re.compile(r"`([\w./-]+\.(?:py|ts))`")
LINKED_TEXT = re.compile(r"\[([^\]]*)\]\([^)]*\)")
CITED = re.compile(r"\bdocs/[\w/-]+\.md(?:#[\w-]+)?")


def tracked(*patterns: str) -> list[str]:
    """Files of the checkout that match."""
    found = subprocess.run(
        ["git", "ls-files", *patterns], cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout
    return found.split()


PAGES = tracked("*.md")
PROGRAMS = tracked("*.py", "*.ts")
GUIDES = [
    page
    for page in PAGES
    if re.fullmatch(r"docs/((clusters|components|policies)/)?[\w-]+\.md|examples/.*README\.md", page)
]
BENCHES = "docs/bench.md"


@cache
def anchors(page: Path) -> frozenset[str]:
    """What GitHub makes of a page's headings: small letters, dashes for blanks, no signs; numbers for repeated ones."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in HEADING.findall(FENCED.sub("", page.read_text())):
        anchor = re.sub(r"[^\w -]", "", LINKED_TEXT.sub(r"\1", heading).lower()).replace(" ", "-")
        found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return frozenset(found)


def links(page: str) -> list[tuple[str, Path, str]]:
    """The relative links of a page: as written, the file, and the anchor in it."""
    file = CHECKOUT / page
    found = LINK.findall(FENCED.sub("", file.read_text()))
    return [
        (f"{path}#{anchor}", (file.parent / path).resolve() if path else file, anchor)
        for path, anchor in found
        if "://" not in path
    ]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    assert [written for written, file, _ in links(page) if not file.exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_anchors_are_headings(page: str) -> None:
    wrong = [
        written
        for written, file, anchor in links(page)
        if anchor and (file.suffix != ".md" or anchor not in anchors(file))
    ]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES)
def test_sources_and_tests_that_a_page_names_are_there(page: str) -> None:
    """By the end of their path: a page of a component names the files of its folder without it."""
    named = PROGRAM.findall((CHECKOUT / page).read_text())
    assert [name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in PROGRAMS)] == []


@pytest.mark.parametrize("page", [page for page in GUIDES if page != BENCHES])
def test_a_guide_begins_with_its_use(page: str) -> None:
    title, _, rest = (CHECKOUT / page).read_text().partition("\n\n")
    assert title.startswith("# ")
    assert rest.startswith("After this page you can ")


def test_the_readme_is_short() -> None:
    assert len((CHECKOUT / "README.md").read_text().splitlines()) <= 150


def test_every_page_is_found_from_the_readme() -> None:
    seen: set[Path] = set()
    todo = [CHECKOUT / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen or not page.is_file() or page.suffix != ".md":
            continue
        seen.add(page)
        # A link to a folder shows its README.
        todo += [file / "README.md" if file.is_dir() else file for _, file, _ in links(str(page.relative_to(CHECKOUT)))]
    found = {str(page.relative_to(CHECKOUT)) for page in seen}
    assert {page for page in PAGES if page.startswith("docs/")} - found == set()


def test_pages_that_the_code_cites_are_there() -> None:
    """Messages, docstrings and comments send their readers to a page."""
    wrong = []
    for name in tracked("*.py", "*.yaml", "*.toml", "*.ts", "Makefile"):
        for cited in CITED.findall((CHECKOUT / name).read_text()):
            path, _, anchor = cited.partition("#")
            page = CHECKOUT / path
            if not page.exists() or (anchor and anchor not in anchors(page)):
                wrong.append(f"{name}: {cited}")
    assert wrong == []
