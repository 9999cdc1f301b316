"""Charts: names of what is in them, changes, order, removal. With Istio's own charts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pulumi_tls as tls
import pytest
from pulumi_kubernetes.helm.v4 import Chart

from sandbox.toolchain import Tools
from tests.engine.plugins.stack import Stack
from tests.recorded import charts
from tests.support.kubectl import Kubectl

Provider = Callable[..., pulumi.ResourceOptions]

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.tests.example}
spec:
  group: tests.example
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


@pytest.fixture
def no_definitions(kubectl: Kubectl) -> Iterator[None]:
    """Istio's definitions stay when its chart goes; each test starts without and leaves none."""
    yield
    names = [one for one in kubectl.names("crd") if one.endswith((".istio.io", "tests.example"))]
    if names:
        kubectl("delete", "crd", *names)


def test_charts_are_rendered_as_by_the_official_plug_ins_library(tools: Tools) -> None:
    """Byte for byte, by another Helm. tests/recorded/README.md says how to record them anew."""
    assert charts.rendered(tools["helm"], tools.charts) == charts.recorded()


@pytest.mark.usefixtures("no_definitions")
def test_istio_is_installed_changed_and_removed(
    stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str, tools: Tools
) -> None:
    def program(level: str, replicas: int = 1) -> Callable[[], None]:
        def run() -> None:
            options = provider()
            # Istio's charts name the namespace in their values, beside Helm's.
            common = {"istioNamespace": namespace}
            base = Chart(
                "base",
                chart=str(tools.charts / "base"),
                namespace=namespace,
                values={"global": common},
                opts=options,
            )
            values = {
                "global": {**common, "logging": {"level": level}},
                "autoscaleEnabled": False,
                "replicaCount": replicas,
            }
            after = pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(depends_on=[base]))
            Chart(
                "istiod",
                chart=str(tools.charts / "istiod"),
                namespace=namespace,
                values=values,
                skip_await=True,
                opts=after,
            )

        return run

    made = stack.up(program("default:info"))["create"]
    assert made > 30
    names = set(stack.resources())
    assert f"istiod:{namespace}/istiod" in names
    assert "base:gateways.networking.istio.io" in names
    children = [one for name, one in stack.resources().items() if name.startswith("base:")]
    assert {one["parent"].rpartition("::")[2] for one in children} == {"base"}
    assert stack.preview() == {"same": made}

    changed = stack.up(program("default:debug", replicas=2))
    assert changed["update"] >= 1
    live = kubectl.get("deployment", "istiod", "--namespace", namespace)
    assert "--log_output_level=default:debug" in live["spec"]["template"]["spec"]["containers"][0]["args"]
    assert live["spec"]["replicas"] == 2

    stack.engine.destroy()
    assert kubectl.names("deployments", "--namespace", namespace) == []
    # Helm's resource policy: definitions outlive their chart.
    assert "gateways.networking.istio.io" in kubectl.names("crd")


def test_unknown_values_hide_what_is_in_a_chart_until_they_are_known(
    stack: Stack, provider: Provider, tmp_path: Path
) -> None:
    chart = _chart(tmp_path, {"settings.yaml": _CONFIG_MAP})

    def program() -> None:
        key = tls.PrivateKey("key", algorithm="ED25519")
        Chart("app", chart=str(chart), values={"colour": key.public_key_fingerprint_md5}, opts=provider())

    assert stack.preview(program)["create"] == 4  # the stack, the provider, the key, the chart
    assert stack.up(program)["create"] == 5
    assert stack.preview() == {"same": 5}


def test_hooks_are_left_out_and_a_change_of_values_reaches_the_objects(
    stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str, tmp_path: Path
) -> None:
    hook = _CONFIG_MAP.replace("name: settings", 'name: hook, annotations: {"helm.sh/hook": pre-install}')
    chart = _chart(tmp_path, {"settings.yaml": _CONFIG_MAP, "hook.yaml": hook})

    def program(**arguments: Any) -> Callable[[], None]:
        return lambda: Chart("app", chart=str(chart), opts=provider(), **arguments) and None

    stack.up(program(values={"colour": "red"}))
    assert not kubectl.exists("configmap", "hook", "--namespace", namespace)
    assert stack.up(program(values={"colour": "blue"}))["replace"] == 1
    assert kubectl.get("configmap", "settings", "--namespace", namespace)["data"] == {"colour": "blue"}


def test_transforms_of_the_program_reach_what_is_in_a_chart(
    stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str, tmp_path: Path
) -> None:
    chart = _chart(tmp_path, {"settings.yaml": _CONFIG_MAP})

    def label(arguments: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
        if arguments.type_ != "kubernetes:core/v1:ConfigMap":
            return None
        properties = {**arguments.props, "data": {"colour": "transformed"}}
        return pulumi.ResourceTransformResult(properties, arguments.opts)

    def program() -> None:
        options = pulumi.ResourceOptions.merge(provider(), pulumi.ResourceOptions(transforms=[label]))
        Chart("app", chart=str(chart), values={"colour": "red"}, opts=options)

    stack.up(program)
    assert kubectl.get("configmap", "settings", "--namespace", namespace)["data"] == {"colour": "transformed"}


@pytest.mark.usefixtures("no_definitions")
def test_a_definition_and_an_object_of_its_kind_are_made_in_one_run(
    stack: Stack, provider: Provider, kubectl: Kubectl, namespace: str, tmp_path: Path
) -> None:
    widget = "apiVersion: tests.example/v1\nkind: Widget\nmetadata: {name: one}\nspec: {size: 3}\n"
    chart = _chart(tmp_path, {"a-widget.yaml": widget, "definition.yaml": DEFINITION})

    def program() -> None:
        options = provider()
        group = Chart("group", chart=str(chart), opts=options)
        after = pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(depends_on=[group]))
        kubernetes.apiextensions.CustomResource(
            "two", api_version="tests.example/v1", kind="Widget", metadata={"name": "two"}, spec={"size": 4}, opts=after
        )

    stack.up(program)
    assert kubectl.names("widgets.tests.example", "--namespace", namespace) == ["one", "two"]
    assert set(stack.preview()) == {"same"}
    stack.engine.destroy()
    assert not kubectl.exists("crd", "widgets.tests.example")


_CONFIG_MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: "{{ .Values.colour }}"}
"""


def _chart(folder: Path, templates: dict[str, str]) -> Path:
    chart = folder / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: app\nversion: 0.1.0\n")
    for name, text in templates.items():
        (chart / "templates" / name).write_text(text)
    return chart
