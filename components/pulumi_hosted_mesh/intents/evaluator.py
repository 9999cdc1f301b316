"""Judges calls by compiled objects, not by intents: routes, exports, AuthorizationPolicies as Envoy reads them. Pure.

A call passes one or two proxies that judge it: an egress, east-west or entry gateway, and the callee's own proxy.
Between federated meshes the exporter's gateway judges the caller, and the callee's proxy the request.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pulumi_hosted_mesh.intents.calls import OUTSIDE, Call
from pulumi_hosted_mesh.intents.compiled import RANGES_ANNOTATION, Compiled, Manifest, intents_of
from pulumi_hosted_mesh.intents.patterns import matches, normalized
from pulumi_hosted_mesh.intents.resolved import Places
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.inventory import GatewayRole, Inventory, InventoryCluster, PlacedService

Operation = tuple[str | None, str | None, tuple[tuple[str, str], ...]]
"""A method, a path and the claims of a token; None for any."""
OUTER_ADDRESS: Final = "203.0.113.1"
"""The address of a caller outside that names none."""
NO_ADDRESS: Final = "0.0.0.0"  # noqa: S104 (no server: an address that no caller has)
OF_HTTP: Final = ("requestPrincipals", "methods", "paths", "hosts", "request.")
"""Fields, and a prefix of conditions, that a port without HTTP cannot compare."""


@dataclass(frozen=True)
class CallVerdict:
    """reasons: in the order of the call's way. intents and objects: of the decision."""

    allowed: bool
    reasons: tuple[str, ...] = ()
    intents: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()

    def after(self, other: CallVerdict) -> CallVerdict:
        """The verdict of a way whose earlier part is another verdict."""
        return CallVerdict(
            self.allowed and other.allowed,
            (*other.reasons, *self.reasons),
            tuple(dict.fromkeys((*other.intents, *self.intents))),
            tuple(dict.fromkeys((*other.objects, *self.objects))),
        )


@dataclass(frozen=True)
class Request:
    """A call as one proxy sees it. port: that the caller names. arrives: the proxy's, if it is another one."""

    principal: str | None
    call: Call
    host: str
    port: int
    is_http: bool = True
    sni: str | None = None
    address: str | None = None
    arrives: int | None = None

    @property
    def namespace(self) -> str | None:
        """The caller's namespace, by its principal."""
        return self.principal.split("/")[2] if self.principal else None


@dataclass
class _Objects:
    """The objects of one mesh, by the keys that judgements need."""

    policies: dict[str, list[Manifest]] = field(default_factory=dict)
    issuers: dict[str, list[Manifest]] = field(default_factory=dict)
    services: dict[str, list[Manifest]] = field(default_factory=dict)
    routes: dict[str, list[Manifest]] = field(default_factory=dict)
    entries: dict[str, list[Manifest]] = field(default_factory=dict)
    gateways: dict[tuple[str, str], Manifest] = field(default_factory=dict)
    sidecars: dict[str, list[Manifest]] = field(default_factory=dict)


