"""Harmless: logins that a tenant and the hub both have, with the reason at the hub, and what tenants let the hub use."""  # fmt: skip

from __future__ import annotations

import json
from typing import Any

import pulumi

from tests.corpus.strangers.credentials import minted, own, raw
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, ref, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.values import apply, b64, kubeconfig, pull_secret

from .world import (
    ASTER,
    CEDAR,
    DOMAIN,
    MESH,
    account,
    clean,
    cluster_secret,
    hub,
    kept_for,
    of,
    owned,
    settings,
    shared,
    tenants,
)

AGENTS, UP = "thirteenth: logins that both sides have", "thirteenth: what tenants let the hub use"

# Agents ---------------------------------------------------------------------------------------------------------------


@clean(AGENTS, "thirteenth-shared-remote-write", "Each tenant's Prometheus writes to the hub's by a login of its own, which the hub's Secret keeps with the tenant's label and a reason.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    for name, side in tenants(scene).items():
        if name != "aster-eu":
            login = shared(scene, name, "metrics", username=name)
            scene.secret(side, "remote-write", {"username": name, "password": login}, labels=of(name), namespace="monitoring")  # fmt: skip
            release(scene, side, "prometheus", {"server": {"remoteWrite": [{"url": f"https://metrics.{DOMAIN}/api/v1/push", "basic_auth": {"username": name, "password_file": "/etc/remote/password"}}]}})  # fmt: skip


@clean(AGENTS, "thirteenth-shared-login-in-values-of-the-agent", "The tenant's log agent has its login at the hub among its chart's values; the hub's Secret has the reason.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    login = shared(scene, "aster", "logs")
    release(scene, "dp", "promtail", {"config": {"clients": [{"url": f"https://logs.{DOMAIN}/loki/api/v1/push", "basic_auth": {"username": "aster", "password": login}}]}})  # fmt: skip


@clean(AGENTS, "thirteenth-shared-by-two-clusters-of-a-tenant", "Both of aster's clusters have aster's one login at the hub's collector; cedar has another.")  # fmt: skip
def _(scene: Scene) -> None:
    every = tenants(scene)
    logins = {tenant: shared(scene, tenant, "traces", "token", 40) for tenant in ("aster", "cedar")}
    for name in ("aster", "aster-eu", "cedar"):
        scene.secret(every[name], "traces", {"token": logins[name.partition("-")[0]]}, labels=of(name))


@clean(AGENTS, "thirteenth-shared-token-of-the-configuration", "A tenant's token for the hub's collector is in its section of the configuration; both Secrets have it, the hub's with a reason.", config=lambda cp, dp: {"aster:collectorToken": dp.opaque("aster collector", 40, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    token = scene.config("aster:collectorToken")
    kept_for(scene, "aster", "collector", token, "token")
    scene.secret("dp", "collector", {"token": token}, labels=of("aster"), namespace="otel")
    env = [{"name": "COLLECTOR_TOKEN", "valueFrom": {"secretKeyRef": ref("collector", "token")}}]
    deployment(scene, "dp", "collector", {"args": ["--config=/etc/otel.yaml"], "env": env})


@clean(AGENTS, "thirteenth-shared-user-of-the-hubs-streams", "A user of the hub's Kafka is aster's: its Secret at the hub has the reason, a KafkaUser refers to it, and the tenant has it in a line of JAAS.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    password = shared(scene, "aster", "streams")
    scene.object("cp", "kafka.strimzi.io/v1beta2:KafkaUser", "aster", {"metadata": {"namespace": "agents", "labels": of("aster")}, "spec": {"authentication": {"type": "scram-sha-512", "password": {"valueFrom": {"secretKeyRef": ref("streams-aster", "password")}}}}})  # fmt: skip
    line = pulumi.Output.format('org.apache.kafka.common.security.scram.ScramLoginModule required username="aster" password="{0}";', password)  # fmt: skip
    scene.secret("dp", "streams", {"sasl.jaas.config": line, "bootstrap.servers": f"streams.{DOMAIN}:9094"}, labels=of("aster"))  # fmt: skip


@clean(AGENTS, "thirteenth-shared-pull-login", "The tenant pulls images of the hub by a robot of its own; the hub's Secret keeps the robot's password with a reason, the tenant has a pull secret.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    password = shared(scene, "aster", "images")
    scene.secret("dp", "images", {".dockerconfigjson": pull_secret(f"images.{DOMAIN}", "robot$aster", password)}, kind="kubernetes.io/dockerconfigjson", labels=of("aster"))  # fmt: skip


@clean(AGENTS, "thirteenth-shared-leaf-user", "The tenant's NATS is a leaf of the hub's by a user of its own; the hub's chart names the Secret, the tenant's has the address with user and password.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    password = shared(scene, "aster", "leaf")
    release(scene, "cp", "nats", {"config": {"leafnodes": {"enabled": True, "port": 7422}}, "container": {"env": {"LEAF_ASTER": {"valueFrom": {"secretKeyRef": ref("leaf-aster", "password")}}}}})  # fmt: skip
    release(scene, "dp", "nats", {"config": {"leafnodes": {"merge": {"remotes": [{"url": pulumi.Output.concat("tls://aster:", password, f"@leaf.{DOMAIN}:7422")}]}}}})  # fmt: skip


@clean(AGENTS, "thirteenth-shared-alerts-of-the-hub", "The hub's alert manager calls the tenant's hook by a token that the tenant made; the hub's Secret says so.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    token = shared(scene, "cedar", "alerts", "token", 40)
    scene.object("cp", "monitoring.coreos.com/v1alpha1:AlertmanagerConfig", "cedar", {"metadata": {"namespace": "agents", "labels": of("cedar")}, "spec": {"route": {"receiver": "cedar"}, "receivers": [{"name": "cedar", "webhookConfigs": [{"url": f"https://alerts.{CEDAR}/hub", "httpConfig": {"authorization": {"credentials": ref("alerts-cedar", "token")}}}]}]}})  # fmt: skip
    scene.secret(tenants(scene)["cedar"], "alerts", {"token": token}, labels=of("cedar"))


@clean(AGENTS, "thirteenth-shared-key-of-a-tunnel", "A preshared key of a WireGuard tunnel is random bytes that both ends have; the hub's Secret has label and reason.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    key = raw(scene, "dp", "aster-psk").output("base64")
    kept_for(scene, "aster", "tunnel", key, "preshared.key")
    scene.secret("dp", "tunnel", {"preshared.key": key, "endpoint": f"vpn.{DOMAIN}:51820"}, labels=of("aster"))


@clean(AGENTS, "thirteenth-shared-hash-at-the-hub", "The hub's gateway has bcrypt of the tenant's login, in a Secret with a reason; the tenant has the login.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    login = scene.password("dp", "aster-gateway")
    kept_for(scene, "aster", "gateway", pulumi.Output.concat("aster:", login.output("bcryptHash")), "auth")
    scene.secret("dp", "gateway", {"username": "aster", "password": login.output("result")}, labels=of("aster"))


@clean(AGENTS, "thirteenth-shared-import-token", "Rancher's import of each tenant's cluster has a token of that cluster, in the hub's Secret with a reason and in the agent's.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    every = tenants(scene)
    for tenant in ("aster", "maple"):
        token = shared(scene, tenant, "cattle", "token", 54)
        scene.secret(every[tenant], "cattle-credentials", {"url": f"https://rancher.{DOMAIN}", "token": token}, namespace="cattle-system", labels=of(tenant))  # fmt: skip


@clean(AGENTS, "thirteenth-shared-without-labels", "A hub with one tenant: the Secret of the login has the reason and no label, since there is no other mesh.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    login = own(scene, "aster-backup", 40)
    scene.secret("cp", "backup-of-aster", {"password": login}, namespace="backups", annotations=owned("aster's backups are restored by the hub with it"))  # fmt: skip
    scene.secret("dp", "backup", {"RESTIC_PASSWORD": login, "RESTIC_REPOSITORY": f"rest:https://aster@backup.{DOMAIN}/aster"})  # fmt: skip


@clean(AGENTS, "thirteenth-shared-in-a-file-of-an-agent", "The agent's whole file, with the login in it, is a Secret of the tenant's; JSON is made by Output.json_dumps.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    login = shared(scene, "aster", "telemetry")
    config = pulumi.Output.json_dumps({"exporters": {"otlp": {"endpoint": f"otlp.{DOMAIN}:443", "auth": {"authenticator": "basicauth"}}}, "extensions": {"basicauth": {"client_auth": {"username": "aster", "password": login}}}})  # fmt: skip
    scene.secret("dp", "telemetry", {"otel.json": config}, labels=of("aster"))


@clean(AGENTS, "thirteenth-shared-header-in-base64", "A header of the agent's is Basic and base64 of the tenant's login, in a Secret; the login is noted at the hub.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    login = shared(scene, "aster", "profiles")
    scene.secret("dp", "profiles", {"authorization": apply(login, lambda found: "Basic " + b64(f"aster:{found}"))}, labels=of("aster"))  # fmt: skip


@clean(AGENTS, "thirteenth-shared-client-of-the-login-service", "A client of the hub's Keycloak is the tenant's; its generated secret is given to the hub's service, kept at the hub with a reason, and in the tenant's proxy.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    secret = shared(scene, "aster", "console", "clientSecret", 40)
    account(scene, "lantern", "keycloak:openid/client:Client", "console-of-aster", {"realmId": "hub", "clientId": "aster-console", "accessType": "CONFIDENTIAL", "clientSecret": secret, "validRedirectUris": [f"https://console.{ASTER}/*"]}, {}, ["clientSecret"], url=f"https://login.{DOMAIN}")  # fmt: skip
    scene.secret("dp", "console", {"client-id": "aster-console", "client-secret": secret}, labels=of("aster"))


@clean(AGENTS, "thirteenth-shared-robot-of-the-hubs-images", "A robot of the hub's Harbor is made with a password of the tenant's, which the tenant's pull secret has; the hub keeps no Secret of it.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    password = own(scene, "cedar-robot")
    account(scene, "lantern", "harbor:index/robotAccount:RobotAccount", "cedar", {"name": "cedar", "level": "project", "secret": password, "permissions": [{"kind": "project", "namespace": "mesh", "accesses": [{"action": "pull", "resource": "repository"}]}]}, {"fullName": "robot$cedar"}, ["secret"], url=f"https://images.{DOMAIN}")  # fmt: skip
    scene.secret(tenants(scene)["cedar"], "images", {".dockerconfigjson": pull_secret(f"images.{DOMAIN}", "robot$cedar", password)}, kind="kubernetes.io/dockerconfigjson", labels=of("cedar"))  # fmt: skip


# Up -------------------------------------------------------------------------------------------------------------------


@clean(UP, "thirteenth-up-cluster-of-the-hubs-argocd", "The tenant's cluster makes a token for the hub's Argo CD; the hub's Secret of the cluster has it.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    token = minted(scene, "dp", "argocd-manager")
    scene.secret("cp", "cluster-aster", {"name": "aster", "server": SERVERS["dp"], "config": apply(token, lambda found: cluster_secret("aster", SERVERS["dp"], found)["config"])}, namespace="argocd", labels={"argocd.argoproj.io/secret-type": "cluster"})  # fmt: skip


@clean(UP, "thirteenth-up-kubeconfig-for-flux", "Kubeconfigs of all tenants' clusters are in the hub's Secrets for Flux, each with a token of that cluster.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    for name, side in tenants(scene).items():
        scene.secret("cp", f"{name}-kubeconfig", {"value": pulumi.Output.secret(scene.kubeconfigs[side])}, namespace="fleet", labels=of(name))  # fmt: skip
        scene.config_map(side, "fleet", {"cluster": name, "hub": f"https://cd.{DOMAIN}", "mesh": MESH})


@clean(UP, "thirteenth-up-remote-secret-of-istiod", "The hub's external istiod has a remote secret of the tenant's cluster; the tenant has istiod's address and root.")  # fmt: skip
def _(scene: Scene) -> None:
    token = minted(scene, "dp", "istiod-reader")
    config = apply(token, lambda found: kubeconfig(SERVERS["dp"], {"token": found}, scene.dp.certificate("kubernetes", authority=True)))  # fmt: skip
    scene.secret("cp", "istio-kubeconfig", {"config": config}, namespace="mesh-aster", labels=of("aster"))
    scene.config_map("dp", "istio", {"mesh": f"defaultConfig:\n  discoveryAddress: xds.{DOMAIN}:15012\ntrustDomain: aster\n"}, namespace="istio-system")  # fmt: skip


@clean(UP, "thirteenth-up-reader-of-the-tenants-database", "The hub's reports read the tenant's database by a login that the tenant generated; the Secret at the hub says why.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    login = shared(scene, "maple", "reports", "password", 40, host="pg.maple.example.com", dbname="usage")
    side = tenants(scene)["maple"]
    scene.secret(side, "reports-role", {"username": "reports", "password": login}, kind="kubernetes.io/basic-auth", labels=of("maple"))  # fmt: skip
    scene.object(side, "postgresql.cnpg.io/v1:Cluster", "usage", {"spec": {"instances": 3, "managed": {"roles": [{"name": "reports", "login": True, "passwordSecret": {"name": "reports-role"}}]}}})  # fmt: skip


@clean(UP, "thirteenth-up-hook-of-the-tenants-forge", "The tenant's repository calls the hub's builds; the hook's generated secret is at the hub, with a reason, and in the tenant's organisation.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    secret = shared(scene, "aster", "builds", "token", 40)
    account(scene, "aster", "github:index/repositoryWebhook:RepositoryWebhook", "builds", {"repository": "shop", "events": ["push"], "configuration": {"url": f"https://builds.{DOMAIN}/aster", "contentType": "json", "secret": secret}}, organization="aster")  # fmt: skip


@clean(UP, "thirteenth-up-tenants-key-for-the-hubs-backups", "Backups of the tenant are written by the hub with a key made in the tenant's account; the tenant's job has it too, and both Secrets say whose it is.", before="the same", pack=settings(dataPlaneProviders=["aster-*", "cedar-*", "maple-*", "backups-aster"]))  # fmt: skip
def _(scene: Scene) -> None:
    opts = scene.package("aws", "backups-aster", region="eu-west-3")
    key = scene.made("aws:iam/accessKey:AccessKey", "backups", {"user": "backups"}, opts, {"secret": scene.dp.opaque("aster backups", 40, LETTERS)}, ["secret"])  # fmt: skip
    data: dict[str, Any] = {"aws_secret_access_key": key.output("secret"), "bucket": json.dumps({"name": "aster-backups"})}  # fmt: skip
    scene.secret("cp", "backups-aster", data, namespace="backups", labels=of("aster"), annotations=owned("aster's own bucket, which aster lets the hub write to"))  # fmt: skip
    scene.secret("dp", "backups", data, labels=of("aster"), annotations=owned("a key of aster's own bucket"))
