"""Programs about charts: leaks, and harmless neighbours."""

from __future__ import annotations

import base64
from typing import Any

import pulumi

from tests.corpus.blind_corpus.credentials import generated, issued, kept, own, pair, raw
from tests.corpus.blind_corpus.material import LETTERS
from tests.corpus.blind_corpus.objects import release
from tests.corpus.blind_corpus.program import clean, leak
from tests.corpus.blind_corpus.recover import each
from tests.corpus.blind_corpus.scene import Scene
from tests.corpus.blind_corpus.values import HEX, apply, b64, drawn, pull_secret, uid
from tests.corpus.blind_corpus.worlds import foundry, grid, harbor, kiln, lantern, loom, orchard, osprey, tern
from tests.corpus.world import Box

grid.chart(grid.CHARTS, "oauth2-proxy", "a client by number, an issuer and a Secret by name", {"config": {"existingSecret": "oauth2-proxy", "configFile": f'provider = "oidc"\noidc_issuer_url = "{grid.ISSUER}"\nclient_id = "{grid.CLIENT}"\ncode_challenge_method = "S256"\ncookie_secure = true\ncookie_secret_file = "/run/cookie"\n'}})  # fmt: skip

grid.chart(grid.CHARTS, "umbrella", "thirty services with digests, numbers and names of Secrets", grid.many())


@clean(grid.OWN, "own-component-with-secrets-as-arguments", "A component takes secrets as arguments: each instance has those of its owner, and hands them to a Secret and a chart.")  # fmt: skip
def _(scene: Scene) -> None:
    class Shop(Box):
        def __init__(self, side: str, *, session: Any, database: Any) -> None:
            super().__init__(f"shop-{side}", "grid:index:Shop")
            secret = scene.object(side, "v1:Secret", "shop", {"stringData": {"session": session, "database": database}}, parent=self)  # fmt: skip
            release(scene, side, "shop", {"auth": {"existingSecret": "shop", "sessionKey": session}}, depends_on=[secret], parent=self)  # fmt: skip
            self.register_outputs({"database": database})

    for side in ("cp", "dp"):
        Shop(side, session=raw(scene, side, f"session-{side}").output("base64"), database=scene.password(side, f"shop-{side}").output("result"))  # fmt: skip