class Evaluator:
    """others: AuthorizationPolicies that no intent made, by cluster."""

    def __init__(
        self, compiled: Compiled, inventory: Inventory, others: Mapping[str, Iterable[Manifest]] | None = None
    ) -> None:
        self.compiled = compiled
        self.places = Places(inventory)
        self._meshes: dict[str, _Objects] = {mesh: _Objects() for mesh in self.places.members}
        self._of_workload: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[Manifest]] = {}
        for given in (compiled.objects, others or {}):
            for cluster, objects in given.items():
                for one in objects:
                    self._take(self._meshes[self.places.clusters[cluster].mesh], one)
        self._at_gateways: dict[str, list[Manifest]] = {}
        for of_mesh in self._meshes.values():
            for namespace in {place for place, _ in of_mesh.gateways}:
                for one in of_mesh.policies.get(namespace, ()):
                    for name in intents_of(one):
                        self._at_gateways.setdefault(name, []).append(one)
        self._exports = self._by_service(compiled.exports)
        self._imports = self._by_service(compiled.imports)
        self._federated = {
            self._exported_host(federation, one): self.places.services[namespace, service]
            for (_, namespace, service), those in self._exports.items()
            for federation, one in those
        }

    def _take(self, of_mesh: _Objects, one: Manifest) -> None:
        kind, metadata, spec = one["kind"], one["metadata"], one.get("spec", {})
        namespace = metadata["namespace"]
        if kind == "AuthorizationPolicy":
            of_mesh.policies.setdefault(namespace, []).append(one)
        elif kind == "RequestAuthentication":
            of_mesh.issuers.setdefault(namespace, []).append(one)
        elif kind == "VirtualService":
            for host in spec["hosts"]:
                of_mesh.routes.setdefault(host, []).append(one)
        elif kind in ("HTTPRoute", "GRPCRoute"):
            for host in spec.get("hostnames", ()):
                of_mesh.routes.setdefault(host, []).append(one)
        elif kind == "ServiceEntry":
            for host in spec["hosts"]:
                of_mesh.entries.setdefault(host, []).append(one)
        elif kind == "Gateway":
            of_mesh.gateways[namespace, metadata["name"]] = one
        elif kind == "Sidecar":
            of_mesh.sidecars.setdefault(namespace, []).append(one)

    @staticmethod
    def _by_service(
        given: Mapping[str, Iterable[tuple[str, Manifest]]],
    ) -> dict[tuple[str, str, str], list[tuple[str, Manifest]]]:
        found: dict[tuple[str, str, str], list[tuple[str, Manifest]]] = {}
        for mesh, those in given.items():
            for federation, one in those:
                found.setdefault((mesh, one["namespace"], one["service"]), []).append((federation, one))
        return found

    def judge(self, call: Call) -> CallVerdict:
        """The verdict of one call. Raises: InvalidInputError for a caller or callee that is nowhere."""
        callee = self._service(call.callee, "callee") if "/" in call.callee else None
        if call.caller == OUTSIDE:
            return self._from_outside(call, callee)
        caller = self._service(call.caller, "caller")
        verdicts = [self._from_mesh(call, caller, cluster, callee) for cluster in self._clusters(call, caller)]
        if not verdicts:
            return CallVerdict(False, (f"{call.caller} is placed in no cluster yet",))
        return next((one for one in verdicts if one.allowed), verdicts[0])

    def _service(self, text: str, field_name: str) -> PlacedService:
        namespace, _, name = text.partition("/")
        found = self.places.services.get((namespace, name))
        if found is None:
            rule = f"{text} is nowhere in the inventory"
            raise InvalidInputError([Problem(field_name, rule, "Write namespace/service")], "the call")
        return found

    def _clusters(self, call: Call, caller: PlacedService) -> Iterator[InventoryCluster]:
        seen = set()
        for name in caller.clusters:
            cluster = self.places.clusters[name]
            if call.cluster in (None, name) and cluster.mesh not in seen:
                seen.add(cluster.mesh)
                yield cluster

    def _from_mesh(
        self, call: Call, caller: PlacedService, cluster: InventoryCluster, callee: PlacedService | None
    ) -> CallVerdict:
        principal = _principal(call, caller, cluster)
        federated = self._federated.get(call.callee)
        callee = callee or federated
        if callee is None:
            return self._to_outside(call, caller, cluster, principal)
        meshes = self.places.meshes(callee)
        if cluster.mesh in meshes and not federated:  # its own mesh does not import it
            return self._within(call, principal, cluster, callee)
        if not meshes:
            return CallVerdict(False, (f"{call.callee} is placed in no cluster yet",))
        found = [self._between(call, principal, cluster, callee, mesh) for mesh in meshes]
        return next((one for one in found if one.allowed), found[0])

    def _within(self, call: Call, principal: str, cluster: InventoryCluster, callee: PlacedService) -> CallVerdict:
        config = self.places.config(cluster.mesh)
        host = f"{callee.name}.{callee.namespace}.svc.{config.cluster_domain}"
        request = self._request(call, principal, host, callee)
        first = self._by_egress(config.mesh, host, request)
        if first is None:
            return self._at_workload(config.mesh, callee, request)
        verdict, gateway = first
        if not verdict.allowed:
            return verdict
        inside = replace(request, principal=gateway, sni=None, address=None)
        return self._at_workload(config.mesh, callee, inside).after(verdict)

    def _between(
        self, call: Call, principal: str, cluster: InventoryCluster, callee: PlacedService, mesh: str
    ) -> CallVerdict:
        namespace = principal.split("/")[2]
        port = call.port or next((one.port for one in callee.ports), None)
        imports = [
            federation
            for federation, one in self._imports.get((cluster.mesh, *callee.key), ())
            if mesh in one["meshes"] and namespace in one["namespaces"] and port in (None, one["port"])
        ]
        if not imports:
            called = f"{call.callee}:{call.port}" if call.port else call.callee
            return CallVerdict(False, (f"mesh {cluster.mesh} imports no {called} of mesh {mesh}",))
        exports = [
            (self._exported_host(federation, one), one)
            for federation, one in self._exports.get((mesh, *callee.key), ())
            if federation in imports and port in (None, one["port"])
        ]
        identity = f"{namespace}/{principal.rpartition('/')[2]}"
        hosts = [
            host
            for host, one in exports
            for audience in one["to"]
            if audience["mesh"] == cluster.mesh
            and any(matches(name, identity) for name in audience["identities"])
            and ("/" in call.callee or host == call.callee)
        ]
        gateway = next(gateway for _, gateway in self.places.gateways(mesh, GatewayRole.EAST_WEST))
        way = f"federation {imports[0]}: gateway {gateway.name} of mesh {mesh} admits {identity} of mesh {cluster.mesh}"
        if not hosts:
            return CallVerdict(False, (f"{way.replace(' admits ', ' does not admit ')} to {call.callee}",))
        config = self.places.config(mesh)
        inner = f"{config.domain}/ns/{gateway.namespace or config.root_namespace}/sa/{gateway.name}"
        # The gateway's route keeps the name by which the caller calls.
        found = [self._at_workload(mesh, callee, self._request(call, inner, host, callee)) for host in hosts]
        last = next((one for one in found if one.allowed), found[0])
        return last.after(CallVerdict(True, (f"{way} to {call.callee}",)))

    def _exported_host(self, federation: str, export: Manifest) -> str:
        """The name of an export for its importers."""
        domain = next(one.domain for one in self.places.inventory.federations if one.name == federation)
        return str(export.get("host") or f"{export['service']}.{export['namespace']}.{domain}")

    def _to_outside(self, call: Call, caller: PlacedService, cluster: InventoryCluster, principal: str) -> CallVerdict:
        mesh = self._meshes[cluster.mesh]
        names = [call.callee, f"*.{call.callee.partition('.')[2]}"]
        visible = [
            (one, port)
            for name in names
            for one in mesh.entries.get(name, ())
            if _is_exported(one, caller.namespace)
            for port in one["spec"]["ports"]
            if call.port in (None, port["number"])
        ]
        if not visible:
            closing = mesh.sidecars.get(caller.namespace, [])
            if closing:
                said = f"no ServiceEntry for {call.callee} in namespace {caller.namespace}, which is REGISTRY_ONLY"
                return CallVerdict(False, (said,), (), tuple(map(_called, closing)))
            return CallVerdict(True, (f"nothing closes outbound calls of namespace {caller.namespace}",))
        entry, port = visible[0]
        is_http = port["protocol"] not in ("TCP", "TLS")
        sni = None if is_http else call.callee
        request = Request(principal, call, call.callee, port["number"], is_http, sni, call.address)
        listed = CallVerdict(True, (f"{_called(entry)} lists the host",), intents_of(entry), (_called(entry),))
        first = self._by_egress(cluster.mesh, call.callee, request)
        return listed if first is None else first[0].after(listed)

    def _by_egress(self, mesh: str, host: str, request: Request) -> tuple[CallVerdict, str] | None:
        """The verdict of the egress gateway on the way to a host, and its identity; None without a gateway."""
        for route in self._meshes[mesh].routes.get(host, ()):
            gateways = route["spec"].get("gateways", ["mesh"])
            others = [name for name in gateways if name != "mesh"]
            if "mesh" in gateways and others and _is_exported(route, request.namespace):
                found = self._meshes[mesh].gateways[route["metadata"]["namespace"], others[0]]
                labels, namespace = found["spec"]["selector"], found["metadata"]["namespace"]
                seen = replace(request, sni=None if request.is_http else host)
                verdict = self._at_proxy(mesh, namespace, labels, seen, f"egress gateway {labels['app']}")
                domain = self.places.config(mesh).domain
                way = CallVerdict(True, (), intents_of(route), (_called(route),))
                return verdict.after(way), f"{domain}/ns/{namespace}/sa/{labels['app']}"
        return None

    def _from_outside(self, call: Call, callee: PlacedService | None) -> CallVerdict:
        hosts = [call.callee] if callee is None else [host for host, name in self.inbound() if name == call.callee]
        verdicts = [self._by_entry(replace(call, callee=host), mesh) for host in hosts for mesh in self._meshes]
        found = [one for one in verdicts if one is not None]
        if not found:
            return CallVerdict(False, (f"no entry gateway serves {call.callee}",))
        return next((one for one in found if one.allowed), found[0])

    def inbound(self) -> Iterator[tuple[str, str]]:
        """The hosts of entry gateways, and the services behind them."""
        for of_mesh in self._meshes.values():
            for host, routes in of_mesh.routes.items():
                for route in routes:
                    if self._entry_of(of_mesh, route) and (found := _destination(route)):
                        yield host, "/".join(found[:2])

    def _entry_of(self, of_mesh: _Objects, route: Manifest) -> Manifest | None:
        spec, namespace = route["spec"], route["metadata"]["namespace"]
        names = spec.get("gateways", []) if route["kind"] == "VirtualService" else [spec["parentRefs"][0]["name"]]
        return None if "mesh" in names or not names else of_mesh.gateways.get((namespace, names[0]))

    def _by_entry(self, call: Call, mesh: str) -> CallVerdict | None:
        of_mesh = self._meshes[mesh]
        for route in of_mesh.routes.get(call.callee, ()):
            gateway, target = self._entry_of(of_mesh, route), _destination(route)
            if gateway is None or target is None:
                continue
            namespace, spec = gateway["metadata"]["namespace"], gateway["spec"]
            labels = spec.get("selector") or {"app": spec["addresses"][0]["value"].partition(".")[0]}
            callee = self.places.services[target[:2]]
            port = (spec.get("servers") or [{"port": {"number": spec.get("listeners", [{}])[0].get("port", 0)}}])[0]
            is_http = any(key in route["spec"] for key in ("http", "rules"))
            sni = None if is_http else call.callee
            number = port["port"]["number"]
            request = Request(None, call, call.callee, number, is_http, sni, call.address or OUTER_ADDRESS)
            way = CallVerdict(True, (f"{_called(gateway)} serves {call.callee}",), intents_of(route), (_called(route),))
            ranges = gateway["metadata"]["annotations"].get(RANGES_ANNOTATION)
            if ranges and not _is_in(call.address or OUTER_ADDRESS, ranges.split(",")):
                text = f"the NAT box of gateway {labels['app']} permits {ranges} only"
                return CallVerdict(False, (text,), (), (_called(gateway),)).after(way)
            place = f"entry gateway {labels['app']}"
            first = self._at_proxy(mesh, namespace, labels, request, place).after(way)
            if not first.allowed:
                return first
            principal = f"{self.places.config(mesh).domain}/ns/{namespace}/sa/{labels['app']}"
            inside = replace(request, principal=principal, port=target[2], address=None)
            return self._at_workload(mesh, callee, inside).after(first)
        return None

    def _request(self, call: Call, principal: str, host: str, callee: PlacedService) -> Request:
        ports = {one.port: one.protocol.is_http for one in callee.ports}
        port = call.port or next(iter(ports), 80)
        return Request(principal, call, host, port, ports.get(port, True), address=call.address)

    def _at_workload(self, mesh: str, callee: PlacedService, request: Request) -> CallVerdict:
        arrived = replace(request, arrives=callee.pod_port(request.port))
        place = f"proxy of {callee.namespace}/{callee.name}"
        return self._at_proxy(mesh, callee.namespace, callee.selector, arrived, place)

    def _at_proxy(
        self, mesh: str, namespace: str, labels: Mapping[str, str], request: Request, place: str
    ) -> CallVerdict:
        """A token of an issuer that the proxy does not know is refused, whatever policies allow."""
        issuer = request.call.claims.get("iss") if request.is_http else None
        known = [one for one in self._meshes[mesh].issuers.get(namespace, ()) if _selects(one, labels)]
        if issuer and known and not any(issuer == rule["issuer"] for one in known for rule in one["spec"]["jwtRules"]):
            names = tuple(map(_called, known))
            return CallVerdict(False, (f"{place}: {', '.join(names)} does not know issuer {issuer}",), (), names)
        return self._decide(self._selected(mesh, namespace, labels), request, place)

    def _selected(self, mesh: str, namespace: str, labels: Mapping[str, str]) -> list[Manifest]:
        """The policies of a workload: of its namespace, and of the mesh's."""
        key = (mesh, namespace, tuple(sorted(labels.items())))
        if key not in self._of_workload:
            root = self.places.config(mesh).root_namespace
            self._of_workload[key] = [
                one
                for place in dict.fromkeys((namespace, root))
                for one in self._meshes[mesh].policies.get(place, ())
                if _selects(one, labels)
            ]
        return self._of_workload[key]

    def _decide(self, policies: Sequence[Manifest], request: Request, place: str) -> CallVerdict:
        allows = [one for one in policies if one["spec"].get("action", "ALLOW") == "ALLOW"]
        for one in policies:
            if one["spec"].get("action") == "DENY" and _applies(one, request):
                text = f"{place}: {_called(one)} denies"
                if request.address is None and not _applies(one, replace(request, address=NO_ADDRESS)):
                    text += " some address ranges, and the caller's address is unknown"
                return CallVerdict(False, (text,), intents_of(one), (_called(one),))
        if not allows:
            return CallVerdict(True, (f"{place}: no policy",))
        matching = [one for one in allows if _applies(one, request)]
        if matching:
            names = tuple(map(_called, matching))
            intents = tuple(dict.fromkeys(name for one in matching for name in intents_of(one)))
            return CallVerdict(True, (f"{place}: {', '.join(names)} allows",), intents, names)
        who = request.principal or f"a caller at {request.address}"
        names = tuple(map(_called, allows))
        missing = f"{place}: no policy allows {who}" + (f" {request.call.method} {request.call.path}" * request.is_http)
        return CallVerdict(False, (missing,), (), names)

    def ports(self, callee: str) -> list[tuple[int | None, bool]]:
        """The ports of a callee, each with whether it is HTTP; None where calls name none."""
        namespace, _, name = callee.partition("/")
        service = self.places.services.get((namespace, name))
        ports = service.ports if service else ()
        return [(one.port, one.protocol.is_http) for one in ports] or [(None, True)]

    def operations(self, callee: PlacedService | str) -> set[Operation]:
        """The methods, paths and claims that policies on the way to a callee name; None for any."""
        policies, intents = list[Manifest](), set[str]()
        for mesh, of_mesh in self._meshes.items():
            if isinstance(callee, PlacedService):
                policies += self._selected(mesh, callee.namespace, callee.selector)
            else:
                intents |= {name for one in of_mesh.entries.get(callee, ()) for name in intents_of(one)}
        intents |= {name for one in policies for name in intents_of(one)}
        policies += [one for name in intents for one in self._at_gateways.get(name, ())]
        return {
            (method, path, _claims(rule))
            for policy in policies
            for rule in policy["spec"].get("rules", ())
            for to in rule.get("to", [{}])
            for method in to.get("operation", {}).get("methods", [None])
            for path in to.get("operation", {}).get("paths", [None])
        }


