"""Harmless, of a team that has read the README: the provider's secrets in the provider's places; and how programs grow."""

from __future__ import annotations

import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import kept, minted, pair
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import AWS_ID, apply, b64, drawn, kubeconfig
from tests.corpus.world import Box, Object

from .world import ACCOUNT, ALDER, CERTIFICATE, DOMAIN, MESH, REGION, digest, home, hosted, hub, theirs

STAYS, GROWS = "fourteenth: the provider's, at home", "fourteenth: how programs grow"

# The provider's, at home ----------------------------------------------------------------------------------------------


@clean(STAYS, "fourteenth-home-second-hub", "The provider's second hub gets the kubeconfig of the first and a copy of its authority; the tenant's cluster gets names.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    scene.join("hub2", f"https://hub-2.{DOMAIN}:6443", owner="cp")
    key, certificate = pair(scene, "cp", "hubs-ca", authority=True)
    for side in ("cp", "hub2"):
        scene.secret(side, "cacerts", {"ca-key.pem": key.output("privateKeyPem"), "ca-cert.pem": certificate.output("certPem")}, namespace="istio-system")  # fmt: skip
    file = apply(minted(scene, "cp", "hub2-reader"), lambda text: kubeconfig(SERVERS["cp"], {"token": text}, "authority"))  # fmt: skip
    scene.secret("hub2", "istio-remote-secret-hub", {"hub": file}, namespace="istio-system")
    scene.config_map("dp", "hubs", {"hubs": f"hub.{DOMAIN},hub-2.{DOMAIN}", "root-cert.pem": certificate.output("certPem")}, namespace="osprey")  # fmt: skip


@clean(STAYS, "fourteenth-home-database-and-its-users", "A database in the provider's account, its password in the provider's store and cluster; the tenant's cluster has the reports' address.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    word = hosted(scene, "hub-rds")
    database = cloud(scene, "aws:rds/instance:Instance", "hub-db", {"engine": "postgres", "username": "osprey", "password": word, "instanceClass": "db.m7g.large"}, {"address": f"hub.c3kd.{REGION}.rds.amazonaws.com"}, ["password"])  # fmt: skip
    home(scene, "aws:secretsmanager/secretVersion:SecretVersion", "hub-db-secret", {"secretId": f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:hub/db", "secretString": word}, None, ["secretString"], region=REGION)  # fmt: skip
    scene.secret("cp", "hub-db-url", {"url": pulumi.Output.concat("postgresql://osprey:", word, "@", database.output("address"), ":5432/osprey")}, namespace="platform")  # fmt: skip
    scene.config_map("dp", "reports", {"url": f"https://reports.{DOMAIN}/alder", "database": "alder_reports"}, namespace="osprey")  # fmt: skip


@clean(STAYS, "fourteenth-home-external-dns-of-the-hub", "external-dns in the hub has the account's key; the tenant's cluster has DNSEndpoint objects and no login.")  # fmt: skip
def _(scene: Scene) -> None:
    secret = kept(scene, "route53-hub", "secretAccessKey", 40)
    release(scene, "cp", "external-dns", {"provider": {"name": "aws"}, "domainFilters": [DOMAIN], "env": [{"name": "AWS_ACCESS_KEY_ID", "value": f"AKIA{drawn('route53 hub', 16, AWS_ID)}"}, {"name": "AWS_SECRET_ACCESS_KEY", "value": secret}]})  # fmt: skip
    endpoints = [{"dnsName": f"shop.alder.{DOMAIN}", "recordType": "A", "recordTTL": 300, "targets": ["203.0.113.31"]}]
    scene.object("dp", "externaldns.k8s.io/v1alpha1:DNSEndpoint", "shop", {"metadata": {"namespace": "istio-gateways"}, "spec": {"endpoints": endpoints}})  # fmt: skip


@clean(STAYS, "fourteenth-home-crossplane-makes-for-tenants", "Crossplane in the hub has the provider's key and makes a bucket for the tenant, whose name the tenant's chart has.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    secret = kept(scene, "crossplane-hub", "secret", 40)
    scene.secret("cp", "aws-creds", {"creds": pulumi.Output.concat(f"[default]\naws_access_key_id = AKIA{drawn('crossplane hub', 16, AWS_ID)}\naws_secret_access_key = ", secret, "\n")}, namespace="crossplane-system")  # fmt: skip
    bucket = scene.answered("cp", "s3.aws.upbound.io/v1beta2:Bucket", "alder-media", {"spec": {"forProvider": {"region": REGION}, "providerConfigRef": {"name": "default"}}}, status={"atProvider": {"arn": "arn:aws:s3:::alder-media-7c1", "id": "alder-media-7c1"}})  # fmt: skip
    name = apply(bucket.output("status"), lambda status: ((status or {}).get("atProvider") or {}).get("id", ""))
    release(scene, "dp", "media", {"bucket": {"name": name, "region": REGION}, "serviceAccount": {"name": "media"}})


@clean(STAYS, "fourteenth-home-runners-of-the-provider", "The provider's runners have the private key of its app in their own cluster; the tenant's chart is installed from images that they built.")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.held("github-app-hub", "privateKey", scene.cp.rsa("github app hub"), namespace="arc")
    release(scene, "cp", "gha-runner-scale-set", {"githubConfigUrl": "https://github.com/osprey", "githubConfigSecret": {"github_app_id": "771203", "github_app_private_key": key}})  # fmt: skip
    deployment(scene, "dp", "agent", {"env": [{"name": "BUILD", "value": digest("agent")}], "args": ["--hub", f"https://hub.{DOMAIN}"]})  # fmt: skip


@clean(STAYS, "fourteenth-home-metrics-and-alerts", "The hub's Prometheus and Alertmanager have the provider's keys, the tenant's have rules and a route to a proxy in the hub.")  # fmt: skip
def _(scene: Scene) -> None:
    key = hosted(scene, "pager-hub", "routingKey", 32)
    scene.secret("cp", "alertmanager", {"alertmanager.yaml": apply(key, lambda text: yaml.safe_dump({"route": {"receiver": "pager"}, "receivers": [{"name": "pager", "pagerduty_configs": [{"routing_key": text}]}]}))}, namespace="monitoring")  # fmt: skip
    rules = [{"alert": "TokenExpires", "expr": "token_expiry_seconds < 3600", "labels": {"severity": "page"}, "annotations": {"summary": "The token of {{ $labels.job }} ends soon."}}]  # fmt: skip
    scene.object("dp", "monitoring.coreos.com/v1:PrometheusRule", "mesh", {"metadata": {"namespace": "monitoring"}, "spec": {"groups": [{"name": "mesh", "rules": rules}]}})  # fmt: skip
    scene.config_map("dp", "alertmanager", {"alertmanager.yaml": yaml.safe_dump({"route": {"receiver": "hub"}, "receivers": [{"name": "hub", "webhook_configs": [{"url": f"https://alerts.{DOMAIN}/alder"}]}]})}, namespace="monitoring")  # fmt: skip


@clean(STAYS, "fourteenth-home-nodes-of-the-hub", "Workers of the hub join by a token in their user data, in the provider's account; the tenant's have a group of nodes without one.")  # fmt: skip
def _(scene: Scene) -> None:
    token = hosted(scene, "k3s-hub", "token", 48)
    cloud(scene, "aws:ec2/launchTemplate:LaunchTemplate", "hub-workers", {"instanceType": "m7g.large", "userData": apply(token, lambda text: b64(f"#!/bin/sh\nK3S_TOKEN={text} k3s agent --server {SERVERS['cp']}\n"))}, {"latestVersion": 3})  # fmt: skip
    scene.object("dp", "karpenter.sh/v1:NodePool", "shop", {"spec": {"template": {"spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}, "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]}}, "limits": {"cpu": 64}}})  # fmt: skip


# How programs grow ----------------------------------------------------------------------------------------------------


@clean(GROWS, "fourteenth-grows-component-for-each-side", "A component for the hub and one for the tenant, each with its own cluster; each Secret inherits where it goes.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    for side, owner in (("cp", "osprey"), ("dp", "alder")):
        inside = pulumi.ResourceOptions(parent=Box(owner, "osprey:index:Console", pulumi.ResourceOptions(providers=[scene.provider(side)])))  # fmt: skip
        word = scene.password(side, f"{owner}-console").output("result")
        entries = {"username": "admin", "password": word, "mesh": MESH}
        Object("kubernetes:core/v1:Secret", f"{owner}-console-login", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "console", "namespace": "console"}, "stringData": entries}, inside)  # fmt: skip


@clean(GROWS, "fourteenth-grows-renamed-with-aliases", "Objects of the tenant's were renamed; aliases say what they were called, and nothing moves.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.object("dp", "v1:Namespace", "shop-mesh", {"metadata": {"labels": {"istio-injection": "enabled"}}}, aliases=[pulumi.Alias(name="dp-shop-namespace")])  # fmt: skip
    scene.object("dp", "v1:Secret", "shop-session", {"stringData": {"key": theirs(scene, "shop-session", 48)}, "metadata": {"namespace": "shop"}}, aliases=[pulumi.Alias(name="dp-session")])  # fmt: skip


@clean(GROWS, "fourteenth-grows-imported-objects", "A ConfigMap and an account that the tenant's people made are taken over by the program, by import.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.object("dp", "v1:ConfigMap", "coredns-custom", {"metadata": {"namespace": "kube-system"}, "data": {"osprey.server": f"{DOMAIN}:53 {{\n  forward . 198.51.100.53\n}}\n"}}, import_="kube-system/coredns-custom")  # fmt: skip
    scene.object("dp", "v1:ServiceAccount", "deployer", {"metadata": {"namespace": "shop"}, "automountServiceAccountToken": False}, import_="shop/deployer")  # fmt: skip


@clean(GROWS, "fourteenth-grows-rotated-login", "The tenant's login is replaced at an update, by a keeper that is a date; the provider's own is left as it is.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hosted(scene, "console-of-hub")
    word = scene.made("random:index/randomPassword:RandomPassword", "alder-console-2", {"length": 32, "keepers": {"rotated": "2026-11-01"}}, None, {"result": scene.dp.opaque("alder console 2", 32, LETTERS)}, ["result"])  # fmt: skip
    scene.secret("dp", "console", {"username": "admin", "password": word.output("result")}, namespace="console")


def _without_the_agent(scene: Scene) -> None:
    hub(scene)
    release(scene, "dp", "shop", {"replicas": 1})


@clean(GROWS, "fourteenth-grows-chart-is-added", "An update adds a chart and more replicas to a tenant's cluster that had one before.", before=_without_the_agent)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    release(scene, "dp", "shop", {"replicas": 3, "autoscaling": {"enabled": True, "targetCPUUtilizationPercentage": 70}})  # fmt: skip
    release(scene, "dp", "agent", {"hub": f"https://hub.{DOMAIN}", "tokenSecret": "agent-token", "mesh": MESH})


@clean(GROWS, "fourteenth-grows-labels-by-a-transformation", "A transformation puts labels on all objects of the program, on the provider's Secret as on the tenant's map.")  # fmt: skip
def _(scene: Scene) -> None:
    def label(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult:
        props: Any = args.props
        metadata = props["metadata"]
        metadata["labels"] = {**metadata.get("labels", {}), "app.kubernetes.io/managed-by": "pulumi", "mesh": MESH}
        return pulumi.ResourceTransformationResult(args.props, args.opts)

    token = pulumi.Output.secret(scene.cp.opaque("labelled token", 40, LETTERS))
    scene.object("cp", "v1:Secret", "controller", {"metadata": {"namespace": "platform"}, "stringData": {"token": token}}, transformations=[label])  # fmt: skip
    scene.object("dp", "v1:ConfigMap", "agent", {"metadata": {"namespace": "osprey"}, "data": {"hub": f"https://hub.{DOMAIN}"}}, transformations=[label])  # fmt: skip


@clean(GROWS, "fourteenth-grows-after-the-providers-secret", "The tenant's chart waits until the hub's Secret is there; it depends on it in time, and in nothing else.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    word = scene.password("cp", "hub-ingest").output("result")
    secret = scene.secret("cp", "ingest", {"password": word}, namespace="platform")
    release(scene, "dp", "ingest", {"url": f"https://ingest.{DOMAIN}", "tenant": "alder"}, depends_on=[secret])
    scene.config_map("dp", "order", {"after": "the hub"}, [secret], namespace="osprey")


@clean(GROWS, "fourteenth-grows-settings-with-one-part-each", "One function gives both sides their settings out of one dictionary; the tenant's part has no secret in it.")  # fmt: skip
def _(scene: Scene) -> None:
    settings = {"osprey": {"host": f"hub.{DOMAIN}", "admin": {"password": hosted(scene, "settings-admin")}}, "alder": {"host": f"shop.{ALDER}", "admin": {"existingSecret": "admin"}}}  # fmt: skip
    for side, owner in (("cp", "osprey"), ("dp", "alder")):
        release(scene, side, "portal", settings[owner])
    scene.config_map("dp", "portal", {"settings.json": json.dumps(settings["alder"])}, namespace="portal")
