"""The picture in docs/first-run.md shows the objects that the stack made."""

from __future__ import annotations

from pulumi_hosted_mesh.operations.topology import topology

from sandbox.bootstrap import CHECKOUT
from sandbox.engine import deployment


def test_the_page_shows_what_runs_where(live_sandbox, tools):
    _, _, rest = (CHECKOUT / "docs/first-run.md").read_text().partition("```mermaid\n")
    shown, _, _ = rest.partition("```")
    state = deployment.export(live_sandbox, tools)
    assert shown == topology(state["deployment"]["resources"])
