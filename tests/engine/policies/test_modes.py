"""Every way to run the engine, with the pack alone: afterwards no byte of the control plane's is in the user's etcd.

What is looked for is read from the engine's own state after the run (every secret that it knows), so that a secret
that was made but not reported is found too. The table in docs/policies/timing.md says the same in words.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hosted_mesh_policies.detect.decoders.layers import views
from hosted_mesh_policies.detect.search.index import Index
from hosted_mesh_policies.detect.secrets.fingerprints import fingerprints
from hosted_mesh_policies.detect.secrets.resource_secrets import secret_leaves
from hosted_mesh_policies.scan.sources import from_state

from sandbox.clusters import Sandbox
from tests.corpus.engine import Engine, Operation, Run
from tests.corpus.programs_for_modes import AFTER_THE_GUARD, LEAKY, WITHOUT_MARK
from tests.support.nightly import nightly_if

MODES: dict[str, tuple[Operation, list[str]]] = {
    "preview": ("preview", []),
    "up": ("up", []),
    "up --skip-preview": ("up", ["--skip-preview"]),
    "up --refresh": ("up", ["--refresh"]),
}
MORE = {
    "up --refresh --skip-preview": ("up", ["--refresh", "--skip-preview"]),
    "up --parallel 1 --skip-preview": ("up", ["--parallel", "1", "--skip-preview"]),
}
RUNS = [
    *((mode, program) for mode in MODES for program in LEAKY),
    *((mode, program) for mode in ("up", "up --skip-preview") for program in AFTER_THE_GUARD),
    *((mode, program) for mode in MORE for program in ("used before it is kept", "disguised")),
]


def _stack(*words: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in "-".join(words)).strip("-").lower()


def _leaked(sandbox: Sandbox, engine: Engine, stack: str, since: int) -> list[str]:
    """Keys of the data plane's etcd that hold a secret of the control plane's, in whatever wrapping, among all that was
    written after a revision, and written over since. The run made its secrets, so nothing earlier can hold them."""
    exported = engine.ask("stack", "export", "--show-secrets", stack=stack)
    state = from_state(json.loads(exported.stdout), stack)
    index = Index()
    for resource in state.resources if state else ():
        if (resource.provider.name if resource.provider else resource.name) == "dp-cluster":
            continue  # the user's own
        for tree in (resource.inputs, resource.outputs):
            for _, value in secret_leaves(resource, tree):
                index.add(fingerprints(value, certain=resource.type.startswith("random:")), resource.name)
    items = sandbox.data_plane.etcd_items(since)
    return [key.decode() for key, value in items if any(any(index.search(v.data)) for v in views(value))]


DAILY = {
    *(run for run in RUNS if run[0] == "up --skip-preview"),
    *(("up", program) for program in ("disguised", "by a certificate", "added by a transform")),
}
"""Runs with each change. The corpus has previews of leaks, and an `up` ends with its preview."""


@pytest.mark.parametrize(
    ("mode", "program"),
    [pytest.param(*run, marks=nightly_if(run not in DAILY, run[0])) for run in RUNS],
)
def test_nothing_is_written(mode: str, program: str, corpus_engine: Engine, engine_sandbox: Sandbox) -> None:
    operation, options = {**MODES, **MORE}[mode]
    stack = _stack("m", mode, program)
    began = engine_sandbox.data_plane.etcd_revision()
    run = corpus_engine.run(operation, f"mode:{program}", stack=stack, prefix=_prefix(mode, program), more=options)
    if (mode, program) != UNDECIDED:
        assert run.code != 0, run.output
        assert run.refused, run.output
    assert _written(engine_sandbox, _prefix(mode, program), began) == []
    assert _leaked(engine_sandbox, corpus_engine, stack, began) == []


UNDECIDED = ("preview", "by a certificate")
"""The first preview cannot tell a certificate from the key that its resource repeats; the update can, before it
writes."""


def _prefix(*words: str) -> str:
    """Keeps the objects of one run apart from those of others in the same clusters."""
    return f"r{zlib.crc32(' '.join(words).encode()):08x}-"


def _written(sandbox: Sandbox, prefix: str, since: int) -> list[str]:
    """The leak's own object, whatever is in it (a disguise hides a secret from any search)."""
    leak = f"/{prefix}leak".encode()
    return [key.decode() for key, _ in sandbox.data_plane.etcd_items(since) if key.endswith(leak)]


@pytest.mark.parametrize("program", WITHOUT_MARK)
def test_without_a_mark_only_a_preview_can_tell(program: str, corpus_engine: Engine, engine_sandbox: Sandbox) -> None:
    """The limit, as documented: without a preview it is written, and reported afterwards."""
    case = f"mode:{program}"

    def up(name: str, *options: str, settings: Mapping[str, Any] = MappingProxyType({})) -> tuple[Run, list[str]]:
        """What came of it, and which leak is written now. What else is written before the run is refused is by chance:
        so each has a prefix of its own."""
        stack, prefix = _stack(name, program), _prefix(name, program)
        began = engine_sandbox.data_plane.etcd_revision()
        run = corpus_engine.run("up", case, stack=stack, prefix=prefix, more=options, settings=settings)
        return run, _written(engine_sandbox, prefix, began)

    previewed, written = up("previewed")
    assert previewed.refused, previewed.output
    assert written == []
    refuse_all = {"secrets-of-unproven-owner-are-not-written": {"withoutPreview": "refuse-all"}}
    told, written = up("told", "--skip-preview", settings=refuse_all)
    assert told.refused, told.output
    assert written == []
    late, written = up("late", "--skip-preview")
    assert late.code != 0
    assert late.refused, late.output
    assert written != []


