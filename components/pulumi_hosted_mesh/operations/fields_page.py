"""Generates docs/components/fields.md from the documents' models."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from inspect import cleandoc
from typing import Any, Final

from pydantic import BaseModel

from pulumi_hosted_mesh.spec.application import Application
from pulumi_hosted_mesh.spec.cluster import ClusterBase
from pulumi_hosted_mesh.spec.data_plane import DataPlane
from pulumi_hosted_mesh.spec.deployment import Deployment
from pulumi_hosted_mesh.spec.dns import DnsBridge, DnsEdgeStack, DnsStack
from pulumi_hosted_mesh.spec.endpoint import EndpointDocument
from pulumi_hosted_mesh.spec.federation import Federation, FederationMember, Offer
from pulumi_hosted_mesh.spec.fields import Model, Setter, models_in
from pulumi_hosted_mesh.spec.gateway import GatewayFacts, GatewaySettings, GatewayStack
from pulumi_hosted_mesh.spec.intents import Intents, IntentsTarget
from pulumi_hosted_mesh.spec.inventory import Inventory
from pulumi_hosted_mesh.spec.mesh import Mesh
from pulumi_hosted_mesh.spec.observability import Observability, ObservabilityStack
from pulumi_hosted_mesh.spec.operators import Operators, OperatorsStack
from pulumi_hosted_mesh.spec.setters import fields_with_setters
from pulumi_hosted_mesh.spec.stack import RootSettings, StackSettings

HEAD = """\
# Every field

After this page you can write any field of the [documents](mesh-document.md), with its type and default. The tables are
generated from the models by `python -m pulumi_hosted_mesh.operations.fields_page`. Components in Python take the same
fields in snake_case: `sourceRanges` is `source_ranges`.

"Set by" names the person who sets a field where the two sides are run by two people: the **operator** of the control
plane, the **owner** of the data plane, or **both**, each in a document of their own, to the same value. "as its field":
the setter of the field that holds this part. A program for both sides, such as `all-in-one`, sets all fields. JSON
Schemas have the setter as `x-set-by`.

A minimal mesh document, for the stack `all-in-one` and `HostedMesh`:

```yaml
name: demo
controlPlane:
  cluster: {kubeconfig: ~/.kube/CONTROL-PLANE.yaml, context: control-plane}
revisions:
  - host: istiod.demo.example.com
    exposure: {sourceRanges: [203.0.113.0/24]}
memberships:
  - cluster: {kubeconfig: ~/.kube/DATA-PLANE.yaml, context: data-plane}
```

A full one shows each part once. Leave out a field to get its default:

```yaml
name: demo
tenant: acme
split: true
trustDomain: demo.example.com
trust:
  algorithm: ecdsa-p256
  root: {lifetimeDays: 3650, renewBeforeDays: 400, protect: true}
  intermediate: {lifetimeDays: 365, renewBeforeDays: 60}
  workloadLifetimeHours: 24
controlPlane:
  cluster:
    kubeconfig: ~/.kube/CONTROL-PLANE.yaml
    context: control-plane
    server: https://api.control-plane.example.com:6443   # rejects a kubeconfig of another server
    identity: control-plane-1                            # set it once: another one replaces all objects
  priority: 1000
  networkPolicy: {apiServerRanges: [192.0.2.10/32], fetchJwks: false, issuerRanges: [10.20.0.0/24],
                  metricsFrom: [monitoring], dnsPorts: [53]}
crossNetwork: none
tags: {prod: 1-31}
revisions:
  - name: 1-31
    host: istiod.demo.example.com
    exposure:
      sourceRanges: [203.0.113.0/24]                     # nodes of the data plane
      webhooks: {host: webhooks.demo.example.com, sourceRanges: [198.51.100.7/32]}   # its API server
      annotations: {example.com/load-balancer: internal}
    charts: {version: 1.31.1, repository: "oci://registry.example.com/istio", hub: registry.example.com/istio}
    istiod:
      replicas: 2
      autoscaling: {maxReplicas: 5, cpuUtilization: 80}
      resources: {cpuRequest: 250m, memoryRequest: 512Mi, cpuLimit: "2", memoryLimit: 2Gi}
      scheduling: {nodeSelector: {example.com/pool: mesh}}
      imagePullSecrets: [registry]
    features: {addressAllocation: true}
    proxies:
      accessLog: {encoding: JSON}
      outboundTraffic: REGISTRY_ONLY
      holdApplication: true
      resources: {cpuRequest: 100m, memoryRequest: 128Mi}
memberships:
  - name: east
    clusterId: east-1
    network: east
    cluster:
      kubeconfig: ~/.kube/DATA-PLANE.yaml
      context: data-plane
      server: https://api.data-plane.example.com:6443
      identity: data-plane-1
    access:
      apiServer: https://api.data-plane.example.com:6443 # as istiod reaches it
      features: {addressAllocation: true}                # the user grants, the revision uses
    webhooks: {timeoutSeconds: 10, injectionFailurePolicy: Fail, validationFailurePolicy: Fail}
    gateways:
      - name: ingress
        replicas: 2
        service: {sourceRanges: [192.0.2.0/24]}
    crds: {install: true, keepOnDestroy: true}
```

