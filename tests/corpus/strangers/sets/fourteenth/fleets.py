"""Harmless, of a team that has read the README: many tenants and clusters, repositories, and hubs that carry objects."""

from __future__ import annotations

import json

import pulumi
import yaml

from tests.corpus.strangers.credentials import kept, minted
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import ref, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import HEX, apply, drawn, kubeconfig

from .world import ALDER, DOMAIN, MESH, both, digest, home, hosted, hub, theirs

MANY, REPOSITORIES, CARRIED = (
    "fourteenth: many tenants and clusters",
    "fourteenth: repositories and pipelines",
    "fourteenth: read and carried by the hub",
)

# Many tenants and clusters --------------------------------------------------------------------------------------------


@clean(MANY, "fourteenth-many-namespaces-and-quotas", "A loop sets up each tenant's cluster in the same way: namespaces, quotas, policies and a chart.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    for at, (name, side) in enumerate(both(scene).items()):
        scene.object(side, "v1:Namespace", f"{name}-mesh", {"metadata": {"labels": {"istio.io/rev": "1-31-2", "tenant": name}}})  # fmt: skip
        scene.object(side, "v1:ResourceQuota", f"{name}-quota", {"metadata": {"namespace": f"{name}-mesh"}, "spec": {"hard": {"secrets": "40", "pods": str(50 * (at + 1))}}})  # fmt: skip
        scene.object(side, "security.istio.io/v1:PeerAuthentication", f"{name}-strict", {"metadata": {"namespace": "istio-system"}, "spec": {"mtls": {"mode": "STRICT"}}})  # fmt: skip
        release(scene, side, "istio-cni", {"global": {"meshID": MESH, "multiCluster": {"clusterName": name}, "network": f"{name}-1"}})  # fmt: skip


@clean(MANY, "fourteenth-many-clusters-of-one-tenant", "Three clusters of one tenant share a generated gossip key, and nobody else has it.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key = theirs(scene, "gossip", 44)
    for name in ("east", "west"):
        scene.join(name, f"https://{name}.{ALDER}:6443")
    for side in ("dp", "east", "west"):
        scene.secret(side, "consul-gossip", {"key": key}, namespace="consul")
        release(scene, side, "consul", {"global": {"datacenter": side, "gossipEncryption": {"secretName": "consul-gossip", "secretKey": "key"}}})  # fmt: skip


@clean(MANY, "fourteenth-many-tenants-with-own-settings", "Tenants are read from one table; each gets a Secret with what the table has for it.", config=lambda cp, dp: {name: dp.opaque(name, 36, LETTERS) for name in ("alder:mailToken", "birch:mailToken")} | {"osprey:mailToken": cp.opaque("osprey mail", 36, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "mail", {"token": scene.config("osprey:mailToken")}, namespace="platform")
    for name, side in both(scene).items():
        scene.secret(side, "mail", {"token": scene.config(f"{name}:mailToken"), "from": f"noreply@{name}.example.com"}, namespace="shop")  # fmt: skip


@clean(MANY, "fourteenth-many-gateways-of-meshes", "Each tenant's cluster gets the others' gateways by address and a route, so that listed services are called.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    addresses = {"alder": "203.0.113.31", "birch": "203.0.113.32"}
    for name, side in both(scene).items():
        for other, address in addresses.items():
            if other != name:
                spec = {"hosts": [f"catalogue.{other}.mesh.internal"], "location": "MESH_INTERNAL", "ports": [{"number": 80, "name": "http", "protocol": "HTTP"}], "resolution": "STATIC", "endpoints": [{"address": address, "ports": {"http": 15443}, "network": f"{other}-1"}], "subjectAltNames": [f"spiffe://{other}.{DOMAIN}/ns/shop/sa/catalogue"]}  # fmt: skip
                scene.object(side, "networking.istio.io/v1:ServiceEntry", f"{other}-catalogue", {"metadata": {"namespace": "shop"}, "spec": spec})  # fmt: skip


# Repositories and pipelines -------------------------------------------------------------------------------------------


@clean(REPOSITORIES, "fourteenth-repository-with-manifests", "Manifests of the tenant's are committed to the provider's repository; the provider that does it has the login, and the files have names of Secrets.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    login = {"baseUrl": f"https://git.{DOMAIN}", "token": hosted(scene, "github", "token", 40)}
    release_ = {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "agent"}, "spec": {"interval": "30m", "valuesFrom": [{"kind": "Secret", "name": "agent-values"}]}}  # fmt: skip
    home(scene, "github:index/repositoryFile:RepositoryFile", "alder-agent-file", {"repository": "fleet", "file": "tenants/alder/agent.yaml", "content": yaml.safe_dump(release_), "branch": "main"}, None, (), **login)  # fmt: skip
    source = {"interval": "5m", "url": "https://github.com/osprey/fleet", "ref": {"branch": "main"}, "secretRef": {"name": "fleet-read"}}  # fmt: skip
    scene.object("dp", "source.toolkit.fluxcd.io/v1:GitRepository", "fleet", {"metadata": {"namespace": "flux-system"}, "spec": source})  # fmt: skip


@clean(REPOSITORIES, "fourteenth-repository-of-the-provider-with-its-secrets", "The provider's own repository has the provider's own token as a secret of its workflows; the tenant's cluster has an Application of it.")  # fmt: skip
def _(scene: Scene) -> None:
    token = hosted(scene, "pulumi", "token", 44)
    home(scene, "github:index/actionsSecret:ActionsSecret", "pulumi-token", {"repository": "fleet", "secretName": "PULUMI_ACCESS_TOKEN", "plaintextValue": token}, None, ["plaintextValue"], token=hosted(scene, "github-admin", "token", 40))  # fmt: skip
    spec = {"project": "default", "source": {"repoURL": "https://github.com/osprey/charts", "path": "agent", "targetRevision": "v2.4.1"}, "destination": {"server": "https://kubernetes.default.svc", "namespace": "osprey"}}  # fmt: skip
    scene.object("dp", "argoproj.io/v1alpha1:Application", "agent", {"metadata": {"namespace": "argocd"}, "spec": spec})


@clean(REPOSITORIES, "fourteenth-repository-variables-of-the-tenant", "Variables of the tenant's repository: a role, a region, a registry's host and a mesh, none of which opens anything.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    opts = scene.package("github", "alder-github", owner="dp")
    for name, value in {"AWS_ROLE": "arn:aws:iam::906143377120:role/deploy", "REGISTRY": f"registry.{DOMAIN}", "MESH": MESH, "IMAGE": f"registry.{DOMAIN}/base@{digest('base')}"}.items():  # fmt: skip
        scene.made("github:index/actionsVariable:ActionsVariable", f"var-{name.lower()}", {"repository": "shop", "variableName": name, "value": value}, opts)  # fmt: skip


@clean(REPOSITORIES, "fourteenth-repository-hook-of-the-tenant", "The tenant's repository calls the tenant's Flux; a word that was generated for the two is in both.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    word = theirs(scene, "flux-hook", 40)
    scene.secret("dp", "webhook-token", {"token": word}, namespace="flux-system")
    spec = {"type": "github", "events": ["push"], "secretRef": {"name": "webhook-token"}, "resources": [{"kind": "GitRepository", "name": "apps"}]}  # fmt: skip
    scene.object("dp", "notification.toolkit.fluxcd.io/v1:Receiver", "apps", {"metadata": {"namespace": "flux-system"}, "spec": spec})  # fmt: skip


# Read and carried by the hub ------------------------------------------------------------------------------------------


@clean(CARRIED, "fourteenth-hub-reads-the-tenants-cluster", "istiod in the hub reads the tenant's cluster, by a token that this cluster minted: the remote secret is in the hub only.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.object("dp", "v1:ServiceAccount", "istiod", {"metadata": {"namespace": "istio-system"}})
    file = apply(minted(scene, "dp", "istiod-reader"), lambda text: kubeconfig(SERVERS["dp"], {"token": text}, "authority"))  # fmt: skip
    scene.secret("cp", "istio-remote-secret-alder", {"alder": file}, namespace="mesh-alder", labels={"istio/multiCluster": "true"})  # fmt: skip


@clean(CARRIED, "fourteenth-hub-carries-public-manifests", "The hub's ManifestWork for the tenant has a namespace, an account and a ConfigMap, and a Deployment that names a Secret.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.stage.delivered.add("cp-alder-base")
    manifests = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "osprey"}}, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hub", "namespace": "osprey"}, "data": {"server": f"https://hub.{DOMAIN}", "tokenSecret": "agent-token"}}, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "agent", "namespace": "osprey"}, "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [{"name": "agent", "image": f"registry.{DOMAIN}/agent:2.4.1", "env": [{"name": "TOKEN", "valueFrom": {"secretKeyRef": ref("agent-token", "token")}}]}]}}}}]  # fmt: skip
    scene.object("cp", "work.open-cluster-management.io/v1:ManifestWork", "alder-base", {"metadata": {"namespace": "alder"}, "spec": {"workload": {"manifests": manifests}}})  # fmt: skip


@clean(CARRIED, "fourteenth-hub-lists-its-clusters", "The hub's Argo CD has the clusters of all tenants, with tokens that these minted, and a generator of applications over them.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    for name, side in both(scene).items():
        config = pulumi.Output.json_dumps({"bearerToken": minted(scene, side, "argocd-manager"), "tlsClientConfig": {"insecure": False}})  # fmt: skip
        scene.secret("cp", f"cluster-{name}", {"name": name, "server": SERVERS.get(side, f"https://{name}.example.com:6443"), "config": config}, namespace="argocd", labels={"argocd.argoproj.io/secret-type": "cluster", "tenant": name})  # fmt: skip
    template = {"metadata": {"name": "{{.name}}-agent"}, "spec": {"project": "tenants", "source": {"repoURL": "https://github.com/osprey/charts", "path": "agent", "helm": {"values": "cluster: '{{.name}}'\n"}}, "destination": {"server": "{{.server}}", "namespace": "osprey"}}}  # fmt: skip
    scene.object("cp", "argoproj.io/v1alpha1:ApplicationSet", "agents", {"metadata": {"namespace": "argocd"}, "spec": {"goTemplate": True, "generators": [{"clusters": {"selector": {"matchExpressions": [{"key": "tenant", "operator": "Exists"}]}}}], "template": template}})  # fmt: skip


@clean(CARRIED, "fourteenth-hub-knows-tenants-by-number", "The hub keeps a registry of tenants with numbers and plans; each tenant's cluster has its own line of it.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    lines = {name: {"id": drawn(f"tenant {name}", 12, HEX), "plan": "standard", "mesh": MESH} for name in ("alder", "birch")}  # fmt: skip
    scene.secret("cp", "tenants", {"tenants.json": json.dumps(lines), "signingKey": kept(scene, "tenants-signing", "key", 48)}, namespace="platform")  # fmt: skip
    for name, side in both(scene).items():
        scene.config_map(side, "tenant", dict(lines[name]), namespace="osprey")
