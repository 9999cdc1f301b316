"""The oracle has no rules; its verdicts on the blind corpus are those of the programs' authors.

HOSTED_MESH_ORACLE_STEP: the oracle judges every n-th program of those on which it agrees; 1 for all of them. A third of
its programs is judged with each change.
"""

from __future__ import annotations

import os

import pytest

from tests.corpus.blind_corpus.oracle import agrees, proven
from tests.corpus.blind_corpus.program import BlindProgram
from tests.corpus.blind_corpus.programs import CLEAN, LEAKS
from tests.support.nightly import one_in

EVERY = {**LEAKS, **CLEAN}
STEP = int(os.environ.get("HOSTED_MESH_ORACLE_STEP", "4"))
NOT_RUN = frozenset(
    {
        "cluster-token-by-a-call",
        "own-database-of-its-stack",
        "registry-token",
        "row-of-a-list-by-name",
        "status-of-the-tenant-goes-up",
    }
)
"""Data sources and dynamic providers have no answers before the oracle. Marked outputs of another stack, and objects
that are only read, have no known origin."""
OTHERWISE = frozenset(
    {
        "declassified-hash-of-four-digits",
        "error-with-the-principals-secret",
        "home-source-of-dashboards",
        "issued-key-for-one-zone",
        "key-set-of-a-private-key",
        "login-of-the-shop-kept-by-the-hub",
        "note-on-a-secret-of-two",
        "note-says-hashed-and-is-encoded",
        "note-without-a-tenants-label",
        "notes-on-all-secrets-by-a-transformation",
        "own-account-token-for-a-pipeline",
        "own-authority-in-both-clusters",
        "own-cloud-login-later",
        "own-database-roles",
        "own-key-of-a-cloud",
        "own-mesh-of-two-clusters",
        "own-pull-login-of-its-group",
        "own-realm",
        "own-roles-of-its-database",
        "own-stack-of-its-database",
        "own-two-istiods",
        "passed-on-by-the-tenants-stack",
        "pets-and-suffixes",
        "pushed-into-the-tenants-store",
        "registry-login-on-the-tenants-docker-host",
        "release-notes-of-a-chart",
        "service-user-of-a-cluster-object",
        "source-name-in-a-map",
        "stacks-in-a-loop",
        "stays-a-rotated-login",
        "support-login-among-exports",
        "target-of-a-pushed-secret",
        "tenants-operator-name-is-the-hubs",
        "unmarked-connection-string",
        "up-database-of-the-tenant-is-migrated-from-above",
        "up-login-of-the-tenants-metrics",
    }
)
"""The oracle counts a secret of an unclassified account as the control plane's, and a generated secret too that the
control plane also keeps. It takes every annotation and setting for true. A program's own hash, signature or public key
of a secret counts as the secret. The answers of a claim, a chart or an operator are not simulated."""


def _agrees(program: BlindProgram) -> bool | None:
    return agrees(program, proven(program))


@pytest.mark.parametrize("name", one_in(3, [name for name in EVERY if name not in NOT_RUN | OTHERWISE][::STEP]))
def test_the_oracle_agrees(name: str) -> None:
    assert _agrees(EVERY[name]) is True, EVERY[name].why


@pytest.mark.parametrize("name", sorted(NOT_RUN))
def test_a_program_that_the_oracle_cannot_run_is_known(name: str) -> None:
    assert _agrees(EVERY[name]) is None


@pytest.mark.parametrize("name", one_in(3, sorted(OTHERWISE)))
def test_a_disagreement_of_the_oracle_is_known(name: str) -> None:
    assert _agrees(EVERY[name]) is False
