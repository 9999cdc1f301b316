"""Runs the case or cases (separated by |) that the environment names, with the kubeconfigs that it names: for the real
engine."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "plan"), str(ROOT / "policies")]

import pulumi  # noqa: E402

from tests.corpus import literals  # noqa: E402
from tests.corpus.world import World, scope  # noqa: E402

name = os.environ["CORPUS_CASE"]
world = World(
    Path(os.environ["CORPUS_CONTROL_PLANE"]).read_text(encoding="utf-8"),
    Path(os.environ["CORPUS_DATA_PLANE"]).read_text(encoding="utf-8"),
)
if name == "producer":
    pulumi.export("token", pulumi.Output.secret(os.environ["CORPUS_TOKEN"]))
    pulumi.export("kept", pulumi.Output.secret(literals.opaque("produced and kept")))
    pulumi.export("host", "istiod.example.com")
elif name == "definitions":
    from tests.corpus import objects

    objects.definitions(world)
elif name.startswith("mode:"):
    from tests.corpus import programs_for_modes

    with scope(os.environ["CORPUS_PREFIX"], None):
        programs_for_modes.run(name.removeprefix("mode:"), world)
else:
    from tests.corpus.cases import CASES
    from tests.corpus.world import Box

    names = name.split("|")
    for number, one in enumerate(names):
        case = CASES[one]
        program = case.before if os.environ.get("CORPUS_BEFORE") and case.before else case.program
        if len(names) == 1:
            with scope(os.environ.get("CORPUS_PREFIX", ""), None):
                program(world)
        else:
            with scope(f"case{number}-", Box(f"case{number}")):
                program(world)
