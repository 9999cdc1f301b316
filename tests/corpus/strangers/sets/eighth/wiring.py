"""Harmless, on a platform with tenants: how programs are wired, facts of stacks and clouds, and later updates."""

from __future__ import annotations

import copy
import hashlib
import json
import textwrap
from collections import ChainMap
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, kept, own, pair
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import HEX, apply, b64, drawn, kubeconfig, uid
from tests.corpus.world import Box

from .world import (
    ACCOUNT,
    BIRCH,
    BOTH,
    CERTIFICATE,
    CLIENT,
    DOMAIN,
    GRID,
    ISSUER,
    PUBLIC,
    REGION,
    ROOTS,
    birch,
    core,
    pod,
    tenants,
    twins,
)

WIRING, STACKS, CLOUDS, LATER = (
    "eighth: wiring of tenants",
    "eighth: facts of other stacks",
    "eighth: facts of clouds and services",
    "eighth: later updates",
)

# Wiring ---------------------------------------------------------------------------------------------------------------


@clean(WIRING, "eighth-spread-of-common-facts", "A dictionary called common has public facts only; the platform's login is in another one.", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    common = {"region": REGION, "mesh": GRID, "image": {"tag": "2.9.1"}}
    release(scene, "cp", "storefront", {**common, "indexPassword": kept(scene, "index")})
    for name, side in tenants(scene).items():
        release(scene, side, "storefront", {**common, "tenant": name, "replicas": 2})


@clean(WIRING, "eighth-deep-copy-before-update", "The platform's values are an update of a deep copy: the twin of an update in place.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    template: dict[str, Any] = {"metrics": {"enabled": True}, "ingress": {"className": "istio"}}
    ours = copy.deepcopy(template)
    ours["auth"] = {"username": "grid", "password": generated(scene, "registry-ui")}
    release(scene, "cp", "registry-ui", ours)
    release(scene, "dp", "registry-ui", {**template, "replicas": 2})


@clean(WIRING, "eighth-chain-with-the-tenant-first", "Settings are looked up in a chain; the tenant's come first and have all names that matter.")  # fmt: skip
def _(scene: Scene) -> None:
    word = twins(scene, "chain")
    ours = {"password": word["cp"], "loglevel": "warn", "region": REGION}
    theirs = {"password": word["dp"], "replicas": 3}
    found = ChainMap[str, Any](theirs, ours)
    release(scene, "dp", "edge-proxy", {name: found[name] for name in ("password", "loglevel", "region", "replicas")})


@clean(WIRING, "eighth-providers-per-tenant", "A component is given both tenants' providers by name; children take the tenant's, the platform's Secret takes its own.", pack=BOTH)  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    for name, side in tenants(scene).items():
        box = Box(f"tenant-{name}", opts=pulumi.ResourceOptions(providers=[scene.provider(side)]))
        inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "tenant"}, "data": {"name": name, "grid": GRID}}  # fmt: skip
        scene.make("kubernetes:core/v1:ConfigMap", f"map-{name}", inputs, parent=box)
    scene.object("cp", "v1:Secret", "tenants", {"stringData": {"admin": generated(scene, "tenants-admin")}}, parent=box)


