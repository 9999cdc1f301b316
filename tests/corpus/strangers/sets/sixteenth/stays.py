"""Harmless: secrets of the hub's that stay at the hub, in programs whose other half is busy with tenants."""

from __future__ import annotations

import json
from typing import Any

import pulumi

from tests.corpus.strangers.credentials import minted, raw
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.scene import Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import apply, drawn
from tests.corpus.world import Box

from .world import (
    ACCOUNT,
    BIRCH,
    CORE,
    DOMAIN,
    HUB2,
    MESH,
    REGION,
    ROWAN,
    TENANTS,
    TOLD,
    Addon,
    account,
    hubs,
    issued_to_us,
    rows,
    secret_object,
)

STAYS, PICKED = "sixteenth: stays at the hub", "sixteenth: only the harmless part goes"

# Stays ----------------------------------------------------------------------------------------------------------------


@clean(STAYS, "sixteenth-stays-same-component-on-both-sides", "One component is installed at the hub with a password and a Secret, and at the tenants without.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    Addon(scene, "cp", "thanos", {"objstore": {"bucket": "metrics"}, "query": {"replicas": 2}}, {"secretKey": hubs(scene, "thanos", "secretKey", 40)})  # fmt: skip
    for row in rows(scene):
        Addon(scene, row["cluster"], "thanos", {"receive": {"url": f"https://metrics.{DOMAIN}", "labels": {"tenant": row["name"]}}})  # fmt: skip


@clean(STAYS, "sixteenth-stays-dependency-on-a-secret", "Objects of birch's wait for the Secret of the hub's login service; that is all they have to do with it.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    ready = scene.secret("cp", "login", {"password": hubs(scene, "login")}, namespace="login")
    login = scene.config_map("dp", "login", {"issuer": f"https://login.{DOMAIN}"}, depends_on=[ready])
    release(scene, "dp", "shop", {"login": {"configMap": "login"}}, depends_on=[login, ready])


def _first_name(scene: Scene) -> None:
    box = Box("agents", "quarry:index:Agents")
    scene.object("cp", "v1:Secret", "fleet-agent", {"stringData": {"token": issued_to_us(scene, "fleet-agent")}}, parent=box)  # fmt: skip
    scene.config_map("dp", "fleet-agent", {"url": f"https://fleet.{DOMAIN}"})


@clean(STAYS, "sixteenth-stays-under-a-new-name", "A Secret of the hub's is renamed with an alias and stays in the hub's cluster, below a component that has birch's name.", before=_first_name)  # fmt: skip
def _(scene: Scene) -> None:
    box = Box("birch-agents", "quarry:index:Agents", pulumi.ResourceOptions(aliases=[pulumi.Alias(name="agents")]))
    scene.object("cp", "v1:Secret", "birch-agent-at-the-hub", {"stringData": {"token": issued_to_us(scene, "fleet-agent")}}, parent=box, aliases=[pulumi.Alias(name="cp-fleet-agent")])  # fmt: skip
    scene.config_map("dp", "fleet-agent", {"url": f"https://fleet.{DOMAIN}"})


def _old_length(scene: Scene) -> None:
    hubs(scene, "search", length=20)
    Addon(scene, "dp", "search-client", {"url": f"https://search.{DOMAIN}", "index": "birch"})


@clean(STAYS, "sixteenth-stays-while-it-is-rotated", "The password of the hub's search service is replaced by a longer one; the clients of tenants are as before.", before=_old_length)  # fmt: skip
def _(scene: Scene) -> None:
    hubs(scene, "search", length=48)
    Addon(scene, "dp", "search-client", {"url": f"https://search.{DOMAIN}", "index": "birch"})


@clean(STAYS, "sixteenth-stays-in-the-second-hub", "A loop gives both of the hub's clusters the key of the gossip network; a loop over tenants gives them its address.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    scene.join("hub-b", HUB2, owner="cp")
    key = raw(scene, "cp", "quarry-gossip")
    for side in ("cp", "hub-b"):
        scene.secret(side, "gossip", {"key": key.output("base64")}, namespace="consul")
    for row in rows(scene):
        release(scene, row["cluster"], "consul", {"global": {"datacenter": row["name"], "gossipEncryption": {"secretName": "gossip", "secretKey": "key"}}, "externalServers": {"hosts": [f"consul.{DOMAIN}"]}})  # fmt: skip


@clean(STAYS, "sixteenth-stays-by-a-transformation-for-one-namespace", "A transformation of both components adds the hub's token only where the namespace is the platform's.")  # fmt: skip
def _(scene: Scene) -> None:
    token = hubs(scene, "flags", "token", 40)

    def with_flags(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        given: Any = args.props
        if given.get("namespace") != "console":
            return None
        return pulumi.ResourceTransformationResult({**given, "values": {**given["values"], "flagsToken": token}}, args.opts)  # fmt: skip

    box = Box("all", "quarry:index:All", pulumi.ResourceOptions(transformations=[with_flags]))
    release(scene, "cp", "console", {"host": f"console.{DOMAIN}"}, parent=box)
    release(scene, "dp", "shop", {"flagsUrl": f"https://flags.{DOMAIN}"}, parent=box)


@clean(STAYS, "sixteenth-stays-in-the-hubs-function", "A function in the platform's account has its token; the one in birch's has the address of the first.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    token = issued_to_us(scene, "pages")
    made = account(scene, "quarry", "aws:lambda/function:Function", "pages", {"handler": "pages.handler", "environment": {"variables": {"PAGES_TOKEN": token}}}, {"arn": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:pages"}, region=REGION)  # fmt: skip
    account(scene, "birch", "aws:lambda/function:Function", "caller", {"handler": "caller.handler", "environment": {"variables": {"PAGES_ARN": made.output("arn")}}}, region=REGION)  # fmt: skip


@clean(STAYS, "sixteenth-stays-in-the-hubs-forge", "Secrets of pipelines are set in the platform's organisation, with its tokens; in birch's there are variables with names and regions.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    token = issued_to_us(scene, "deployer")
    account(scene, "quarry", "github:index/actionsOrganizationSecret:ActionsOrganizationSecret", "deployer", {"secretName": "DEPLOY_TOKEN", "visibility": "private", "plaintextValue": token}, organization="quarry")  # fmt: skip
    for name, value in (("MESH", MESH), ("REGION", REGION), ("DEPLOY_TOKEN_NAME", "DEPLOY_TOKEN")):
        account(scene, "birch", "github:index/actionsOrganizationVariable:ActionsOrganizationVariable", name.lower(), {"variableName": name, "visibility": "all", "value": value}, organization="birch")  # fmt: skip


@clean(STAYS, "sixteenth-stays-with-tenants-names-around-it", "The hub's gateway knows all tenants by name and has one signing key; tenants know the gateway by its address.")  # fmt: skip
def _(scene: Scene) -> None:
    key = scene.key("cp", "quarry-gateway")
    tenants = rows(scene)
    config = key.output("privateKeyPem").apply(lambda found: json.dumps({"signingKey": found, "tenants": [{"name": row["name"], "origin": f"https://{row['domain']}"} for row in tenants]}))  # fmt: skip
    scene.secret("cp", "gateway", {"config.json": config}, namespace="gateway")
    for row in tenants:
        scene.config_map(row["cluster"], "gateway", {"url": f"https://gateway.{DOMAIN}/{row['name']}"})


@clean(STAYS, "sixteenth-stays-with-an-application-for-the-hub", "An ApplicationSet of the hub's installs at the hub, with a password among its values; the list of tenants has only names and plans.")  # fmt: skip
def _(scene: Scene) -> None:
    password = hubs(scene, "billing")
    elements = [{"tenant": row["name"], "plan": row["plan"]} for row in rows(scene)]
    helm = {"valuesObject": {"tenant": "{{tenant}}", "plan": "{{plan}}", "database": {"password": password}}}
    template = {"metadata": {"name": "billing-{{tenant}}"}, "spec": {"project": "platform", "destination": {"server": "https://kubernetes.default.svc", "namespace": "billing"}, "source": {"repoURL": f"https://charts.{DOMAIN}", "chart": "billing", "targetRevision": "1.0.0", "helm": helm}}}  # fmt: skip
    scene.object("cp", "argoproj.io/v1alpha1:ApplicationSet", "billing", {"metadata": {"namespace": "argocd"}, "spec": {"generators": [{"list": {"elements": elements}}], "template": template}})  # fmt: skip
    scene.config_map("dp", "plan", {"plan": "gold"}, namespace="quarry")


@clean(STAYS, "sixteenth-stays-between-two-stacks-of-the-hub", "The core stack's root password is read for the hub's own database job; tenants get the name of their schema.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    core = scene.reference("core", CORE, {"pgRoot": scene.cp.opaque("quarry pg root", 32, LETTERS), "pgHost": f"pg.{DOMAIN}"}, ["pgRoot"])  # fmt: skip
    pod = {"restartPolicy": "Never", "containers": [{"name": "schemas", "image": "schemas:2", "env": [{"name": "PGPASSWORD", "value": core.get_output("pgRoot")}, {"name": "SCHEMAS", "value": ",".join(row["name"] for row in rows(scene))}]}]}  # fmt: skip
    scene.object("cp", "batch/v1:Job", "schemas", {"spec": {"template": {"spec": pod}}})
    scene.config_map("dp", "schema", {"schema": "birch", "host": core.get_output("pgHost")})


@clean(STAYS, "sixteenth-stays-and-a-tenant-leaves", "A second update takes a tenant off the file; what is left of it at the hub is a Secret of the hub's.", before=lambda scene: [hubs(scene, "index"), *(Addon(scene, row["cluster"], "indexer", {"tenant": row["name"]}) for row in rows(scene, TENANTS + ROWAN))])  # fmt: skip
def _(scene: Scene) -> None:
    hubs(scene, "index")
    for row in rows(scene):
        Addon(scene, row["cluster"], "indexer", {"tenant": row["name"]})


# Picked ---------------------------------------------------------------------------------------------------------------


@clean(PICKED, "sixteenth-picked-address-out-of-all", "An address and the hub's password are awaited together, and birch's map gets the address only.")  # fmt: skip
def _(scene: Scene) -> None:
    both = pulumi.Output.all(f"https://harbor.{DOMAIN}", hubs(scene, "harbor"))
    scene.config_map("dp", "harbor", {"url": both.apply(lambda found: found[0]), "project": "birch"})


@clean(PICKED, "sixteenth-picked-members-of-an-object", "Of the platform's object of mail settings tenants get host, port and sender; user and password stay in the hub's Secret.", config=lambda cp, dp: {"quarry:smtp": json.dumps({"host": "smtp.quarry.example.com", "port": 587, "from": "noreply@quarry.example.com", "user": "relay", "password": cp.opaque("quarry relay", 32)})})  # fmt: skip
def _(scene: Scene) -> None:
    smtp = secret_object(scene, "quarry:smtp")
    scene.secret("cp", "smtp", {"user": smtp["user"], "password": smtp["password"]}, namespace="mail")
    for row in rows(scene):
        env = [{"name": "SMTP_HOST", "value": smtp["host"]}, {"name": "SMTP_PORT", "value": smtp["port"].apply(str)}, {"name": "SMTP_FROM", "value": smtp["from"]}]  # fmt: skip
        deployment(scene, row["cluster"], "mailer", {"env": env})


@clean(PICKED, "sixteenth-picked-whether-there-is-a-token", "birch's chart gets a flag that says whether the hub has a token for tickets, and not the token.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    token = issued_to_us(scene, "tickets")
    release(scene, "dp", "support", {"tickets": {"enabled": apply(token, bool), "url": f"https://tickets.{DOMAIN}"}})


@clean(PICKED, "sixteenth-picked-server-of-a-kubeconfig", "Of the hub's kubeconfig for its agents only the server's address goes to tenants.", pack=TOLD, config=lambda cp, dp: {"quarry:agents": cp.kubeconfig("quarry agents", "https://cp.example.com:6443")})  # fmt: skip
def _(scene: Scene) -> None:
    kubeconfig = scene.config("quarry:agents")
    scene.secret("cp", "agents", {"kubeconfig": kubeconfig}, namespace="agents")
    server = kubeconfig.apply(lambda found: next(line.partition("server: ")[2].strip() for line in found.splitlines() if "server: " in line))  # fmt: skip
    for row in rows(scene):
        scene.config_map(row["cluster"], "hub", {"server": server, "mesh": MESH})


@clean(PICKED, "sixteenth-picked-length-of-a-password", "A policy of the tenant's console says how long passwords are, by the length of the hub's generated one.")  # fmt: skip
def _(scene: Scene) -> None:
    password = hubs(scene, "console")
    scene.config_map("dp", "console", {"policy.json": password.apply(lambda found: json.dumps({"minimum": len(found), "digits": True}))})  # fmt: skip


@clean(PICKED, "sixteenth-picked-plain-outputs-of-the-core", "Tenants' maps mirror those outputs of the core stack that are in a list of plain ones; two others are secret.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    outputs = {"xds": f"xds.{DOMAIN}:15012", "region": REGION, "zone": "Z0443QUARRY", "kubeconfig": scene.cp.kubeconfig("quarry core", "https://cp.example.com:6443"), "pagerKey": scene.cp.opaque("quarry pager", 32)}  # fmt: skip
    core = scene.reference("core", CORE, outputs, ["kubeconfig", "pagerKey"])
    scene.secret("cp", "pager", {"key": core.get_output("pagerKey")}, namespace="monitoring")
    for row in rows(scene):
        scene.config_map(row["cluster"], "hub", {name: core.get_output(name) for name in ("xds", "region", "zone")})


@clean(PICKED, "sixteenth-picked-name-and-place-of-a-secret", "The platform's account keeps a secret; tenants get its name and ARN, which their roles may not read.", pack=TOLD)  # fmt: skip
def _(scene: Scene) -> None:
    value = hubs(scene, "signer", "key", 44)
    made = account(scene, "quarry", "aws:secretsmanager/secret:Secret", "signer", {"name": "platform/signer"}, {"arn": f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:platform/signer-{drawn('signer', 6)}"}, region=REGION)  # fmt: skip
    account(scene, "quarry", "aws:secretsmanager/secretVersion:SecretVersion", "signer-1", {"secretId": made.output("arn"), "secretString": value}, region=REGION)  # fmt: skip
    scene.config_map("dp", "audit", {"signer": made.output("arn"), "account": ACCOUNT})


@clean(PICKED, "sixteenth-picked-hosts-of-what-has-a-login", "Of a new cache of the platform's, tenants get host and port, while its key goes to the hub's Secret.")  # fmt: skip
def _(scene: Scene) -> None:
    made = cloud(scene, "azure:redis/cache:Cache", "limits", {"resourceGroupName": "platform", "capacity": 1}, {"primaryAccessKey": scene.cp.opaque("quarry limits", 44), "hostname": f"limits.{DOMAIN}", "sslPort": "6380"}, ["primaryAccessKey"])  # fmt: skip
    scene.secret("cp", "limits", {"key": made.output("primaryAccessKey")}, namespace="gateway")
    for row in rows(scene):
        scene.config_map(row["cluster"], "limits", {"address": pulumi.Output.concat(made.output("hostname"), ":", made.output("sslPort"))})  # fmt: skip


@clean(PICKED, "sixteenth-picked-dummy-in-every-run", "A helper for shared plans hides secrets of the hub's in every run; birch's notes have the word hidden where the token would be.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    def hidden(settings: dict[str, Any], secret: frozenset[str]) -> dict[str, Any]:
        return {name: "(hidden)" if name in secret else value for name, value in settings.items()}

    token = minted(scene, "cp", "planner")
    settings = pulumi.Output.all(url=f"https://plans.{DOMAIN}", token=token, retries=3)
    notes = settings.apply(lambda found: json.dumps(hidden(found, frozenset({"token"}))))
    scene.secret("cp", "planner", {"token": token}, namespace="plans")
    scene.config_map("dp", "planner", {"settings.json": notes, "contact": f"ops@{BIRCH}"})


@clean(PICKED, "sixteenth-picked-keys-without-values", "A tenant's operator checks that names of entries exist: it gets the names of what the hub's Secret has, without values.")  # fmt: skip
def _(scene: Scene) -> None:
    home = pulumi.Output.secret({"username": "root", "password": hubs(scene, "ledger")})
    scene.config_map("dp", "expected", {"keys": home.apply(lambda found: ",".join(sorted(found))), "namespace": "ledger"})  # fmt: skip
