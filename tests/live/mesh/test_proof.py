"""The proof on the real mesh: all ticks, and for each tick, breaking the thing that it claims takes the tick away."""

from __future__ import annotations

import base64
import dataclasses
import gzip
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from lightkube.resources.admissionregistration_v1 import (
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
from lightkube.resources.apps_v1 import Deployment

from sandbox import proof
from sandbox.commands import up
from sandbox.proof import workloads
from sandbox.proof.deployed import Deployed, NotObserved, eventually
from sandbox.proof.table import CHECKS, observe
from tests.live.mesh.breaking import mesh, names, networks, webhooks
from tests.support.nightly import nightly_if

CHECK = {check.name: check for check in CHECKS}


@pytest.fixture(scope="module")
def deployed(live_sandbox, tools) -> Deployed:
    """With the sample workloads in it, so that each test can run alone."""
    made = Deployed.of(live_sandbox, tools)
    workloads.deploy(made)
    return made


def test_every_claim_holds(live_sandbox, tools, progress):
    rows = proof.run(live_sandbox, tools, progress)
    assert [row.name for row in rows] == list(CHECK)
    assert {row.name: row.evidence for row in rows if not row.holds} == {}


def test_up_puts_back_what_somebody_deleted(live_sandbox, tools, progress, deployed):
    """The engine takes the clusters to be as it left them; a proof that fails makes `up` look."""
    deployment = mesh.istiods_deployment(deployed)
    deployed.control_plane.delete(Deployment, deployment.metadata.name, namespace=deployed.mesh.namespace)
    changes = []

    def deploy(*, refresh):
        changes.append(up.deploy(live_sandbox, tools, progress, refresh=refresh))
        return changes[-1]

    (row,) = up.settled(deploy, lambda: proof.run(live_sandbox, tools, only=["istiod"]))
    assert row.holds, row.evidence
    assert [one.total for one in changes] == [0, 1]


Break = Callable[[Deployed], AbstractContextManager[Deployed | None]]
MUTATING, VALIDATING = MutatingWebhookConfiguration, ValidatingWebhookConfiguration
ELSEWHERE = "https://istiod.elsewhere.test:15017/"
LEAKS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda secret: secret,
    "base64": lambda secret: base64.b64encode(b"x" + secret),
    "packed": lambda secret: base64.b64encode(gzip.compress(secret)),
}
# What the evidence says, all of it if it is several.
BREAKS: list[tuple[str, str, Break, str | list[str]]] = [
    ("istiod", "scaled to nothing", mesh.no_istiod, "no ready istiod Pod"),
    ("injection", "webhook deleted", lambda s: webhooks.without_webhooks_of(MUTATING, s), "no webhook"),
    ("injection", "webhook by Service", webhooks.webhook_by_service, "refers to a Service"),
    (
        "injection",
        "webhook on another port",
        lambda s: webhooks.webhooks_at(f"https://{s.mesh.host}/", MUTATING, s),
        "no webhook",
    ),
    ("injection", "not asked", lambda s: webhooks.not_asked(MUTATING, s), "without a sidecar"),
    ("injection", "answers without a sidecar", webhooks.injection_answers_without_a_sidecar, "without a sidecar"),
    ("validation", "webhook deleted", lambda s: webhooks.without_webhooks_of(VALIDATING, s), "no webhook"),
    ("validation", "webhook elsewhere", lambda s: webhooks.webhooks_at(ELSEWHERE, VALIDATING, s), "no webhook"),
    ("validation", "accepted, not asked", lambda s: webhooks.not_asked(VALIDATING, s), "was accepted"),
    ("validation", "refused by somebody else", webhooks.somebody_else_refuses, "not by the mesh's own webhook"),
    ("validation", "nothing is accepted", webhooks.valid_ones_are_refused, "a valid Gateway was refused"),
    ("identity", "istiod gone", mesh.no_istiod, "istiod"),
    ("identity", "a foreign root", mesh.foreign_root, "does not lead to the mesh's root"),
    ("identity", "another name", mesh.another_trust_domain, "is not for spiffe://other.local"),
    ("injection", "istiod's name taken away", names.record_deleted_and_istiod_new, "no such host"),
    ("names", "record deleted", names.record_deleted, "is not answered for the data plane's node"),
    ("names", "bridge stopped", names.bridge_stopped, "no live publisher"),
    ("names", "published by the sandbox", names.published_by_the_sandbox, "the sandbox itself answers"),
    ("traffic", "denied for good", mesh.another_policy, "answered 403"),
    ("traffic", "no mutual TLS", mesh.plaintext, "answered 503"),
    ("traffic", "200 in plain text", mesh.permissive_plaintext, "without the identity"),
    ("boundary", "one port too many", networks.monitoring_port_exposed, "15014"),
    ("boundary", "no source ranges", lambda s: networks.open_to_all(None, s), "10.90.0.1"),
    ("boundary", "source ranges that do not hold", networks.ranges_that_do_nothing, "reaches"),
    ("limits", "no NetworkPolicy", networks.no_network_policy, "15014"),
    ("limits", "source ranges that do not hold", networks.ranges_that_do_nothing, "reaches"),
    ("limits", "a node port", networks.node_port, "reaches"),
    ("pods", "an agent in the data plane", mesh.agent_in_the_users_cluster, "kube-system/stray"),
    # One search for all three, of which each is named: a search takes a quarter of a minute of computing.
    ("secrets", f"leaked {', '.join(LEAKS)}", lambda s: mesh.leaked(LEAKS, s), [f"/leak-{one}-" for one in LEAKS]),
]


def _cases():
    """The first way to break each claim runs with each change, the others are nightly."""
    first = {name: what for name, what, *_ in reversed(BREAKS)}
    return [
        pytest.param(name, breaks, reason, id=f"{name}: {what}", marks=nightly_if(first[name] != what))
        for name, what, breaks, reason in BREAKS
    ]


@pytest.mark.parametrize(("name", "breaks", "reason"), _cases())
def test_a_broken_claim_loses_its_tick(deployed, name, breaks, reason):
    def holds() -> None:
        row = observe(CHECK[name], deployed)
        if not row.holds:
            raise NotObserved(row.evidence)

    def fails(broken: Deployed) -> None:
        row = observe(CHECK[name], broken)
        reasons = [reason] if isinstance(reason, str) else reason
        if row.holds or not all(one in row.evidence for one in reasons):
            raise NotObserved("the tick is still there" if row.holds else f"another reason: {row.evidence}")

    impatient = dataclasses.replace(deployed, patience=0)  # it is looked at again anyway
    with breaks(impatient) as other:
        eventually(lambda: fails(other or impatient), seconds=120)
    eventually(holds, seconds=120)


def test_every_claim_has_a_test_that_breaks_it():
    assert {name for name, *_ in BREAKS} == set(CHECK)
