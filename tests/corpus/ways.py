"""Ways into a user's cluster: where in an object a value can be put."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.corpus.world import Object, World

Way = Callable[[World, Any], Object]


def _deployment(world: World, **container: Any) -> Object:
    """Nobody waits for its Pod: the corpus's clusters have no nodes."""
    spec = {
        "selector": {"matchLabels": {"app": "app"}},
        "template": {
            "metadata": {"labels": {"app": "app"}},
            "spec": {"containers": [{"name": "app", "image": "example.com/app:1", **container}]},
        },
    }
    metadata = {"annotations": {"pulumi.com/skipAwait": "true"}}
    return world.object("dp", "apps/v1:Deployment", "app", {"spec": spec, "metadata": metadata})


def config_map(world: World, value: Any) -> Object:
    return world.config_map("dp", "app", {"value": value})


def secret(world: World, value: Any) -> Object:
    return world.secret("dp", "app", {"value": value})


def annotation(world: World, value: Any) -> Object:
    return world.object("dp", "v1:ServiceAccount", "app", {"metadata": {"annotations": {"example.com/x": value}}})


def label(world: World, value: Any) -> Object:
    return world.object("dp", "v1:ServiceAccount", "app", {"metadata": {"labels": {"x": value}}})


def environment(world: World, value: Any) -> Object:
    return _deployment(world, env=[{"name": "X", "value": value}])


def command_line(world: World, value: Any) -> Object:
    return _deployment(world, args=["serve", world.concat("--upstream=", value)])


def custom_resource(world: World, value: Any) -> Object:
    spec = {"plugins": [{"name": "auth", "settings": {"deep": {"er": [{"x": value}]}}}]}
    return world.object("dp", "example.com/v1:Widget", "app", {"spec": spec})


def webhook_url(world: World, value: Any) -> Object:
    hook = {
        "name": "x.example.com",
        "clientConfig": {"url": world.concat("https://istiod.example.com/inject/", value), "caBundle": "Q0E="},
        "timeoutSeconds": 5,
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return world.object(
        "dp", "admissionregistration.k8s.io/v1:MutatingWebhookConfiguration", "app", {"webhooks": [hook]}
    )


def object_name(world: World, value: Any) -> Object:
    return world.object("dp", "v1:ConfigMap", "app", {"metadata": {"name": value}, "data": {"x": "y"}})


def file_in_config_map(world: World, value: Any) -> Object:
    text = world.concat("# settings\nserver: example.com\nvalue: ", value, "\nmode: fast\n")
    return world.config_map("dp", "app", {"settings.yaml": text})


WAYS: Mapping[str, Way] = {
    "ConfigMap": config_map,
    "Secret": secret,
    "annotation": annotation,
    "label": label,
    "environment": environment,
    "command line": command_line,
    "custom resource": custom_resource,
    "webhook URL": webhook_url,
    "object name": object_name,
    "file in ConfigMap": file_in_config_map,
}
