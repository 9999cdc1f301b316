"""Pairs that differ in where something goes: a cluster, an account, an organisation, a destination of an operator."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pulumi

from tests.corpus.strangers.credentials import minted
from tests.corpus.strangers.objects import ref, release
from tests.corpus.strangers.recover import each, strings_of_json
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.values import apply, b64, kubeconfig
from tests.corpus.world import Box, Object

from .world import (
    ACCOUNT,
    DOMAIN,
    FERN,
    FERN_ACCOUNT,
    HUB2,
    MOSS_SERVER,
    REGION,
    account,
    hosted,
    hub,
    moss,
    tenants_own,
    twins,
    typed,
)

CLUSTERS, ACCOUNTS, CARRIED = "which cluster", "which account", "where an operator takes it"

# Clusters -------------------------------------------------------------------------------------------------------------


@twins(CLUSTERS, "late-binding-in-a-loop", "Secrets are made after a loop by functions that look the cluster up when they are called, so the hub's login goes to the last cluster, fern's.", "The same functions bind the cluster as they bind the login.", "late binding of closures", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    hub(scene)
    logins = {"heron": ("cp", hosted(scene, "grafana")), "fern": ("dp", tenants_own(scene, "grafana"))}
    makers: list[Callable[[], Any]] = []
    for owner, (side, login) in logins.items():

        def make(owner: str = owner, login: Any = login, own: str = "" if wrong else side) -> None:
            data = {"admin-user": "admin", "admin-password": login}
            scene.secret(own or side, f"grafana-{owner}", data, namespace="monitoring")  # noqa: B023 in one of the pair

        makers.append(make)
    for made in makers:
        made()


@twins(CLUSTERS, "where-a-kubeconfig-leads", "The provider for backups was made of moss's kubeconfig, so the key of the hub's bucket is in moss's cluster.", "The provider for backups was made of the kubeconfig of the hub's second cluster.", "wrong kubeconfig", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    scene.join("backups", MOSS_SERVER if wrong else HUB2, owner="dp" if wrong else "cp")
    key = typed(scene, "velero")
    scene.secret("backups", "cloud-credentials", {"cloud": pulumi.Output.concat("[default]\naws_access_key_id=AKIAHERONBACKUPS2222\naws_secret_access_key=", key, "\n")}, namespace="velero")  # fmt: skip
    release(scene, "backups", "velero", {"configuration": {"backupStorageLocation": [{"bucket": "heron-backups", "provider": "aws"}]}})  # fmt: skip


@twins(CLUSTERS, "order-of-merged-options", "Options are merged in the wrong order: the provider that was the default, fern's, wins over the hub's.", "The specific options come last, so the hub's provider wins.", "ResourceOptions.merge")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    default, specific = scene.options("dp", protect=False), scene.options("cp")
    merge = pulumi.ResourceOptions.merge
    opts = merge(specific, default) if wrong else merge(default, specific)
    admin = hosted(scene, "keycloak")
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keycloak-db", "namespace": "login"}, "stringData": pulumi.Output.secret({"username": "keycloak", "password": admin})}  # fmt: skip
    Object("kubernetes:core/v1:Secret", "keycloak-db", body, opts)
    scene.config_map("dp", "login", {"issuer": f"https://login.{DOMAIN}/realms/fern"})


@twins(CLUSTERS, "provider-of-a-parent", "A component with fern's providers is the parent of the hub's registry login, which inherits its cluster.", "The component has the hub's providers.", "inherited providers")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = hosted(scene, "registry")
    side = "dp" if wrong else "cp"
    parent = Box("registry", "heron:platform:Registry", pulumi.ResourceOptions(providers=[scene.provider(side)]))
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "registry-admin", "namespace": "registry"}, "stringData": pulumi.Output.secret({"REGISTRY_PASSWORD": login})}  # fmt: skip
    Object("kubernetes:core/v1:Secret", "registry-admin", body, pulumi.ResourceOptions(parent=parent))
    scene.config_map("dp", "registry", {"mirror": f"registry.{DOMAIN}"})


@twins(CLUSTERS, "order-of-two-lists", "Sides and logins are in two lists that are zipped; one of them is sorted, so hub and tenant get each other's.", "Neither list is sorted.", "zip of lists")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    owners, logins = ["heron", "fern"], [hosted(scene, "thanos", "token"), tenants_own(scene, "thanos")]
    sides = {"heron": "cp", "fern": "dp"}
    for owner, login in zip(sorted(owners) if wrong else owners, logins, strict=True):
        scene.secret(sides[owner], f"thanos-{owner}-bearer", {"bearer": login}, namespace="monitoring")


@twins(CLUSTERS, "side-of-a-cluster-secret", "Argo CD's Secret of a cluster was made the other way round: fern's Argo CD has the hub's manager token.", "The hub's Argo CD has a token of fern's cluster.", "Argo CD cluster secrets", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    at, of = ("dp", "cp") if wrong else ("cp", "dp")
    token = minted(scene, of, "argocd-manager")
    config = apply(token, lambda found: json.dumps({"bearerToken": found, "tlsClientConfig": {"insecure": False}}))
    scene.secret(at, "cluster", {"name": "peer", "server": SERVERS[of], "config": config}, namespace="argocd", labels={"argocd.argoproj.io/secret-type": "cluster"})  # fmt: skip


@twins(CLUSTERS, "remote-secret-of-a-reader", "istiod in fern's cluster gets a kubeconfig of the hub's cluster.", "istiod in the hub's cluster gets a kubeconfig of fern's.", "Istio remote secrets", recover=each(lambda text: json.loads(text)["users"][0]["user"]["token"].encode()))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    hub(scene)
    at, of = ("dp", "cp") if wrong else ("cp", "dp")
    token = minted(scene, of, "istio-reader-service-account")
    config = apply(token, lambda found: kubeconfig(SERVERS[of], {"token": found}, scene.owner(of).certificate("kubernetes", authority=True)))  # fmt: skip
    scene.secret(at, "istio-remote-secret-peer", {"peer": config}, namespace="istio-system", labels={"istio/multiCluster": "true"})  # fmt: skip


@twins(CLUSTERS, "one-cluster-too-many", "The exporter with the hub's database login is deployed on all clusters of a list, where moss's was added.", "The list has the hub's two clusters.", "lists of clusters", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    scene.join("hub-2", HUB2, owner="cp")
    url = pulumi.Output.concat("postgresql://exporter:", hosted(scene, "ledger"), f"@ledger.{DOMAIN}:5432/postgres?sslmode=require")  # fmt: skip
    for side in ["cp", "hub-2", *([moss(scene)] if wrong else [])]:
        release(scene, side, "prometheus-postgres-exporter", {"config": {"datasource": url}, "serviceMonitor": {"enabled": True}})  # fmt: skip


@twins(CLUSTERS, "secret-that-is-read", "A pull login for a second namespace of fern's is read from the hub's cluster.", "It is read from fern's cluster, where the first namespace has it.", "Secret.get", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    hub(scene)
    side = "cp" if wrong else "dp"
    login = b64(scene.owner(side).opaque("images", 40))
    read = scene.existing(side, "v1:Secret", "images", data={"password": login})
    body = {"type": "Opaque", "metadata": {"namespace": "shop"}, "data": read.output("data")}
    scene.object("dp", "v1:Secret", "images-of-shop", body)


# Accounts -------------------------------------------------------------------------------------------------------------


@twins(ACCOUNTS, "whose-account-made-a-key", "The access key of a mirror was made in the hub's account, and is in fern's cluster.", "The key was made in fern's own account.", "provider of an access key", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    hub(scene)
    owner, material = ("heron", scene.cp) if wrong else ("fern", scene.dp)
    answers = {"secret": material.opaque("mirror key", 40)}
    key = account(scene, owner, "aws:iam/accessKey:AccessKey", "mirror", {"user": "mirror"}, answers, ["secret"], region=REGION, allowedAccountIds=[ACCOUNT if wrong else FERN_ACCOUNT])  # fmt: skip
    scene.secret("dp", "mirror", {"AWS_ACCESS_KEY_ID": "AKIAMIRROR4444444444", "AWS_SECRET_ACCESS_KEY": key.output("secret")}, namespace="mirror")  # fmt: skip


@twins(ACCOUNTS, "whose-organisation", "A secret for actions with the hub's deploy token is made in fern's organisation of the forge.", "It is made in the hub's own organisation.", "GitHub Actions secrets", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    token = typed(scene, "deploy", prefix="glpat-")
    owner = "fern" if wrong else "heron"
    account(scene, owner, "github:index/actionsOrganizationSecret:ActionsOrganizationSecret", "deploy", {"secretName": "DEPLOY_TOKEN", "visibility": "private", "plaintextValue": token}, {}, ["plaintextValue"], organization=owner)  # fmt: skip


@twins(ACCOUNTS, "whose-vault", "A generated login of the hub's database is kept in fern's Vault.", "It is kept in the hub's Vault.", "Vault providers", recover=each(strings_of_json))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = hosted(scene, "billing")
    address = f"https://vault.{FERN if wrong else DOMAIN}"
    account(scene, "fern" if wrong else "heron", "vault:kv/secretV2:SecretV2", "billing", {"mount": "kv", "name": "billing/db", "dataJson": pulumi.Output.json_dumps({"username": "billing", "password": login})}, {}, ["dataJson"], address=address)  # fmt: skip


@twins(ACCOUNTS, "whose-function", "A function in fern's account has the hub's pager key among its variables.", "The function runs in the hub's account.", "Lambda environment", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    key = typed(scene, "pager", "routing-key")
    owner, number = ("fern", FERN_ACCOUNT) if wrong else ("heron", ACCOUNT)
    account(scene, owner, "aws:lambda/function:Function", "alerts", {"name": "alerts", "runtime": "python3.13", "handler": "main.handle", "role": f"arn:aws:iam::{number}:role/alerts", "environment": {"variables": {"ROUTING_KEY": key, "STAGE": "prod"}}}, {}, (), region=REGION)  # fmt: skip


@twins(ACCOUNTS, "whose-bucket", "The state of the hub's Terraform, with its root login, is copied to a bucket in fern's project.", "It is copied to a bucket of the hub's project.", "Terraform state", told=True, recover=each(lambda text: json.loads(text)["resources"][0]["instances"][0]["attributes"]["password"].encode()))  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    login = hosted(scene, "sql-root")
    state = apply(login, lambda found: json.dumps({"version": 4, "terraform_version": "1.9.8", "resources": [{"type": "google_sql_user", "name": "root", "instances": [{"attributes": {"name": "root", "password": found}}]}]}))  # fmt: skip
    owner = "fern" if wrong else "heron"
    account(scene, owner, "gcp:storage/bucketObject:BucketObject", "state", {"bucket": f"{owner}-state", "name": "platform/default.tfstate", "content": state}, {}, (), project=f"{owner}-prod")  # fmt: skip


@twins(ACCOUNTS, "whose-zone", "A text record for enrolment, with the hub's join token, is in fern's public zone.", "The record in fern's zone has fern's own token, and the hub keeps its token.", "DNS TXT records", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    token = hosted(scene, "enrol", "token")
    own = tenants_own(scene, "enrol")
    account(scene, "fern", "cloudflare:index/dnsRecord:DnsRecord", "enrol", {"zoneId": "9f2ab61c07d54e8fa1c3", "name": f"_enrol.{FERN}", "type": "TXT", "ttl": 300, "content": pulumi.Output.concat("v=heron1 t=", token if wrong else own)})  # fmt: skip


# Operators ------------------------------------------------------------------------------------------------------------


@twins(CARRIED, "destination-of-an-application", "An Application with the hub's login among its values has fern's cluster as destination.", "Its destination is the hub's own cluster.", "Argo CD Applications")  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    if wrong:
        scene.stage.delivered.add("cp-loki")
    login = hosted(scene, "loki")
    source = {"repoURL": f"https://charts.{DOMAIN}", "chart": "loki", "targetRevision": "6.24.0", "helm": {"valuesObject": {"gateway": {"basicAuth": {"username": "loki", "password": login}}}}}  # fmt: skip
    server = SERVERS["dp"] if wrong else "https://kubernetes.default.svc"
    scene.object("cp", "argoproj.io/v1alpha1:Application", "loki", {"metadata": {"namespace": "argocd"}, "spec": {"project": "platform", "source": source, "destination": {"server": server, "namespace": "loki"}}})  # fmt: skip


@twins(CARRIED, "kubeconfig-of-a-release", "A HelmRelease of the hub's Flux has the hub's login in its values and fern's kubeconfig, so fern's cluster gets it.", "The HelmRelease has no kubeconfig and stays in the hub's cluster.", "Flux HelmRelease kubeConfig", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    if wrong:
        scene.stage.delivered.add("cp-tempo")
    scene.secret("cp", "fern-kubeconfig", {"value": scene.kubeconfigs["dp"]}, namespace="fleet")
    spec = {"interval": "10m", "chart": {"spec": {"chart": "tempo", "version": "1.18.0", "sourceRef": {"kind": "HelmRepository", "name": "charts"}}}, "values": {"storage": {"s3": {"access_key": "heron", "secret_key": hosted(scene, "tempo")}}}}  # fmt: skip
    remote = {"kubeConfig": {"secretRef": {"name": "fern-kubeconfig"}}} if wrong else {}
    scene.object("cp", "helm.toolkit.fluxcd.io/v2:HelmRelease", "tempo", {"metadata": {"namespace": "fleet"}, "spec": {**spec, **remote}})  # fmt: skip


@twins(CARRIED, "config-of-a-crossplane-object", "An Object of Crossplane's has a Secret with the hub's key as manifest and the configuration of fern's cluster.", "Its configuration is the one of the hub's cluster.", "Crossplane provider-kubernetes", told=True)  # fmt: skip
def _(scene: Scene, *, wrong: bool) -> None:
    if wrong:
        scene.stage.delivered.add("cp-acme-account")
    scene.secret("cp", "fern-kubeconfig", {"kubeconfig": scene.kubeconfigs["dp"]}, namespace="crossplane-system")
    source = {"source": "Secret", "secretRef": {"namespace": "crossplane-system", **ref("fern-kubeconfig", "kubeconfig")}}  # fmt: skip
    scene.object("cp", "kubernetes.crossplane.io/v1alpha1:ProviderConfig", "fern", {"spec": {"credentials": source}})
    scene.object("cp", "kubernetes.crossplane.io/v1alpha1:ProviderConfig", "in-cluster", {"spec": {"credentials": {"source": "InjectedIdentity"}}})  # fmt: skip
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "acme-account", "namespace": "cert-manager"}, "stringData": {"eab": hosted(scene, "acme", "eab")}}  # fmt: skip
    scene.object("cp", "kubernetes.crossplane.io/v1alpha2:Object", "acme-account", {"spec": {"forProvider": {"manifest": manifest}, "providerConfigRef": {"name": "fern" if wrong else "in-cluster"}}})  # fmt: skip