def _principal(call: Call, caller: PlacedService, cluster: InventoryCluster) -> str:
    return f"{cluster.domain}/ns/{caller.namespace}/sa/{call.account or caller.account}"


def _claims(rule: Manifest) -> tuple[tuple[str, str], ...]:
    prefix = "request.auth.claims["
    issuers = [
        ("iss", one.partition("/*")[0])
        for source in rule.get("from", ())
        for one in source["source"].get("requestPrincipals", ())[:1]
    ]
    conditions = [one for one in rule.get("when", ()) if one["key"].startswith(prefix)]
    return (*issuers[:1], *((one["key"].removeprefix(prefix)[:-1], one["values"][0]) for one in conditions))


def _called(one: Manifest) -> str:
    return f"{one['kind']} {one['metadata']['namespace']}/{one['metadata']['name']}"


def _selects(one: Manifest, labels: Mapping[str, str]) -> bool:
    """Whether a policy is for a workload, by its labels. One without a selector is for all."""
    return bool(one["spec"].get("selector", {}).get("matchLabels", {}).items() <= labels.items())


def _is_exported(one: Manifest, namespace: str | None) -> bool:
    scope = one["spec"].get("exportTo", ["*"])
    return "*" in scope or namespace in scope or ("." in scope and namespace == one["metadata"]["namespace"])