"""
DOCUMENTS: Final[dict[str, tuple[type[Model], ...]]] = {
    "Mesh document": (Mesh,),
    "Data plane's document": (DataPlane,),
    "Endpoint": (EndpointDocument,),
    "Deployment document": (Deployment,),
    "Application document": (Application,),
    "Federation document": (Federation, Offer),
    "Intents document": (Intents,),
    "Inventory": (Inventory,),
    "Operators document": (Operators,),
    "DNS document": (DnsBridge,),
    "Observability document": (Observability,),
    "Shared gateway's document": (GatewaySettings, GatewayFacts),
    "Stack files": (
        StackSettings,
        RootSettings,
        ClusterBase,
        FederationMember,
        IntentsTarget,
        DnsEdgeStack,
        DnsStack,
        GatewayStack,
        ObservabilityStack,
        OperatorsStack,
    ),
}
MOST_INSIDE: Final = 8
"""Fields of a model that may stand in the table of another one."""
WHO: Final = {Setter.OPERATOR: "operator", Setter.OWNER: "owner", Setter.BOTH: "both"}
WORDS: Final = {
    "string": "text",
    "integer": "number",
    "number": "number",
    "boolean": "true or false",
    "object": "mapping",
}


def page() -> str:
    """The page's text."""
    seen: set[str] = set()
    parts = []
    for title, models in DOCUMENTS.items():
        parts.append(f"## {title}\n")
        for model in models:
            parts += [_section(one) for one in _parts(model, seen) if one.__name__ not in _inside()]
    return HEAD + "\n".join(parts)


def _parts(model: type[BaseModel], seen: set[str]) -> Iterator[type[BaseModel]]:
    """A model, then the models of its fields, each once on the page."""
    if model.__name__ in seen:
        return
    seen.add(model.__name__)
    yield model
    for field in model.model_fields.values():
        for part in models_in(field.annotation):
            yield from _parts(part, seen)


@cache
def _inside() -> frozenset[str]:
    """Models that are the whole type of exactly one field: their fields stand in the table of that field's model."""
    seen: set[str] = set()
    models = [part for given in DOCUMENTS.values() for model in given for part in _parts(model, seen)]
    fields = [field for model in models for field in _schema(model)["properties"].values()]
    uses = Counter(name for field in fields for name in re.findall(r"#/\$defs/(\w+)", json.dumps(field)))
    own = Counter(name for field in fields if (name := _part(field)))
    apart = {model.__name__ for model in models if len(model.model_fields) > MOST_INSIDE}
    apart |= {model.__name__ for given in DOCUMENTS.values() for model in given}
    once = {name for name, number in own.items() if number == uses[name] == 1}
    return frozenset(once & {model.__name__ for model in models} - apart)


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    # A model that refers to itself would be under $defs; none does.
    return model.model_json_schema(by_alias=True)