@clean(tern.SEVERAL, "component-of-a-tenant", "A component makes all of a tenant: its gateway's pair, its administrator, its values; it is used for each.")  # fmt: skip
def _(scene: Scene) -> None:
    class Tenant(Box):
        def __init__(self, name: str, side: str) -> None:
            super().__init__(f"tenant-{name}", "tern:mesh:Tenant")
            key, cert = pair(scene, "dp", f"{name}-ingress")
            scene.secret(side, "gateway-tls", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip
            scene.secret(side, "kiali-login", {"passphrase": tern.theirs(scene, "kiali", tenant=name)})
            release(scene, side, "gateway", {"tls": {"secretName": "gateway-tls"}, "labels": {"tenant": name}})  # fmt: skip
            self.register_outputs({"certificate": cert.output("certPem")})

    tern.tern(scene)
    for name, side in tern.tenants(scene).items():
        Tenant(name, side)


@foundry.twin(foundry.LOGINS, "keycloak-x-chart", "A login service of each, with its administrator and its database in a command's environment.")  # fmt: skip
def _(at: foundry.Site) -> None:
    at.keep("keycloak-admin", {"user": "admin", "password": at.word("keycloak-admin")}, namespace="keycloak")
    env = f'- name: KC_HOSTNAME\n  value: sso.{at.domain}\n- name: KEYCLOAK_ADMIN_PASSWORD\n  valueFrom: {{secretKeyRef: {{name: keycloak-admin, key: password}}}}\n- name: JAVA_OPTS_APPEND\n  value: -Djgroups.dns.query=keycloak-headless\n'  # fmt: skip
    at.chart("keycloakx", {"command": ["/opt/keycloak/bin/kc.sh", "start", "--http-enabled=true"], "extraEnv": env, "database": {"vendor": "postgres", "hostname": "keycloak-pg", "port": 5432, "database": "keycloak", "username": "keycloak", "password": at.word("keycloak-db")}, "proxy": {"mode": "xforwarded"}})  # fmt: skip


@foundry.twin(foundry.LOGINS, "dex-chart", "Dex of each: static clients with generated secrets, a connector with the owner's, a static hash.", config=foundry.told(dex_github=("", 40, HEX)))  # fmt: skip
def _(at: foundry.Site) -> None:
    at.chart("dex", {"config": {"issuer": f"https://dex.{at.domain}", "storage": {"type": "kubernetes", "config": {"inCluster": True}}, "connectors": [{"type": "github", "id": "github", "name": "GitHub", "config": {"clientID": f"Ov23li{drawn(at.name + ' dex', 14)}", "clientSecret": at.told("dex_github"), "redirectURI": f"https://dex.{at.domain}/callback", "orgs": [{"name": "acme"}]}}], "staticClients": [{"id": "argo-cd", "name": "Argo CD", "secret": at.word("dex-argocd"), "redirectURIs": [f"https://argocd.{at.domain}/auth/callback"]}], "staticPasswords": [{"email": f"ops@{at.domain}", "hash": at.hashed("dex-ops"), "username": "ops", "userID": uid(f"{at.name} ops")}]}})  # fmt: skip


@foundry.twin(foundry.OPERATORS, "flagger-and-chat", "Alerts of releases go to the owner's chat by an address in a Secret; the rules of release are the same.", config=foundry.told(flagger=("https://hooks.slack.com/services/T0F/B0F/", 24, LETTERS)))  # fmt: skip
def _(at: foundry.Site) -> None:
    at.keep("chat-address", {"address": at.told("flagger")}, namespace="flagger")
    at.object("flagger.app/v1beta1:AlertProvider", "chat", {"spec": {"type": "slack", "channel": f"{at.name}-releases", "username": "flagger", "secretRef": {"name": "chat-address"}}})  # fmt: skip
    at.object("flagger.app/v1beta1:Canary", "cart", {"spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "cart"}, "service": {"port": 9898}, "analysis": {"interval": "1m", "threshold": 5, "maxWeight": 50, "stepWeight": 10, "webhooks": [{"name": "load", "url": "http://loadtester/", "metadata": {"cmd": "hey -z 1m -q 10 -c 2 http://cart-canary:9898/"}}]}}})  # fmt: skip


@leak(foundry.MEMBERS, "one-authority-in-values", "To join two networks both charts get the hub's authority as values, the key with the certificate, in base64.", "cilium clustermesh: shared certificate authority", recover=each(base64.b64decode))  # fmt: skip
def _(scene: Scene) -> None:
    foundry.hub(scene)
    ours, shop = foundry.sites(scene)
    key, cert = ours.pair("cilium", authority=True)
    authority = {"cert": apply(cert.output("certPem"), b64), "key": apply(key.output("privateKeyPem"), b64)}
    for at in (ours, shop):
        at.chart("cilium", {"cluster": {"name": at.name, "id": 1 + (at.name == "shop")}, "tls": {"ca": authority}, "clustermesh": {"useAPIServer": True, "config": {"enabled": True}}})  # fmt: skip


@leak(foundry.CHARTS, "pull-secret-of-a-chart-values", "Charts that take pull logins as values get the hub's robot for the shop, user and password in members of their own.", "imageCredentials of charts")  # fmt: skip
def _(scene: Scene) -> None:
    foundry.hub(scene)
    ours, shop = foundry.sites(scene)
    ours.keep("robot", {".dockerconfigjson": pull_secret(f"images.{foundry.ZONE}", "robot$hub", ours.word("robot"))}, kind="kubernetes.io/dockerconfigjson")  # fmt: skip
    shop.chart("mesh-agent", {"imageCredentials": {"registry": f"images.{foundry.ZONE}", "username": "robot$hub", "password": ours.word("robot")}, "image": {"repository": f"images.{foundry.ZONE}/mesh/agent"}})  # fmt: skip


@leak(osprey.SHIPPERS, "mesh-console-reads-the-hubs-metrics", "Kiali in the tenant's cluster asks the provider's Prometheus, with the provider's bearer token in the values that the chart writes to a ConfigMap.", "kiali/kiali#8201")  # fmt: skip
def _(scene: Scene) -> None:
    token = scene.held("prometheus-reader", "token", scene.cp.jwt("prometheus-reader"), namespace="monitoring")
    prometheus = {"url": f"https://metrics.{osprey.DOMAIN}", "auth": {"type": "bearer", "token": token}, "query_scope": {"mesh_id": osprey.MESH}}  # fmt: skip
    release(scene, "dp", "kiali-server", {"auth": {"strategy": "anonymous"}, "external_services": {"prometheus": prometheus, "grafana": {"enabled": False}}})  # fmt: skip


loom.chart(loom.CHARTS, "accounts-of-both", "tables of accounts, zones, certificates and keys by their numbers, for a page of costs", {"accounts": {"loom": loom.ACCOUNT, "maple": loom.MAPLE_ACCOUNT}, "keys": [{"arn": f"arn:aws:kms:{loom.REGION}:{loom.ACCOUNT}:key/{uid(f'cost key {at}')}", "monthly": at} for at in range(6)], "secrets": [{"arn": f"arn:aws:secretsmanager:{loom.REGION}:{loom.ACCOUNT}:secret:loom/s{at}-{drawn(f'cost secret {at}', 6)}", "monthly": 0.4} for at in range(6)]})  # fmt: skip


@leak(harbor.VENDORS, "licence-file", "The licence of the provider's enterprise mesh is in the values of an agent at the user's.", "licence keys")  # fmt: skip
def _(scene: Scene) -> None:
    harbor.hub(scene)
    licence = scene.held("mesh-licence", "licence", scene.cp.jwt("licence", product="mesh", exp=2082758400))
    release(scene, "dp", "mesh-agent", {"agent": {"relay": {"serverAddress": f"relay.{harbor.HUB}:9900"}}, "licensing": {"licenseKey": licence}})  # fmt: skip


@leak(orchard.STACKS, "object-output-as-values", "The vendor's stack puts out an object for the agent's chart; a colleague added the registration key to it.", "StackReferences")  # fmt: skip
def _(scene: Scene) -> None:
    agent = {
        "endpoint": f"api.{orchard.DOMAIN}:443",
        "tls": True,
        "registration": {"key": scene.cp.opaque("registration", 48)},
    }
    hosted = scene.reference("hosted", "organization/hosted-mesh/prod", {"agent": agent}, ["agent"])
    release(scene, "dp", "mesh-agent", hosted.get_output("agent"))


@leak(orchard.LATER, "release-notes-of-a-chart", "Notes of the vendor's release are read back and shown to the tenant; they print the generated password of the console.", "helm NOTES.txt", at="either")  # fmt: skip
def _(scene: Scene) -> None:
    orchard.vendor(scene)
    password = generated(scene, "console-first")
    note = scene.cp.opaque("console-first", 32)
    answers = {"status": {"notes": f"Log in at https://console.{orchard.DOMAIN} as admin with {note}", "revision": 3}}
    console = scene.made("kubernetes:helm.sh/v3:Release", "cp-console", {"chart": "console", "values": {"password": password}}, scene.options("cp"), answers)  # fmt: skip
    scene.config_map("dp", "welcome", {"notes.txt": apply(console.output("status"), lambda s: (s or {}).get("notes", ""))})  # fmt: skip


@leak(orchard.DELIVERY, "task-that-clones", "A Tekton task's script clones the vendor's manifests by an address with a token, formatted into the script.", "Tekton")  # fmt: skip
def _(scene: Scene) -> None:
    token = kept(scene, "manifests-reader", "token", 36)
    script = pulumi.Output.format("#!/bin/sh\nset -e\ngit clone --depth 1 https://oauth2:{0}@git.{1}/hosted/manifests.git /workspace/src\nkubectl apply -k /workspace/src/overlays/orchard\n", token, orchard.DOMAIN)  # fmt: skip
    spec = {
        "steps": [{"name": "apply", "image": "alpine/k8s:1.31.2", "script": script}],
        "workspaces": [{"name": "src"}],
    }
    scene.object("dp", "tekton.dev/v1:Task", "apply-manifests", {"spec": spec})


@kiln.clean(kiln.HOME, "home-release-by-flux-in-its-own-cluster", "Flux installs in the team's cluster with values from a Secret of the team's; another release, at a tenant's, has facts only.")  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-remote")
    scene.secret("cp", "local-values", {"values.yaml": pulumi.Output.concat("auth:\n  password: ", generated(scene, "local-auth"), "\n")}, namespace="fleet")  # fmt: skip
    chart = {"interval": "10m", "chartRef": {"kind": "OCIRepository", "name": "agent"}}
    scene.object("cp", "helm.toolkit.fluxcd.io/v2:HelmRelease", "local", {"metadata": {"namespace": "fleet"}, "spec": {**chart, "valuesFrom": [{"kind": "Secret", "name": "local-values"}]}})  # fmt: skip
    scene.object("cp", "helm.toolkit.fluxcd.io/v2:HelmRelease", "remote", {"metadata": {"namespace": "fleet"}, "spec": {**chart, "kubeConfig": {"secretRef": {"name": "otter-kubeconfig"}}, "values": {"mesh": kiln.KILN, "auth": {"existingSecret": "agent"}}}})  # fmt: skip


@lantern.leak(lantern.CARRIED, "values-set-from-a-connection-secret", "A Release of Crossplane's helm provider sets a value from a Secret of the hub's; the release is the tenant's.", "Crossplane provider-helm")  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered |= {"cp-warehouse-conn", "cp-reporter"}
    scene.secret("cp", "warehouse-conn", {"password": generated(scene, "warehouse", "password")}, namespace="crossplane-system")  # fmt: skip
    chart = {"name": "reporter", "repository": f"https://charts.{lantern.DOMAIN}", "version": "3.1.0"}
    values = [{"name": "db.password", "valueFrom": {"secretKeyRef": {"name": "warehouse-conn", "namespace": "crossplane-system", "key": "password"}}}]  # fmt: skip
    scene.object("cp", "helm.crossplane.io/v1beta1:Release", "reporter", {"spec": {"forProvider": {"chart": chart, "namespace": "reports", "set": values}, "providerConfigRef": {"name": "aster"}}})  # fmt: skip


@lantern.leak(lantern.NOTES, "note-on-a-secret-of-two", "A Secret with a reason keeps the tenant's login, and later the administrator's beside it; both go to the tenant's chart.", "data-plane-owned")  # fmt: skip
def _(scene: Scene) -> None:
    agent, admin = own(scene, "aster-mimir", 32), scene.password("cp", "mimir-admin", 32).output("result")
    lantern.kept_for(scene, "aster", "mimir", agent, admin=admin)
    release(scene, "dp", "alloy", {"remoteWrite": {"user": "aster", "password": agent}, "rules": {"user": "admin", "password": admin}})  # fmt: skip


@lantern.leak(lantern.SAID, "every-stack-is-a-tenants", "All stacks of the organisation count as tenants', so that references pass; the hub's core stack gives the license server's token to a chart.", "dataPlaneStacks", pack=lantern.settings(dataPlaneStacks=["acme/*"]))  # fmt: skip
def _(scene: Scene) -> None:
    lantern.hub(scene)
    core = scene.reference("acme/lantern-core/prod", "acme/lantern-core/prod", {"license": scene.cp.opaque("license server", 40, LETTERS), "host": f"license.{lantern.DOMAIN}"}, ["license"])  # fmt: skip
    release(scene, "dp", "licensed", {"host": core.get_output("host"), "bearer": core.get_output("license")})


@lantern.clean(lantern.GENERATED, "own-trust-anchor-of-linkerd", "The tenant's Linkerd has a trust anchor of its own; the issuer's key is in its chart's values, the anchor's in its cert-manager.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    lantern.hub(scene)
    anchor_key, anchor = pair(scene, "dp", "aster-anchor", authority=True)
    key, cert = issued(scene, "dp", "aster-identity", anchor_key, anchor, "aster-anchor")
    scene.secret("dp", "linkerd-trust-anchor", {"tls.key": anchor_key.output("privateKeyPem"), "tls.crt": anchor.output("certPem")}, kind="kubernetes.io/tls", namespace="cert-manager")  # fmt: skip
    release(scene, "dp", "linkerd-control-plane", {"identityTrustAnchorsPEM": anchor.output("certPem"), "identity": {"issuer": {"tls": {"crtPEM": cert.output("certPem"), "keyPEM": key.output("privateKeyPem")}}}})  # fmt: skip


@lantern.clean(lantern.HOME, "home-configuration-of-the-platform", "Secrets of the platform's section go to the hub's chart, its Secret and its account; the tenant's chart names a place.", config=lambda cp, dp: {"lantern:smtp": cp.opaque("lantern smtp", 32, LETTERS), "lantern:license": cp.opaque("lantern license", 64, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    scene.secret("cp", "smtp", {"password": scene.config("lantern:smtp")})
    release(scene, "cp", "gateway-enterprise", {"license": scene.config("lantern:license")})
    lantern.account(scene, "lantern", "aws:ssm/parameter:Parameter", "license", {"name": "/lantern/license", "type": "SecureString", "value": scene.config("lantern:license")}, {}, ["value"], region=lantern.REGION)  # fmt: skip
    release(scene, "dp", "gateway-agent", {"licenseServer": f"https://license.{lantern.DOMAIN}", "smtp": {"existingSecret": "smtp"}})  # fmt: skip
