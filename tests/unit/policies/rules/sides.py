"""Plans of two sides, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hosted_mesh_plan import vocabulary
from hosted_mesh_plan.clusters import ClusterConfig
from hosted_mesh_plan.model import Provider, Resource, Stack
from hosted_mesh_policies.evaluation.context import Context
from hosted_mesh_policies.evaluation.rule import judge
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.rules.credentials import FLOW, VALUE

from tests.corpus import literals

URN = "urn:pulumi:s::p::"
WORD = "random:index/randomPassword:RandomPassword"
KEY = "tls:index/privateKey:PrivateKey"
REFERENCE = "pulumi:pulumi:StackReference"
LOGIN = literals.opaque("what both sides have", 40)
OWN = vocabulary.DATA_PLANE_OWNED_ANNOTATION
SIDES: dict[str, tuple[str, ...]] = {"control_plane_providers": ("ours",), "data_plane_providers": ("users",)}

REASON = {OWN: "the tenant's agent logs in to our collector by it"}


def resource(kind: str, name: str, through: str = "", **more: Any) -> Resource:
    package = kind.partition(":")[0]
    provider = Provider(f"{URN}pulumi:providers:{package}::{through}", f"pulumi:providers:{package}", through, {})
    return Resource(f"{URN}{kind}::{name}", kind, name, provider=provider if through else None, **more)


def secret(
    side: str, value: Any, *sources: Resource, name: str = "login", annotations: Mapping[str, str] | None = None
) -> Resource:
    """A Secret that keeps a value, made from sources."""
    body = {"metadata": {"name": name, "annotations": dict(annotations or {})}, "stringData": {"password": value}}
    urns = tuple(one.urn for one in sources)
    dependencies = {"stringData": urns} if urns else {}
    return resource("kubernetes:core/v1:Secret", f"{side}-{name}", side, inputs=body, dependencies=dependencies)


def judged(
    *resources: Resource, stacks: tuple[str, ...] = (), logins: tuple[str, ...] = (), **said: tuple[str, ...]
) -> list[str]:
    """What is said. said: whose providers are, beside the two clusters'."""
    merged = {key: (*names, *said.get(key, ())) for key, names in SIDES.items()}
    settings = Settings(clusters=ClusterConfig(**merged), data_plane_stacks=stacks, data_plane_logins=logins)
    context = Context(Stack("s", resources), settings)
    return [finding.message for rule in (FLOW, VALUE) for finding in judge(rule, context)]
