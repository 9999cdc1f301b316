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

PREVIEW, UP, AT_ONCE = "preview", "up --yes", "up --yes --skip-preview"
LEAKY = Path(__file__).resolve().parents[2] / "corpus" / "leaky"


def _run(sandbox: Sandbox, tools: Tools, leak: str, *how: str, slow: str = "") -> subprocess.CompletedProcess[str]:
    options = [*how, "--stack", STACK, "--policy-pack", str(deployment.POLICY_PACK)]
    options += ["--config-file", str(deployment.config_file(sandbox.state))]
    ready = deployment.engine(sandbox, tools)
    return ready.run(*options, cwd=LEAKY, limit=300, more={"LEAK": leak, "SLOW": slow})


def _require_stopped(sandbox: Sandbox, done: subprocess.CompletedProcess[str], words: str) -> str:
    told = done.stdout + done.stderr
    assert done.returncode != 0, told
    assert words in told, told
    assert "PRIVATE KEY-----" not in told
    keys = [key for key, _ in sandbox.data_plane.etcd_items()]
    assert b"/registry/configmaps/default/leak" not in keys
    return told


RARELY = pytest.mark.nightly


@pytest.mark.parametrize(
    ("how", "slow"),
    [
        (PREVIEW, ""),
        pytest.param(PREVIEW, "end", marks=RARELY),
        pytest.param(UP, "", marks=RARELY),
        pytest.param(AT_ONCE, "", marks=RARELY),
        (AT_ONCE, "end"),
    ],
)
def test_the_library_stops_a_leak(how: str, slow: str, live_sandbox: Sandbox, tools: Tools) -> None:
    """With a slow end the engine has ended, for charts that the program no longer served, before the program's error
    is printed by Pulumi: what is seen then is what the guard printed."""
    done = _run(live_sandbox, tools, "options", *how.split(), slow=slow)
    told = _require_stopped(
        live_sandbox,
        done,
        "error: the data plane's objects cannot be used, leak.data.ca: is a control-plane secret, from demo-",
    )
    assert "unhandled exception" not in told, told


@pytest.mark.parametrize(
    ("how", "slow"),
    [(PREVIEW, ""), (UP, ""), pytest.param(AT_ONCE, "", marks=RARELY), pytest.param(AT_ONCE, "charts", marks=RARELY)],
)
def test_the_pack_stops_a_leak(how: str, slow: str, live_sandbox: Sandbox, tools: Tools) -> None:
    """The engine prints it before it ends the run. Without a preview it ends while charts may still be made; their
    errors are no RunErrors, so Pulumi may print a trace, of its own. A preview goes on to its end."""
    done = _run(live_sandbox, tools, "control-plane", *how.split(), slow=slow)
    told = _require_stopped(live_sandbox, done, "no-credentials-on-data-plane")
    assert how == AT_ONCE or "unhandled exception" not in told, told


def test_the_pages_show_the_printed_refusal(live_sandbox: Sandbox, tools: Tools) -> None:
    done = _run(live_sandbox, tools, "control-plane", "preview")
    printed = [line.strip() for line in done.stdout.splitlines()]
    for page, least in (("README.md", 4), ("docs/first-run.md", 9)):
        shown = (CHECKOUT / page).read_text().partition("```text\nPolicies:\n")[2].partition("```")[0]
        wanted = [line.strip() for line in shown.splitlines() if "hosted-mesh@" not in line]
        assert [line for line in wanted if line not in printed] == [], page
        assert len(wanted) >= least, page


def test_without_the_leak_it_passes_without_a_preview_too(live_sandbox: Sandbox, tools: Tools) -> None:
    """So that the refusals above are about the leak; and the Automation API, which shows no preview, can be used."""
    done = _run(live_sandbox, tools, "none", "up", "--yes", "--skip-preview", "--refresh")
    assert done.returncode == 0, done.stdout + done.stderr
