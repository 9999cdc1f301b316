"""AuthorizationPolicies of intents: the rules, the selected workload, and deny-all. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pulumi_hosted_mesh.intents.compiled import SECURITY, Manifest, Origin, manifest, name_of
from pulumi_hosted_mesh.intents.patterns import matches
from pulumi_hosted_mesh.intents.resolved import Resolved
from pulumi_hosted_mesh.spec.intents import PRINCIPAL, AccessRule, Action
from pulumi_hosted_mesh.spec.inventory import InventoryCluster


def source_of(one: Resolved, rule: AccessRule, principals: Sequence[str], *, is_caller: bool) -> Manifest | None:
    """The callers of a rule. is_caller: whether the principals are callers', and not a gateway's, which stands for all.

    None where the rule's accounts and the clients' have nothing in common.
    """
    source: Manifest = {}
    accounts = list(principals)
    if is_caller and rule.service_accounts:
        accounts = _common(principals, rule.service_accounts)
        if not accounts:
            return None
    if accounts:
        source["principals"] = sorted({*accounts})
    if is_caller and rule.namespaces:
        source["namespaces"] = sorted({*rule.namespaces})
    if rule.ranges:
        # A caller in the mesh writes X-Forwarded-For itself, so its connection's address counts there.
        source["ipBlocks" if is_caller else "remoteIpBlocks"] = sorted({*rule.ranges})
    if one.intent.jwt and rule.action is Action.ALLOW:
        source["requestPrincipals"] = [f"{one.intent.jwt.issuer}/*"]
    return source


def _common(principals: Iterable[str], accounts: Iterable[str]) -> list[str]:
    """Principals of both, where accounts are short or whole."""
    given = list(principals)
    found = []
    for account in accounts:
        wholes = [account] if PRINCIPAL.fullmatch(account) else [f"{one.rpartition('/')[0]}/{account}" for one in given]
        for whole in wholes:
            found += [whole for one in given if matches(one, whole)]
            found += [one for one in given if matches(whole, one)]
    return sorted({*found})


def rules(
    one: Resolved,
    action: Action,
    principals: Sequence[str],
    *,
    is_caller: bool = True,
    hosts: Sequence[str] = (),
    ports: Sequence[int] = (),
    sni: str | None = None,
) -> list[Manifest]:
    """The rules of one policy. hosts: a gateway's, in place of the rules'. sni: of TLS that a gateway passes on."""
    access = [rule for rule in one.intent.access if rule.action is action]
    if not access and action is Action.ALLOW:
        access = [AccessRule()]
    made = []
    for rule in access:
        source = source_of(one, rule, principals, is_caller=is_caller)
        if source is None:
            continue
        operation: Manifest = {}
        named = [name for host in (rule.hosts or hosts) for name in (host, f"{host}:*")]
        if named:
            operation["hosts"] = named
        if rule.methods:
            operation["methods"] = sorted({*rule.methods})
        if rule.paths:
            operation["paths"] = sorted({*rule.paths})
        if ports:
            operation["ports"] = [str(port) for port in ports]
        when = [{"key": f"request.auth.claims[{key}]", "values": list(values)} for key, values in rule.claims.items()]
        if sni:
            when.append({"key": "connection.sni", "values": [sni]})
        written: dict[str, Any] = {}
        if source:
            written["from"] = [{"source": source}]
        if operation:
            written["to"] = [{"operation": operation}]
        if when:
            written["when"] = when
        made.append(written)
    return made


def policies(
    one: Resolved,
    cluster: InventoryCluster,
    namespace: str,
    selector: dict[str, str],
    allowed: list[Manifest],
    denied: list[Manifest],
    part: str = "",
) -> Iterator[Manifest]:
    """The ALLOW and the DENY policy of an intent for one workload."""
    for action, made, suffix in ((Action.ALLOW, allowed, part), (Action.DENY, denied, f"{part}-deny".strip("-"))):
        if made:
            spec = {"selector": {"matchLabels": selector}, "action": action.value, "rules": made}
            origin = Origin((one.name,), "access" if one.intent.access else "clients")
            name = name_of(one.project, one.name, suffix)
            yield manifest(cluster, one.project, SECURITY, "AuthorizationPolicy", namespace, name, spec, origin)


def behind_gateway(one: Resolved) -> Resolved:
    """The intent as its callee sees it behind a gateway, which has judged the caller, its token and its address."""
    plain: Manifest = {"ranges": (), "claims": {}, "namespaces": (), "service_accounts": ()}
    access = tuple(rule.model_copy(update=plain) for rule in one.intent.access if rule.action is Action.ALLOW)
    return replace(one, intent=one.intent.model_copy(update={"jwt": None, "access": access}))


def to_callee(
    one: Resolved, cluster: InventoryCluster, principals: Sequence[str], *, is_caller: bool
) -> list[Manifest]:
    """The policies of the called workload, for the intent's port alone if it has several. is_caller: as `source_of`."""
    service = one.service
    part = "" if is_caller else "gateway"
    ports = (service.pod_port(one.port),) if len(service.ports) > 1 else ()
    allowed, denied = (
        rules(one, action, principals, is_caller=is_caller, ports=ports) for action in (Action.ALLOW, Action.DENY)
    )
    return list(policies(one, cluster, service.namespace, service.selector, allowed, denied, part))


def strict(one: Resolved, cluster: InventoryCluster) -> Iterator[Manifest]:
    """The called workload accepts mutual TLS only."""
    spec = {"selector": {"matchLabels": one.service.selector}, "mtls": {"mode": "STRICT"}}
    name, origin = name_of(one.project, one.name), Origin((one.name,), "mutualTls")
    namespace = one.service.namespace
    yield manifest(cluster, one.project, SECURITY, "PeerAuthentication", namespace, name, spec, origin)


def tokens(one: Resolved, cluster: InventoryCluster, namespace: str, selector: dict[str, str]) -> Iterator[Manifest]:
    """The issuer of tokens, for one workload."""
    jwt = one.intent.jwt
    if jwt:
        keys = {"jwksUri": jwt.jwks_uri} if jwt.jwks_uri else {"jwks": jwt.jwks}
        rule = {"issuer": jwt.issuer, **keys, "forwardOriginalToken": True}
        spec = {"selector": {"matchLabels": selector}, "jwtRules": [rule]}
        name, origin = name_of(one.project, one.name), Origin((one.name,), "jwt")
        yield manifest(cluster, one.project, SECURITY, "RequestAuthentication", namespace, name, spec, origin)


def deny_all(project: str, cluster: InventoryCluster, namespace: str) -> Manifest:
    """Nobody may call the workloads of a namespace, but for other policies."""
    name, origin = f"{project}-deny-all", Origin((), "defaultDeny")
    return manifest(cluster, project, SECURITY, "AuthorizationPolicy", namespace, name, {}, origin)
