"""A revision that is in use is not removed, on real API servers: previews refuse too, and an override has a reason.

There are no nodes, so no istiod answers: Pods and webhooks of the data plane are what counts. `tests/live/revisions`
has istiod answer.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.library.engine import Api, Project, Run, Stack, bash_in
from tests.support.split import split_configs

NEXT = "next"
HOOK = "hosted-mesh-revision-in-use"
NAMESPACE = "shop"
REASON = "the data plane is gone for good"
Config = dict[str, Any]


@pytest.fixture
def pod(user: Api) -> Iterator[str]:
    """A Pod with a sidecar of the revision `next`, as injection labels it."""
    with user.with_sidecar("cart", NAMESPACE, NEXT):
        yield "cart"


def of_both(mesh: Config) -> Config:
    (old,) = mesh["revisions"]
    new = {**copy.deepcopy(old), "name": NEXT, "host": "istiod-next.demo.sandbox.test"}
    return {**mesh, "revisions": [old, new]}


def with_override(mesh: Config) -> Config:
    return {**mesh, "controlPlane": {**mesh["controlPlane"], "removeInUse": {NEXT: REASON}}}


def refused(done: Run) -> None:
    assert done.code != 0, done.text
    assert re.search(rf"revision {NEXT} in namespace mesh-demo is in use by 1 proxies", done.text), done.text
    assert f"data plane: {NAMESPACE}." in done.text
    assert f"removeInUse: {{{NEXT}: REASON}}" in done.text


@pytest.mark.usefixtures("clean", "pod")
def test_a_revision_with_pods_is_removed_with_a_reason_alone(
    project: Project, reachable: Config, provider: Api, user: Api
) -> None:
    def stack(document: Config) -> Stack:
        return project.stack("in-use", {"stack": "all-in-one", "mesh": document})

    stack(of_both(reachable)).up()
    before = provider.get("deployment", f"istiod-{NEXT}", "-n", "mesh-demo")["metadata"]["uid"]
    alone = stack(reachable)
    refused(alone.run("preview"))
    refused(alone.run("up", "--yes"))
    refused(alone.run("up", "--yes", "--skip-preview"))
    assert provider.get("deployment", f"istiod-{NEXT}", "-n", "mesh-demo")["metadata"]["uid"] == before
    assert provider.get("service", f"istiod-exposed-demo-{NEXT}", "-n", "mesh-demo")

    whole = stack(of_both(reachable))
    without = whole.run("destroy", "--yes", "--skip-preview")
    assert without.code != 0
    assert "--run-program" in without.text
    refused(whole.run("destroy", "--yes", "--run-program"))
    whole.up()  # webhooks that went before the refusal of `--skip-preview` are there again

    done = stack(with_override(reachable)).succeed("up", "--yes")
    assert REASON in done.text
    assert provider.kubectl("get", "deployment", f"istiod-{NEXT}", "-n", "mesh-demo").code != 0

    stack(of_both(reachable)).up()
    refused(stack(reachable).run("preview"))
    user.kubectl("delete", "pod", "cart", "-n", NAMESPACE, "--now")
    stack(reachable).succeed("up", "--yes")
    stack(reachable).destroy()


@pytest.mark.usefixtures("clean")
def test_a_control_plane_stays_while_webhooks_of_a_data_plane_call_it(project: Project, reachable: Config) -> None:
    """Separate stacks: `data-plane` goes before `control-plane`. The page has the way without a program."""
    configs = split_configs(reachable)
    stacks = {name: project.stack(name, {"stack": name, **config}) for name, config in configs.items()}
    for one in stacks.values():
        one.up()
    control_plane = stacks["control-plane"]
    for options in ((), ("--preview-only",)):
        done = control_plane.run("destroy", "--run-program", *(options or ("--yes",)))
        assert done.code != 0, done.text
        assert "is in use by webhooks of a data plane: istio-" in done.text
        assert "First run or destroy the stack data-plane" in done.text
    stacks["data-plane"].destroy()
    control_plane.succeed("destroy", "--run-program", "--preview-only")
    assert control_plane.run("destroy", "--yes").code != 0
    (without_check,) = bash_in("recovery.md", "Destroy without a program")
    project.as_written(without_check)
    control_plane.succeed("destroy", "--yes", "--skip-preview")
    for name in list(reversed(configs))[2:]:
        stacks[name].destroy()


def test_a_hook_of_the_name_is_on_what_must_stay(project: Project, reachable: Config) -> None:
    stack = project.stack("hooks", {"stack": "all-in-one", "mesh": reachable})
    stack.up()
    hooked = {one["urn"].rpartition("::")[2] for one in stack.resources() if HOOK in str(one.get("resourceHooks"))}
    stack.destroy()
    assert hooked == {"demo-istiod:mesh-demo/istiod", "demo-istiod-exposed-demo"}
