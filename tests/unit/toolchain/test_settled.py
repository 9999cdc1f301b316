"""`up` reads the clusters again when what it left as it was does not hold, once, and else says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.commands.up import next_steps, settled
from sandbox.engine.events import Changes
from sandbox.proof import Observation

SEEN, MISSED = (Observation("istiod", "istiod runs", holds, "...", 0.1) for holds in (True, False))
NONE, SOME = Changes(same=58), Changes(create=58)


@pytest.mark.parametrize(
    ("changes", "proofs", "refreshed"),
    [
        pytest.param(NONE, [[SEEN]], [False], id="nothing to do"),
        pytest.param(SOME, [[SEEN]], [False], id="made"),
        pytest.param(NONE, [[MISSED], [SEEN]], [False, True], id="changed behind the engine's back"),
        pytest.param(NONE, [[MISSED], [MISSED]], [False, True], id="still broken: no third time"),
        pytest.param(SOME, [[MISSED]], [False], id="just made, so there is nothing to read again"),
    ],
)
def test_the_clusters_are_read_again_once(changes, proofs, refreshed):
    ways, rest = [], iter(proofs)

    def deploy(*, refresh):
        ways.append(refresh)
        return changes

    assert settled(deploy, lambda: next(rest)) == proofs[-1]
    assert ways == refreshed
    assert list(rest) == []


def test_the_end_says_what_to_do_about_a_cross():
    assert "make down && " not in next_steps(Path("state"), Path("kubeconfig"), ["control-plane"], proved=True)
    assert "HOSTED_MESH_STATE=state make down && HOSTED_MESH_STATE=state make up" in next_steps(
        Path("state"), Path("kubeconfig"), ["control-plane"], proved=False
    )
