"""Stacks of any size in which nothing leaks, so that everything has to be looked at: the measure of how work grows."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from hosted_mesh_plan.clusters import cluster_of
from hosted_mesh_plan.evidence import Evidence
from hosted_mesh_plan.model import STACK_TYPE, Provider, Resource
from hosted_mesh_plan.tree import UNKNOWN, Secret
from hosted_mesh_plan.vocabulary import DATA_PLANE_OWNED_ANNOTATION as OWN
from hosted_mesh_plan.vocabulary import MESH_LABEL
from hosted_mesh_policies.evaluation.finding import Finding
from hosted_mesh_policies.evaluation.settings import Settings
from hosted_mesh_policies.pack.session import Session
from hosted_mesh_policies.rules.catalogue import RULES

CONTROL_PLANE = "https://cp.example.com:6443"
Growth = Callable[[int], list[Resource]]


def made_up(name: str, length: int = 40) -> str:
    """A text that opens nothing, as random as a token, and the same in each run."""
    return hashlib.sha512(name.encode()).hexdigest()[:length]


def _urn(kind: str, name: str) -> str:
    return f"urn:pulumi:growing::growing::{kind}::{name}"


def _provider(name: str, server: str) -> Provider:
    kind = "pulumi:providers:kubernetes"
    config = _kubeconfig(server, made_up(name))
    return Provider(_urn(kind, name), kind, name, {"kubeconfig": Secret(config)})


def _kubeconfig(server: str, token: str) -> str:
    return (
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
        f"clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\nusers: [{{name: u, user: {{token: '{token}'}}}}]\n"
    )


def _registered(provider: Provider) -> Resource:
    return Resource(provider.urn, provider.type, provider.name, inputs=provider.inputs, outputs=provider.inputs)


def _object(
    kind: str, name: str, provider: Provider, body: dict[str, Any], sources: dict[str, tuple[str, ...]] | None = None
) -> Resource:
    api, _, what = kind.rpartition(":")
    metadata = {"name": name, **body.pop("metadata", {})}
    inputs = {"apiVersion": api.removeprefix("core/"), "kind": what, "metadata": metadata, **body}
    urn = _urn(f"kubernetes:{kind}", f"{provider.name}-{name}")
    return Resource(
        urn,
        f"kubernetes:{kind}",
        f"{provider.name}-{name}",
        inputs,
        {**inputs, "status": {}},
        provider=provider,
        dependencies=sources or {},
    )


def _password(name: str) -> Resource:
    kind = "random:index/randomPassword:RandomPassword"
    provider = Provider(_urn("pulumi:providers:random", "default"), "pulumi:providers:random", "default", {})
    outputs = {"length": 40, "result": Secret(made_up(name))}
    return Resource(_urn(kind, name), kind, name, {"length": 40}, outputs, provider=provider)


def _result(password: Resource) -> Secret:
    found: Secret = (password.outputs or {})["result"]
    return found


def _secret(name: str, key: str, provider: Provider, source: Resource, **metadata: Any) -> Resource:
    text = base64.b64encode(_result(source).value.encode()).decode()
    body = {"data": {key: Secret(text)}, "metadata": metadata}
    return _object("core/v1:Secret", name, provider, body, {"stringData": (source.urn,)})


def meshes(count: int) -> list[Resource]:
    """Meshes in two clusters, each with its namespace, host, authority's key, istiod's access and settings."""
    control_plane = _provider("control-plane-cluster", CONTROL_PLANE)
    data_plane = _provider("data-plane-cluster", "https://dp.example.com:6443")
    found = [_registered(control_plane), _registered(data_plane)]
    for number in range(count):
        found += _mesh(f"mesh-{number:04}", control_plane, data_plane)
    return found


def clusters(count: int) -> list[Resource]:
    """Clusters, one mesh in each but the first."""
    control_plane = _provider("control-plane-cluster", CONTROL_PLANE)
    found = [_registered(control_plane)]
    for number in range(1, count):
        data_plane = _provider(f"data-plane-{number:04}", f"https://dp-{number:04}.example.com:6443")
        found += [_registered(data_plane), *_mesh(f"mesh-{number:04}", control_plane, data_plane)]
    return found


def _mesh(name: str, control_plane: Provider, data_plane: Provider) -> Iterator[Resource]:
    mine = {"namespace": name, "labels": {MESH_LABEL: name}}
    host = {"external-dns.alpha.kubernetes.io/hostname": f"{name}.example.com"}
    key, own = _password(f"key-{name}"), _password(f"own-{name}")
    yield from (key, own)
    yield _object("core/v1:Namespace", name, control_plane, {"metadata": {"labels": {MESH_LABEL: name}}})
    yield _object(
        "core/v1:Service",
        f"istiod-{name}",
        control_plane,
        {"metadata": {**mine, "annotations": host}, "spec": {"ports": [{"port": 15012}]}},
    )
    yield _secret("cacerts", "ca-key.pem", control_plane, key, **mine)
    token = _minted(f"istiod-{name}", data_plane)
    yield token
    config = _kubeconfig(cluster_of(data_plane).server, made_up(token.name))
    yield _object(
        "core/v1:Secret",
        "istio-kubeconfig",
        control_plane,
        {"metadata": mine, "data": {"config": Secret(base64.b64encode(config.encode()).decode())}},
        {"stringData": (token.urn,)},
    )
    yield _secret(f"own-{name}", "password", data_plane, own)
    settings = {f"setting-{line}": f"https://{name}.example.com:{8000 + line}/v1" for line in range(4)}
    yield _object("core/v1:ConfigMap", f"settings-{name}", data_plane, {"data": settings})


def _minted(name: str, provider: Provider) -> Resource:
    """A token that its cluster makes."""
    made = _object("core/v1:Secret", name, provider, {"type": "kubernetes.io/service-account-token"})
    data = {"token": Secret(base64.b64encode(made_up(made.name).encode()).decode())}
    return replace(made, outputs={**made.body, "data": data})


def chain(count: int) -> list[Resource]:
    """A password that goes through many ConfigMaps of the control plane, each of which has it from the two before."""
    control_plane = _provider("control-plane-cluster", CONTROL_PLANE)
    found = [_registered(control_plane), _password("first")]
    for number in range(count):
        sources = tuple(one.urn for one in found[1:][-2:])
        data = {"passed-on": Secret(f"{made_up('first')} {number}")}
        found.append(_object("core/v1:ConfigMap", f"link-{number}", control_plane, {"data": data}, {"data": sources}))
    return found


def sources(count: int) -> list[Resource]:
    """A Secret of the data plane's with many values, each from a password of its own, and what says the same of it."""
    control_plane = _provider("control-plane-cluster", CONTROL_PLANE)
    data_plane = _provider("data-plane-cluster", "https://dp.example.com:6443")
    own = [_password(f"own-{number}") for number in range(count)]
    data = {f"key-{n}": base64.b64encode(_result(one).value.encode()).decode() for n, one in enumerate(own)}
    urns = {"stringData": tuple(one.urn for one in own)}
    secret = _object("core/v1:Secret", "many", data_plane, {"data": {k: Secret(v) for k, v in data.items()}}, urns)
    hosts = {f"host-{n}": f"https://{n}.example.com" for n in range(count)}
    public = _object("core/v1:ConfigMap", "hosts", data_plane, {"data": hosts}, {"data": urns["stringData"]})
    return [_registered(control_plane), _registered(data_plane), *own, secret, public]