def test_a_setting_that_there_is_not_ends_the_run(corpus_engine: Engine) -> None:
    settings = {"tenants-are-apart": {"sharedNamespace": ["monitoring"]}}
    run = corpus_engine.run("preview", "mode:own", stack="misspelt", settings=settings)
    assert run.code != 0
    assert "tenants-are-apart.sharedNamespace: is not a setting; did you mean sharedNamespaces?" in run.output


@pytest.mark.parametrize("options", [[], ["--skip-preview"]], ids=["up", "up --skip-preview"])
def test_an_import_changes_nothing(options: list[str], corpus_engine: Engine, engine_sandbox: Sandbox) -> None:
    stack = _stack("import", *options)
    prefix = _prefix(stack)
    began = engine_sandbox.data_plane.etcd_revision()
    run = corpus_engine.run("up", "mode:imported", stack=stack, prefix=prefix, more=options)
    assert run.code != 0
    assert run.refused, run.output
    assert _leaked(engine_sandbox, corpus_engine, stack, began) == []


def test_the_users_own_passes_with_a_preview(corpus_engine: Engine) -> None:
    _passes(corpus_engine.run("up", "mode:own", stack="own", prefix="own-"))
    _passes(corpus_engine.run("up", "mode:own", stack="own", prefix="own-", more=["--refresh"]))
    _passes(corpus_engine.run("preview", "mode:own", stack="own", prefix="own-"))


def test_the_users_own_passes_with_the_preview_of_another_job(corpus_engine: Engine, engine_sandbox: Sandbox) -> None:
    """As pipelines run it: the preview in a pull request, the update after its merge, and no preview there."""
    jobs = {"HOSTED_MESH_EVIDENCE": "evidence"}  # beside Pulumi.yaml, where pulumi runs
    skipped = ["--skip-preview"]
    _passes(corpus_engine.run("preview", "mode:own", stack="jobs", prefix="jobs-", environment=jobs))
    _passes(corpus_engine.run("up", "mode:own", stack="jobs", prefix="jobs-", more=skipped, environment=jobs))

    # A preview is believed for its own program alone: this one sends the same objects, with another password in one.
    _passes(corpus_engine.run("preview", "mode:own", stack="changed", prefix="changed-", environment=jobs))
    (corpus_engine.project("changed") / "wiring.txt").write_text("rewired")
    began = engine_sandbox.data_plane.etcd_revision()
    run = corpus_engine.run("up", "mode:rewired", stack="changed", prefix="changed-", more=skipped, environment=jobs)
    assert "HOSTED_MESH_EVIDENCE: counts as none: is of another program" in run.output
    assert run.refused, run.output
    assert _leaked(engine_sandbox, corpus_engine, "changed", began) == []


def test_the_preview_of_another_job_with_other_settings_is_none(corpus_engine: Engine, engine_sandbox: Sandbox) -> None:
    """Whose a cluster is, the settings say. An update without the preview's refuses before the write."""
    tenant = {"dataPlaneTenants": [f"shop={corpus_engine.servers['dp']}"]}
    clusters = {"controlPlaneServers": [corpus_engine.servers["cp"]], **tenant}
    jobs = {"HOSTED_MESH_EVIDENCE": "evidence"}
    told = {"providers-reach-their-own-cluster": clusters}
    _passes(corpus_engine.run("preview", "mode:own", stack="told", prefix="told-", environment=jobs, settings=told))
    began = engine_sandbox.data_plane.etcd_revision()
    skipped = ["--skip-preview"]
    run = corpus_engine.run("up", "mode:own", stack="told", prefix="told-", more=skipped, environment=jobs)
    assert "HOSTED_MESH_EVIDENCE: counts as none: is of other policy settings" in run.output
    assert "had no preview" in run.output
    items = engine_sandbox.data_plane.etcd_items(began)
    assert [key for key, _ in items if key.endswith(b"/told-own")] == []
    same = {"more": skipped, "environment": jobs, "settings": told}
    _passes(corpus_engine.run("up", "mode:own", stack="told", prefix="told-", **same))


def test_without_a_preview_the_users_own_must_be_declared(corpus_engine: Engine) -> None:
    undeclared = corpus_engine.run("up", "mode:own", stack="undeclared", prefix="undeclared-", more=["--skip-preview"])
    assert "had no preview" in undeclared.output
    skipped = ["--skip-preview"]
    _passes(corpus_engine.run("up", "mode:declared", stack="declared", prefix="declared-", more=skipped))


def test_a_second_update_that_starts_to_leak_is_stopped(corpus_engine: Engine, engine_sandbox: Sandbox) -> None:
    """The secret is known by now; the user's object is new."""
    began = engine_sandbox.data_plane.etcd_revision()
    _passes(corpus_engine.run("up", "mode:own", stack="later", prefix="later-"))
    skipped = ["--skip-preview"]
    run = corpus_engine.run("up", "mode:disguised", stack="later", prefix="later-", more=skipped)
    assert run.refused, run.output
    assert _written(engine_sandbox, "later-", began) == []


def _passes(run: Run) -> None:
    assert (run.code, run.refused) == (0, ()), run.output
