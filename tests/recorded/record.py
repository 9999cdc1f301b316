"""Records the facts, as README.md beside this file says."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from sandbox import toolchain
from sandbox.plugins import VERSIONS
from sandbox.plugins.official import executable, is_official
from sandbox.progress import Progress
from tests.recorded import cases, facts
from tests.recorded.bridged_world import BridgedWorld
from tests.recorded.kubernetes_world import KubernetesWorld
from tests.recorded.replay import NAMES, Replay, of_provider
from tests.support.clusters import started


def main() -> int:
    parser = argparse.ArgumentParser(description="Records what Pulumi's own provider plug-ins answer.")
    parser.add_argument("--plugins", type=Path, required=True, help="folder with the official pulumi-resource-*")
    parser.add_argument("--source", required=True, help='"release", or the commit that they are built of')
    parser.add_argument("package", nargs="*", choices=[*VERSIONS, []], help="default: all")
    given = parser.parse_args()
    packages = given.package or list(VERSIONS)
    for package in packages:
        program = given.plugins / executable(package)
        if not is_official(program):
            print(f"{program} is not there, or is a stand-in: only Pulumi's own plug-ins give facts.", file=sys.stderr)
            return 1
    for package in packages:
        if package == "kubernetes":
            _with_cluster(given.plugins, given.source)
        else:
            with Replay(given.plugins, package, BridgedWorld()) as replay:
                _record(package, replay, given.source)
    return 0


def _with_cluster(plugins: Path, source: str) -> None:
    progress = Progress()
    tools = toolchain.ensure(progress=progress)
    state = Path(tempfile.mkdtemp(prefix="hosted-mesh-recorded-"))
    with started(state, tools, progress, nodes=False) as sandbox:
        cluster = sandbox.data_plane
        world = KubernetesWorld(tools["kubectl"], cluster.kubeconfig, cluster.name)
        world.prepare()
        with Replay(plugins, "kubernetes", world) as replay:
            _record("kubernetes", replay, source)
            found = of_provider(plugins)
            facts.write(cases.PROVIDER, version=replay.version(), source=source, cases=found)


def _record(package: str, replay: Replay, source: str) -> None:
    for name in NAMES[package]:
        found = {facts.ABILITIES: replay.abilities()}
        found |= {case.name: replay.play(case) for case in cases.load(name)}
        file = facts.write(name, version=replay.version(), source=source, cases=found)
        print(f"{file}: {len(found)} cases")


if __name__ == "__main__":
    sys.exit(main())