def leaks(count: int) -> list[Resource]:
    """What everybody may ask for, and nobody gets: one object with many passwords of the control plane's."""
    control_plane = _provider("control-plane-cluster", CONTROL_PLANE)
    data_plane = _provider("data-plane-cluster", "https://dp.example.com:6443")
    keys = [_password(f"key-{number}") for number in range(count)]
    kept = [_secret(f"kept-{number}", "password", control_plane, key) for number, key in enumerate(keys)]
    data = {f"key-{number}": _result(key) for number, key in enumerate(keys)}
    urns = {"data": tuple(key.urn for key in keys)}
    given = _object("core/v1:ConfigMap", "given", data_plane, {"data": data}, urns)
    return [_registered(control_plane), _registered(data_plane), *keys, *kept, given]


def logins(count: int) -> list[Resource]:
    """An agent for each mesh: what it logs in by is in both clusters, and the control plane's Secret says why."""
    return _logins(count, {OWN: "the agent logs in to the collector by it"})


def unsaid_logins(count: int) -> list[Resource]:
    """The same, and nobody says why."""
    return _logins(count, {})


def _logins(count: int, annotations: dict[str, str]) -> list[Resource]:
    control_plane = _provider("control-plane-cluster", CONTROL_PLANE)
    data_plane = _provider("data-plane-cluster", "https://dp.example.com:6443")
    found = [_registered(control_plane), _registered(data_plane)]
    for number in range(count):
        mine = {"labels": {MESH_LABEL: f"mesh-{number:04}"}}
        login, name = _password(f"login-{number:04}"), f"agent-{number:04}"
        kept = _secret(name, "password", control_plane, login, annotations=annotations, **mine)
        had = _secret(name, "password", data_plane, login, **mine)
        shown = _object("core/v1:ConfigMap", name, control_plane, {"data": {"host": f"{name}.example.com"}})
        found += [login, kept, had, shown]
    return found