@clean(WIRING, "eighth-labels-by-a-transformation", "A transformation adds owner and revision to all objects and ignores changes; it never reads values.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    def labelled(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult:
        given: Any = args.props
        metadata = {**given.get("metadata", {}), "labels": {"owner": "grid", "revision": drawn("revision", 12, HEX)}}
        opts = pulumi.ResourceOptions.merge(args.opts, pulumi.ResourceOptions(ignore_changes=["metadata.annotations"]))
        return pulumi.ResourceTransformationResult({**given, "metadata": metadata}, opts)

    box = Box("labelled", opts=pulumi.ResourceOptions(transformations=[labelled]))
    scene.object("cp", "v1:Secret", "labelled", {"stringData": {"token": generated(scene, "labelled-token")}}, parent=box)  # fmt: skip
    scene.object("dp", "v1:ConfigMap", "labelled", {"data": {"grid": GRID}}, parent=box)


@clean(WIRING, "eighth-note-of-names-by-a-transformation", "A transformation notes names of values, not values: the twin of one for debugging.")  # fmt: skip
def _(scene: Scene) -> None:
    def noted(args: pulumi.ResourceTransformationArgs) -> None:
        given: Any = args.props
        if args.type_.endswith(":Release"):
            scene.object("dp", "v1:ConfigMap", f"note-{args.name}", {"data": {"chart": given["chart"], "keys": ",".join(sorted(given["values"]))}})  # fmt: skip

    box = Box("charts", opts=pulumi.ResourceOptions(transformations=[noted]))
    release(scene, "cp", "vault", {"seal": {"token": generated(scene, "seal", "token", 36)}, "server": {"ha": True}}, parent=box)  # fmt: skip


@clean(WIRING, "eighth-pets-and-suffixes", "Generated names, ids and numbers are in names, labels and hosts of both clusters.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    pet = scene.made("random:index/randomPet:RandomPet", "pet", {"length": 3}, None, {"id": "gladly-warm-heron"})
    number = scene.made("random:index/randomId:RandomId", "suffix", {"byteLength": 8}, None, {"hex": drawn("suffix", 16, HEX), "dec": "9182734650918273465"})  # fmt: skip
    word = scene.made("random:index/randomString:RandomString", "bucket", {"length": 12, "special": False, "upper": False}, None, {"result": drawn("bucket", 12)})  # fmt: skip
    unique = scene.made("random:index/randomUuid:RandomUuid", "cluster", {}, None, {"result": uid("cluster uuid")})
    facts = {"suffix": number.output("hex"), "bucket": word.output("result"), "cluster": unique.output("result"), "dec": number.output("dec")}  # fmt: skip
    scene.config_map("dp", "names", {**facts, "host": pulumi.Output.concat(number.output("hex"), f".edge.{BIRCH}")})
    scene.secret("cp", "names", {**facts, "pet": pet.id, "admin": generated(scene, "names-admin")})  # fmt: skip


@clean(WIRING, "eighth-times-and-keepers", "Times of rotations, and a checksum of names that is a keeper, go to the tenant.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    rotating = scene.made("time:index/rotating:Rotating", "monthly", {"rotationDays": 30}, None, {"rfc3339": "2026-02-01T00:00:00Z", "unix": 1769904000})  # fmt: skip
    keeper = hashlib.sha256(b"grid-api,grid-db").hexdigest()
    inputs = {"length": 32, "keepers": {"names": keeper, "month": rotating.output("rfc3339")}}
    word = scene.made("random:index/randomPassword:RandomPassword", "rotated", inputs, None, {"result": scene.cp.opaque("rotated", 32, LETTERS)}, ["result"])  # fmt: skip
    scene.secret("cp", "rotated", {"password": word.output("result"), "since": rotating.output("rfc3339")})
    deployment(scene, "dp", "watcher", {"args": ["--until", rotating.output("rfc3339")]}, {"grid.example.com/keeper": keeper, "grid.example.com/since": rotating.output("rfc3339")})  # fmt: skip


@clean(WIRING, "eighth-length-and-presence", "The tenant learns how many logins there are and whether a mail login is set.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    mail = kept(scene, "mail")
    every = {f"login-{at}": generated(scene, f"login-{at}") for at in range(3)}
    release(scene, "dp", "status-page", {"mail": {"enabled": mail.apply(bool)}, "logins": len(every), "names": sorted(every)})  # fmt: skip


@clean(WIRING, "eighth-all-for-order-only", "An all waits for the platform's Secrets and makes a text of a version.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    words = [generated(scene, f"wait-{at}") for at in range(2)]
    scene.config_map("dp", "ready", {"version": pulumi.Output.all(*words).apply(lambda found: f"1.24.{len(found)}")})


@clean(WIRING, "eighth-kubeconfig-without-users", "Of the platform's kubeconfig the program takes server and authority, and writes one that logs in by a command.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    server = pulumi.Output.secret(scene.kubeconfigs["cp"]).apply(lambda text: yaml.safe_load(text)["clusters"][0]["cluster"]["server"])  # fmt: skip
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "aws", "args": ["eks", "get-token", "--cluster-name", "grid", "--role-arn", f"arn:aws:iam::{ACCOUNT}:role/birch"]}}  # fmt: skip
    scene.config_map("dp", "hub", {"config": server.apply(lambda found: kubeconfig(found, user, ROOTS))})


@clean(WIRING, "eighth-redacted-line", "A line of an address has stars where the password was; user, host and database stay.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    word = generated(scene, "meshes")
    url = pulumi.Output.concat("postgresql://grid:", word, f"@db.{DOMAIN}:5432/grid?sslmode=require")
    scene.secret("cp", "meshes-url", {"url": url})
    shown = url.apply(lambda found: "postgresql://grid:***@" + found.rpartition("@")[2])
    deployment(scene, "dp", "about", {"args": ["serve"]}, {"grid.example.com/database": shown})


@clean(WIRING, "eighth-rendered-for-the-right-side", "One template of stores is rendered for each side with the side given: the twin of a default.", config=lambda cp, dp: {"cp:approle": cp.opaque("approle", 36, HEX), "dp:approle": dp.opaque("approle", 36, HEX)})  # fmt: skip
def _(scene: Scene) -> None:
    def rendered(server: str, *, side: str) -> Any:
        return scene.config(f"{side}:approle").apply(lambda found: yaml.safe_dump({"vault": {"server": server, "secretId": found}}))  # fmt: skip

    for side, host in (("cp", DOMAIN), ("dp", BIRCH)):
        scene.secret(side, "store", {"store.yaml": rendered(f"https://vault.{host}", side=side)})


@clean(WIRING, "eighth-certificate-of-a-pair", "Of a generated pair the tenant gets the certificate, wrapped, in base64 and by its parts; the key stays.", rightly=CERTIFICATE)  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    key, cert = pair(scene, "cp", "proxy")
    scene.secret("cp", "proxy", {"tls.key": key.output("privateKeyPem"), "tls.crt": cert.output("certPem")}, kind="kubernetes.io/tls")  # fmt: skip
    scene.config_map("dp", "proxy", {"ca.crt": cert.output("certPem"), "ca.b64": apply(cert.output("certPem"), lambda pem: "\n".join(textwrap.wrap(b64(pem), 76)))})  # fmt: skip
    release(scene, "dp", "proxy", {"caBundle": apply(cert.output("certPem"), b64)})


@clean(WIRING, "eighth-public-half-of-a-deploy-key", "The platform's deploy key has its public half at the tenant's forge and in a map.", rightly=PUBLIC)  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    key = scene.key("cp", "grid-reader")
    scene.secret("cp", "grid-reader", {"identity": key.output("privateKeyOpenssh")})
    birch(scene, "github:index/repositoryDeployKey:RepositoryDeployKey", "grid-reader-key", {"repository": "shop", "title": "grid", "key": key.output("publicKeyOpenssh")}, owner="birch")  # fmt: skip
    scene.config_map("dp", "readers", {"authorized_keys": key.output("publicKeyOpenssh")})


# Facts of stacks ------------------------------------------------------------------------------------------------------


@clean(STACKS, "eighth-facts-by-names-of-outputs", "Of the platform's stack the tenant gets five outputs by their names; the kubeconfig goes nowhere.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    outputs = {"vpcId": f"vpc-{drawn('stack vpc', 17, HEX)}", "issuer": ISSUER, "clientId": CLIENT, "mesh": GRID, "endpoint": SERVERS["cp"], "kubeconfig": scene.kubeconfigs["cp"]}  # fmt: skip
    found = scene.reference("base", "acme/base/prod", outputs, ["kubeconfig"])
    scene.config_map("dp", "base", {name: found.get_output(name) for name in outputs if name != "kubeconfig"})


@clean(STACKS, "eighth-cluster-object-without-a-login", "The cluster stack puts out one secret object; the tenant gets its name, region and address, chosen in an apply.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    cluster = {"name": "grid", "region": REGION, "endpoint": SERVERS["cp"], "ca": b64(ROOTS), "kubeconfig": scene.kubeconfigs["cp"]}  # fmt: skip
    hub = scene.reference("clusters", "acme/clusters/prod", {"hub": cluster}, ["hub"]).require_output("hub")
    release(scene, "dp", "agent", {"hub": hub.apply(lambda found: {key: found[key] for key in ("name", "region", "endpoint", "ca")})})  # fmt: skip


@clean(STACKS, "eighth-row-of-a-list-by-name", "The data stack puts out a list of databases; the tenant's row is found by its name.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    rows = scene.reference("own-rows", "acme/databases-birch/prod", {"databases": [{"name": "orders", "password": scene.dp.opaque("row orders", 30)}, {"name": "birch", "password": scene.dp.opaque("row birch", 30)}]}, ["databases"])  # fmt: skip
    chosen = rows.require_output("databases").apply(lambda every: next(row for row in every if row["name"] == "birch"))
    scene.secret("dp", "db", {"DB_USER": "birch", "DB_PASSWORD": chosen.apply(lambda row: row["password"])})


@clean(STACKS, "eighth-provider-made-of-a-stack", "The tenant's provider is made of its cluster stack's kubeconfig; objects on it are plain.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    found = scene.reference("birch-cluster", "acme/cluster-birch/prod", {"kubeconfig": scene.kubeconfigs["dp"], "name": "birch"}, ["kubeconfig"])  # fmt: skip
    provider = scene.named_provider("birch-apps", found.require_output("kubeconfig"))
    scene.make("kubernetes:core/v1:ConfigMap", "about-birch", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "about"}, "data": {"cluster": found.get_output("name"), "grid": GRID}}, provider=provider)  # fmt: skip


@clean(STACKS, "eighth-exports-of-names", "The tenant's stack exports names, addresses and a role; logins of both stay where they are.", stack="data-plane")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    scene.secret("dp", "login", {"password": own(scene, "export-own")})
    pulumi.export("gateway", f"https://edge.{BIRCH}")
    pulumi.export("role", f"arn:aws:iam::862170394415:role/{drawn('export role', 12)}")
    pulumi.export("secretNames", ["login", "orders", "edge"])


# Facts of clouds ------------------------------------------------------------------------------------------------------


@clean(CLOUDS, "eighth-facts-of-a-database", "A database in the platform's account is made with a password; the tenant's proxy gets address, port and ARN.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    inputs = {"engine": "postgres", "instanceClass": "db.t4g.small", "username": "grid", "password": generated(scene, "rds")}  # fmt: skip
    answers = {"endpoint": f"grid.{drawn('rds', 12)}.{REGION}.rds.amazonaws.com:5432", "arn": f"arn:aws:rds:{REGION}:{ACCOUNT}:db:grid", "resourceId": f"db-{drawn('rds id', 26, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}"}  # fmt: skip
    made = cloud(scene, "aws:rds/instance:Instance", "grid-rds", inputs, answers, ["password"])
    scene.config_map("dp", "database", {key: made.output(key) for key in answers})


@clean(CLOUDS, "eighth-facts-of-a-client", "A client is made in the platform's login service; the tenant gets its number, the secret stays.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    made = cloud(scene, "okta:app/oAuth:OAuth", "grid-portal", {"label": "portal", "type": "web"}, {"clientId": f"0oa{drawn('okta client', 17)}", "clientSecret": scene.cp.opaque("okta", 64, LETTERS)}, ["clientSecret"])  # fmt: skip
    scene.secret("cp", "portal", {"client_id": made.output("clientId"), "client_secret": made.output("clientSecret")})
    release(scene, "dp", "portal", {"oidc": {"issuer": ISSUER, "clientID": made.output("clientId"), "pkce": True}})


@clean(CLOUDS, "eighth-facts-of-a-service-account", "An account with a key is made in the platform's project; the tenant knows its address and number.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    account = cloud(scene, "gcp:serviceaccount/account:Account", "grid-agent", {"accountId": "grid-agent"}, {"email": "grid-agent@grid-core-481920.iam.gserviceaccount.com", "uniqueId": "104857600123456789012"})  # fmt: skip
    key = cloud(scene, "gcp:serviceaccount/key:Key", "grid-agent-key", {"serviceAccountId": account.output("email")}, {"privateKey": b64(json.dumps({"type": "service_account", "private_key": scene.cp.key("grid agent")}))}, ["privateKey"])  # fmt: skip
    scene.secret("cp", "gcp", {"key.json": key.output("privateKey")})
    scene.object("dp", "rbac.authorization.k8s.io/v1:ClusterRoleBinding", "grid-agent", {"roleRef": {"kind": "ClusterRole", "name": "view"}, "subjects": [{"kind": "User", "name": account.output("uniqueId")}]})  # fmt: skip


@clean(CLOUDS, "eighth-facts-of-a-container-registry", "A registry with an administrator's password is in the platform's subscription; the tenant pulls by its identity and knows the host.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    made = cloud(scene, "azure:containerservice/registry:Registry", "grid-acr", {"name": "grid", "adminEnabled": True}, {"loginServer": "grid.azurecr.io", "adminPassword": scene.cp.opaque("acr", 52, LETTERS)}, ["adminPassword"])  # fmt: skip
    scene.secret("cp", "acr", {"password": made.output("adminPassword")})
    deployment(scene, "dp", "shop", {"image": pulumi.Output.concat(made.output("loginServer"), "/shop:4.2.0")})


@clean(CLOUDS, "eighth-image-by-its-digest", "An image is built with the platform's login, and the tenant's job has its digest.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    inputs = {"tags": [f"registry.{DOMAIN}/job:7"], "push": True, "registries": [{"address": f"registry.{DOMAIN}", "username": "robot$grid", "password": generated(scene, "builder")}]}  # fmt: skip
    made = cloud(scene, "docker-build:index:Image", "job-image", inputs, {"digest": f"sha256:{drawn('job image', 64, HEX)}", "ref": f"registry.{DOMAIN}/job:7@sha256:{drawn('job image', 64, HEX)}"})  # fmt: skip
    pod(scene, "Job", "migrate", {"image": made.output("ref"), "command": ["/bin/migrate", "--password-file=/run/password"]})  # fmt: skip


@clean(CLOUDS, "eighth-command-with-a-public-answer", "A command on the deployer's machine asks the platform's interface with a token; its answer is a version, which the tenant gets.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    inputs = {"create": f"curl -fsS -H \"Authorization: Bearer $TOKEN\" https://api.{DOMAIN}/version", "environment": {"TOKEN": generated(scene, "asks", "token", 40)}}  # fmt: skip
    made = scene.made("command:local:Command", "version", inputs, None, {"stdout": "7.14.2"}, owner="cp")
    release(scene, "dp", "agent", {"image": {"tag": pulumi.Output.unsecret(made.output("stdout"))}})


@clean(CLOUDS, "eighth-monitors-of-the-tenant", "Monitors and hooks in the tenant's accounts name the platform's hosts; headers are templates.")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    birch(scene, "datadog:index/monitor:Monitor", "api", {"name": "grid api", "type": "metric alert", "query": "avg(last_5m):sum:http.errors{service:grid,token:*} > 5", "message": "{{#is_alert}}Look at https://console.grid.example.com {{/is_alert}} @pagerduty-birch"}, appKey=pulumi.Output.secret(scene.dp.opaque("dd app", 40, HEX)))  # fmt: skip
    birch(scene, "grafana:oss/dashboard:Dashboard", "grid", {"configJson": json.dumps({"uid": drawn("grafana uid", 14), "title": "Grid", "templating": {"list": [{"name": "token", "query": "label_values(token_id)"}]}})}, url=f"https://grafana.{BIRCH}")  # fmt: skip


# Later ----------------------------------------------------------------------------------------------------------------


def _checkout(scene: Scene, name: str, old: str = "") -> None:
    core(scene)
    generated(scene, "checkout-platform", "token")
    opts = scene.options("dp", aliases=[pulumi.Alias(name=old)]) if old else scene.options("dp")
    inputs = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "checkout", "namespace": "default"}, "stringData": {"token": own(scene, "checkout-token")}}  # fmt: skip
    scene.made("kubernetes:core/v1:Secret", name, inputs, opts)


@clean(LATER, "eighth-renamed-with-its-own-value", "A Secret is renamed with an alias and keeps the tenant's value: the twin of another variable.", before=lambda scene: _checkout(scene, "checkout"))  # fmt: skip
def _(scene: Scene) -> None:
    _checkout(scene, "checkout-v2", "checkout")


def _growing(scene: Scene, names: list[str]) -> None:
    core(scene)
    every = tenants(scene)
    for name in names:
        scene.secret(every[name], "welcome", {"tenant": name, "password": own(scene, f"welcome-{name}")})
    scene.config_map("cp", "tenants", {"names": ",".join(names)})


@clean(LATER, "eighth-second-tenant-with-its-own", "At the second update a tenant joins and gets a generated password of its own.", pack=BOTH, before=lambda scene: _growing(scene, ["birch"]))  # fmt: skip
def _(scene: Scene) -> None:
    _growing(scene, ["birch", "alder"])


@clean(LATER, "eighth-first-tenant-leaves", "At the second update a tenant leaves; its Secret is removed, the other's stays.", pack=BOTH, before=lambda scene: _growing(scene, ["birch", "alder"]))  # fmt: skip
def _(scene: Scene) -> None:
    _growing(scene, ["alder"])


def _schema(scene: Scene, number: int) -> None:
    core(scene)
    sql = f"-- {number}\nALTER TABLE account ADD COLUMN token_hash_{number} bytea;\nCREATE INDEX ON account (token_hash_{number});\n"  # fmt: skip
    scene.config_map("dp", "migrations", {f"V{at}.sql": sql for at in range(number + 1)})
    pod(scene, "Job", f"migrate-{number}", {"args": ["up", str(number)], "env": [{"name": "CHECKSUM", "value": hashlib.sha256(sql.encode()).hexdigest()}]})  # fmt: skip


@clean(LATER, "eighth-migration-joins", "At the second update a migration joins, with its checksum and a new job.", before=lambda scene: _schema(scene, 1))  # fmt: skip
def _(scene: Scene) -> None:
    _schema(scene, 2)


def _rotating(scene: Scene, month: int) -> None:
    core(scene)
    for side in ("cp", "dp"):
        scene.secret(side, "monthly", {"password": scene.password(side, f"monthly-{side}-{month}").output("result"), "month": f"2026-{month:02}"})  # fmt: skip
    scene.config_map("dp", "rotation", {"platform": f"2026-{month:02}-01", "tenant": f"2026-{month:02}-01"})


@clean(LATER, "eighth-months-of-both", "At the second update both sides have new passwords; the tenant's map has the days of both.", before=lambda scene: _rotating(scene, 1))  # fmt: skip
def _(scene: Scene) -> None:
    _rotating(scene, 2)


def _debugged(scene: Scene, level: str, **more: Any) -> None:
    core(scene)
    release(scene, "cp", "relay", {"token": generated(scene, "relay", "token", 40), "level": level})
    release(scene, "dp", "relay", {"tokenSecret": {"name": "relay", "key": "token"}, "level": level, **more})


@clean(LATER, "eighth-debugging-by-names", "At the second update more is logged and the names of variables are shown in an annotation, without values.", before=lambda scene: _debugged(scene, "info"))  # fmt: skip
def _(scene: Scene) -> None:
    _debugged(scene, "trace", podAnnotations={"debug/env": "GRID_ID,RELAY_TOKEN,AWS_SECRET_ACCESS_KEY", "debug/at": "2026-02-03T10:11:12Z"})  # fmt: skip


@clean(LATER, "eighth-address-of-a-gateway-later", "A gateway of the platform's answers with its address at the second update; the tenant's entry gets it.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    core(scene)
    gateway = scene.answered("cp", "v1:Service", "xds", {"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": ["198.51.100.0/24"], "ports": [{"port": 15012}]}}, status={"loadBalancer": {"ingress": [{"ip": "203.0.113.77", "hostname": f"{drawn('lb', 32, HEX)}.elb.amazonaws.com"}]}})  # fmt: skip
    host = gateway.output("status").apply(lambda status: ((status or {}).get("loadBalancer", {}).get("ingress") or [{"ip": "0.0.0.0"}])[0]["ip"])  # fmt: skip
    scene.object("dp", "networking.istio.io/v1:ServiceEntry", "xds", {"spec": {"hosts": [f"xds.{DOMAIN}"], "endpoints": [{"address": host}], "ports": [{"number": 15012, "name": "tls", "protocol": "TLS"}], "resolution": "STATIC"}})  # fmt: skip


def _flags(scene: Scene, share: int) -> None:
    core(scene)
    kept(scene, "flags-sdk", "key", 40)
    targeting = {"fractional": [{"cat": [{"var": "flagKey"}, {"var": "tenant"}]}, ["on", share], ["off", 100 - share]]}
    scene.config_map("dp", "flags", {"flags.json": json.dumps({"flags": {"new-login": {"state": "ENABLED", "targeting": targeting}}})})  # fmt: skip


@clean(LATER, "eighth-share-of-a-flag", "At the second update a flag is on for more users; the platform's key for flags stays.", before=lambda scene: _flags(scene, 5))  # fmt: skip
def _(scene: Scene) -> None:
    _flags(scene, 50)
