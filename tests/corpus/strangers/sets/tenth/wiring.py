"""Harmless, beside a team that configured the pack: the team's secrets at home, twins of slips, wiring and later updates."""  # fmt: skip

from __future__ import annotations

import contextvars
import enum
import functools
import hashlib
import itertools
import json
import operator
import sqlite3
from collections.abc import Callable
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, kept, own, pair
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import deployment, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.values import HEX, apply, b64, drawn, noise, uid
from tests.corpus.world import Box

from .world import (
    ACCOUNT,
    CERTIFICATE,
    CLIENT,
    DIGEST,
    DOMAIN,
    FERN,
    FERN_ACCOUNT,
    ISSUER,
    KILN,
    OTTER,
    REGION,
    account,
    clean,
    declassified,
    owned,
    tenants,
    west,
    workload,
    workshop,
)

HOME, TWINS, WIRING, READ, LATER = (
    "tenth: the team's at home",
    "tenth: twins of slips",
    "tenth: components and transformations",
    "tenth: look-ups, reads and exports",
    "tenth: later updates",
)

# At home --------------------------------------------------------------------------------------------------------------


@clean(HOME, "tenth-home-in-both-clusters", "A generated login of the team's is in both of its clusters; tenants have the host.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    login = generated(scene, "bus-admin")
    second = west(scene)
    scene.secret(second, "bus-admin", {"password": login})
    release(scene, second, "bus-console", {"auth": {"password": login}})
    for side in tenants(scene).values():
        scene.config_map(side, "bus", {"bootstrap": f"bus.{DOMAIN}:9093"})


@clean(HOME, "tenth-home-kubeconfigs-of-both-clusters", "The team's Argo CD in its second cluster has kubeconfigs of both of the team's clusters; a tenant has their addresses.")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    second = west(scene)
    for side in ("cp", second):
        scene.secret(second, f"cluster-{side}", {"kubeconfig": pulumi.Output.secret(scene.kubeconfigs[side])}, namespace="argocd")  # fmt: skip
    scene.config_map("dp", "clusters", {"servers": "\n".join((SERVERS["cp"], "https://west.kiln.example.com:6443"))})


@clean(HOME, "tenth-home-store-and-vault", "The team's logins are in a store of its account and in its Vault, by providers of its name; a tenant's policy has places in both.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    login, key = generated(scene, "ledger-owner"), kept(scene, "ledger-api", "key", 40)
    account(scene, "kiln", "aws:secretsmanager/secretVersion:SecretVersion", "ledger", {"secretId": "kiln/ledger", "secretString": login}, {}, ["secretString"], region=REGION)  # fmt: skip
    account(scene, "kiln", "vault:kv/secretV2:SecretV2", "ledger-entry", {"mount": "kv", "name": "ledger", "dataJson": pulumi.Output.json_dumps({"key": key})}, address=f"https://vault.{DOMAIN}")  # fmt: skip
    account(scene, "fern", "vault:index/policy:Policy", "ledger-policy", {"name": "ledger", "policy": 'path "kv/data/ledger" { capabilities = ["read"] }\n'}, address=f"https://vault.{FERN}")  # fmt: skip


@clean(HOME, "tenth-home-token-of-the-teams-forge", "A token of the team's configuration is a secret of the team's repository, and its provider logs in by another; the tenant's repository has a variable.", config=lambda cp, dp: {"kiln:forge": "ghp_" + cp.opaque("kiln forge token", 36, LETTERS), "kiln:publish": cp.opaque("kiln publish", 40, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    account(scene, "kiln", "github:index/actionsSecret:ActionsSecret", "publish", {"repository": "mesh", "secretName": "PUBLISH", "plaintextValue": scene.config("kiln:publish")}, organization="kiln", token=scene.config("kiln:forge"))  # fmt: skip
    account(scene, "fern", "github:index/actionsVariable:ActionsVariable", "mesh-id", {"repository": "shop", "variableName": "MESH_ID", "value": KILN}, organization="fern")  # fmt: skip


@clean(HOME, "tenth-home-command-of-the-team", "A command on the team's machine has the team's token; what it prints is a tenant's number, which the tenant has.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    token = generated(scene, "registrar", "token", 40)
    inputs = {"create": "kilnctl tenants add fern --print id", "environment": {"KILN_TOKEN": token, "KILN_API": f"https://api.{DOMAIN}"}}  # fmt: skip
    made = account(scene, "kiln", "command:local:Command", "add-fern", inputs, {"stdout": "tenant-0042"})
    scene.config_map("dp", "tenant", {"id": made.output("stdout"), "mesh": KILN})


@clean(HOME, "tenth-home-image-pushed-by-the-team", "An image is built and pushed by the team's login; tenants have its digest.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    login = [{"address": f"registry.{DOMAIN}", "username": "robot$kiln", "password": generated(scene, "pusher")}]
    made = account(scene, "kiln", "docker-build:index:Image", "proxy", {"tags": [f"registry.{DOMAIN}/proxy:9"], "push": True, "registries": login}, {"digest": f"sha256:{noise('proxy image', 32).hex()}"})  # fmt: skip
    for side in tenants(scene).values():
        deployment(scene, side, "proxy", {"image": pulumi.Output.concat(f"registry.{DOMAIN}/proxy@", made.output("digest"))})  # fmt: skip


@clean(HOME, "tenth-home-database-and-its-address", "A database is made in the team's account with a generated password, and a provider logs in to it; the tenant has the address, and a role by its name.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    password = generated(scene, "usage-owner")
    made = account(scene, "kiln", "aws:rds/instance:Instance", "usage", {"engine": "postgres", "username": "usage", "password": password}, {"address": f"usage.{drawn('usage rds', 12)}.{REGION}.rds.amazonaws.com", "resourceId": f"db-{drawn('usage', 26)}"}, ["password"], region=REGION)  # fmt: skip
    account(scene, "kiln", "postgresql:index/role:Role", "fern-role", {"name": "fern", "login": True, "roles": ["rds_iam"]}, host=made.output("address"), username="usage", password=password)  # fmt: skip
    release(scene, "dp", "usage-reader", {"host": made.output("address"), "user": "fern", "auth": "iam"})
    account(scene, "fern", "aws:iam/policy:Policy", "usage-reader", {"policy": pulumi.Output.json_dumps({"Statement": [{"Effect": "Allow", "Action": "rds-db:connect", "Resource": pulumi.Output.concat(f"arn:aws:rds-db:{REGION}:{ACCOUNT}:dbuser:", made.output("resourceId"), "/fern")}]})}, region=REGION)  # fmt: skip


@clean(HOME, "tenth-home-source-of-dashboards", "The team's dashboards ask the team's metrics by a generated login; the tenant's ask the tenant's by theirs.")  # fmt: skip
def _(scene: Scene) -> None:
    for owner, side, domain in (("kiln", "cp", DOMAIN), ("fern", "dp", FERN)):
        password = scene.password(side, f"{owner}-metrics").output("result")
        scene.secret(side, "metrics-users", {"password": password})
        account(scene, owner, "grafana:oss/dataSource:DataSource", f"{owner}-metrics-source", {"type": "prometheus", "url": f"https://metrics.{domain}", "basicAuthEnabled": True, "basicAuthUsername": "grafana", "secureJsonDataEncoded": pulumi.Output.json_dumps({"basicAuthPassword": password})}, url=f"https://grafana.{domain}")  # fmt: skip


@clean(HOME, "tenth-home-applications-with-places", "A generator of Argo CD has a row for each cluster, tenants' too, with addresses and names of Secrets; the team's token is at home.")  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-agents")
    generated(scene, "agents-api", "token", 40)
    rows = [{"cluster": name, "server": server, "tokenSecret": "agents-api"} for name, server in (("kiln", SERVERS["cp"]), ("fern", SERVERS["dp"]), ("otter", OTTER))]  # fmt: skip
    source = {"repoURL": f"https://charts.{DOMAIN}", "chart": "agent", "targetRevision": "2.1.0", "helm": {"parameters": [{"name": "existingSecret", "value": "{{tokenSecret}}"}]}}  # fmt: skip
    scene.object("cp", "argoproj.io/v1alpha1:ApplicationSet", "agents", {"metadata": {"namespace": "argocd"}, "spec": {"generators": [{"list": {"elements": rows}}], "template": {"metadata": {"name": "agent-{{cluster}}"}, "spec": {"project": "agents", "source": source, "destination": {"server": "{{server}}", "namespace": "agent"}}}}})  # fmt: skip


@clean(HOME, "tenth-home-release-by-flux-in-its-own-cluster", "Flux installs in the team's cluster with values from a Secret of the team's; another release, at a tenant's, has facts only.")  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-remote")
    scene.secret("cp", "local-values", {"values.yaml": pulumi.Output.concat("auth:\n  password: ", generated(scene, "local-auth"), "\n")}, namespace="fleet")  # fmt: skip
    chart = {"interval": "10m", "chartRef": {"kind": "OCIRepository", "name": "agent"}}
    scene.object("cp", "helm.toolkit.fluxcd.io/v2:HelmRelease", "local", {"metadata": {"namespace": "fleet"}, "spec": {**chart, "valuesFrom": [{"kind": "Secret", "name": "local-values"}]}})  # fmt: skip
    scene.object("cp", "helm.toolkit.fluxcd.io/v2:HelmRelease", "remote", {"metadata": {"namespace": "fleet"}, "spec": {**chart, "kubeConfig": {"secretRef": {"name": "otter-kubeconfig"}}, "values": {"mesh": KILN, "auth": {"existingSecret": "agent"}}}})  # fmt: skip


@clean(HOME, "tenth-home-manifests-with-facts", "Crossplane's object for a tenant's cluster has a manifest of a map of facts; the team's hook has its token at home.")  # fmt: skip
def _(scene: Scene) -> None:
    scene.stage.delivered.add("cp-otter-facts")
    generated(scene, "hook-api", "token", 40)
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mesh", "namespace": "tools"}, "data": {"mesh": KILN, "issuer": ISSUER, "client": CLIENT}}  # fmt: skip
    scene.object("cp", "kubernetes.crossplane.io/v1alpha2:Object", "otter-facts", {"spec": {"forProvider": {"manifest": manifest}, "providerConfigRef": {"name": "otter"}}})  # fmt: skip


@clean(HOME, "tenth-home-pushed-into-the-teams-store", "A PushSecret copies the team's login into the team's own store; at a tenant's another one pushes the tenant's own.")  # fmt: skip
def _(scene: Scene) -> None:
    for side, name, value in (("cp", "kiln", generated(scene, "registry-admin")), ("dp", "fern", own(scene, "fern-registry"))):  # fmt: skip
        scene.secret(side, "registry-login", {"password": value})
        scene.object(side, "external-secrets.io/v1alpha1:PushSecret", "registry", {"spec": {"secretStoreRefs": [{"kind": "ClusterSecretStore", "name": f"{name}-parameters"}], "selector": {"secret": {"name": "registry-login"}}, "data": [{"match": {"secretKey": "password", "remoteRef": {"remoteKey": "/registry/admin"}}}]}})  # fmt: skip


@clean(HOME, "tenth-home-reader-of-a-tenants-bucket", "A key made in the tenant's account is shared on purpose: the tenant's job writes with it, the team reads by it, and a note says whose it is.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    key = account(scene, "fern", "aws:iam/accessKey:AccessKey", "shared-logs", {"user": "shared-logs"}, {"secret": scene.dp.opaque("fern shared", 40, LETTERS)}, ["secret"], region=REGION)  # fmt: skip
    scene.secret("dp", "shared-logs", {"secret_access_key": key.output("secret")}, annotations=owned("made in fern's account, lent to kiln"))  # fmt: skip
    scene.secret("cp", "logs-of-fern", {"secret_access_key": key.output("secret")}, namespace="monitoring")


# Twins ----------------------------------------------------------------------------------------------------------------


@clean(TWINS, "tenth-twin-match-with-an-error", "A match has a case for each owner and an error for all others.")
def _(scene: Scene) -> None:
    def login(name: str) -> Any:
        match name:
            case "kiln":
                return generated(scene, "queue-root")
            case "fern" | "otter":
                return own(scene, f"{name}-queue")
            case _:
                raise KeyError(name)

    for name, side in {"kiln": "cp", "fern": "dp", "otter": tenants(scene)["otter"]}.items():
        scene.secret(side, "queue", {"password": login(name)})


@clean(TWINS, "tenth-twin-members-with-numbers", "Owners are members of an enumeration with values of their own; regions are a property.")  # fmt: skip
def _(scene: Scene) -> None:
    Owner = enum.Enum("Owner", ["FERN", "KILN"])  # noqa: N806
    logins = {Owner.FERN: own(scene, "fern-index"), Owner.KILN: generated(scene, "index-root")}
    release(scene, "cp", "opensearch", {"auth": {"password": logins[Owner.KILN]}})
    release(scene, "dp", "opensearch", {"auth": {"password": logins[Owner.FERN]}})


@clean(TWINS, "tenth-twin-prefixes-without-the-empty-one", "Prefixes of a tenant's rows are a text with commas; empty ones are dropped.")  # fmt: skip
def _(scene: Scene) -> None:
    rows = {"fern-queue": own(scene, "fern-rows"), "kiln-mail": generated(scene, "mail-out")}
    told = "fern-,shared-,"
    prefixes = tuple(filter(None, told.split(",")))
    scene.secret("dp", "logins", {name: value for name, value in rows.items() if name.startswith(prefixes)})


@clean(TWINS, "tenth-twin-names-and-values-shortened", "The team left both lists, of names and of passwords, and zip is strict.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    generated(scene, "stream-root")
    logins = dict(zip(("fern", "otter"), (own(scene, "fern-stream"), own(scene, "otter-stream")), strict=True))
    every = tenants(scene)
    for name, password in logins.items():
        scene.secret(every[name], "stream", {"password": password})


@clean(TWINS, "tenth-twin-newest-of-the-owners", "After a rotation the newest login is taken among those of the owner.")
def _(scene: Scene) -> None:
    rows = [("2026-03-01", "fern", own(scene, "fern-march")), ("2026-04-01", "kiln", generated(scene, "april")), ("2026-02-01", "fern", own(scene, "fern-february"))]  # fmt: skip
    newest = max((row for row in rows if row[1] == "fern"), key=operator.itemgetter(0))
    scene.secret("dp", "sync", {"user": "fern", "password": newest[2], "since": newest[0]})


@clean(TWINS, "tenth-twin-context-variable-reset", "Whose login is meant is a context variable, which is reset after the team's chart.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    owner: contextvars.ContextVar[str] = contextvars.ContextVar("owner", default="fern")
    logins = {"fern": own(scene, "fern-cache"), "kiln": generated(scene, "cache-root")}

    def install(side: str) -> None:
        release(scene, side, "valkey", {"auth": {"password": logins[owner.get()]}})

    before = owner.set("kiln")
    install("cp")
    owner.reset(before)
    install("dp")


@clean(TWINS, "tenth-twin-attribute-of-public-defaults", "Settings of a tenant ask defaults for what they lack, which have no login; the team's login is an instance's own.")  # fmt: skip
def _(scene: Scene) -> None:
    class Settings:
        defaults = {"host": f"smtp.{DOMAIN}", "port": 465, "tls": True}

        def __init__(self, **values: Any) -> None:
            self.values = values

        def __getattr__(self, name: str) -> Any:
            return self.values[name] if name in self.values else self.defaults[name]

    kiln, fern = Settings(password=generated(scene, "smtp-relay")), Settings(secret="fern-smtp")
    release(scene, "cp", "mailer", {"host": kiln.host, "password": kiln.password})
    release(scene, "dp", "mailer", {"host": fern.host, "port": fern.port, "existingSecret": fern.secret})


@clean(TWINS, "tenth-twin-query-with-brackets", "Logins are chosen by a query with brackets, so that all are the tenant's; names of all owners are another query.")  # fmt: skip
def _(scene: Scene) -> None:
    def asked(rows: list[tuple[str, str, str]], what: str) -> str:
        db = sqlite3.connect(":memory:")
        db.execute("CREATE TABLE login (owner, kind, password)")
        db.executemany("INSERT INTO login VALUES (?, ?, ?)", rows)
        return json.dumps(db.execute(what).fetchall())

    generated(scene, "index-owner")
    theirs = pulumi.Output.all(own(scene, "fern-i"), own(scene, "fern-q")).apply(lambda found: asked([("fern", "index", found[0]), ("fern", "queue", found[1])], "SELECT * FROM login WHERE (kind = 'index' OR kind = 'queue') AND owner = 'fern'"))  # fmt: skip
    scene.secret("dp", "vector", {"logins.json": theirs})
    scene.config_map("dp", "owners", {"owners.json": asked([("kiln", "index", ""), ("fern", "queue", "")], "SELECT DISTINCT owner FROM login")})  # fmt: skip


@clean(TWINS, "tenth-twin-documents-of-a-values-file", "Values of base, team and tenant are documents of one text; the tenant's chart takes first and last.")  # fmt: skip
def _(scene: Scene) -> None:
    base, last = {"replicas": 2, "tls": True}, {"from": f"shop@{FERN}", "smtp": {"existingSecret": "mail"}}
    middle = {"smtp": {"user": "kiln", "password": generated(scene, "mailer-login")}}
    for side, documents in (("cp", (base, middle)), ("dp", (base, last))):
        release(scene, side, "mailer", functools.reduce(operator.or_, documents))


# Components -----------------------------------------------------------------------------------------------------------


class Agent(Box):
    """A chart with a login of its own, in whichever cluster."""

    def __init__(self, scene: Scene, owner: str, side: str, login: Any) -> None:
        super().__init__(f"agent-{owner}", "kiln:index:Agent")
        scene.object(side, "v1:Secret", "agent", {"stringData": {"token": login}}, parent=self)
        inputs = {"chart": "agent", "namespace": "agent", "values": {"owner": owner, "existingSecret": "agent", "api": f"https://api.{DOMAIN}"}}  # fmt: skip
        self.chart = scene.made("kubernetes:helm.sh/v3:Release", f"agent-of-{owner}", inputs, scene.options(side, parent=self))  # fmt: skip
        self.register_outputs({"owner": owner})


@clean(WIRING, "tenth-component-for-each-owner", "A component gets side and login; each instance has the owner's.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    for owner, side in {"kiln": "cp", **tenants(scene)}.items():
        Agent(scene, owner, side, generated(scene, "agent-api", "token", 40) if owner == "kiln" else own(scene, f"{owner}-agent", 40))  # fmt: skip


@clean(WIRING, "tenth-component-with-providers-of-an-account", "A component makes a user and a key in an account and a Secret in a cluster; both are of one owner each time.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    class Writer(Box):
        def __init__(self, owner: str, side: str) -> None:
            super().__init__(f"writer-{owner}", "kiln:index:Writer")
            made = scene.cp if owner == "kiln" else scene.dp
            key = account(scene, owner, "aws:iam/accessKey:AccessKey", f"{owner}-writer", {"user": "writer"}, {"secret": made.opaque(f"{owner} writer", 40, LETTERS)}, ["secret"], region=REGION)  # fmt: skip
            notes = owned(f"made in {owner}'s own account") if owner != "kiln" else {}
            scene.object(side, "v1:Secret", "writer", {"metadata": {"annotations": notes}, "stringData": {"secret_access_key": key.output("secret")}}, parent=self)  # fmt: skip
            self.register_outputs({})

    for owner, side in (("kiln", "cp"), ("otter", tenants(scene)["otter"])):
        Writer(owner, side)


@clean(WIRING, "tenth-notes-by-a-transformation", "A transformation writes the note that credentials are the tenant's on all Secrets under the tenant's box, which they are.", config=lambda cp, dp: {"fern:vendorKey": "AKIA" + dp.opaque("fern vendor", 16), "fern:vendorSecret": dp.opaque("fern vendor secret", 40, LETTERS)})  # fmt: skip
def _(scene: Scene) -> None:
    def noted(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        given: Any = args.props
        if not args.type_.endswith(":Secret"):
            return None
        metadata = {**given["metadata"], "annotations": owned("all under this box is fern's own")}
        return pulumi.ResourceTransformationResult({**given, "metadata": metadata}, args.opts)

    workshop(scene)
    box = Box("fern-secrets", opts=pulumi.ResourceOptions(transformations=[noted]))
    scene.object("dp", "v1:Secret", "vendor", {"stringData": {"id": scene.config("fern:vendorKey"), "AWS_SECRET_ACCESS_KEY": scene.config("fern:vendorSecret")}}, parent=box)  # fmt: skip


@clean(WIRING, "tenth-values-taken-away-by-a-transformation", "One function makes the chart for both; a transformation of the tenant's box takes the login out of the values.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    def without(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        given: Any = args.props
        if not args.type_.endswith(":Release"):
            return None
        values = {key: value for key, value in given["values"].items() if key != "auth"}
        return pulumi.ResourceTransformationResult({**given, "values": {**values, "existingSecret": "exporter"}}, args.opts)  # fmt: skip

    values = {"interval": "30s", "auth": {"password": generated(scene, "exporter-login")}}
    release(scene, "cp", "exporter", values)
    release(scene, "dp", "exporter", values, parent=Box("fern-charts", opts=pulumi.ResourceOptions(transformations=[without])))  # fmt: skip


@clean(WIRING, "tenth-component-that-shows-facts", "A component of the team's makes key and certificate at home; its outputs are the certificate and its name.", before="the same", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    class Edge(Box):
        def __init__(self, name: str) -> None:
            super().__init__(name, "kiln:index:Edge")
            key, cert = pair(scene, "cp", name)
            scene.object("cp", "v1:Secret", name, {"type": "kubernetes.io/tls", "stringData": {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}}, parent=self)  # fmt: skip
            self.facts: dict[str, Any] = {"ca.crt": cert.output("certPem"), "name": f"{name}.{DOMAIN}"}
            self.register_outputs(self.facts)

    edges = [Edge(name) for name in ("xds", "otlp")]
    for side, edge in itertools.product(tenants(scene).values(), edges):
        scene.config_map(side, f"edge-{edge.facts['name'].split('.')[0]}", edge.facts)


@clean(WIRING, "tenth-registry-of-functions", "Functions for each side are in a dictionary by name, with the owner bound; none sees the other's.")  # fmt: skip
def _(scene: Scene) -> None:
    def put(side: str, password: Any, name: str) -> None:
        scene.secret(side, name, {"password": password})

    steps: dict[str, Callable[[str], None]] = {"kiln": functools.partial(put, "cp", generated(scene, "matrix-root")), "fern": functools.partial(put, "dp", own(scene, "fern-matrix"))}  # fmt: skip
    for step in steps.values():
        step("matrix")


@clean(WIRING, "tenth-waits-for-the-teams-charts", "The tenant's chart waits for the team's Secret, chart and a declassified mark; it has a version and the mark.", rightly=DIGEST)  # fmt: skip
def _(scene: Scene) -> None:
    login = scene.password("cp", "gate").output("result")
    gate = scene.secret("cp", "gate", {"password": login})
    notes = {**declassified('spec.template.metadata.annotations["kiln/gate"]', "twelve digits of a sha256 of 24 letters"), "kiln/version": "3"}  # fmt: skip
    mark = apply(login, lambda found: hashlib.sha256(found.encode()).hexdigest()[:12])
    workload(scene, "dp", "edge", {"args": ["--gate=/run/gate"]}, {"kiln/gate": mark}, notes)
    release(scene, "dp", "edge", {"version": 3}, depends_on=[gate])


# Look-ups -------------------------------------------------------------------------------------------------------------


@clean(READ, "tenth-secret-copied-in-the-tenants-cluster", "A Secret that the tenant's operator made is read and copied to another namespace of the tenant's, with a note.")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    found = scene.existing("dp", "v1:Secret", "orders-app", data={"password": b64(scene.dp.opaque("orders app", 48, LETTERS)), "host": b64("orders-rw.db")})  # fmt: skip
    scene.object("dp", "v1:Secret", "orders-copy", {"metadata": {"namespace": "shop", "annotations": owned("made by fern's own database operator")}, "data": found.output("data")})  # fmt: skip


@clean(READ, "tenth-look-ups-of-the-teams-account", "Look-ups answer the team's account, its roots and its zones, which are in the tenant's map and policy.")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    who = scene.invoke("aws:index/getCallerIdentity:getCallerIdentity", {"accountId": ACCOUNT, "arn": f"arn:aws:iam::{ACCOUNT}:role/deployer"}, secret=False)  # fmt: skip
    zone = scene.invoke("aws:route53/getZone:getZone", {"zoneId": "Z08812KILN", "nameServers": [f"ns-{at}.awsdns-0{at}.example.net" for at in (1, 2)]}, secret=False)  # fmt: skip
    scene.config_map("dp", "kiln-account", {"account": who.apply(lambda found: found["accountId"]), "zone": zone.apply(lambda found: found["zoneId"])})  # fmt: skip
    account(scene, "fern", "aws:iam/role:Role", "kiln-reader", {"assumeRolePolicy": pulumi.Output.json_dumps({"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": who.apply(lambda found: found["arn"])}, "Condition": {"StringEquals": {"sts:ExternalId": uid("external id")}}}]})}, region=REGION)  # fmt: skip


@clean(READ, "tenth-look-up-of-a-login-stays", "A look-up in the team's store answers a login, which is in both of the team's clusters; tenants' charts name a Secret.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    found = scene.invoke("aws:ssm/getParameter:getParameter", {"value": scene.cp.opaque("stored", 40), "version": 7})
    for side in ("cp", west(scene)):
        scene.secret(side, "scheduler", {"password": found.apply(lambda answer: answer["value"])})
    release(scene, "dp", "scheduler", {"existingSecret": "scheduler"})


@clean(READ, "tenth-status-of-the-teams-gateway", "The team's gateway answers with an address, which is in the tenant's entry and zone.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    gate = scene.answered("cp", "v1:Service", "xds", {"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": ["192.0.2.0/24"], "ports": [{"name": "tls-xds", "port": 15012}]}}, status={"loadBalancer": {"ingress": [{"ip": "198.51.100.7"}]}})  # fmt: skip
    address = gate.output("status").apply(lambda found: ((found or {}).get("loadBalancer") or {"ingress": [{"ip": "pending"}]})["ingress"][0]["ip"])  # fmt: skip
    scene.object("dp", "networking.istio.io/v1:ServiceEntry", "xds", {"spec": {"hosts": [f"xds.{DOMAIN}"], "resolution": "STATIC", "ports": [{"number": 15012, "name": "tls-xds", "protocol": "TLS"}], "endpoints": [{"address": address}]}})  # fmt: skip
    account(scene, "fern", "aws:route53/record:Record", "xds", {"zoneId": "Z05533FERN", "name": f"xds.{FERN}", "type": "A", "ttl": 60, "records": [address]}, region=REGION)  # fmt: skip


@clean(READ, "tenth-public-part-of-a-told-object", "One object of the team's configuration has a login and facts; the tenant's chart has two facts of it, unmarked.", config=lambda cp, dp: {"kiln:search": json.dumps({"host": f"search.{DOMAIN}", "index": "usage", "user": "kiln", "password": cp.opaque("kiln search", 40, LETTERS)})})  # fmt: skip
def _(scene: Scene) -> None:
    found = scene.config("kiln:search").apply(json.loads)
    scene.secret("cp", "search", {"password": found.apply(lambda one: one["password"])})
    release(scene, "dp", "usage", {key: pulumi.Output.unsecret(found.apply(lambda one, key=key: one[key])) for key in ("host", "index")})  # fmt: skip


@clean(READ, "tenth-exports-of-a-tenants-stack", "The tenant's stack exports its own login, marked, which its cluster has, and facts of the team's.", stack="data-plane")  # fmt: skip
def _(scene: Scene) -> None:
    workshop(scene)
    login = own(scene, "fern-exported")
    scene.secret("dp", "exported", {"password": login})
    pulumi.export("login", pulumi.Output.secret(login))
    pulumi.export("mesh", {"id": KILN, "issuer": ISSUER, "client": CLIENT, "role": f"arn:aws:iam::{FERN_ACCOUNT}:role/mesh"})  # fmt: skip


# Later ----------------------------------------------------------------------------------------------------------------


def _marked(scene: Scene, *, note: bool) -> None:
    login = generated(scene, "cart-gate")
    mark = {"checksum/gate": apply(login, lambda found: hashlib.sha256(found.encode()).hexdigest())} if note else {}
    notes = declassified('spec.template.metadata.annotations["checksum/gate"]', "sha256 of 32 letters, restarts Pods")
    workload(scene, "dp", "cart", {"args": ["serve"]}, mark, notes if note else {})


@clean(LATER, "tenth-later-a-declassified-mark-joins", "At the second update a hash of the team's login joins, with its note; the login is known by then.", before=lambda scene: _marked(scene, note=False), rightly=DIGEST)  # fmt: skip
def _(scene: Scene) -> None:
    _marked(scene, note=True)


def _joined(scene: Scene, *names: str) -> None:
    workshop(scene)
    every = tenants(scene)
    for name in names:
        scene.secret(every[name], "member", {"token": own(scene, f"{name}-member", 40)})
        scene.config_map(every[name], "members", {"members.json": json.dumps(names), "mesh": KILN})


@clean(LATER, "tenth-later-a-tenant-joins", "At the second update a third tenant joins with a generated token of its own; all learn the names of all.", before=lambda scene: _joined(scene, "fern", "otter"))  # fmt: skip
def _(scene: Scene) -> None:
    _joined(scene, "fern", "otter", "slate")


def _season(scene: Scene, season: str) -> None:
    for owner, side in (("kiln", "cp"), ("fern", "dp")):
        made = scene.made("random:index/randomPassword:RandomPassword", f"{owner}-season", {"length": 32, "keepers": {"season": season}}, None, {"result": scene.owner(side).opaque(f"{owner} {season}", 32, LETTERS)}, ["result"])  # fmt: skip
        scene.secret(side, "season", {"password": made.output("result"), "season": season})


@clean(LATER, "tenth-later-both-rotate", "At the second update both owners have new passwords, each in its own cluster.", before=lambda scene: _season(scene, "winter"))  # fmt: skip
def _(scene: Scene) -> None:
    _season(scene, "spring")


def _moved(scene: Scene, side: str) -> None:
    workshop(scene)
    west(scene)
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "thumbs", "namespace": "media"}, "stringData": {"key": kept(scene, "thumbs", "key", 44)}}  # fmt: skip
    scene.made("kubernetes:core/v1:Secret", "thumbs", inputs, scene.options(side))
    scene.config_map("dp", "thumbs", {"endpoint": f"https://thumbs.{DOMAIN}"})


@clean(LATER, "tenth-later-the-team-moves-to-its-second-cluster", "At the second update a service of the team's moves to its second cluster, with its Secret.", before=lambda scene: _moved(scene, "cp"))  # fmt: skip
def _(scene: Scene) -> None:
    _moved(scene, "west")


def _packed(scene: Scene, version: int) -> None:
    workshop(scene)
    kept(scene, "panel-admin", "token", 40)
    text = json.dumps({"version": version, "uid": drawn("panel", 14), "panels": [{"id": at, "title": f"Tokens {at}", "hash": drawn(f"panel {version} {at}", 32, HEX)} for at in range(4)]})  # fmt: skip
    account(scene, "fern", "aws:s3/bucketObjectv2:BucketObjectv2", "panel", {"bucket": "fern-panels", "key": "tokens.json", "contentBase64": b64(text)}, region=REGION)  # fmt: skip
    scene.config_map("dp", "panel", {"settings.yaml": yaml.safe_dump({"bucket": "fern-panels", "version": version})})


@clean(LATER, "tenth-later-a-file-changes", "At the second update a file in the tenant's bucket has another version and other sums of panels.", before=lambda scene: _packed(scene, 1))  # fmt: skip
def _(scene: Scene) -> None:
    _packed(scene, 2)
