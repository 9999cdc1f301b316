"""Leaks by settings and notes that cover too much, or that do not cover what their authors thought."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pulumi

from tests.corpus.strangers.credentials import generated, minted, own
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.recover import Leaves
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.values import apply, b64
from tests.corpus.world import Box

from .world import (
    ASTER,
    CLIENT,
    DOMAIN,
    ISSUER,
    REGION,
    account,
    declassified,
    hub,
    kept_for,
    leak,
    of,
    owned,
    settings,
    tenants,
)

NOTES, SAID = "thirteenth: notes that cover too much", "thirteenth: settings that cover too much or too little"
HUB3 = "https://hub-ap.lantern.example.com:6443"

# Notes ----------------------------------------------------------------------------------------------------------------


@leak(NOTES, "thirteenth-note-without-a-tenants-label", "The hub keeps a login of each tenant, with a reason and without a label; a loop gives aster the login of cedar.", "data-plane-owned")  # fmt: skip
def _(scene: Scene) -> None:
    every = tenants(scene)
    logins = {name: scene.password("cp", f"{name}-collector").output("result") for name in ("aster", "cedar")}
    for name, login in logins.items():
        scene.secret("cp", f"collector-{name}", {"password": login}, annotations=owned(f"the agent of {name} logs in by it"))  # fmt: skip
    for name in ("aster", "cedar"):
        scene.secret(every[name], "collector", {"username": name, "password": logins["cedar"]})


@leak(NOTES, "thirteenth-note-of-another-tenants-label", "The hub's Secret has a reason and the label of cedar; the login in it goes to aster as well, by a wrong variable.", "data-plane-owned")  # fmt: skip
def _(scene: Scene) -> None:
    every = tenants(scene)
    logins = {name: scene.password("cp", f"{name}-tempo").output("result") for name in ("aster", "cedar")}
    for name, login in logins.items():
        kept_for(scene, name, "tempo", login)
    for tenant in ("aster", "cedar"):
        scene.secret(every[tenant], "tempo", {"username": tenant, "password": logins[name]}, labels=of(tenant))


@leak(NOTES, "thirteenth-note-on-a-secret-of-two", "A Secret with a reason keeps the tenant's login, and later the administrator's beside it; both go to the tenant's chart.", "data-plane-owned")  # fmt: skip
def _(scene: Scene) -> None:
    agent, admin = own(scene, "aster-mimir", 32), scene.password("cp", "mimir-admin", 32).output("result")
    kept_for(scene, "aster", "mimir", agent, admin=admin)
    release(scene, "dp", "alloy", {"remoteWrite": {"user": "aster", "password": agent}, "rules": {"user": "admin", "password": admin}})  # fmt: skip


@leak(NOTES, "thirteenth-noted-login-opens-the-database-too", "A login with a reason is also that of the hub's database, whose Deployment has it as a variable.", "data-plane-owned")  # fmt: skip
def _(scene: Scene) -> None:
    login = scene.password("cp", "ledger").output("result")
    kept_for(scene, "aster", "ledger", login)
    deployment(scene, "cp", "ledger-db", {"env": [{"name": "POSTGRES_PASSWORD", "value": login}]})
    scene.secret("dp", "ledger", {"password": login}, labels=of("aster"))


@leak(NOTES, "thirteenth-noted-login-in-a-dns-record", "A login with a reason is in a text record of the tenant's zone, so that agents find it.", "data-plane-owned")  # fmt: skip
def _(scene: Scene) -> None:
    login = scene.password("cp", "enrolment").output("result")
    kept_for(scene, "aster", "enrolment", login)
    account(scene, "aster", "aws:route53/record:Record", "enrol", {"zoneId": "Z07719ASTER", "name": f"_enrol.{ASTER}", "type": "TXT", "ttl": 300, "records": [pulumi.Output.concat("v=lantern1; p=", login)]}, region=REGION)  # fmt: skip


@leak(NOTES, "thirteenth-whole-spec-is-declassified", "A note declassifies the whole spec of a collector, for its endpoints; its header has the hub's token, in base64.", "OpenTelemetry operator", at="either", recover=lambda leaves: b"\n".join(base64.b64decode(text.split(b"Basic ")[1].split(b'"')[0]) for text in leaves.values() if b"Basic " in text))  # fmt: skip
def _(scene: Scene) -> None:
    login = scene.password("cp", "otlp-ingest", 40).output("result")
    home = scene.secret("cp", "otlp-ingest", {"password": login})
    config = apply(login, lambda found: json.dumps({"exporters": {"otlphttp": {"endpoint": f"https://otlp.{DOMAIN}", "headers": {"authorization": "Basic " + b64(f"hub:{found}")}}}}))  # fmt: skip
    scene.object("dp", "opentelemetry.io/v1beta1:OpenTelemetryCollector", "agent", {"metadata": {"annotations": declassified("spec", reason="endpoints and queues, as the hub's manual has them")}, "spec": {"mode": "daemonset", "config": config}}, depends_on=[home])  # fmt: skip


def _guessed(leaves: Leaves) -> bytes:
    marks = {leaf.decode(errors="replace") for leaf in leaves.values()}
    return b"\n".join(code.encode() for code in (f"lantern-{at:04}" for at in range(10000)) if hashlib.sha256(code.encode()).hexdigest() in marks)  # fmt: skip


@leak(NOTES, "thirteenth-declassified-hash-of-four-digits", "A note declassifies the hash of the door's code, which is the platform's name and four digits: who has the hash has the code.", "guessable secrets", at="either", recover=_guessed)  # fmt: skip
def _(scene: Scene) -> None:
    code = f"lantern-{scene.cp.opaque('door', 4, '0123456789')}"
    scene.cp.given.append(code)
    held = scene.held("door", "code", code)
    mark = apply(held, lambda found: hashlib.sha256(found.encode()).hexdigest())
    scene.config_map("dp", "door", {"check": mark, "door": "staging"}, annotations=declassified("data.check", reason="sha256, nobody gets it back"))  # fmt: skip


@leak(NOTES, "thirteenth-owned-token-of-the-hubs-argocd", "The tenant's Secret says that what it has is the tenant's own; it is a token that the hub's cluster made for Argo CD.", "Argo CD cluster secrets")  # fmt: skip
def _(scene: Scene) -> None:
    token = minted(scene, "cp", "argocd-manager")
    scene.secret("dp", "hub-cluster", {"name": "hub", "server": SERVERS["cp"], "config": apply(token, lambda found: json.dumps({"bearerToken": found}))}, annotations=owned("a cluster of aster's own Argo CD"), labels={"argocd.argoproj.io/secret-type": "cluster"})  # fmt: skip


@leak(NOTES, "thirteenth-notes-on-all-secrets-by-a-transformation", "A transformation notes all Secrets of the stack as the tenants' own, the hub's too; so the hub's root login counts as one that both have.", "transformations")  # fmt: skip
def _(scene: Scene) -> None:
    def noted(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        given: Any = args.props
        if not args.type_.endswith(":Secret"):
            return None
        metadata = {**given["metadata"], "annotations": owned("all secrets of this stack are reviewed by aster's team")}
        return pulumi.ResourceTransformationResult({**given, "metadata": metadata}, args.opts)

    box = Box("all", opts=pulumi.ResourceOptions(transformations=[noted]))
    root = scene.password("cp", "warehouse-root", 32).output("result")
    for side, name in (("cp", "warehouse-root"), ("dp", "warehouse")):
        scene.object(side, "v1:Secret", name, {"stringData": {"username": "root", "password": root}}, parent=box)


@leak(NOTES, "thirteenth-accepted-instead-of-cured", "A note accepts the verdict about secrets for a map, as for a balancer; in it is the hub's token for pages.", "accept")  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "pages-api", "token", 40)
    notes = {"hosted-mesh.io/accept": "control-plane-secrets-do-not-flow-to-data-plane: reviewed in March; control-plane-secret-values-stay-off-data-plane: reviewed in March"}  # fmt: skip
    scene.config_map("dp", "pages", {"url": f"https://pages.{DOMAIN}", "auth": pulumi.Output.concat("token ", token)}, annotations=notes)  # fmt: skip


@leak(NOTES, "thirteenth-several-entries-one-is-not-public", "A note declassifies three entries of a map with three reasons; one of them is no hash but the key itself, reversed.", "declassify", at="either", recover=lambda leaves: b"\n".join(leaf[::-1] for leaf in leaves.values()))  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.password("cp", "cursor-key", 40).output("result")
    home = scene.secret("cp", "cursor-key", {"password": key})
    data = {"digest": apply(key, lambda found: hashlib.sha256(found.encode()).hexdigest()), "short": apply(key, lambda found: hashlib.sha256(found.encode()).hexdigest()[:8]), "cursor": apply(key, lambda found: found[::-1])}  # fmt: skip
    scene.config_map("dp", "cursor", data, depends_on=[home], annotations=declassified("data.digest", "data.short", "data.cursor", reason="made from 40 random letters, one way"))  # fmt: skip


@leak(NOTES, "thirteenth-noted-login-of-the-whole-fleet", "One login for all tenants' agents is noted as the tenants' own; the hub's console, a chart, has it as the administrator's.", "data-plane-owned")  # fmt: skip
def _(scene: Scene) -> None:
    every = tenants(scene)
    login = scene.password("cp", "fleet-agents", 40).output("result")
    scene.secret("cp", "fleet-agents", {"password": login}, annotations=owned("all agents of the fleet log in by it"))
    release(scene, "cp", "fleet-console", {"adminUser": "admin", "adminPassword": login})
    for name, side in every.items():
        release(scene, side, "fleet-agent", {"cluster": name, "password": login})


# Settings -------------------------------------------------------------------------------------------------------------


@leak(SAID, "thirteenth-hub-among-the-tenants-servers", "The hub's third cluster was added to the tenants' servers; its kubeconfig, out of the configuration, goes to a tenant.", "dataPlaneServers", pack=settings(dataPlaneServers=["https://dp.example.com:6443", HUB3]), config=lambda cp, dp: {"fleet:ap": cp.kubeconfig("hub-ap", HUB3)})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.secret("dp", "fleet-ap", {"kubeconfig": scene.config("fleet:ap")}, namespace="fleet", annotations=owned("aster's runners deploy with it"))  # fmt: skip


@leak(SAID, "thirteenth-all-of-a-package-is-the-hubs", "All providers of the forge count as the hub's, since the deployer's is; the tenant's organisation gets the hub's deploy token.", "controlPlaneProviders", pack=settings(controlPlaneProviders=["lantern-*", "github:*"], dataPlaneProviders=["aster-cluster"]))  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "deploys", "token", 40)
    account(scene, "aster", "github:index/actionsSecret:ActionsSecret", "aster-deploys", {"repository": "shop", "secretName": "LANTERN_TOKEN", "plaintextValue": token}, organization="aster")  # fmt: skip


@leak(SAID, "thirteenth-every-stack-is-a-tenants", "All stacks of the organisation count as tenants', so that references pass; the hub's core stack gives the license server's token to a chart.", "dataPlaneStacks", pack=settings(dataPlaneStacks=["acme/*"]))  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    core = scene.reference("acme/lantern-core/prod", "acme/lantern-core/prod", {"license": scene.cp.opaque("license server", 40, LETTERS), "host": f"license.{DOMAIN}"}, ["license"])  # fmt: skip
    release(scene, "dp", "licensed", {"host": core.get_output("host"), "bearer": core.get_output("license")})


@leak(SAID, "thirteenth-reference-with-a-tenants-name", "A reference is still called by the tenant's stack, and reads the hub's since a move; what it gives is also in the hub's Secret.", "StackReference names")  # fmt: skip
def _(scene: Scene) -> None:
    held = scene.cp.opaque("shared cache", 40, LETTERS)
    scene.held("shared-cache", "auth", held)
    found = scene.reference("acme/aster-cache/prod", "acme/lantern-cache/prod", {"auth": held, "host": f"cache.{DOMAIN}"}, ["auth"])  # fmt: skip
    scene.secret("dp", "cache", {"url": pulumi.Output.concat("rediss://:", found.get_output("auth"), "@", found.get_output("host"), ":6380/0")})  # fmt: skip


@leak(SAID, "thirteenth-key-outside-the-teams-section", "The license key of the platform is in section core, which no setting names; only the tenant's chart has it.", "controlPlaneConfigKeys", config=lambda cp, dp: {"core:licenseKey": cp.opaque("core license", 48, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    release(scene, "dp", "gateway-enterprise", {"license": scene.config("core:licenseKey"), "portal": f"https://portal.{DOMAIN}"})  # fmt: skip


@leak(SAID, "thirteenth-license-key-by-a-pattern", "Settings call all license keys the hub's; one of them is rendered into a file for the tenant's gateway.", "controlPlaneConfigKeys", pack=settings(controlPlaneConfigKeys=["lantern:*", "*:license*"]), config=lambda cp, dp: {"core:licenseKey": cp.opaque("core license", 48, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    scene.config_map("dp", "gateway", {"gateway.toml": scene.config("core:licenseKey").apply(lambda found: f'[portal]\nurl = "https://portal.{DOMAIN}"\n[enterprise]\nentitlement = "{found}"\n')})  # fmt: skip


@leak(SAID, "thirteenth-build-cluster-with-the-hubs-prefix", "The tenant's build cluster has a provider called lantern-aster-build, since the platform runs it; its address is in no list.", "controlPlaneProviders")  # fmt: skip
def _(scene: Scene) -> None:
    build = scene.named_provider("lantern-aster-build", scene.dp.kubeconfig("aster-build", "https://build.aster.example.com:6443"))  # fmt: skip
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pusher", "namespace": "builds"}, "stringData": {"password": generated(scene, "image-pusher")}}  # fmt: skip
    scene.made("kubernetes:core/v1:Secret", "pusher", inputs, pulumi.ResourceOptions(provider=build))


@leak(SAID, "thirteenth-tenants-operator-name-is-the-hubs", "Argo CD knows the tenant's second cluster as in the settings the hub's own; an application for it has the hub's token among its values.", "controlPlaneProviders", pack=settings(controlPlaneProviders=["lantern-*", "eu-*"]))  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-sync-eu")
    token = generated(scene, "sync-api", "token", 40)
    source = {"repoURL": f"https://charts.{DOMAIN}", "chart": "sync", "targetRevision": "1.4.0", "helm": {"valuesObject": {"api": {"url": f"https://api.{DOMAIN}", "token": token}}}}  # fmt: skip
    scene.object("cp", "argoproj.io/v1alpha1:Application", "sync-eu", {"metadata": {"namespace": "argocd"}, "spec": {"project": "fleet", "source": source, "destination": {"name": "eu-aster", "namespace": "sync"}}})  # fmt: skip


@leak(SAID, "thirteenth-client-of-the-hub-beside-facts", "A chart of the tenant's has the issuer and id of the hub's login service, and the secret of the hub's own client out of a Secret of the hub.", "Keycloak clients", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    secret = generated(scene, "console-client", "client_secret", 40)
    release(scene, "dp", "oauth2-proxy", {"config": {"clientID": CLIENT, "clientSecret": secret, "cookieSecret": own(scene, "aster-proxy-cookie")}, "extraArgs": {"oidc-issuer-url": ISSUER}})  # fmt: skip