def _part(field: dict[str, Any]) -> str:
    """The name of the model that is the field's whole type, or the type of a list's items; else empty."""
    arms = [arm for arm in field.get("anyOf", [field]) if arm.get("type") != "null"]
    one = arms[0].get("items", arms[0]) if len(arms) == 1 else {}
    return str(one.get("$ref", "")).rpartition("/")[2]


def _section(model: type[BaseModel]) -> str:
    schema = _schema(model)
    head = ["| field | type | default | set by | meaning |", "|---|---|---|---|---|"]
    rows = list(_rows(schema, schema.get("$defs", {}), "", model.__name__))
    return "\n".join([f"### {model.__name__}", "", cleandoc(model.__doc__ or ""), "", *head, *rows, ""])


def _rows(model: dict[str, Any], definitions: dict[str, Any], above: str, name_of_model: str) -> Iterator[str]:
    """The rows of a model's fields. above: the model's own field, with a dot."""
    for name, field in model["properties"].items():
        default, setter = _default(field, name in model.get("required", [])), _setter(name_of_model, name)
        if (part := _part(field)) in _inside():
            text = f"{field['description']} {definitions[part].get('description', '')}"
            is_list = field.get("type") == "array"
            kind = "list, its items' fields follow" if is_list else "its fields follow"
            yield f"| `{above}{name}` | {kind} | {default} | {setter} | {_text(text)} |"
            yield from _rows(definitions[part], definitions, f"{above}{name}{'[].' if is_list else '.'}", part)
        else:
            kind, text = _type(field, definitions), _text(field["description"])
            yield f"| `{above}{name}` | {kind} | {default} | {setter} | {text} |"


@cache
def _setters() -> dict[tuple[str, str], set[Setter]]:
    """The setters of each field in all documents, by its model and name."""
    found: dict[tuple[str, str], set[Setter]] = {}
    for model in (model for models in DOCUMENTS.values() for model in models):
        for part, name, setter in fields_with_setters(model):
            found.setdefault((part.__name__, name), set()).add(setter)
    return found


def _setter(model: str, field: str) -> str:
    found = _setters()[model, field]
    return WHO[next(iter(found))] if len(found) == 1 else "as its field"


def _type(field: dict[str, Any], definitions: dict[str, Any]) -> str:
    """A field's type in words; for a model with its own table, a link."""
    if reference := field.get("$ref"):
        name = reference.rpartition("/")[2]
        found = definitions[name]
        return _choice(found["enum"]) if "enum" in found else f"[{name}](#{name.lower()})"
    if arms := field.get("anyOf") or field.get("oneOf"):
        return " or ".join(dict.fromkeys(_type(arm, definitions) for arm in arms if arm.get("type") != "null"))
    if "const" in field:
        return _choice([field["const"]])
    if "enum" in field:
        return _choice(field["enum"])
    if field.get("type") == "array":
        return f"list: {_type(field['items'], definitions)}"
    values = [*field.get("patternProperties", {}).values(), field.get("additionalProperties")]
    if isinstance(values[0], dict):
        return f"mapping to: {_type(values[0], definitions)}"
    word = WORDS.get(field.get("type", ""), "anything")
    least, most = field.get("minimum"), field.get("maximum")
    if least is None:
        return word
    return f"{word}, {least} to {most}" if most is not None else f"{word}, {least} or more"


def _choice(values: list[Any]) -> str:
    return ", ".join(f"`{value}`" for value in values)


def _default(field: dict[str, Any], required: bool) -> str:
    """A field's default; empty without one, and for a model with defaults in its own fields."""
    if required:
        return "**required**"
    value = field.get("default")
    if value in (None, [], {}) or isinstance(value, dict):
        return ""
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def _text(description: str) -> str:
    return " ".join(description.split()).replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")
