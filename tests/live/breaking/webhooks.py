"""Ways to break the webhooks of the real mesh; each puts back what it changed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from lightkube.models.admissionregistration_v1 import MatchCondition
from lightkube.resources.admissionregistration_v1 import (
    MutatingWebhookConfiguration,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
)
from lightkube.resources.core_v1 import ConfigMap

from sandbox.proof.deployed import Deployed
from tests.live.breaking.mesh import changed


@contextmanager
def without_webhooks_of(kind, deployed: Deployed) -> Iterator[None]:
    """The data plane with every webhook configuration of one kind deleted."""
    saved = [
        one
        for one in deployed.data_plane.list(kind)
        if any(hook.name.endswith("istio.io") for hook in one.webhooks or [])
    ]
    assert saved
    for one in saved:
        deployed.data_plane.delete(kind, one.metadata.name)
    try:
        yield
    finally:
        for one in saved:
            one.metadata.resourceVersion = one.metadata.uid = one.metadata.managedFields = None
            deployed.data_plane.create(one)


@contextmanager
def webhook_by_service(deployed: Deployed) -> Iterator[None]:
    """An injection webhook that refers to a Service in the data plane beside the ones by URL."""
    original = next(iter(deployed.data_plane.list(MutatingWebhookConfiguration)))
    changed = MutatingWebhookConfiguration.from_dict(original.to_dict())
    for hook in changed.webhooks:
        hook.clientConfig.url = None
        hook.clientConfig.service = {
            "name": "istiod",
            "namespace": deployed.mesh.namespace,
            "path": "/inject",
            "port": 443,
        }
    deployed.data_plane.replace(changed)
    try:
        yield
    finally:
        current = deployed.data_plane.get(MutatingWebhookConfiguration, original.metadata.name)
        original.metadata.resourceVersion = current.metadata.resourceVersion
        deployed.data_plane.replace(original)


@contextmanager
def altered(change: Callable[[Any], object], kind, deployed: Deployed) -> Iterator[None]:
    """The mesh's webhooks of one kind, each as `change` makes it."""
    original = next(one for one in deployed.data_plane.list(kind) if one.webhooks[0].name.endswith("istio.io"))
    other = copy.deepcopy(original)
    for hook in other.webhooks:
        change(hook)
    deployed.data_plane.replace(other)
    try:
        yield
    finally:
        current = deployed.data_plane.get(kind, original.metadata.name)
        original.metadata.resourceVersion = current.metadata.resourceVersion
        deployed.data_plane.replace(original)


@contextmanager
def webhooks_at(url: str, kind, deployed: Deployed) -> Iterator[None]:
    """The mesh's webhooks at another URL, which nobody answers, and which need not answer."""

    def change(hook) -> None:
        hook.clientConfig.url, hook.failurePolicy = url, "Ignore"

    with altered(change, kind, deployed):
        yield


@contextmanager
def not_asked(kind, deployed: Deployed) -> Iterator[None]:
    """The mesh's webhooks where they belong, but in no case to be called."""

    def change(hook) -> None:
        hook.matchConditions = [MatchCondition(name="never", expression="false")]

    with altered(change, kind, deployed):
        yield


@contextmanager
def injection_answers_without_a_sidecar(deployed: Deployed) -> Iterator[None]:
    """istiod's own injector told not to inject: it is asked, and answers that the Pod is right as it is."""
    name, namespace = "istio-sidecar-injector", deployed.mesh.namespace
    config = (deployed.control_plane.get(ConfigMap, name, namespace=namespace).data or {})["config"]
    assert "policy: enabled" in config
    off = {"data": {"config": config.replace("policy: enabled", "policy: disabled")}}
    with changed(deployed.control_plane, ConfigMap, name, off, {"data": {"config": config}}, namespace):
        yield


@contextmanager
def somebody_else_refuses(deployed: Deployed) -> Iterator[None]:
    """The mesh's webhook is not asked, and a policy of the API server's own refuses every Gateway in its words."""
    words = 'admission webhook "rev.validation.istio.io" denied the request: configuration is invalid'
    with not_asked(ValidatingWebhookConfiguration, deployed), policy_on_gateways("false", words, deployed):
        yield


@contextmanager
def valid_ones_are_refused(deployed: Deployed) -> Iterator[None]:
    """The mesh's webhook refuses what is invalid, and somebody else all the rest."""
    with policy_on_gateways("object.spec.servers[0].hosts[0].startsWith('*/')", "no Gateway today", deployed):
        yield


@contextmanager
def policy_on_gateways(expression: str, words: str, deployed: Deployed) -> Iterator[None]:
    """A policy of the API server's own on every Gateway."""
    constraints = {
        "resourceRules": [
            {"apiGroups": ["networking.istio.io"], "apiVersions": ["*"], "operations": ["*"], "resources": ["gateways"]}
        ]
    }
    policy = {"matchConstraints": constraints, "validations": [{"expression": expression, "message": words}]}
    binding = {"policyName": "proof.test", "validationActions": ["Deny"]}
    made: list[Any] = [
        ValidatingAdmissionPolicy.from_dict({"metadata": {"name": "proof.test"}, "spec": policy}),
        ValidatingAdmissionPolicyBinding.from_dict({"metadata": {"name": "proof.test"}, "spec": binding}),
    ]
    for one in made:
        deployed.data_plane.apply(one, force=True)
    try:
        yield
    finally:
        for one in made:
            deployed.data_plane.delete(type(one), "proof.test")
