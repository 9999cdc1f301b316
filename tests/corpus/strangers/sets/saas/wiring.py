"""Harmless, around a hosted control plane: programs' wiring, outputs of stacks, and resources of clouds beside it."""

from __future__ import annotations

import base64
import copy
import dataclasses
import gzip
import hashlib
import json
import re
import string
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, kept, own, pair
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import HEX, apply, b64, drawn, noise, uid
from tests.corpus.world import Box

from .world import (
    ACCOUNT,
    BOTH,
    CLIENT,
    DIRECTORY,
    DOMAIN,
    GREEN,
    LOGIN,
    MESH,
    PROJECT,
    REGION,
    ROOTS,
    STYLES,
    SUBSCRIPTION,
    TENANT,
    TENANT_ACCOUNT,
    account,
    both_sides,
    vendor,
)

CODE, STACKS, CLOUDS, SERVICES, LATER = (
    "saas: wiring",
    "saas: facts of other stacks",
    "saas: clouds beside it",
    "saas: accounts of other services",
    "saas: later updates",
)

# Wiring ---------------------------------------------------------------------------------------------------------------


@clean(CODE, "saas-closure-with-its-own-name", "Functions in a loop bind their owner by a default: the twin of a closure over the last name.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    values = {owner: scene.password(side, f"late-{owner}").output("result") for owner, side in (("orchard", "dp"), ("hosted", "cp"))}  # fmt: skip
    makers = {owner: (lambda owner=owner: {"user": "agent", "password": values[owner]}) for owner in values}
    scene.secret("cp", "late-login", makers["hosted"]())
    scene.secret("dp", "late-login", makers["orchard"]())


@clean(
    CODE,
    "saas-default-argument-that-forgets",
    "A function makes its dictionary anew at each call: the twin of a default that remembers.",
)
def _(scene: Scene) -> None:
    def values(name: str, login: Any = None, into: dict[str, Any] | None = None) -> dict[str, Any]:
        found = {**(into or {}), "name": name}
        return {**found, "login": login} if login is not None else found

    release(scene, "cp", "dispatcher", values("hosted", generated(scene, "dispatcher")))
    release(scene, "dp", "dispatcher", values("orchard"))


@clean(CODE, "saas-dataclass-without-its-key", "All fields of a dataclass but the key are written into the tenant's map: the twin of a whole dump.")  # fmt: skip
def _(scene: Scene) -> None:
    @dataclasses.dataclass
    class Settings:
        mesh: str
        region: str
        endpoint: str
        licence_key: Any = dataclasses.field(repr=False, metadata={"private": True})

    settings = Settings(MESH, REGION, f"https://api.{DOMAIN}", kept(scene, "licences", "key", 40))
    shown = {one.name: getattr(settings, one.name) for one in dataclasses.fields(settings) if not one.metadata.get("private")}  # fmt: skip
    scene.config_map("dp", "about", {"settings.json": json.dumps(shown), "repr": re.sub(r"^.*Settings", "Settings", repr(settings))})  # fmt: skip


@clean(
    CODE,
    "saas-allowed-names-only",
    "Of the vendor's values only those on a list are handed on: the twin of a list of forbidden names.",
)
def _(scene: Scene) -> None:
    password = generated(scene, "meshes-db")
    values = {"host": f"state.{DOMAIN}", "db_password": password, "dsn": pulumi.Output.concat("postgresql://meshes:", password, f"@state.{DOMAIN}/meshes"), "pool": "20"}  # fmt: skip
    scene.secret("cp", "meshes", values)
    deployment(scene, "dp", "meshes", {"env": [{"name": name.upper(), "value": values[name]} for name in ("host", "pool")]})  # fmt: skip


@clean(
    CODE,
    "saas-template-with-some",
    "A template is filled with public values; a secret's place stays a place.",
    before="the same",
)
def _(scene: Scene) -> None:
    admin = generated(scene, "template-admin")
    template = string.Template("mesh=$mesh\nendpoint=$endpoint\n# debug: curl -u admin:$admin https://$endpoint/\n")
    every = {"mesh": MESH, "endpoint": f"xds.{DOMAIN}"}
    scene.secret("cp", "debug", {"line": admin.apply(lambda found: template.safe_substitute(every, admin=found))})
    scene.config_map("dp", "env", {"mesh.env": pulumi.Output.all(**every).apply(template.safe_substitute)})


@clean(CODE, "saas-unpacked-in-order", "Two passwords are made in one line and unpacked in the same order: the twin of the other way round.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    theirs, ours = (scene.password(side, f"swap-{side}").output("result") for side in ("cp", "dp"))
    scene.secret("cp", "swap-hosted", {"password": theirs})
    scene.secret("dp", "swap-orchard", {"password": ours})


@clean(CODE, "saas-zip-of-one-order", "Names and passwords are sorted together, as pairs.")
def _(scene: Scene) -> None:
    pairs = sorted((owner, scene.password(side, f"zip-{owner}").output("result"), side) for owner, side in {"tenant": "dp", "hosted": "cp"}.items())  # fmt: skip
    for owner, value, side in pairs:
        scene.secret(side, "zip-login", {"owner": owner, "password": value})


@clean(CODE, "saas-deep-copies-of-sinks", "Each side gets a deep copy of the list of sinks; the vendor's own sink is in the vendor's copy.", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    scene.join("green", GREEN)
    sinks: list[dict[str, Any]] = [{"name": "local", "url": "http://loki.logs:3100"}]
    mine = copy.deepcopy(sinks)
    mine.append({"name": "hosted", "url": f"https://logs.{DOMAIN}", "basic": {"user": "hosted", "pass": generated(scene, "sink")}})  # fmt: skip
    release(scene, "cp", "promtail", {"sinks": mine})
    for side in ("dp", "green"):
        scene.made("kubernetes:helm.sh/v3:Release", f"promtail-{side}", {"chart": "promtail", "values": {"sinks": sinks}}, scene.options(side))  # fmt: skip


@clean(
    CODE,
    "saas-whether-and-how-many",
    "The tenant learns whether the vendor has a licence and how many keys there are, not which.",
)
def _(scene: Scene) -> None:
    vendor(scene)
    licence = kept(scene, "licence", "key", 40)
    keys = [generated(scene, f"key-{at}") for at in range(3)]
    values = {"licensed": licence.apply(bool), "keys": len(keys), "algorithm": "ES256"}
    release(scene, "dp", "console", values)


@clean(
    CODE,
    "saas-all-with-one-used",
    "An all of four values makes a text of three of them; the fourth, a password, waits only.",
)
def _(scene: Scene) -> None:
    vendor(scene)
    found = pulumi.Output.all(mesh=MESH, host=f"xds.{DOMAIN}", port=15012, password=generated(scene, "xds"))
    scene.config_map("dp", "xds", {"address": found.apply(lambda a: f"{a['host']}:{a['port']}/{a['mesh']}")})


@clean(CODE, "saas-component-for-both-sides", "A component makes a login on the side it is given; two of them, one for each side.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    class Login(Box):
        def __init__(self, side: str) -> None:
            super().__init__(f"login-{side}", "hosted:index:Login")
            value = scene.password(side, f"login-{side}").output("result")
            scene.object(side, "v1:Secret", f"login-{side}", {"stringData": {"password": value}}, parent=self)
            self.value, self.name = value, f"login-{side}"
            self.register_outputs({"name": self.name})

    made = {side: Login(side) for side in ("cp", "dp")}
    release(scene, "dp", "portal", {"login": {"existingSecret": made["dp"].name, "hostedSecret": made["cp"].name}})
    release(scene, "cp", "portal", {"password": made["cp"].value})


@clean(CODE, "saas-transformation-of-labels", "A transformation writes owner and mesh onto all objects; values stay as they are.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    def labelled(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        given: Any = args.props
        if not args.type_.startswith("kubernetes:"):
            return None
        metadata = {**given.get("metadata", {}), "annotations": {"hosted.example.com/mesh": MESH}}
        return pulumi.ResourceTransformationResult({**given, "metadata": metadata}, args.opts)

    box = Box("all", opts=pulumi.ResourceOptions(transformations=[labelled]))
    for side in ("cp", "dp"):
        value = scene.password(side, f"labelled-{side}").output("result")
        scene.object(side, "v1:Secret", f"labelled-{side}", {"stringData": {"password": value}}, parent=box)


@clean(CODE, "saas-loop-over-variables", "Variables of a container are made from a list of names: values for plain ones, references for the others.")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    env: list[dict[str, Any]] = [{"name": name, "value": name.lower()} for name in STYLES]
    env += [{"name": name, "valueFrom": {"secretKeyRef": {"name": "orders", "key": name}}} for name in ("PGPASSWORD", "API_TOKEN", "SESSION_SECRET")]  # fmt: skip
    deployment(scene, "dp", "orders", {"env": env})


@clean(CODE, "saas-redacted-completely", "A text of settings has stars for all values under names that matter, before it goes to the tenant.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    values = {"password": kept(scene, "one", "password", 24), "apiToken": kept(scene, "two", "token", 40)}
    text = pulumi.Output.all(**values).apply(lambda found: yaml.safe_dump({"endpoint": f"api.{DOMAIN}", **found}))
    scene.config_map("dp", "effective", {"effective.yaml": text.apply(lambda found: re.sub(r"(?mi)^(\w*(?:password|token)): .*$", r"\1: '***'", found))})  # fmt: skip


@clean(CODE, "saas-several-tenants", "Two tenants get charts of one function with their own name, number and generated login.", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    scene.join("green", GREEN)
    vendor(scene)
    for at, side in enumerate(("dp", "green")):
        login = own(scene, f"tenant-{side}")
        scene.secret(side, "tenant", {"login": login, "number": str(1000 + at)})
        scene.made("kubernetes:helm.sh/v3:Release", f"tenant-chart-{side}", {"chart": "tenant", "values": {"org": f"org-{drawn(side, 10)}", "login": login}}, scene.options(side))  # fmt: skip


@clean(
    CODE, "saas-names-of-secrets", "The tenant gets a list of the vendor's Secrets by name and key, for documentation."
)
def _(scene: Scene) -> None:
    vendor(scene)
    catalogue = {f"hosted-{name}": keys for name, keys in {"state-db": ["PGPASSWORD"], "cacerts": ["ca-key.pem"], "billing": ["key", "webhook"], "realm": ["realm.json"]}.items()}  # fmt: skip
    scene.config_map("dp", "catalogue", {"secrets.json": json.dumps(catalogue), "secrets.md": "\n".join(f"- `{name}`: {', '.join(keys)}" for name, keys in catalogue.items())})  # fmt: skip


@clean(CODE, "saas-order-and-deletion", "Objects of the tenant's depend on Secrets of the vendor's and are replaced with them.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    made = scene.secret("cp", "order", {"token": generated(scene, "order-token")})
    scene.object("dp", "v1:ConfigMap", "after", {"data": {"after": "order"}}, depends_on=[made], delete_before_replace=True)  # fmt: skip


@clean(
    CODE,
    "saas-random-things-for-names",
    "Random pets, ids and UUIDs are names at both sides, and none is a password.",
    before="the same",
)
def _(scene: Scene) -> None:
    vendor(scene)
    pet = scene.made("random:index/randomPet:RandomPet", "edge-name", {"length": 3}, None, {"id_": "subtly-loved-beagle"})  # fmt: skip
    number = scene.made("random:index/randomUuid:RandomUuid", "edge-id", {}, None, {"result": uid("edge id")})
    for side in ("cp", "dp"):
        scene.config_map(side, f"edge-{side}", {"id": number.output("result"), "name": pet.output("id_")})


@clean(CODE, "saas-two-passwords-one-name", "Passwords of the same name, length and shape are at both sides; the tenant's is in YAML in JSON in base64.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    values = both_sides(scene, "agent")
    for side, value in values.items():
        text = apply(value, lambda found: b64(json.dumps({"config.yaml": yaml.safe_dump({"agent": {"password": found}})})))  # fmt: skip
        release(scene, side, "agent", {"packed": text})


# Facts of other stacks ------------------------------------------------------------------------------------------------


def _hosted(scene: Scene) -> Any:
    outputs = {
        "edgeAddress": f"edge.{DOMAIN}",
        "edgePort": "15443",
        "edgeSigningKey": scene.cp.opaque("edge signing", 44, LETTERS),
        "agent": {"endpoint": f"api.{DOMAIN}:443", "tls": True, "ca": ROOTS},
        "login": {"issuer": LOGIN, "clientId": CLIENT},
        "admin": {"user": "admin", "password": scene.cp.opaque("hosted admin", 32)},
        "nodes": [f"10.9.0.{at}" for at in range(4)],
    }
    return scene.reference("hosted", "organization/hosted-mesh/prod", outputs, ["edgeSigningKey", "admin"])


@clean(STACKS, "saas-outputs-by-a-list", "Two outputs of the vendor's stack by their full names: the twin of a pattern that fits a third.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hosted = _hosted(scene)
    scene.config_map("dp", "edge", {name: hosted.get_output(name) for name in ("edgeAddress", "edgePort")})


@clean(STACKS, "saas-object-output-of-facts", "An object of the vendor's stack becomes the agent's values whole; nothing in it is a login: the twin of one with a key.")  # fmt: skip
def _(scene: Scene) -> None:
    release(scene, "dp", "mesh-agent", _hosted(scene).get_output("agent"))


@clean(STACKS, "saas-user-without-its-password", "Of a marked object the tenant gets the member that is a user's name and another's list of addresses.")  # fmt: skip
def _(scene: Scene) -> None:
    hosted = _hosted(scene)
    nodes = hosted.get_output("nodes").apply(",".join)
    release(scene, "dp", "allow-list", {"nodes": nodes, "login": hosted.get_output("login")["clientId"]})


@clean(STACKS, "saas-password-for-the-vendors-side", "The vendor's stack's password goes to the vendor's cluster, and its address to the tenant's.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hosted = _hosted(scene)
    scene.secret("cp", "console", {"password": hosted.require_output("admin").apply(lambda found: found["password"])})
    scene.object("dp", "networking.istio.io/v1:ServiceEntry", "edge", {"spec": {"hosts": [hosted.get_output("edgeAddress")], "ports": [{"number": 15443, "name": "tls", "protocol": "TLS"}]}})  # fmt: skip


@clean(STACKS, "saas-tenants-stack-exports-facts", "A stack that tenants read exports addresses and ids; its passwords stay in the vendor's cluster.", stack="data-plane")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    generated(scene, "console-smoke")
    pulumi.export("endpoint", f"https://console.{DOMAIN}")
    pulumi.export("mesh", {"id": MESH, "issuer": LOGIN, "roots": ROOTS})
    scene.config_map("dp", "console", {"url": f"https://console.{DOMAIN}"})


# Clouds ---------------------------------------------------------------------------------------------------------------


@clean(CLOUDS, "saas-address-of-a-managed-database", "A database of the vendor's is made with a password; the tenant's rules of its network get the host and the port.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "rds-master")
    made = cloud(scene, "aws:rds/instance:Instance", "hosted-state", {"engine": "postgres", "username": "postgres", "password": password}, {"address": f"state.{drawn('rds host', 12)}.{REGION}.rds.amazonaws.com", "port": 5432, "resourceId": "db-" + drawn("dbi", 26, "ABCDEFGHIJ234567")})  # fmt: skip
    scene.object("dp", "networking.istio.io/v1:ServiceEntry", "blocked", {"spec": {"hosts": [made.output("address")], "ports": [{"number": 5432, "name": "tcp", "protocol": "TCP"}]}})  # fmt: skip


@clean(
    CLOUDS,
    "saas-role-for-the-tenant",
    "A role in the vendor's account trusts the tenant's issuer; the tenant gets the ARN.",
    before="the same",
)
def _(scene: Scene) -> None:
    vendor(scene)
    policy = json.dumps({"Statement": [{"Effect": "Allow", "Principal": {"Federated": f"arn:aws:iam::{ACCOUNT}:oidc-provider/issuer.{TENANT}"}, "Action": "sts:AssumeRoleWithWebIdentity"}]})  # fmt: skip
    role = cloud(scene, "aws:iam/role:Role", "tenant-writer", {"assumeRolePolicy": policy}, {"arn": f"arn:aws:iam::{ACCOUNT}:role/tenant-writer-{drawn('role', 7, HEX)}", "uniqueId": "AROA" + drawn("aroa", 17, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")})  # fmt: skip
    scene.object("dp", "v1:ServiceAccount", "writer", {"metadata": {"annotations": {"eks.amazonaws.com/role-arn": role.output("arn")}}})  # fmt: skip


@clean(CLOUDS, "saas-identity-of-azure", "An identity in the vendor's subscription, by its client id; keys of the storage account stay.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    store = cloud(scene, "azure:storage/account:Account", "hostedlogs", {"accountTier": "Standard"}, {"primaryAccessKey": b64(scene.cp.raw("hostedlogs", 64)), "primaryBlobEndpoint": "https://hostedlogs.blob.core.windows.net/"}, ["primaryAccessKey"])  # fmt: skip
    scene.secret("cp", "logs", {"key": store.output("primaryAccessKey")})
    identity = cloud(scene, "azure-native:managedidentity:UserAssignedIdentity", "writer", {"resourceGroupName": "hosted"}, {"clientId": uid("writer client"), "principalId": uid("writer principal"), "tenantId": DIRECTORY})  # fmt: skip
    release(scene, "dp", "shipper", {"azure": {"clientId": identity.output("clientId"), "tenantId": identity.output("tenantId"), "endpoint": store.output("primaryBlobEndpoint"), "subscription": SUBSCRIPTION}})  # fmt: skip


@clean(CLOUDS, "saas-zone-of-records", "The vendor's zone at Cloudflare has a record for the tenant; the tenant gets the name, the zone's id and nothing else.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    token = pulumi.Output.secret(scene.cp.opaque("cloudflare", 40, LETTERS + "-_"))
    scene.secret("cp", "cloudflare", {"token": token})
    opts = scene.package("cloudflare", "hosted-zone", "cp", apiToken=token)
    record = scene.made("cloudflare:index/record:Record", "orchard-record", {"zoneId": drawn("zone", 32, HEX), "name": "orchard", "type": "CNAME", "content": f"edge.{TENANT}"}, opts, {"hostname": f"orchard.{DOMAIN}"}, owner="cp")  # fmt: skip
    scene.config_map("dp", "names", {"host": record.output("hostname"), "zone": drawn("zone", 32, HEX)})


@clean(CLOUDS, "saas-machine-that-asks", "A machine of the tenant's starts with a cloud-config whose packed file is a script that asks for its login: the twin of one with a login.")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    packed = b64(gzip.compress(b"#!/bin/sh\nvault login -method=oidc -path=hetzner role=edge >/dev/null\nvault kv get -field=rclone.conf kv/edge > /opt/.config/rclone/rclone.conf\n", mtime=0))  # fmt: skip
    text = "#cloud-config\n" + yaml.safe_dump({"write_files": [{"path": "/opt/start.sh", "encoding": "gz+b64", "content": packed}], "ssh_authorized_keys": [f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{drawn('admin key', 43)} ops"]})  # fmt: skip
    account(scene, "hcloud:index/server:Server", "edge-1", {"serverType": "cx32", "image": "debian-12", "userData": text}, token=pulumi.Output.secret(scene.dp.opaque("hc", 64)))  # fmt: skip


@clean(
    CLOUDS,
    "saas-own-machine-with-a-login",
    "A machine of the tenant's starts with the tenant's own token of its small cluster, generated.",
)
def _(scene: Scene) -> None:
    vendor(scene)
    text = pulumi.Output.format("#!/bin/sh\ncurl -sfL https://get.k3s.io | K3S_TOKEN={0} sh -s - server --cluster-init\n", own(scene, "k3s", 48))  # fmt: skip
    account(scene, "digitalocean:index/droplet:Droplet", "edge-2", {"size": "s-2vcpu-4gb", "image": "debian-12-x64", "region": "fra1", "userData": text}, token=pulumi.Output.secret("dop_v1_" + scene.dp.opaque("do", 64, HEX)))  # fmt: skip


@clean(CLOUDS, "saas-own-database-in-a-cloud", "A database in the tenant's project has a user with a generated password; the tenant's chart has its address.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    password = own(scene, "sql-orders")
    account(scene, "gcp:sql/user:User", "orders", {"instance": "orders", "password": password}, project="orchard-prod-558217")  # fmt: skip
    release(scene, "dp", "orders", {"database": {"url": pulumi.Output.concat("postgres://orders:", password, "@127.0.0.1:5432/orders"), "instance": "orchard-prod-558217:europe-west3:orders"}})  # fmt: skip


@clean(
    CLOUDS,
    "saas-facts-of-projects",
    "Data sources answer with the vendor's project's number, an account's id and a certificate's ARN.",
)
def _(scene: Scene) -> None:
    vendor(scene)
    project = scene.invoke("gcp:organizations/getProject:getProject", {"number": "551907342286", "projectId": PROJECT}, secret=False)  # fmt: skip
    caller = scene.invoke("aws:index/getCallerIdentity:getCallerIdentity", {"accountId": ACCOUNT, "arn": f"arn:aws:sts::{ACCOUNT}:assumed-role/deployer/{drawn('session', 19, '0123456789')}", "userId": "AROA" + drawn("caller", 17, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")}, secret=False)  # fmt: skip
    scene.config_map("dp", "accounts", {"project": project["number"], "account": caller["accountId"], "role": caller["arn"]})  # fmt: skip


@clean(CLOUDS, "saas-certificate-by-its-number", "A certificate with the vendor's key is imported at the vendor's; the tenant gets its ARN and its validation's records.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    key, cert = pair(scene, "cp", "console")
    made = cloud(scene, "aws:acm/certificate:Certificate", "console-acm", {"privateKey": key.output("privateKeyPem"), "certificateBody": cert.output("certPem")}, {"arn": f"arn:aws:acm:{REGION}:{ACCOUNT}:certificate/{uid('acm')}"})  # fmt: skip
    scene.object("dp", "v1:Service", "gateway", {"spec": {"type": "LoadBalancer"}, "metadata": {"annotations": {"service.beta.kubernetes.io/aws-load-balancer-ssl-cert": made.output("arn")}}})  # fmt: skip


# Accounts of other services -------------------------------------------------------------------------------------------


@clean(SERVICES, "saas-workflow-of-the-tenant", "The tenant's repository has a variable with the vendor's address and a secret that is the tenant's robot.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    robots = both_sides(scene, "robot")
    opts = scene.package("github", "orchard-github", token=pulumi.Output.secret(scene.dp.opaque("gh", 36)))
    scene.made("github:index/actionsVariable:ActionsVariable", "mesh-api", {"repository": "shopfront", "variableName": "MESH_API", "value": f"https://api.{DOMAIN}"}, opts)  # fmt: skip
    scene.made("github:index/dependabotSecret:DependabotSecret", "registry", {"repository": "shopfront", "secretName": "REGISTRY_PASSWORD", "plaintextValue": robots["dp"]}, opts)  # fmt: skip


@clean(
    SERVICES,
    "saas-hook-with-an-own-token",
    "A hook of the tenant's project calls the tenant's receiver with a generated token of the tenant's.",
)
def _(scene: Scene) -> None:
    vendor(scene)
    token = own(scene, "hook", 40)
    scene.secret("dp", "receiver", {"token": token})
    account(scene, "gitlab:index/projectHook:ProjectHook", "pushes", {"project": "orchard/shopfront", "url": f"https://hooks.{TENANT}", "token": token})  # fmt: skip


@clean(SERVICES, "saas-action-with-a-client-id", "An action in the tenant's login service has the vendor's client id and issuer among its settings.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    account(scene, "auth0:index/action:Action", "claims", {"name": "claims", "runtime": "node18", "code": "exports.onExecutePostLogin = async () => {}", "secrets": [{"name": "MESH", "value": MESH}, {"name": "CLIENT", "value": CLIENT}]}, domain="orchard.eu.auth0.com")  # fmt: skip


@clean(
    SERVICES,
    "saas-monitors-and-boards",
    "Monitors and boards in the tenant's account: queries, thresholds, ids and messages.",
)
def _(scene: Scene) -> None:
    vendor(scene)
    account(scene, "datadog:index/monitor:Monitor", "errors", {"type": "query alert", "name": "token errors", "query": "sum(last_5m):sum:istio.mesh.request.count{response_code:5*,mesh:" + MESH + "} > 10", "message": "Token errors. @pagerduty-mesh {{#is_alert}}see https://console.hosted.example.com{{/is_alert}}"}, apiKey=pulumi.Output.secret(scene.dp.opaque("dd", 32, HEX)))  # fmt: skip


@clean(
    SERVICES,
    "saas-container-on-the-tenants-host",
    "A relay on the tenant's host reads its token from a mounted file; its variables are addresses.",
)
def _(scene: Scene) -> None:
    vendor(scene)
    envs = [f"UPSTREAM=xds.{DOMAIN}:15012", f"REALM={LOGIN}", "RELAY_TOKEN_FILE=/run/secrets/relay"]
    account(scene, "docker:index/container:Container", "mesh-relay", {"image": f"relay@sha256:{noise('relay', 32).hex()}", "envs": envs}, host=f"ssh://deploy@edge.{TENANT}")  # fmt: skip


@clean(SERVICES, "saas-command-about-public-things", "A command on the deployer's machine hashes public things; its output is the tenant's annotation.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    made = scene.made("command:local:Command", "digest", {"create": "sha256sum charts/agent.tgz | cut -d' ' -f1"}, None, {"stdout": hashlib.sha256(b"agent chart").hexdigest()})  # fmt: skip
    scene.object("dp", "v1:Namespace", "agent", {"metadata": {"annotations": {"chart-digest": made.output("stdout")}}})


# Later updates --------------------------------------------------------------------------------------------------------


def _console(scene: Scene, **more: Any) -> None:
    vendor(scene)
    generated(scene, "agent-enrol", "key", 40)
    release(scene, "dp", "mesh-agent", {"enrol": {"existingSecret": "enrol"}, "logLevel": "info", **more})


@clean(LATER, "saas-debugging-without-a-key", "At the second update the log level is debug and more is shown, but no key: the twin of one with it.", before=lambda scene: _console(scene))  # fmt: skip
def _(scene: Scene) -> None:
    _console(scene, logLevel="debug", dump={"headers": ["x-request-id"], "mask": ["authorization", "cookie"]})


@clean(LATER, "saas-vendor-rotates-alone", "At the second update the vendor has new passwords and keys; the tenant's objects stay as they are.", before=lambda scene: _alone(scene, 1))  # fmt: skip
def _(scene: Scene) -> None:
    _alone(scene, 2)


def _alone(scene: Scene, number: int) -> None:
    generated(scene, f"alone-{number}")
    key = scene.key("cp", f"alone-key-{number}")
    scene.secret("cp", "alone", {"key": key.output("privateKeyPem"), "generation": str(number)})
    scene.config_map("dp", "alone", {"issuer": LOGIN, "keys": f"{LOGIN}/protocol/openid-connect/certs"})


@clean(LATER, "saas-claim-answers-later", "A claim at the vendor's answers at the second update; of its status the tenant gets the host: the twin of the whole status.", before=lambda scene: vendor(scene))  # fmt: skip
def _(scene: Scene) -> None:
    vendor(scene)
    secret = scene.cp.opaque("claim secret", 36)
    scene.held("claim-connection", "password", secret)
    status = {"phase": "Ready", "connection": {"host": f"q7.{DOMAIN}", "port": 5432, "password": secret}}
    claim = scene.answered("cp", "hosted.example.com/v1:Database", "claim", {"spec": {"size": "small"}}, status=status)
    host = claim.output("status").apply(lambda s: ((s or {}).get("connection") or {}).get("host", ""))
    deployment(scene, "dp", "reader", {"env": [{"name": "PGHOST", "value": host}]})


@clean(LATER, "saas-tenant-joins-later", "At the second update a tenant joins with a login of its own, made for it.", pack=BOTH, before=lambda scene: vendor(scene))  # fmt: skip
def _(scene: Scene) -> None:
    scene.join("green", GREEN)
    vendor(scene)
    login = own(scene, "join-green")
    scene.secret("green", "join", {"server": SERVERS["cp"], "name": "green", "login": login})


@clean(LATER, "saas-known-facts-change", "At the second update addresses, versions and counts change in the tenant's map.", before=lambda scene: _facts(scene, 1))  # fmt: skip
def _(scene: Scene) -> None:
    _facts(scene, 2)


def _facts(scene: Scene, number: int) -> None:
    vendor(scene)
    data = {"version": f"1.26.{number}", "address": f"198.51.100.{number}", "replicas": str(number), "digest": noise(f"facts {number}", 32).hex(), "packed": base64.b64encode(noise(f"packed {number}", 90)).decode(), "account": TENANT_ACCOUNT}  # fmt: skip
    scene.config_map("dp", "facts", data)
