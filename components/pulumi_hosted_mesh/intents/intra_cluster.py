"""Intents of type `intra-cluster`: callers beside their callee. Pure."""

from __future__ import annotations

from pulumi_hosted_mesh.intents.destinations import destination_rules, has_settings
from pulumi_hosted_mesh.intents.policies import strict, to_callee, tokens
from pulumi_hosted_mesh.intents.resolved import Caller, Resolved
from pulumi_hosted_mesh.intents.routes import has_routes, routes
from pulumi_hosted_mesh.intents.work import Work
from pulumi_hosted_mesh.spec.inventory import InventoryCluster


def compile_intra_cluster(work: Work, one: Resolved) -> None:
    """Policies for callers in the callee's clusters, and the routes to it."""
    near: dict[str, list[Caller]] = {}
    for caller in one.callers:
        shared = [name for name in one.service.clusters if name in caller.service.clusters]
        if not shared:
            rule = f"runs in no cluster of {one.service.namespace}/{one.service.name}"
            work.refuse(one, f"clients[{caller.at}].service", rule, "Use type inter-cluster for calls between clusters")
        for mesh in dict.fromkeys(work.places.clusters[name].mesh for name in shared):
            near.setdefault(mesh, []).append(caller)
    for mesh, callers in near.items():
        config = work.places.config(mesh)
        principals = [name for caller in callers for name in caller.accounts(config.domain)]
        add_callee(work, one, config, principals)


def add_callee(work: Work, one: Resolved, config: InventoryCluster, principals: list[str]) -> None:
    """The callee's side in one mesh: its policies, its tokens, its routes. principals: of direct callers."""
    mesh = config.mesh
    if principals:
        work.add(config, to_callee(one, config, principals, is_caller=True))
    if one.intent.jwt and work.claim(
        one, "jwt", "Give jwt in one intent", mesh, "tokens of", "/".join(one.service.key)
    ):
        work.add(config, tokens(one, config, one.service.namespace, one.service.selector))
    strictly = one.intent.mutual_tls
    if strictly and (mesh, "mutual TLS of", "/".join(one.service.key)) not in work.claims:
        work.claims[mesh, "mutual TLS of", "/".join(one.service.key)] = one
        work.add(config, strict(one, config))
    add_routes(work, one, config)


def add_routes(work: Work, one: Resolved, config: InventoryCluster) -> None:
    """Routes and settings of a host, of which one intent of a mesh may have each."""
    host, fix = one.host(config), "Put the settings of one service into one intent"
    if has_settings(one.intent) and work.claim(one, "", fix, config.mesh, "settings of host", host):
        work.add(config, destination_rules(one, config))
    if has_routes(one.intent) and work.claim(one, "", fix, config.mesh, "routes of host", host):
        work.add(config, routes(one, config))
