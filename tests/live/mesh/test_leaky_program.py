"""A leaky variant of what `make up` runs is stopped at preview and at update; the user's etcd stays clean."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sandbox.bootstrap import CHECKOUT
from sandbox.clusters import Sandbox
from sandbox.engine import deployment
from sandbox.program_environment import STACK
from sandbox.toolchain import Tools

_CUT_OFF = ("resource monitor shut down", "the client connection is closing")
"""How the engine ends a run whose program still waits for charts: Pulumi prints it with a trace, and may lose what the
program said last. A preview, where there is one, ends before."""
LEAKY = Path(__file__).resolve().parents[2] / "corpus" / "leaky"


def _run(sandbox: Sandbox, tools: Tools, leak: str, operation: str, *how: str) -> subprocess.CompletedProcess[str]:
    options = [*how, "--stack", STACK, "--policy-pack", str(deployment.POLICY_PACK)]
    options += ["--config-file", str(deployment.config_file(sandbox.state))]
    ready = deployment.engine(sandbox, tools)
    return ready.run(operation, *options, cwd=LEAKY, limit=300, more={"LEAK": leak})


@pytest.mark.parametrize("leak", ["control-plane", "options"])
@pytest.mark.parametrize("how", [("preview",), ("up", "--yes"), ("up", "--yes", "--skip-preview")], ids=" ".join)
def test_a_leaky_program_is_stopped(how: tuple[str, ...], leak: str, live_sandbox: Sandbox, tools: Tools) -> None:
    done = _run(live_sandbox, tools, leak, *how)
    told = done.stdout + done.stderr
    assert done.returncode != 0, told
    at_once = "--skip-preview" in how
    cut_off = at_once and any(words in told for words in _CUT_OFF)
    if leak == "control-plane":
        assert "no-credentials-on-data-plane" in told, told
    else:
        assert "is a control-plane secret" in told or cut_off or (at_once and "[mandatory]" in told), told
    assert "PRIVATE KEY-----" not in told
    assert "unhandled exception" not in told or cut_off, told
    keys = [key for key, _ in live_sandbox.data_plane.etcd_items()]
    assert b"/registry/configmaps/default/leak" not in keys


def test_the_readme_shows_what_is_printed(live_sandbox: Sandbox, tools: Tools) -> None:
    shown = (CHECKOUT / "README.md").read_text().partition("```text\nPolicies:\n")[2].partition("```")[0]
    done = _run(live_sandbox, tools, "control-plane", "preview")
    printed = [line.strip() for line in done.stdout.splitlines()]
    wanted = [line.strip() for line in shown.splitlines() if "hosted-mesh@" not in line]
    assert [line for line in wanted if line not in printed] == []
    assert len(wanted) > 8


def test_without_the_leak_it_passes_without_a_preview_too(live_sandbox: Sandbox, tools: Tools) -> None:
    """So that the refusals above are about the leak; and the Automation API, which shows no preview, can be used."""
    done = _run(live_sandbox, tools, "none", "up", "--yes", "--skip-preview", "--refresh")
    assert done.returncode == 0, done.stdout + done.stderr
