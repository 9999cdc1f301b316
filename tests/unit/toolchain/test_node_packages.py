"""What is pinned for programs in TypeScript."""

from __future__ import annotations

import json
import re
from importlib.metadata import version

from sandbox.toolchain.catalogue import FOR_TYPESCRIPT, SOURCES, WHEN_WANTED
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


def test_programs_in_every_language_have_one_version_of_pulumi() -> None:
    assert json.loads(LOCK)["packages"]["node_modules/@pulumi/pulumi"]["version"] == version("pulumi")


def test_nothing_of_it_is_made_for_a_sandbox() -> None:
    assert FOR_TYPESCRIPT <= WHEN_WANTED
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
