"""Ways to break the webhooks of the real mesh; each puts back what it changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
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
from tests.support.changing import changed, created, deleted, replaced


def without_webhooks_of(kind, deployed: Deployed) -> AbstractContextManager[None]:
    """The data plane with every webhook configuration of one kind deleted."""
    every = deployed.data_plane.list(kind)
    ours = [one for one in every if any(hook.name.endswith("istio.io") for hook in one.webhooks or [])]
    return deleted(deployed.data_plane, ours)


def webhook_by_service(deployed: Deployed) -> AbstractContextManager[None]:
    """An injection webhook that refers to a Service in the data plane beside the ones by URL."""
    service = {"name": "istiod", "namespace": deployed.mesh.namespace, "path": "/inject", "port": 443}

    def change(hook) -> None:
        hook.clientConfig.url, hook.clientConfig.service = None, service

    return altered(change, MutatingWebhookConfiguration, deployed)


def altered(change: Callable[[Any], object], kind, deployed: Deployed) -> AbstractContextManager[None]:
    """The mesh's webhooks of one kind, each as `change` makes it."""

    def all_changed(configuration) -> None:
        for hook in configuration.webhooks:
            change(hook)

    original = next(one for one in deployed.data_plane.list(kind) if one.webhooks[0].name.endswith("istio.io"))
    return replaced(deployed.data_plane, original, all_changed)


def webhooks_at(url: str, kind, deployed: Deployed) -> AbstractContextManager[None]:
    """The mesh's webhooks at another URL, which nobody answers, and which need not answer."""

    def change(hook) -> None:
        hook.clientConfig.url, hook.failurePolicy = url, "Ignore"

    return altered(change, kind, deployed)


def not_asked(kind, deployed: Deployed) -> AbstractContextManager[None]:
    """The mesh's webhooks where they belong, but in no case to be called."""

    def change(hook) -> None:
        hook.matchConditions = [MatchCondition(name="never", expression="false")]

    return altered(change, kind, deployed)


def injection_answers_without_a_sidecar(deployed: Deployed) -> AbstractContextManager[None]:
    """istiod's own injector told not to inject: it is asked, and answers that the Pod is right as it is."""
    name, namespace = "istio-sidecar-injector", deployed.mesh.namespace
    config = (deployed.control_plane.get(ConfigMap, name, namespace=namespace).data or {})["config"]
    assert "policy: enabled" in config
    off = {"data": {"config": config.replace("policy: enabled", "policy: disabled")}}
    return changed(deployed.control_plane, ConfigMap, name, off, {"data": {"config": config}}, namespace)


@contextmanager
def somebody_else_refuses(deployed: Deployed) -> Iterator[None]:
    """The mesh's webhook is not asked, and a policy of the API server's own refuses every Gateway in its words."""
    words = 'admission webhook "rev.validation.istio.io" denied the request: configuration is invalid'
    with not_asked(ValidatingWebhookConfiguration, deployed), policy_on_gateways("false", words, deployed):
        yield


def valid_ones_are_refused(deployed: Deployed) -> AbstractContextManager[None]:
    """The mesh's webhook refuses what is invalid, and somebody else all the rest."""
    return policy_on_gateways("object.spec.servers[0].hosts[0].startsWith('*/')", "no Gateway today", deployed)


def policy_on_gateways(expression: str, words: str, deployed: Deployed) -> AbstractContextManager[None]:
    """A policy of the API server's own on every Gateway."""
    constraints = {
        "resourceRules": [
            {"apiGroups": ["networking.istio.io"], "apiVersions": ["*"], "operations": ["*"], "resources": ["gateways"]}
        ]
    }
    policy = {"matchConstraints": constraints, "validations": [{"expression": expression, "message": words}]}
    binding = {"policyName": "proof.test", "validationActions": ["Deny"]}
    return created(
        deployed.data_plane,
        ValidatingAdmissionPolicy.from_dict({"metadata": {"name": "proof.test"}, "spec": policy}),
        ValidatingAdmissionPolicyBinding.from_dict({"metadata": {"name": "proof.test"}, "spec": binding}),
    )