GROWTHS: dict[str, Growth] = {
    one.__name__: one for one in (meshes, clusters, chain, sources, leaks, logins, unsaid_logins)
}
LEAKING = frozenset({"leaks", "unsaid_logins"})


def _unknown(resource: Resource) -> Resource:
    """As the first preview has it: what its provider adds, and what comes from elsewhere, is not known yet."""
    known = set(resource.inputs or ())
    asked = {
        name: dict.fromkeys(tree, UNKNOWN) if name in resource.sources and isinstance(tree, dict) else tree
        for name, tree in (resource.inputs or {}).items()
    }
    outputs = {name: asked[name] if name in known else UNKNOWN for name in resource.outputs or ()}
    return replace(resource, inputs=asked, outputs=outputs)


SETTINGS = Settings.read({"x": {"controlPlaneServers": [CONTROL_PLANE], "dataPlaneProviders": ["data-plane-*"]}})
BEFORE = tuple(rule for rule in RULES if rule.check)
MANDATORY = frozenset(rule.name for rule in RULES if rule.mandatory)


def session(*, preview: bool, evidence: Evidence | None = None) -> Session:
    return Session("growing", "growing", preview, settings=SETTINGS, evidence=evidence)


def judged(
    resources: list[Resource], *, preview: bool, evidence: Evidence | None = None
) -> tuple[list[Finding], Evidence]:
    """All that mandatory rules say in a first preview or in an update, and the evidence for the update."""
    judge = session(preview=preview, evidence=evidence)
    plan = [one if one.is_provider or not preview else _unknown(one) for one in resources]
    found = [finding for one in plan for finding in judge.before_write(before(one), BEFORE)]
    whole = [Resource(_urn(STACK_TYPE, "growing"), STACK_TYPE, "growing", inputs={}, outputs={}), *plan]
    said, kept = judge.at_end([replace(one, inputs=None) for one in whole], RULES)
    return [finding for finding in (*found, *said) if finding.rule in MANDATORY], kept


def before(resource: Resource) -> Resource:
    """As the engine shows it before its write."""
    return replace(resource, outputs=None, dependencies={})


def kubeconfig_secret(server: str) -> Resource:
    """A Secret of the first data plane's with a kubeconfig, as it is before its write."""
    data_plane = _provider("data-plane-0001", "https://dp-0001.example.com:6443")
    config = base64.b64encode(_kubeconfig(server, made_up("access")).encode()).decode()
    return before(_object("core/v1:Secret", "access", data_plane, {"data": {"config": config}}))
