"""Environment variables of a container, as kubelet computes them."""

import base64

import pytest
from lightkube.models.core_v1 import (
    ConfigMapEnvSource,
    ConfigMapKeySelector,
    Container,
    EnvFromSource,
    EnvVar,
    EnvVarSource,
    ObjectFieldSelector,
    PodSpec,
    ResourceFieldSelector,
    ResourceRequirements,
    SecretKeySelector,
)
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap, Pod, Secret

from sandbox.node.container import environment, fields
from sandbox.node.keyed_data import MissingReferenceError, Objects

FACTS = fields.Facts("10.1.0.7", "10.9.0.1", "10.96.0.1", {"cpu": "4", "memory": "8Gi"})
API_SERVER = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def pod() -> Pod:
    metadata = ObjectMeta(
        name="web", namespace="shop", uid="u-1", labels={"app": "web", "a": 'q"t'}, annotations={"x/y": "z"}
    )
    return Pod(metadata=metadata, spec=PodSpec(containers=[], nodeName="n1", serviceAccountName="robot"))


def resolve(container: Container, objects: Objects | None = None) -> dict[str, str]:
    """Without the API server's address, which every container gets."""
    found = environment.resolve(pod(), container, FACTS, objects or {})
    assert found.items() >= API_SERVER.items()
    return {name: value for name, value in found.items() if name not in API_SERVER}


def from_field(path: str) -> EnvVar:
    return EnvVar(name="V", valueFrom=EnvVarSource(fieldRef=ObjectFieldSelector(fieldPath=path)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("x$(A)y$(B)z", "x1y2z"),
        ("$(MISSING)", "$(MISSING)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A ${A}", "$A ${A}"),
        ("$(A", "$(A"),
    ],
)
def test_references_expand_as_in_kubernetes(text: str, expected: str) -> None:
    assert environment.expand(text, {"A": "1", "B": "2"}) == expected


def test_a_variable_sees_only_those_before_it() -> None:
    variables = [EnvVar(name="A", value="$(B)"), EnvVar(name="B", value="b"), EnvVar(name="C", value="$(B)$(A)")]
    assert resolve(Container(name="c", env=variables)) == {"A": "$(B)", "B": "b", "C": "b$(B)"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "web"),
        ("metadata.namespace", "shop"),
        ("metadata.uid", "u-1"),
        ("metadata.labels['app']", "web"),
        ("metadata.labels['none']", ""),
        ("metadata.annotations['x/y']", "z"),
        ("metadata.labels", 'a="q\\"t"\napp="web"'),
        ("spec.nodeName", "n1"),
        ("spec.serviceAccountName", "robot"),
        ("status.podIP", "10.1.0.7"),
        ("status.hostIP", "10.9.0.1"),
    ],
)
def test_field_references(path: str, expected: str) -> None:
    assert resolve(Container(name="c", env=[from_field(path)])) == {"V": expected}


def test_an_unknown_field_is_named() -> None:
    with pytest.raises(fields.UnknownFieldError, match=r"spec\.colour"):
        resolve(Container(name="c", env=[from_field("spec.colour")]))


@pytest.mark.parametrize(
    ("resource", "divisor", "expected"),
    [
        ("limits.cpu", "1", "2"),  # 1500m, rounded up
        ("limits.cpu", "1m", "1500"),
        ("limits.memory", "1Mi", "8192"),  # no limit: what the node has
        ("requests.memory", "0", "134217728"),
        ("requests.cpu", "1m", "1500"),  # no request: the limit
    ],
)
def test_resource_references(resource: str, divisor: str, expected: str) -> None:
    requirements = ResourceRequirements(limits={"cpu": "1500m"}, requests={"memory": "128Mi"})
    source = EnvVarSource(resourceFieldRef=ResourceFieldSelector(resource=resource, divisor=divisor))
    container = Container(name="c", resources=requirements, env=[EnvVar(name="V", valueFrom=source)])
    assert resolve(container) == {"V": expected}


def objects() -> Objects:
    secret = Secret(data={"password": base64.b64encode(b"p\xc3\xa9").decode()})
    return {(Secret, "creds"): secret, (ConfigMap, "conf"): ConfigMap(data={"LEVEL": "info", "mode": "fast"})}


def test_whole_objects_are_refused_and_not_left_out() -> None:
    with pytest.raises(fields.UnknownFieldError, match="envFrom"):
        resolve(Container(name="c", envFrom=[EnvFromSource(configMapRef=ConfigMapEnvSource(name="conf"))]))


def key(source: EnvVarSource) -> Container:
    return Container(name="c", env=[EnvVar(name="V", valueFrom=source)])


def test_single_keys() -> None:
    secret = EnvVarSource(secretKeyRef=SecretKeySelector(name="creds", key="password"))
    config_map = EnvVarSource(configMapKeyRef=ConfigMapKeySelector(name="conf", key="mode"))
    assert resolve(key(secret), objects()) == {"V": "pé"}
    assert resolve(key(config_map), objects()) == {"V": "fast"}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (EnvVarSource(secretKeyRef=SecretKeySelector(name="gone", key="k")), 'secret "gone" not found'),
        (EnvVarSource(secretKeyRef=SecretKeySelector(name="creds", key="k")), "couldn't find key k in secret"),
        (EnvVarSource(configMapKeyRef=ConfigMapKeySelector(name="gone", key="k")), 'configmap "gone" not found'),
    ],
)
def test_what_is_missing_is_named(source: EnvVarSource, message: str) -> None:
    with pytest.raises(MissingReferenceError, match=message):
        resolve(key(source), objects())


def test_optional_references_may_be_missing() -> None:
    optional = EnvVarSource(secretKeyRef=SecretKeySelector(name="gone", key="k", optional=True))
    assert resolve(key(optional), objects()) == {}
