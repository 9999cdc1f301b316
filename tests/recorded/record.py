"""Records the facts, as README.md beside this file says."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sandbox.plugins.official import executable, is_official
from tests.recorded import cases, facts
from tests.recorded.bridged_world import BridgedWorld
from tests.recorded.replay import NAMES, Replay


def main() -> int:
    parser = argparse.ArgumentParser(description="Records what Pulumi's own provider plug-ins answer.")
    parser.add_argument("--plugins", type=Path, required=True, help="folder with the official pulumi-resource-*")
    parser.add_argument("--source", required=True, help='"release", or the commit that they are built of')
    parser.add_argument("package", nargs="*", choices=[*NAMES, []], help="default: all")
    given = parser.parse_args()
    packages = given.package or list(NAMES)
    for package in packages:
        program = given.plugins / executable(package)
        if not is_official(program):
            print(f"{program} is not there, or is a stand-in: only Pulumi's own plug-ins give facts.", file=sys.stderr)
            return 1
    for package in packages:
        with Replay(given.plugins, package, BridgedWorld(), {}) as replay:
            _record(package, replay, given.source)
    return 0


def _record(package: str, replay: Replay, source: str) -> None:
    for name in NAMES[package]:
        found = {facts.ABILITIES: replay.abilities()}
        found |= {case.name: replay.play(case) for case in cases.load(name)}
        file = facts.write(name, version=replay.version(), source=source, cases=found)
        print(f"{file}: {len(found)} cases")


if __name__ == "__main__":
    sys.exit(main())