def _destination(route: Manifest) -> tuple[str, str, int] | None:
    """Namespace, name and port of the service behind a route of a gateway."""
    spec = route["spec"]
    for kind in ("http", "tls", "tcp"):
        for one in spec.get(kind, ()):
            to = one["route"][0]["destination"]
            name, namespace, *_ = to["host"].split(".")
            return namespace, name, to["port"]["number"]
    for rule in spec.get("rules", ()):
        backend = rule["backendRefs"][0]
        weighted = "weight" in backend
        name = backend["name"].rpartition("-")[0] if weighted else backend["name"]
        return backend.get("namespace", route["metadata"]["namespace"]), name, backend["port"]
    return None


def _applies(policy: Manifest, request: Request) -> bool:
    is_deny = policy["spec"].get("action") == "DENY"
    return any(_matches(rule, request, is_deny=is_deny) for rule in policy["spec"].get("rules", ()))


def _matches(rule: Manifest, request: Request, *, is_deny: bool) -> bool:
    """Whether a rule is about a request. If a part cannot be compared, an ALLOW does not match, and a DENY ignores it:

    Istio leaves HTTP's fields out of a DENY for a port without HTTP, and an unknown address may be a denied one.
    """
    return (
        ("from" not in rule or any(_source(one["source"], request, is_deny=is_deny) for one in rule["from"]))
        and ("to" not in rule or any(_operation(one["operation"], request, is_deny=is_deny) for one in rule["to"]))
        and all(_condition(one, request, is_deny=is_deny) for one in rule.get("when", ()))
    )


