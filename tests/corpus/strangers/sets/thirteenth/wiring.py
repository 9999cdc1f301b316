"""Harmless: how authors wire it, what stays at the hub, and what changes at a second update."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import hashlib
import json
import re
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, kept, own, pair
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, ref, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.values import apply, b64, pull_secret
from tests.corpus.world import Box

from .world import (
    ASTER,
    CERTIFICATE,
    DIGEST,
    DOMAIN,
    HUB2,
    ISSUER,
    MESH,
    REGION,
    account,
    clean,
    cluster_secret,
    declassified,
    hub,
    of,
    owned,
    second_hub,
    settings,
    shared,
    tenants,
)

WIRING, HOME, LATER = "thirteenth: components, loops and transformations", "thirteenth: stays at the hub", "thirteenth: later updates"  # fmt: skip

# Wiring ---------------------------------------------------------------------------------------------------------------


class _Console(Box):
    """A chart with a Secret of its own; a row of a table for each cluster."""

    def __init__(self, scene: Scene, name: str, side: str, login: Any, labels: dict[str, str] | None = None) -> None:
        super().__init__(f"console-{name}", "lantern:index:Console")
        scene.object(side, "v1:Secret", "console", {"metadata": {"labels": labels or {}}, "stringData": {"password": login}}, parent=self)  # fmt: skip
        values = {"cluster": name, "auth": {"existingSecret": "console", "key": "password"}, "issuer": ISSUER}
        scene.made("kubernetes:helm.sh/v3:Release", f"console-of-{name}", {"chart": "console", "version": "4.0.1", "values": values}, scene.options(side, parent=self))  # fmt: skip
        self.facts: dict[str, Any] = {"url": f"https://console.{name}.example.com", "secret": "console"}
        self.register_outputs(self.facts)


@clean(WIRING, "thirteenth-wired-component-for-every-cluster", "A component is made for the hub and each of the tenants' clusters, with a login of its owner; facts of all are in the hub's map.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    consoles = [_Console(scene, "hub", "cp", generated(scene, "console-admin"))]
    consoles += [_Console(scene, name, side, own(scene, f"{name}-console"), of(name)) for name, side in tenants(scene).items()]  # fmt: skip
    scene.config_map("cp", "consoles", {"consoles.json": json.dumps([console.facts for console in consoles])})


@clean(WIRING, "thirteenth-wired-closures-with-their-owner", "Functions that give each cluster its login are made in a comprehension, with the owner bound.")  # fmt: skip
def _(scene: Scene) -> None:
    logins = {"aster": own(scene, "aster-queue"), "cedar": own(scene, "cedar-queue"), "hub": generated(scene, "queue-root")}  # fmt: skip
    sides = {**tenants(scene), "hub": "cp"}
    makers = {sides[owner]: functools.partial(logins.__getitem__, owner) for owner in logins}
    for side, make in makers.items():
        scene.secret(side, "queue", {"password": make()})


@clean(WIRING, "thirteenth-wired-chain-of-maps", "Values of a tenant fall back on public ones by a chain of maps; the hub's login is in another chain.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    base = {"host": f"smtp.{DOMAIN}", "port": 465, "tls": True}
    theirs, ours = {"host": f"smtp.{ASTER}", "existingSecret": "smtp"}, {"password": generated(scene, "smtp-relay")}
    for side, first in (("cp", ours), ("dp", theirs)):
        release(scene, side, "mailer", dict(collections.ChainMap(first, base)))


@clean(WIRING, "thirteenth-wired-deep-copy-of-base-values", "Values are a deep copy of a base for each cluster, so that the hub's login is in the hub's alone.")  # fmt: skip
def _(scene: Scene) -> None:
    base: dict[str, Any] = {"replicas": 2, "auth": {"existingSecret": "", "rootUser": "admin"}}
    ours, theirs = copy.deepcopy(base), copy.deepcopy(base)
    ours["auth"]["rootPassword"] = generated(scene, "object-store")
    theirs["auth"]["rootPassword"] = own(scene, "aster-object-store")
    release(scene, "cp", "minio", ours)
    release(scene, "dp", "minio", theirs)


@dataclasses.dataclass(frozen=True)
class _Tenant:
    """A tenant as the configuration has it."""

    name: str
    side: str
    zone: str
    replicas: int = 2
    features: tuple[str, ...] = ()


@clean(WIRING, "thirteenth-wired-data-classes-of-tenants", "Tenants are data classes; each gets a map of its fields, a quota and a login of its own.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    every = tenants(scene)
    for one in (_Tenant("aster", every["aster"], ASTER, 3, ("logs", "traces")), _Tenant("maple", every["maple"], "maple.example.com")):  # fmt: skip
        told = {key: value for key, value in dataclasses.asdict(one).items() if key != "side"}
        scene.config_map(one.side, "tenant", {"tenant.yaml": yaml.safe_dump(told), "hub": f"https://xds.{DOMAIN}"}, labels=of(one.name))  # fmt: skip
        scene.object(one.side, "v1:ResourceQuota", "tenant", {"spec": {"hard": {"pods": str(one.replicas * 20)}}})
        scene.secret(one.side, "tenant", {"password": own(scene, f"{one.name}-tenant")}, labels=of(one.name))


@clean(WIRING, "thirteenth-wired-transformation-of-labels", "A transformation gives each object of a tenant's box the tenant's label and a public annotation; the box has a generated login.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    def labelled(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        given: Any = args.props
        if "metadata" not in (given or {}):
            return None
        metadata = {**given["metadata"], "labels": of("aster"), "annotations": {"lantern/hub": f"https://xds.{DOMAIN}", "lantern/mesh": MESH}}  # fmt: skip
        return pulumi.ResourceTransformationResult({**given, "metadata": metadata}, args.opts)

    hub(scene)
    box = Box("aster", opts=pulumi.ResourceOptions(transformations=[labelled]))
    scene.object("dp", "v1:Secret", "search", {"stringData": {"password": own(scene, "aster-search")}}, parent=box)
    scene.object("dp", "v1:ConfigMap", "search", {"data": {"url": "http://search:9200", "user": "elastic"}}, parent=box)


@clean(WIRING, "thirteenth-wired-transformation-takes-the-login-away", "One helper makes the chart for hub and tenant; the tenant's box replaces the login by the name of a Secret.")  # fmt: skip
def _(scene: Scene) -> None:
    def named(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        given: Any = args.props
        if "values" not in (given or {}):
            return None
        values = {**given["values"], "auth": {"existingSecret": "probe"}}
        return pulumi.ResourceTransformationResult({**given, "values": values}, args.opts)

    values = {"interval": "1m", "auth": {"user": "probe", "password": generated(scene, "probe")}}
    release(scene, "cp", "probe", values)
    release(scene, "dp", "probe", values, parent=Box("aster-charts", opts=pulumi.ResourceOptions(transformations=[named])))  # fmt: skip


@clean(WIRING, "thirteenth-wired-manifests-in-one-text", "A ConfigGroup at the tenant's is a text of manifests; its Secret has the tenant's login, made by Output.format.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    text = pulumi.Output.concat("apiVersion: v1\nkind: Secret\nmetadata:\n  name: grid\n  namespace: grid\nstringData:\n  password: ", own(scene, "aster-grid"), "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: grid\n  namespace: grid\ndata:\n  hub: https://grid.", DOMAIN, "\n")  # fmt: skip
    scene.made("kubernetes:yaml/v2:ConfigGroup", "grid", {"yaml": text}, scene.options("dp"))


@clean(WIRING, "thirteenth-wired-outputs-of-two-in-all", "Output.all waits for facts of the hub's cluster and a login of the tenant's; the tenant's Secret has an address of both.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    gate = scene.answered("cp", "v1:Service", "streams", {"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": ["203.0.113.0/24"], "ports": [{"name": "kafka", "port": 9094}]}}, status={"loadBalancer": {"ingress": [{"ip": "198.51.100.23"}]}})  # fmt: skip
    address = gate.output("status").apply(lambda found: ((found or {}).get("loadBalancer") or {"ingress": [{"ip": "192.0.2.1"}]})["ingress"][0]["ip"])  # fmt: skip
    login = shared(scene, "aster", "streams")
    url = pulumi.Output.all(address=address, login=login).apply(lambda found: f"kafka://aster:{found['login']}@{found['address']}:9094")  # fmt: skip
    scene.secret("dp", "streams", {"url": url}, labels=of("aster"))


@clean(WIRING, "thirteenth-wired-rows-by-a-full-match", "Rows of a tenant are chosen by an expression that takes the whole name up to the dash, and support logins of the hub are in another table.")  # fmt: skip
def _(scene: Scene) -> None:
    rows = {"aster-orders": own(scene, "aster-orders"), "aster-mail": own(scene, "aster-mail"), "cedar-orders": own(scene, "cedar-orders")}  # fmt: skip
    support = {"aster": generated(scene, "support-of-aster")}
    scene.secret("cp", "support", {f"{name}.password": value for name, value in support.items()})
    scene.secret("dp", "logins", {name: value for name, value in rows.items() if re.fullmatch(r"aster-\w+", name)})


@clean(WIRING, "thirteenth-wired-providers-in-a-loop", "Providers for tenants' accounts are made in a loop, and each makes a parameter with the tenant's login, which its cluster has.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    every = tenants(scene)
    for name in ("aster", "cedar"):
        login = own(scene, f"{name}-ledger")
        account(scene, name, "aws:ssm/parameter:Parameter", f"{name}-ledger-login", {"name": f"/{name}/ledger", "type": "SecureString", "value": login}, {"arn": f"arn:aws:ssm:{REGION}:0:parameter/{name}/ledger"}, ["value"], region=REGION)  # fmt: skip
        scene.secret(every[name], "ledger", {"password": login}, labels=of(name))


@clean(WIRING, "thirteenth-wired-waits-for-the-hubs-secret", "The tenant's charts depend on the hub's Secret and chart, so that the hub is first; nothing of them is in the values.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    home = scene.secret("cp", "gate", {"password": scene.password("cp", "gate").output("result")})
    chart = release(scene, "cp", "gate", {"existingSecret": "gate", "host": f"gate.{DOMAIN}"})
    for name, side in tenants(scene).items():
        release(scene, side, "gate-agent", {"host": f"gate.{DOMAIN}", "cluster": name}, depends_on=[home, chart])


@clean(WIRING, "thirteenth-wired-pairs-that-are-checked", "Names of clusters and passwords are paired strictly, for tenants alone; the hub's is beside the list.")  # fmt: skip
def _(scene: Scene) -> None:
    every, names = tenants(scene), ("aster", "cedar", "maple")
    release(scene, "cp", "valkey", {"auth": {"password": generated(scene, "valkey-root")}})
    for name, password in zip(names, [own(scene, f"valkey-of-{name}") for name in names], strict=True):
        release(scene, every[name], "valkey", {"auth": {"enabled": True, "password": password}})


@clean(WIRING, "thirteenth-wired-cache-by-owner", "A function that makes a login is cached by owner and application; hub and tenants ask for the same application.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    @functools.cache
    def login(owner: str, app: str) -> Any:
        return generated(scene, f"hub-{app}") if owner == "hub" else own(scene, f"{app}-of-{owner}")

    for owner, side in {"hub": "cp", **tenants(scene)}.items():
        scene.secret(side, "gitea", {"password": login(owner, "gitea")})
        release(scene, side, "gitea", {"gitea": {"admin": {"username": "root", "password": login(owner, "gitea")}}})


# Home -----------------------------------------------------------------------------------------------------------------


@clean(HOME, "thirteenth-home-logins-in-both-regions", "A login of the hub's is in both of its clusters, a key pair too; tenants get the bundle.", before="the same", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    login, second = generated(scene, "fleet-api", "token", 40), second_hub(scene)
    key, cert = pair(scene, "cp", "fleet-ca", authority=True)
    for side in ("cp", second):
        scene.secret(side, "fleet-ca", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip
        release(scene, side, "fleet", {"api": {"token": login}, "replicas": 3})
    for side in tenants(scene).values():
        scene.config_map(side, "fleet", {"ca.crt": cert.output("certPem"), "api": f"https://fleet.{DOMAIN}"})


@clean(HOME, "thirteenth-home-argocd-knows-the-second-hub", "The hub's Argo CD has a token for the hub's second cluster, and an application for it with a login among its values.", pack=settings(controlPlaneProviders=["lantern-*", "hub-us"]))  # fmt: skip
def _(scene: Scene) -> None:
    second = second_hub(scene)
    token = pulumi.Output.secret(scene.kubeconfigs[second]).apply(lambda text: yaml.safe_load(text)["users"][0]["user"]["token"])  # fmt: skip
    scene.secret("cp", "cluster-hub-us", {"name": "hub-us", "server": HUB2, "config": apply(token, lambda found: cluster_secret("hub-us", HUB2, found)["config"])}, namespace="argocd", labels={"argocd.argoproj.io/secret-type": "cluster"})  # fmt: skip
    source = {"repoURL": f"https://charts.{DOMAIN}", "chart": "fleet", "targetRevision": "3.0.0", "helm": {"valuesObject": {"api": {"token": generated(scene, "fleet-us", "token", 40)}}}}  # fmt: skip
    scene.object("cp", "argoproj.io/v1alpha1:Application", "fleet-us", {"metadata": {"namespace": "argocd"}, "spec": {"project": "hub", "source": source, "destination": {"name": "hub-us", "namespace": "fleet"}}})  # fmt: skip
    scene.config_map("dp", "fleet", {"api": f"https://fleet.{DOMAIN}"})


@clean(HOME, "thirteenth-home-crossplane-in-its-own-cluster", "Crossplane makes a Secret in its own cluster, by a provider configuration with the injected identity of this stack; another object is for a tenant and has facts.")  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-aster-facts")
    hub(scene)
    scene.object("cp", "kubernetes.crossplane.io/v1alpha1:ProviderConfig", "in-place", {"metadata": {"name": "in-place"}, "spec": {"credentials": {"source": "InjectedIdentity"}}})  # fmt: skip
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "usage", "namespace": "usage"}, "stringData": {"password": generated(scene, "usage-writer")}}  # fmt: skip
    scene.object("cp", "kubernetes.crossplane.io/v1alpha2:Object", "usage", {"spec": {"forProvider": {"manifest": manifest}, "providerConfigRef": {"name": "in-place"}}})  # fmt: skip
    facts = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "usage", "namespace": "usage"}, "data": {"endpoint": f"https://usage.{DOMAIN}", "mesh": MESH}}  # fmt: skip
    scene.object("cp", "kubernetes.crossplane.io/v1alpha2:Object", "aster-facts", {"spec": {"forProvider": {"manifest": facts}, "providerConfigRef": {"name": "aster"}}})  # fmt: skip


@clean(HOME, "thirteenth-home-flux-with-values-from-a-secret", "Flux installs at the hub with values of a Secret; at tenants it installs by kubeconfigs with values of a map.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered |= {"cp-remote", "cp-remote-values"}
    scene.secret("cp", "hub-values", {"values.yaml": pulumi.Output.concat("admin:\n  password: ", generated(scene, "grafana-admin"), "\n")}, namespace="fleet")  # fmt: skip
    scene.config_map("cp", "remote-values", {"values.yaml": yaml.safe_dump({"hub": f"https://grafana.{DOMAIN}", "auth": {"existingSecret": "grafana"}})}, namespace="fleet")  # fmt: skip
    chart = {"interval": "10m", "chartRef": {"kind": "OCIRepository", "name": "grafana"}}
    scene.object("cp", "helm.toolkit.fluxcd.io/v2:HelmRelease", "hub", {"metadata": {"namespace": "fleet"}, "spec": {**chart, "valuesFrom": [{"kind": "Secret", "name": "hub-values"}]}})  # fmt: skip
    scene.object("cp", "helm.toolkit.fluxcd.io/v2:HelmRelease", "remote", {"metadata": {"namespace": "fleet"}, "spec": {**chart, "kubeConfig": {"secretRef": {"name": "aster-kubeconfig"}}, "valuesFrom": [{"kind": "ConfigMap", "name": "remote-values"}]}})  # fmt: skip


@clean(HOME, "thirteenth-home-accounts-of-the-platform", "Logins of the hub are in its store, its Vault and its forge, by providers with its prefix; the tenant's role may read a path.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    login, key = generated(scene, "ledger-owner"), kept(scene, "ledger-api", "key", 40)
    account(scene, "lantern", "aws:secretsmanager/secretVersion:SecretVersion", "ledger", {"secretId": "lantern/ledger", "secretString": pulumi.Output.json_dumps({"username": "ledger", "password": login})}, {"arn": "arn:aws:secretsmanager:eu-central-1:518203946177:secret:lantern/ledger"}, ["secretString"], region=REGION)  # fmt: skip
    account(scene, "lantern", "vault:kv/secretV2:SecretV2", "ledger-entry", {"mount": "kv", "name": "ledger", "dataJson": pulumi.Output.json_dumps({"key": key})}, {}, ["dataJson"], address=f"https://vault.{DOMAIN}")  # fmt: skip
    account(scene, "lantern", "github:index/actionsSecret:ActionsSecret", "ledger-ci", {"repository": "ledger", "secretName": "LEDGER_KEY", "plaintextValue": key}, {}, ["plaintextValue"], organization="lantern")  # fmt: skip
    account(scene, "aster", "vault:index/policy:Policy", "ledger-policy", {"name": "ledger", "policy": 'path "kv/data/aster/*" {\n  capabilities = ["read"]\n}\n'}, address=f"https://vault.{ASTER}")  # fmt: skip


@clean(HOME, "thirteenth-home-configuration-of-the-platform", "Secrets of the platform's section go to the hub's chart, its Secret and its account; the tenant's chart names a place.", config=lambda cp, dp: {"lantern:smtp": cp.opaque("lantern smtp", 32, LETTERS), "lantern:license": cp.opaque("lantern license", 64, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "smtp", {"password": scene.config("lantern:smtp")})
    release(scene, "cp", "gateway-enterprise", {"license": scene.config("lantern:license")})
    account(scene, "lantern", "aws:ssm/parameter:Parameter", "license", {"name": "/lantern/license", "type": "SecureString", "value": scene.config("lantern:license")}, {}, ["value"], region=REGION)  # fmt: skip
    release(scene, "dp", "gateway-agent", {"licenseServer": f"https://license.{DOMAIN}", "smtp": {"existingSecret": "smtp"}})  # fmt: skip


@clean(HOME, "thirteenth-home-pull-secret-of-the-hub", "The hub's pull secret is in the namespaces of the hub that want it; tenants' charts name one of their own.")  # fmt: skip
def _(scene: Scene) -> None:
    login = generated(scene, "image-puller")
    for namespace in ("argocd", "monitoring", "login"):
        scene.secret("cp", f"images-{namespace}", {".dockerconfigjson": pull_secret(f"images.{DOMAIN}", "lantern", login)}, kind="kubernetes.io/dockerconfigjson", namespace=namespace)  # fmt: skip
    release(scene, "dp", "agent", {"imagePullSecrets": [{"name": "images"}], "image": f"images.{DOMAIN}/agent:2.4.0"})


# Later ----------------------------------------------------------------------------------------------------------------


def _two(scene: Scene) -> None:
    hub(scene)
    for name in ("aster", "cedar"):
        scene.secret(tenants(scene)[name], "metrics", {"password": shared(scene, name, "metrics")}, labels=of(name))


@clean(LATER, "thirteenth-later-a-tenant-joins", "Two tenants have logins since an earlier update; a third joins, with a login of its own and a Secret at the hub.", before=_two)  # fmt: skip
def _(scene: Scene) -> None:
    _two(scene)
    login = shared(scene, "maple", "metrics")
    scene.secret(tenants(scene)["maple"], "metrics", {"password": login}, labels=of("maple"))
    release(scene, "maple", "agent", {"existingSecret": "metrics", "remote": f"https://metrics.{DOMAIN}"})


def _in_values(scene: Scene) -> None:
    hub(scene)
    release(scene, "dp", "shop", {"auth": {"password": own(scene, "aster-shop")}})


@clean(LATER, "thirteenth-later-moved-into-a-secret", "The tenant's login moves from a chart's values into a Secret at a later update; it is known by then.", before=_in_values)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.secret("dp", "shop", {"password": own(scene, "aster-shop")})
    release(scene, "dp", "shop", {"auth": {"existingSecret": "shop"}})


@clean(LATER, "thirteenth-later-rotated-login-of-both", "A login that both sides have is rotated by a new resource; both Secrets change in one update.", before=lambda scene: scene.secret("dp", "traces", {"token": shared(scene, "aster", "traces", "token", 40)}, labels=of("aster")))  # fmt: skip
def _(scene: Scene) -> None:
    token = own(scene, "aster-traces-2026-04", 40)
    scene.secret("cp", "traces-aster", {"token": token}, namespace="agents", labels=of("aster"), annotations=owned("aster's agent logs in at the hub by it, since April"))  # fmt: skip
    scene.secret("dp", "traces", {"token": token}, labels=of("aster"))


@clean(LATER, "thirteenth-later-checksum-of-a-known-login", "A Pod's mark is the SHA-256 of the hub's login, known since an earlier update; its object declassifies it.", before="the same", rightly=DIGEST)  # fmt: skip
def _(scene: Scene) -> None:
    login = generated(scene, "edge-login")
    place = 'spec.template.metadata.annotations["lantern/edge"]'
    template = {"metadata": {"labels": {"app": "edge"}, "annotations": {"lantern/edge": apply(login, lambda found: hashlib.sha256(found.encode()).hexdigest())}}, "spec": {"containers": [{"name": "edge", "image": "edge:3"}]}}  # fmt: skip
    scene.object("dp", "apps/v1:DaemonSet", "edge", {"metadata": {"annotations": declassified(place, reason="sha256 of 32 random letters, restarts Pods")}, "spec": {"selector": {"matchLabels": {"app": "edge"}}, "template": template}})  # fmt: skip


@clean(LATER, "thirteenth-later-certificate-is-renewed", "The hub's certificate is another one at the second update; tenants get the new bundle beside the old.", before="the same", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    (old_key, old), (new_key, new) = pair(scene, "cp", "gate-2026", authority=True), pair(scene, "cp", "gate-2027", authority=True)  # fmt: skip
    scene.secret("cp", "gate-ca", {"old.key": old_key.output("privateKeyPem"), "new.key": new_key.output("privateKeyPem"), "old.crt": old.output("certPem"), "new.crt": new.output("certPem")})  # fmt: skip
    scene.config_map("dp", "gate-ca", {"bundle.pem": pulumi.Output.concat(old.output("certPem"), new.output("certPem"))})  # fmt: skip


@clean(LATER, "thirteenth-later-longer-password-of-a-tenant", "The tenant's password is made anew with another length; its chart, Secret and file of its client follow.", before=lambda scene: scene.secret("dp", "index", {"password": own(scene, "aster-index", 24)}))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    password = own(scene, "aster-index", 40)
    scene.secret("dp", "index", {"password": password, "basic": apply(password, lambda found: b64(f"elastic:{found}"))})
    release(scene, "dp", "index", {"elasticsearch": {"password": password}})


@clean(LATER, "thirteenth-later-variables-become-references", "A Deployment of the tenant's had the tenant's token as a variable, and refers to a Secret now.", before=lambda scene: deployment(scene, "dp", "sync", {"env": [{"name": "LOG_LEVEL", "value": "info"}]}))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.secret("dp", "sync", {"token": own(scene, "aster-sync", 40)})
    deployment(scene, "dp", "sync", {"env": [{"name": "LOG_LEVEL", "value": "info"}, {"name": "SYNC_TOKEN", "valueFrom": {"secretKeyRef": ref("sync", "token")}}]})  # fmt: skip


@clean(LATER, "thirteenth-later-moved-to-the-second-hub", "A service of the hub moves to the hub's second cluster with its known login; tenants get the new address.", before=lambda scene: release(scene, "cp", "registrar", {"auth": {"password": generated(scene, "registrar")}}))  # fmt: skip
def _(scene: Scene) -> None:
    login, second = generated(scene, "registrar"), second_hub(scene)
    release(scene, second, "registrar", {"auth": {"password": login}})
    for side in tenants(scene).values():
        scene.config_map(side, "registrar", {"url": f"https://registrar.hub-us.{DOMAIN}", "before": SERVERS["cp"]})


@clean(LATER, "thirteenth-later-a-tenant-leaves", "A tenant leaves: its login and its Secret at the hub go, and the others' stay as they are.", before=_two)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.secret("dp", "metrics", {"password": shared(scene, "aster", "metrics")}, labels=of("aster"))
