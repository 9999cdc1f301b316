"""Advisory rules: what a user would thank you for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from cryptography import x509

from .. import vocabulary
from ..detect.secrets.resource_secrets import secret_leaves
from ..detect.secrets.resource_types import CERTIFICATE_TYPES, CHART_TYPES
from ..evaluation.context import Context
from ..evaluation.finding import Severity
from ..evaluation.rule import Place, Rule
from ..evaluation.settings import schema_of
from ..plan.istiod import discovery_container, pod_of
from ..plan.model import Resource
from ..plan.tree import UNKNOWN, at, show

HOURS: Final = 24


def certificates(context: Context, resource: Resource) -> Iterator[Place]:
    if resource.kind == "Secret" and resource.object_name == vocabulary.CACERTS_SECRET:
        yield from _ending(resource, timedelta(days=context.settings.renewal_due_days))
    if resource.type not in CERTIFICATE_TYPES or resource.type.endswith("CertRequest"):
        return
    hours, renewal = at(resource.body, "validityPeriodHours"), at(resource.body, "earlyRenewalHours")
    authority = at(resource.body, "isCaCertificate") is True
    most = context.settings.most_authority_days if authority else context.settings.most_leaf_days
    if isinstance(hours, int | float) and hours > most * HOURS:
        yield "validityPeriodHours", f"is more than {most} days for {'an authority' if authority else 'a leaf'}"
    if renewal is None or renewal == 0:
        yield "earlyRenewalHours", "is not set: the certificate expires before anything renews it"
    elif isinstance(hours, int | float) and isinstance(renewal, int | float) and renewal >= hours:
        yield "earlyRenewalHours", "is not shorter than the certificate's life: every update would replace it"


def _ending(resource: Resource, due: timedelta) -> Iterator[Place]:
    """Certificates of istiod's authority whose renewal is due, whoever makes them."""
    for path, text in secret_leaves(resource, resource.asked):
        if b"BEGIN CERTIFICATE" not in text:
            continue
        with suppress(ValueError):
            ends = min(one.not_valid_after_utc for one in x509.load_pem_x509_certificates(text))
            if ends - datetime.now(UTC) < due:
                yield show(path), f"ends {ends:%Y-%m-%d}: its renewal is due"


def _namespaces_with(context: Context, kind: str) -> set[tuple[str, str]]:
    """The namespaces, each with its cluster's provider, that have an object of a kind."""
    return {(one.provider.urn, one.namespace) for one in context.stack.resources if one.kind == kind and one.provider}


def quotas(context: Context) -> Iterator[tuple[Resource, str, str]]:
    with_quota = _namespaces_with(context, "ResourceQuota")
    for resource in context.stack.resources:
        if resource.kind != "Namespace" or resource.provider is None or not context.clusters.on_control_plane(resource):
            continue
        if at(resource.body, "metadata", "labels", vocabulary.MESH_LABEL) is None:
            continue
        if (resource.provider.urn, resource.object_name) not in with_quota:
            yield resource, "", "has no ResourceQuota: one tenant's load reaches the others"


def disruption(context: Context) -> Iterator[tuple[Resource, str, str]]:
    with_budget = _namespaces_with(context, "PodDisruptionBudget")
    for resource in context.stack.resources:
        if resource.provider is None or discovery_container(resource) is None:
            continue
        replicas = at(resource.body, "spec", "replicas", default=1)
        if replicas is UNKNOWN or not isinstance(replicas, int | float) or replicas < 2:
            continue
        if (resource.provider.urn, resource.namespace) not in with_budget:
            what = "several replicas but no PodDisruptionBudget: a drained node takes all of them"
            yield resource, "spec.replicas", what


def charts(_: Context, resource: Resource) -> Iterator[Place]:
    if resource.type in CHART_TYPES:
        chart = at(resource.body, "chart", default="")
        by_name = isinstance(chart, str) and chart != "" and not chart.startswith(("/", ".", "~"))
        by_name = by_name and not str(chart).endswith(".tgz")  # an archive is one version
        if by_name and at(resource.body, "version") is None:
            yield "version", "is not set: the next preview may render another chart"
    container = discovery_container(resource)
    if container is not None and pod_of(resource) is not None:
        image = at(container, "image")
        if isinstance(image, str) and "@" not in image and image.rsplit("/", 1)[-1].partition(":")[2] in {"", "latest"}:
            yield "spec.template.spec.containers.image", "has no version: a restart may bring another istiod"


_advice = partial(Rule, severity=Severity.LOW, page="advice", mandatory=False)
CERTIFICATES = _advice(
    name="certificates-are-renewed-in-time",
    title="Certificates live reasonably and are renewed",
    description="Certificates live no longer than needed and are renewed before they expire.",
    cure="Set validityPeriodHours and earlyRenewalHours. Where a renewal is due, run `pulumi up` of the stack that "
    "signs it, or bring another one, then of the stacks that read it.",
    check=certificates,
    schema=schema_of(
        most_authority_days="Longest life of a certificate authority, in days.",
        most_leaf_days="Longest life of any other certificate, in days.",
        renewal_due_days="Before its end, when the renewal of a certificate in `cacerts` is due, in days.",
    ),
)
QUOTAS = _advice(
    name="tenants-have-quota",
    title="Tenants have a quota",
    description="Each mesh's namespace in the control plane has a ResourceQuota.",
    cure="Create a ResourceQuota in the mesh's namespace.",
    check_stack=quotas,
)
DISRUPTION = _advice(
    name="istiod-survives-a-drain",
    title="istiod survives a drained node",
    description="An istiod of several replicas has a PodDisruptionBudget.",
    cure="Create a PodDisruptionBudget that keeps one replica.",
    check_stack=disruption,
)
CHART_VERSIONS = _advice(
    name="charts-and-images-are-pinned",
    title="Charts and images are pinned",
    description="Helm charts and istiod's image have a version.",
    cure="Set the chart's version, and a tag or digest on the image.",
    check=charts,
)
