"""Webhooks of the hosted mesh on a data plane: by URL, verified, bounded in time, with a chosen failure policy."""

from __future__ import annotations

import ipaddress
import urllib.parse
from collections.abc import Iterator
from typing import Any, Final

from hosted_mesh_plan.istiod import is_istios
from hosted_mesh_plan.model import Resource
from hosted_mesh_plan.tree import UNKNOWN, at, items

from ..evaluation.context import Context
from ..evaluation.finding import Severity
from ..evaluation.rule import Place, Rule, not_known
from ..evaluation.settings import schema_of

KINDS: Final = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})


def check(context: Context, resource: Resource) -> Iterator[Place]:
    if resource.kind not in KINDS or not context.clusters.on_data_plane(resource) or resource.read_only:
        return
    if not _is_control_planes(context, resource):
        return
    for number_, hook in enumerate(items(resource.body, "webhooks")):
        where = f"webhooks[{number_}]"
        if hook is UNKNOWN:
            yield "webhooks", not_known("the list of webhooks")
            continue
        yield from _client(where, at(hook, "clientConfig", default={}))
        yield from _limits(context, where, hook)


def _is_control_planes(context: Context, resource: Resource) -> bool:
    """True for the mesh's webhooks: Istio's, and any that call out of the cluster. A data plane's own webhooks inside
    it are out of scope."""
    hooks = items(resource.body, "webhooks")
    return is_istios(context.stack, resource) or any(
        hook is UNKNOWN
        or at(hook, "clientConfig", "url") is not None
        or str(at(hook, "clientConfig", "service", "name", default="")).startswith("istiod")
        for hook in hooks
    )


def _client(where: str, client: Any) -> Iterator[Place]:
    url = at(client, "url")
    if at(client, "service") is not None:
        what = "calls a Service, but the control plane does not run in this cluster: use a URL"
        yield f"{where}.clientConfig.service", what
    if url is UNKNOWN:
        yield f"{where}.clientConfig.url", not_known("the URL")
    elif isinstance(url, str):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "https":
            yield f"{where}.clientConfig.url", "is not https"
        if _is_address(parts.hostname or ""):
            what = "has an IP address: use a host name, which certificates and moves need"
            yield f"{where}.clientConfig.url", what
        if parts.username or parts.password:
            yield f"{where}.clientConfig.url", "carries a credential"
    elif at(client, "service") is None:
        yield f"{where}.clientConfig", "has neither a URL nor a Service"
    if at(client, "caBundle") is None:
        yield f"{where}.clientConfig.caBundle", "is missing: the server is not verified against the mesh's own CA"


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _limits(context: Context, where: str, hook: Any) -> Iterator[Place]:
    timeout = at(hook, "timeoutSeconds")
    most = context.settings.most_timeout_seconds
    if timeout is UNKNOWN:
        yield f"{where}.timeoutSeconds", not_known("the time-out")
    elif timeout is None:
        yield f"{where}.timeoutSeconds", f"is missing: choose one, at most {most} s"
    elif not isinstance(timeout, int | float) or not 1 <= timeout <= most:
        what = f"is not between 1 and {most} s: a slow control plane would stall the data plane"
        yield f"{where}.timeoutSeconds", what
    policy = at(hook, "failurePolicy")
    if policy is UNKNOWN:
        yield f"{where}.failurePolicy", not_known("the failure policy")
    elif policy is None:
        yield f"{where}.failurePolicy", "is missing: choose the behaviour while the control plane is down"
    elif policy not in context.settings.failure_policies:
        yield f"{where}.failurePolicy", f"is not one of {', '.join(context.settings.failure_policies)}"


WEBHOOKS = Rule(
    name="data-plane-webhooks-by-url",
    title="Webhooks on a data plane are by URL",
    description="A webhook that a data plane calls at the control plane has an https URL with a host name, a CA "
    "bundle, a time-out and a failure policy.",
    cure="Give each webhook clientConfig.url (https, by name), clientConfig.caBundle, timeoutSeconds and "
    "failurePolicy; remove clientConfig.service.",
    severity=Severity.HIGH,
    page="webhooks",
    acceptable=True,
    rests_on_owner=True,
    check=check,
    schema=schema_of(
        most_timeout_seconds="Longest time-out of a webhook, in seconds.",
        failure_policies="Failure policies that are allowed.",
    ),
)
