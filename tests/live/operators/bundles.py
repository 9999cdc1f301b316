"""A catalog for tests: the example's package, and an operator with webhooks and an aggregated API."""

from __future__ import annotations

from pathlib import Path

from sandbox.engine import example_catalog
from sandbox.engine.example_catalog import Config, bundle, definition, deployment_of, version_of

GADGETS = Path(__file__).parent / "programs/gadgets.py"
"""The program of the operator `gadgets`."""
WEBHOOK_FILES = "/tmp/k8s-webhook-server/serving-certs/tls"
API_FILES = "/apiserver.local.config/certificates/apiserver"


def gadgets() -> Config:
    """An operator with a validating and a conversion webhook, and an aggregated API in a Deployment of its own."""
    webhooks = _server("gadgets", 8443, f"{WEBHOOK_FILES}.crt", f"{WEBHOOK_FILES}.key")
    api = _server("views", 8444, f"{API_FILES}.crt", f"{API_FILES}.key")
    called = {"admissionReviewVersions": ["v1"], "sideEffects": "None", "deploymentName": "gadgets"}
    ports = {"containerPort": 443, "targetPort": 8443}
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["gadgets"], "operations": ["CREATE"]}
    validating = {
        **called,
        **ports,
        "type": "ValidatingAdmissionWebhook",
        "generateName": "vgadgets.example.com",
        "webhookPath": "/validate",
        "failurePolicy": "Fail",
        "rules": [rule],
    }
    converting = {
        **called,
        **ports,
        "type": "ConversionWebhook",
        "generateName": "cgadgets.example.com",
        "webhookPath": "/convert",
        "conversionCRDs": ["gadgets.example.com"],
    }
    owned = [
        {"name": "gadgets.example.com", "kind": "Gadget", "version": version, "displayName": "Gadget"}
        for version in ("v1alpha1", "v1")
    ]
    view = {"group": "views.example.com", "version": "v1", "kind": "View", "name": "views"}
    csv = version_of(
        "gadgets",
        "1.0.0",
        [webhooks, api],
        customresourcedefinitions={"owned": owned},
        webhookdefinitions=[validating, converting],
        apiservicedefinitions={"owned": [{**view, "deploymentName": "views", "containerPort": 8444}]},
    )
    return bundle("gadgets", "1.0.0", "Gadget", csv, definition("Gadget", "v1", "v1alpha1"))


def catalog() -> str:
    """Package `demo` with two channels, and package `gadgets`."""
    entries = [{"name": "gadgets.v1.0.0"}]
    return example_catalog.catalog(
        {"schema": "olm.package", "name": "gadgets", "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": "gadgets", "name": "stable", "entries": entries},
        gadgets(),
    )


def _server(name: str, port: int, *files: str) -> Config:
    command = ["/usr/local/bin/python3", "-c", GADGETS.read_text(), str(port), *files]
    probe = {"tcpSocket": {"port": port}, "periodSeconds": 1}
    return deployment_of(name, {"image": "sandbox/python:1", "command": command, "readinessProbe": probe})