def _source(source: Manifest, request: Request, *, is_deny: bool) -> bool:
    claims = request.call.claims
    token = f"{claims['iss']}/{claims.get('sub', '')}" if "iss" in claims else None
    seen: dict[str, str | None] = {
        "principals": request.principal,
        "namespaces": request.namespace,
        "requestPrincipals": token,
    }
    for key, patterns in source.items():
        if key in OF_HTTP and not request.is_http:
            if not is_deny:
                return False
        elif key in ("ipBlocks", "remoteIpBlocks"):
            if not (is_deny if request.address is None else _is_in(request.address, patterns)):
                return False
        elif key not in seen or (value := seen[key]) is None or not any(matches(one, value) for one in patterns):
            return False
    return True


def _is_in(address: str, ranges: Iterable[str]) -> bool:
    return any(ipaddress.ip_address(address) in ipaddress.ip_network(one, strict=False) for one in ranges)


def _operation(operation: Manifest, request: Request, *, is_deny: bool) -> bool:
    seen = {
        "ports": (str(request.arrives or request.port),),
        "methods": (request.call.method,),
        "paths": (normalized(request.call.path),),
        "hosts": (request.host, f"{request.host}:{request.port}"),
    }
    return all(
        is_deny
        if key in OF_HTTP and not request.is_http
        else any(matches(pattern, value) for pattern in patterns for value in seen.get(key, ()))
        for key, patterns in operation.items()
    )


def _condition(condition: Mapping[str, Any], request: Request, *, is_deny: bool) -> bool:
    key = condition["key"]
    if key.startswith(OF_HTTP[-1]) and not request.is_http:
        return is_deny
    if key == "connection.sni":
        value = request.sni
    elif key.startswith("request.auth.claims["):
        value = request.call.claims.get(key[len("request.auth.claims[") : -1])
    else:
        return False
    return value is not None and any(matches(one, value) for one in condition["values"])
