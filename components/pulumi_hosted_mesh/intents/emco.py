"""Imports the traffic intents of EMCO's API: its JSON, or the YAML of its client. Pure but for `read`.

Two forms of the API are read: the published one (`inbound-intents`, `clients`, `access-points`), and the one of its
design (`interclusterservice`, `clientservice`, `externaloutboundaccess`, `intraclusterservice`). A resource's kind is
the last word of its address: of `resourceContext.anchor`, of `url`, or of its folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pulumi_hosted_mesh import yaml_text
from pulumi_hosted_mesh.problems import InvalidInputError, Problem
from pulumi_hosted_mesh.spec.load import text_of_file
from pulumi_hosted_mesh.yaml_text import UNPARSABLE

GROUPS: Final = ("traffic-group-intents", "traffic-group-intent", "traffic-intent-groups")
SERVERS: Final[Mapping[str, str]] = {
    "inbound-intents": "inter-cluster",
    "interclusterservice": "inter-cluster",
    "intraclusterservice": "intra-cluster",
    "externalinboundaccess": "inbound",
    "externaloutboundaccess": "outbound",
    "outbound-intents": "outbound",
}
CLIENTS: Final = ("clients", "clientservice", "clientservices")
ACCESS: Final = ("access-points", "accesspoints")
KINDS: Final = {*GROUPS, *SERVERS, *CLIENTS, *ACCESS}
FILES: Final = (".json", ".yaml", ".yml")
# Fields by EMCO's names in lower case, and ours.
NAME_FIELDS: Final = ("servicename", "service")
IGNORED: Final = {"app", "applabel", "application", "applicationname", "userdata1", "userdata2"}
BALANCING: Final = {
    "LEAST_CONN": "LEAST_REQUEST",
    "ROUND_ROBIN": "ROUND_ROBIN",
    "RANDOM": "RANDOM",
    "PASSTHROUGH": "PASSTHROUGH",
}
LIMITS: Final = {
    "maxconnections": "maxConnections",
    "concurrenthttp2requests": "maxRequests",
    "httprequestperconnection": "maxRequestsPerConnection",
    "consecutiveerrors": "consecutiveErrors",
}


@dataclass(frozen=True)
class EmcoResource:
    """One resource. address: its parts, such as projects, p, ..., clients. source: the file."""

    address: tuple[str, ...]
    body: Mapping[str, Any]
    source: str

    @property
    def kind(self) -> str:
        """The collection that it is in."""
        return self.address[-1] if self.address[-1] in KINDS else self.address[-2]

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.body.get("metadata", {}).get("name", ""))

    @property
    def version(self) -> str | None:
        """The version of its application."""
        at = self.address.index("composite-apps") + 2 if "composite-apps" in self.address else len(self.address)
        return self.address[at] if at < len(self.address) else None

    def parent(self, *kinds: str) -> str | None:
        """The name after one of these words in its address."""
        for word, name in zip(self.address, self.address[1:], strict=False):
            if word in kinds:
                return name
        return None


@dataclass
class EmcoDocument:
    """document: of intents, plain. warnings: fields and resources without a counterpart."""

    document: dict[str, Any]
    warnings: list[Problem] = field(default_factory=list)


def read(place: Path) -> list[EmcoResource]:
    """The resources of a file, or of all files of a folder. Raises: InvalidInputError."""
    files = sorted(one for one in place.rglob("*") if one.suffix in FILES) if place.is_dir() else [place]
    found = []
    for file in files:
        text = text_of_file(file)
        try:
            documents = list(yaml_text.load_all(text))
        except UNPARSABLE:
            problem = Problem(
                "(file)", "is neither JSON nor YAML", "EMCO's templates with {{ }} need their values first"
            )
            raise InvalidInputError([problem], str(file)) from None
        folders = tuple(file.relative_to(place).parts[:-1]) if place.is_dir() else ()
        for document in documents:
            for body in document if isinstance(document, list) else [document]:
                if isinstance(body, Mapping) and (one := _resource(body, (*folders, file.stem), str(file))):
                    found.append(one)
    if not found:
        rule = "has no traffic intent of EMCO"
        fix = f"Give JSON with resourceContext.anchor or url, or folders named {', '.join(sorted(KINDS)[:4])} and so on"
        raise InvalidInputError([Problem("(source)", rule, fix)], str(place))
    return found


def _resource(body: Mapping[str, Any], folders: tuple[str, ...], source: str) -> EmcoResource | None:
    context = body.get("resourceContext")
    anchor = context.get("anchor") if isinstance(context, Mapping) else body.get("url")
    parts = tuple(str(anchor).strip("/").split("/")) if anchor else folders
    kinds = [part for part in parts[-2:] if part in KINDS]
    return EmcoResource(parts, body, source) if kinds and isinstance(body.get("metadata"), Mapping) else None


def imported(
    resources: Sequence[EmcoResource], *, project: str | None, namespace: str, domain: str | None
) -> EmcoDocument:
    """An intents document of the resources of one project. Raises: InvalidInputError."""
    projects = {found for one in resources if (found := one.parent("projects", "project"))}
    if len(projects | ({project} if project else set())) > 1:
        rule = f"has intents of several projects: {', '.join(sorted(projects))}"
        raise InvalidInputError([Problem("(source)", rule, "Import each project by itself")], "the source")
    name = project or next(iter(projects), None)
    if name is None:
        raise InvalidInputError([Problem("--project", "is required: no resource names one", "Add it")], "the source")
    result = EmcoDocument({"project": _label(name), "application": "", "version": "v1", "groups": []})
    application = next((found for one in resources if (found := one.parent("composite-apps"))), name)
    result.document["application"] = application
    result.document["version"] = next((found for one in resources if (found := one.version)), "v1")
    groups: dict[str, dict[str, Any]] = {}
    for one in resources:
        group = one.name if one.kind in GROUPS else one.parent(*GROUPS) or "imported"
        entry = groups.setdefault(group, {"name": _label(group), "intents": []})
        if one.kind in GROUPS and (text := one.body["metadata"].get("description")):
            entry["description"] = text
        if one.kind in SERVERS:
            entry["intents"].append(_intent(one, resources, namespace, result))
    domains = [found for one in groups.values() for intent in one["intents"] if (found := intent.pop("_domain", None))]
    found_domain = domain or next(iter(domains), None)
    if found_domain:
        result.document["domain"] = found_domain
    result.document["groups"] = [one for one in groups.values() if one["intents"]]
    return result


def _intent(
    one: EmcoResource, resources: Iterable[EmcoResource], namespace: str, result: EmcoDocument
) -> dict[str, Any]:
    spec = _Fields(one, one.body.get("spec") or {}, "spec", result)
    kind = SERVERS[one.kind]
    service = str(spec.take(*NAME_FIELDS) or one.name)
    external = str(spec.take("externalName") or "")
    if kind == "inter-cluster" and (spec.take("externalSupport") or False) is True:
        kind = "inbound"
    name = _label(one.name)
    intent: dict[str, Any] = {"type": kind, "name": f"{name}-intent" if name == service else name}
    if text := one.body["metadata"].get("description"):
        intent["description"] = text
    protocol, port = str(spec.take("protocol") or "HTTP").upper(), spec.take("port")
    if kind == "outbound":
        host = external or service
        intent["external"] = {"host": host, "protocol": protocol, **({"port": int(port)} if port else {})}
    else:
        intent["service"] = {"name": _label(service), "namespace": namespace, "protocol": protocol}
        if port:
            intent["service"]["port"] = int(port)
    prefix, _, rest = external.partition(".")
    if kind != "outbound" and prefix and rest:
        intent["externalPrefix"] = _label(prefix)
        intent["_domain"] = rest
    _mesh(intent, spec)
    _traffic(intent, spec)
    clients = [found for found in resources if found.kind in CLIENTS and found.parent(*SERVERS) == one.name]
    given, access = list[dict[str, Any]](), list[dict[str, Any]]()
    for client in clients:
        given.append(_client(client, result, namespace))
        points = [found for found in resources if found.kind in ACCESS and found.parent(*CLIENTS) == client.name]
        access += [_access(point, result, given[-1]) for point in points]
    if kind == "inbound":
        if given:
            rule = "has clients in the mesh and outside: EMCO makes both of one intent"
            result.warnings.append(
                spec.problem("clients", rule, "Add an intra-cluster or inter-cluster intent for them")
            )
    else:
        intent["clients"] = given
    if access:
        intent["access"] = access
    if protocol == "TCP" and kind != "outbound" and (access or intent.get("certificate")):
        intent["service"]["protocol"] = "HTTP"
        spec.warn(
            "protocol", "is TCP with an HTTP host, methods or paths", "The document has HTTP; correct it if needed"
        )
    spec.finish()
    return intent


def _mesh(intent: dict[str, Any], spec: _Fields) -> None:
    mesh = spec.take("serviceMesh")
    if mesh not in (None, "none", "", "SIMPLE"):
        intent["serviceMesh"] = mesh
    elif mesh:
        spec.warn(
            "serviceMesh", f"is {mesh}: EMCO makes NetworkPolicies then", "Intents need a mesh; check the cluster"
        )
    if str(spec.take("headless") or "").lower() == "true":
        intent["headless"] = True
    management = spec.take("management") or {}
    tls = str(management.get("tlsType", "") if isinstance(management, Mapping) else "").upper()
    mutual = spec.take("mutualTLS", "mutualTls")
    is_mutual = tls == "MUTUAL" or str(mutual).upper() in ("TRUE", "MUTUAL")
    certificates = spec.take("external") or {}
    keys = spec.take("serviceCertificate"), spec.take("servicePrivateKey"), spec.take("caCertificate")
    if certificates or any(keys):
        rule = "holds a certificate's key, which an intents document never does"
        spec.warn("external", rule, f"Make the Secret {intent['name']}-certificate in the gateway's namespace")
    if intent["type"] == "inbound" and tls in ("MUTUAL", "SIMPLE"):
        intent["certificate"] = {"mode": tls, "secret": f"{intent['name']}-certificate"}
    if is_mutual:
        intent["mutualTls"] = True


def _traffic(intent: dict[str, Any], spec: _Fields) -> None:
    given: dict[str, Any] = {}
    for part in ("traffic-management-info", "loadbalancing", "circuitBreaking", "istio"):
        value = spec.take(part)
        if isinstance(value, Mapping):
            given |= {str(key).lower(): content for key, content in value.items()}
    for key in ("loadbalancingType", "loadBalancerMode", "httpCookie", *LIMITS, "baseEjectionTime", "intervalSweep"):
        value = spec.take(key)
        if value is not None:
            given[key.lower()] = value
    mode = str(given.pop("loadbalancermode", ""))
    given.pop("loadbalancingtype", None)
    cookie = given.pop("httpcookie", None)
    if mode in BALANCING:
        intent["loadBalancing"] = {"simple": BALANCING[mode]}
    elif mode == "useSourceIP":
        intent["loadBalancing"] = {"useSourceIp": True}
    elif cookie:
        intent["loadBalancing"] = {"httpCookie": str(cookie)}
    limits = {ours: int(given.pop(theirs)) for theirs, ours in LIMITS.items() if theirs in given}
    for theirs, ours in (("baseejectiontime", "baseEjectionTime"), ("intervalsweep", "interval")):
        if theirs in given:
            value = str(given.pop(theirs))
            limits[ours] = f"{value}s" if value.isdigit() else value  # type: ignore[assignment]
    if limits:
        intent["circuitBreaking"] = limits
    for key in sorted(given):
        spec.warn(key, "has no counterpart in an intents document", "Check whether the intent needs it")


def _client(one: EmcoResource, result: EmcoDocument, namespace: str) -> dict[str, Any]:
    spec = _Fields(one, one.body.get("spec") or {}, "spec", result)
    client: dict[str, Any] = {"service": _label(str(spec.take(*NAME_FIELDS, "clientServiceName") or one.name))}
    places = spec.take("namespaces") or []
    client["namespace"] = str(places[0]) if places else namespace
    if len(places) > 1:
        rule = "names several namespaces, and a client has one"
        result.warnings.append(spec.problem("namespaces", rule, "Add a client for each of the others"))
    if spec.take("cidrs"):
        rule = "limits callers by address, which a mesh does by identity"
        result.warnings.append(spec.problem("cidrs", rule, "Use access[].ranges of an inbound intent if it is meant"))
    if accounts := spec.take("serviceAccount", "serviceAccounts"):
        client["serviceAccounts"] = [str(one) for one in (accounts if isinstance(accounts, list) else [accounts])]
    if (egress := spec.take("egressgateway", "egressGateway")) not in (None, "", False, "false"):
        client["egressGateway"] = (
            {"dedicated": True} if str(egress).lower() == "true" else {"name": _label(str(egress))}
        )
    if str(spec.take("headless") or "").lower() == "true":
        client["headless"] = True
    spec.finish()
    return client


def _access(one: EmcoResource, result: EmcoDocument, client: Mapping[str, Any]) -> dict[str, Any]:
    spec = _Fields(one, one.body.get("spec") or {}, "spec", result)
    rule = {"action": str(spec.take("action") or "ALLOW"), "methods": list(spec.take("access") or [])}
    rule["paths"] = list(spec.take("url") or [])
    if client.get("serviceAccounts"):
        rule["serviceAccounts"] = client["serviceAccounts"]
    spec.finish()
    return {key: value for key, value in rule.items() if value and (key, value) != ("action", "ALLOW")}


class _Fields:
    """The fields of one resource, each taken once; the rest is named."""

    def __init__(self, one: EmcoResource, given: Mapping[str, Any], path: str, result: EmcoDocument) -> None:
        self.one, self.path, self.result = one, path, result
        self.given = {str(key).lower(): (str(key), value) for key, value in given.items()}

    def take(self, *names: str) -> Any:
        """The value of the first of these fields that is there."""
        for name in names:
            if name.lower() in self.given:
                return self.given.pop(name.lower())[1]
        return None

    def problem(self, name: str, rule: str, fix: str) -> Problem:
        """A note about one field."""
        return Problem(f"{self.one.kind} {self.one.name}: {self.path}.{name}", rule, fix)

    def warn(self, name: str, rule: str, fix: str) -> None:
        """Adds a note."""
        self.result.warnings.append(self.problem(name, rule, fix))

    def finish(self) -> None:
        """Names the fields that nobody took."""
        for lower, (name, value) in self.given.items():
            if lower not in IGNORED and value not in (None, "", [], {}, "none"):
                self.warn(name, "has no counterpart in an intents document", "Check whether the intent needs it")


def _label(name: str) -> str:
    """EMCO's names may have capitals, '_' and '.'."""
    return name.lower().replace("_", "-").replace(".", "-")
