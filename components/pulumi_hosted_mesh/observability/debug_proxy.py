"""The debug proxy in the control plane's cluster, and its way to istiod."""

from __future__ import annotations

from typing import Any

import pulumi
from pulumi_kubernetes import apps, core, networking

from pulumi_hosted_mesh.observability import debug_proxy_objects as objects
from pulumi_hosted_mesh.observability.parts import Parts
from pulumi_hosted_mesh.observability.server_certificate import signed_files
from pulumi_hosted_mesh.spec.observability import Observability, Placement
from pulumi_hosted_mesh.vocabulary import SKIP_AWAIT_ANNOTATION


def address(document: Observability) -> str:
    """`host:port` for istioctl; empty without a debug proxy."""
    part = document.debug_proxy
    return "" if part.placement is Placement.NONE else f"{part.host}:{part.port}"


def make(parts: Parts, cacerts: pulumi.Output[Any] | None) -> None:
    """Creates the debug proxy, if the document has one. parts: with the namespace of the control plane's cluster."""
    document, prefix = parts.document, f"{parts.prefix}-debug-proxy"
    if document.debug_proxy.placement is not Placement.CONTROL_PLANE:
        return
    mesh, to_istiod = document.istiods_namespace, objects.istiod_service_name(document)
    before: list[pulumi.Resource] = [
        core.v1.ServiceAccount(
            f"{prefix}-account",
            metadata=parts.metadata(objects.DEBUG_PROXY),
            automount_service_account_token=False,
            opts=parts.options(),
        ),
        networking.v1.NetworkPolicy(
            f"{prefix}-connections",
            metadata=parts.metadata(objects.DEBUG_PROXY),
            spec=objects.network_policy(document),
            opts=parts.options(),
        ),
        networking.v1.NetworkPolicy(
            f"{prefix}-to-istiod",
            metadata=parts.metadata(to_istiod, namespace=mesh),
            spec=objects.istiod_network_policy(document),
            opts=parts.options(),
        ),
        core.v1.Service(
            f"{prefix}-istiod",
            metadata=parts.metadata(to_istiod, {SKIP_AWAIT_ANNOTATION: "true"}, namespace=mesh),
            spec=objects.istiod_service(),
            opts=parts.options(),
        ),
    ]
    if cacerts is not None and document.debug_proxy.is_signed:
        host = str(document.debug_proxy.host)
        files = signed_files(prefix, host, objects.DEBUG_PROXY, cacerts, parent=parts.parent)
        secret = core.v1.Secret(
            f"{prefix}-server",
            metadata=parts.metadata(objects.SERVER_SECRET),
            string_data=files.apply(lambda found: {name: found[name] for name in objects.SERVER_FILES}),
            opts=parts.options(),
        )
        before.append(secret)
    apps.v1.Deployment(
        prefix,
        metadata=parts.metadata(objects.DEBUG_PROXY, parts.waits),
        spec=objects.deployment(document),
        opts=parts.options(*before),
    )
    annotations, spec = objects.service(document)
    core.v1.Service(
        f"{prefix}-exposed", metadata=parts.metadata(objects.DEBUG_PROXY, annotations), spec=spec, opts=parts.options()
    )
