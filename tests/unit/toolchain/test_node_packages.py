"""Pins of programs in TypeScript, and of Kiali's page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.metadata import version

from sandbox.toolchain.catalogue import (
    FOR_BROWSER,
    FOR_TESTS,
    FOR_TYPESCRIPT,
    FOR_WORKFLOWS,
    FOR_YAML,
    SOURCES,
    WHEN_WANTED,
)
from sandbox.toolchain.kiali_page import YARN, KialiPage, from_registry
from sandbox.toolchain.node_packages import NPM, NodePackages

LOCK = (NPM / "package-lock.json").read_text()


def test_every_package_is_pinned_by_its_hash_and_no_place_is_named() -> None:
    packages = json.loads(LOCK)["packages"]
    unpinned = [name for name, one in packages.items() if name and not one.get("integrity", "").startswith("sha512-")]
    assert unpinned == []
    assert "://" not in LOCK
    asked = json.loads((NPM / "package.json").read_text())["dependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", one) for one in asked.values())
    assert packages[""]["dependencies"] == asked


def test_yarn_is_pinned_by_its_hash_and_no_place_is_named() -> None:
    lock = (YARN / "package-lock.json").read_text()
    packages = json.loads(lock)["packages"]
    assert packages["node_modules/yarn"]["integrity"].startswith("sha512-")
    assert set(packages) == {"", "node_modules/yarn"}
    assert "://" not in lock


def test_the_page_s_packages_come_from_the_configured_registry_with_their_hashes() -> None:
    lock = '  resolved "https://registry.example.org/a/-/a-1.0.0.tgz#abc"\n  integrity sha512-x==\n'
    assert from_registry(lock, "https://mirror.example.com/npm/") == (
        '  resolved "https://mirror.example.com/npm/a/-/a-1.0.0.tgz#abc"\n  integrity sha512-x==\n'
    )


def test_kiali_s_page_is_made_with_observability_alone() -> None:
    (page,) = [source for source in SOURCES if isinstance(source, KialiPage)]
    assert set(page.provides) <= FOR_BROWSER <= WHEN_WANTED - FOR_TESTS
    assert page.key() != replace(page, node=replace(page.node, members=())).key()


def test_programs_in_every_language_have_one_version_of_pulumi() -> None:
    assert json.loads(LOCK)["packages"]["node_modules/@pulumi/pulumi"]["version"] == version("pulumi")


def test_nothing_of_it_is_made_for_a_sandbox() -> None:
    assert FOR_TYPESCRIPT | FOR_YAML | FOR_WORKFLOWS <= WHEN_WANTED
    (packages,) = [source for source in SOURCES if isinstance(source, NodePackages)]
    assert set(packages.provides) <= FOR_TYPESCRIPT


def test_another_package_is_another_folder_of_the_cache(tmp_path) -> None:
    (packages,) = [source for source in SOURCES if isinstance(source, NodePackages)]
    for name in ("package.json", "package-lock.json"):
        (tmp_path / name).write_text((NPM / name).read_text())
    copied = NodePackages(packages.name, packages.provides, packages.wheel, tmp_path)
    assert copied.key() == packages.key()
    (tmp_path / "package-lock.json").write_text(LOCK + "\n")
    assert copied.key() != packages.key()
