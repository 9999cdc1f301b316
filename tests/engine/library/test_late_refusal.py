"""What is refused of an Output is printed by the real engine, also where charts fail for the program's end."""

from __future__ import annotations

from pathlib import Path

from sandbox.clusters import Sandbox
from sandbox.toolchain import Tools
from tests.engine.library.engine import Project

PROGRAM = Path(__file__).parent / "late_refusal"


def test_the_refusal_of_an_output_is_not_lost(tmp_path: Path, engine_sandbox: Sandbox, tools: Tools) -> None:
    """The engine ends, for a chart that the program no longer serves, before Pulumi prints the program's error."""
    project = Project.make(tmp_path / "project", engine_sandbox, tools, PROGRAM)
    done = project.stack("late", {"charts": str(tools.charts)}).run("preview")
    assert done.code != 0
    assert "error: the mesh cannot be used, cacerts: lacks ca-cert.pem, root-cert.pem, cert-chain.pem" in done.text
    assert "Traceback" not in done.text
    assert "s3cr3t" not in done.text
