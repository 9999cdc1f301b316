"""A catalog of operators with inline objects: no image registry is here, so no unpack Job runs."""

from __future__ import annotations

import base64
import json
from typing import Any

Config = dict[str, Any]
OLM = "operators.coreos.com"


def demo(version: str) -> Config:
    """One version of an operator that owns Widgets."""
    deployment = deployment_of("demo", {"image": "sandbox/sample:1"})
    owned = {"owned": [{"name": "widgets.example.com", "kind": "Widget", "version": "v1", "displayName": "Widget"}]}
    csv = version_of("demo", version, [deployment], customresourcedefinitions=owned)
    return bundle("demo", version, "Widget", csv, definition("Widget", "v1"))


def catalog(*more: Config) -> str:
    """Package `demo` with the channels stable and fast. more: other packages' content."""
    first, second = {"name": "demo.v1.0.0"}, {"name": "demo.v1.1.0", "replaces": "demo.v1.0.0"}
    found = [
        {"schema": "olm.package", "name": "demo", "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": "demo", "name": "stable", "entries": [first]},
        {"schema": "olm.channel", "package": "demo", "name": "fast", "entries": [first, second]},
        demo("1.0.0"),
        demo("1.1.0"),
        *more,
    ]
    return "\n---\n".join(map(json.dumps, found))


def deployment_of(name: str, container: Config) -> Config:
    """A Deployment of an operator, as its version lists it."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": name, **container}]}}
    return {"name": name, "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}}


def version_of(name: str, version: str, deployments: list[Config], **spec: Any) -> Config:
    """A ClusterServiceVersion. It is for all namespaces alone if it has webhooks: OLM requires it of conversion."""
    narrow = "webhookdefinitions" not in spec
    modes = {"OwnNamespace": narrow, "SingleNamespace": narrow, "MultiNamespace": narrow, "AllNamespaces": True}
    return {
        "apiVersion": f"{OLM}/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": f"{name}.v{version}"},
        "spec": {
            "displayName": name,
            "version": version,
            "installModes": [{"type": mode, "supported": supported} for mode, supported in modes.items()],
            "install": {"strategy": "deployment", "spec": {"deployments": deployments}},
            **spec,
        },
    }


def definition(kind: str, *versions: str) -> Config:
    """A CustomResourceDefinition; the first version is stored."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "scope": "Namespaced",
            "versions": [
                {"name": one, "served": True, "storage": one == versions[0], "schema": schema} for one in versions
            ],
        },
    }


def bundle(package: str, version: str, kind: str, *objects: Config) -> Config:
    """A bundle with these objects inline."""
    data = [base64.b64encode(json.dumps(one).encode()).decode() for one in objects]
    versions = {one["name"] for each in objects for one in each["spec"].get("versions", ())}
    facts = [
        {"type": "olm.package", "value": {"packageName": package, "version": version}},
        *(
            {"type": "olm.gvk", "value": {"group": "example.com", "kind": kind, "version": one}}
            for one in sorted(versions)
        ),
        *({"type": "olm.bundle.object", "value": {"data": one}} for one in data),
    ]
    return {
        "schema": "olm.bundle",
        "name": f"{package}.v{version}",
        "package": package,
        "image": "",
        "properties": facts,
    }
