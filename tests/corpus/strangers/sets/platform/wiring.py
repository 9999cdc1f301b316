"""Harmless, of platform teams: components, loops, several clusters, formats, later updates; words that both sides have."""

from __future__ import annotations

import json
from typing import Any

import pulumi
import yaml

from tests.corpus.strangers.credentials import generated, kept, minted, own, pair
from tests.corpus.strangers.material import LETTERS
from tests.corpus.strangers.objects import cloud, deployment, release
from tests.corpus.strangers.scene import SERVERS, Scene
from tests.corpus.strangers.sets.field.world import CLIENT, ISSUER
from tests.corpus.strangers.stranger import clean
from tests.corpus.strangers.values import HEX, apply, b64, drawn, pull_secret, uid
from tests.corpus.world import Box

from .world import ACCOUNT, HUB, MESH, REGION, REGISTRY, daemon, hub

WIRED, WORDS, LATER, MANY = (
    "platform: wiring without a leak",
    "platform: words of both sides",
    "platform: later updates",
    "platform: several users",
)
BLUE = "https://blue.example.com:6443"
BOTH = {"dataPlaneServers": [SERVERS["dp"], BLUE]}

# Wiring ---------------------------------------------------------------------------------------------------------------


class _Tenant(Box):
    """What a platform's component for one user makes: a login at the provider's, settings at the user's."""

    def __init__(self, scene: Scene, side: str, name: str) -> None:
        super().__init__(f"tenant-{name}", "platform:index:Tenant")
        password = scene.password("cp", f"{name}-istiod").output("result")
        body = {"stringData": {"password": password, "tenant": name}, "metadata": {"namespace": f"mesh-{name}"}}
        scene.object("cp", "v1:Secret", f"{name}-istiod", body, parent=self)
        self.address = pulumi.Output.concat(name, ".discovery.platform.example.com:15012")
        mesh = apply(self.address, lambda a: yaml.safe_dump({"defaultConfig": {"discoveryAddress": a, "meshId": name}}))
        scene.object(side, "v1:ConfigMap", f"{name}-istio", {"data": {"mesh": mesh}}, parent=self)
        self.password = pulumi.Output.secret(password)
        self.register_outputs({"address": self.address, "password": self.password})


@clean(WIRED, "platform-tenant-component", "A component makes a login at the provider's and settings at the user's, and has both as outputs; the address goes on.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    tenant = _Tenant(scene, "dp", "shop")
    release(scene, "dp", "istiod-remote", {"global": {"caAddress": tenant.address}})


@clean(WIRED, "platform-host-and-login-apart", "A managed database's host goes to the user, the whole address with the login to the provider's cluster, both by Output.format.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    value = scene.password("cp", "pg").output("result")
    made = cloud(scene, "digitalocean:index/databaseCluster:DatabaseCluster", "pg-cluster", {"engine": "pg", "region": "ams3"}, {"host": "hub-do-user-4711-0.b.db.ondigitalocean.com", "port": 25060})  # fmt: skip
    url = pulumi.Output.format("postgres://hub:{0}@{1}:{2}/hub", value, made.output("host"), made.output("port"))
    scene.secret("cp", "hub-db", {"url": url, "password": value})
    target = pulumi.Output.format("{0}:{1}", made.output("host"), made.output("port"))
    release(scene, "dp", "blackbox-exporter", {"serviceMonitor": {"targets": [{"name": "hub-db", "url": target, "module": "tcp_connect"}]}})  # fmt: skip


@clean(WIRED, "platform-json-of-both-kinds", "One JSON of the user's has facts of the provider's and a generated password of the user's.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    generated(scene, "hub-agent")
    tag = scene.made("random:index/randomId:RandomId", "tag", {"byteLength": 4}, None, {"hex": drawn("tag of shop", 8, HEX)})  # fmt: skip
    text = pulumi.Output.json_dumps({"hub": {"url": f"https://{HUB}", "issuer": ISSUER, "clientId": CLIENT}, "cluster": pulumi.Output.concat("shop-", tag.output("hex")), "database": {"user": "agent", "password": own(scene, "agent-db")}})  # fmt: skip
    scene.secret("dp", "agent", {"config.json": text})


@clean(
    WIRED,
    "platform-names-by-suffix",
    "A random suffix is in the names of objects of both clusters, of a bucket and a role.",
)
def _(scene: Scene) -> None:
    hub(scene)
    suffix = scene.made("random:index/randomString:RandomString", "suffix", {"length": 6, "special": False, "upper": False}, None, {"result": drawn("suffix", 6, HEX)})  # fmt: skip
    name = pulumi.Output.concat("shop-", suffix.output("result"))
    scene.object("cp", "v1:Namespace", "tenant-space", {"metadata": {"name": name}})
    value = scene.password("cp", "tenant-login").output("result")
    scene.secret("cp", "tenant", {"password": value}, namespace=name)
    bucket = cloud(scene, "aws:s3/bucketV2:BucketV2", "tenant-logs", {"bucket": name}, {"region": REGION})
    scene.object("dp", "v1:ConfigMap", "logs", {"metadata": {"name": name}, "data": {"bucket": bucket.output("bucket"), "role": apply(name, lambda n: f"arn:aws:iam::{ACCOUNT}:role/{n}")}})  # fmt: skip


@clean(WIRED, "platform-transformed-images", "A transformation of the stack's component sends all images to the provider's registry, with a pull secret by name.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    login = pull_secret(REGISTRY, "robot$platform", scene.password("cp", "robot").output("result"))
    scene.secret("cp", "regcred", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson")

    def mirrored(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if args.type_ != "kubernetes:apps/v1:Deployment":
            return None
        given: Any = json.loads(json.dumps(args.props["spec"]))
        given["template"]["spec"]["imagePullSecrets"] = [{"name": "regcred"}]
        for one in given["template"]["spec"]["containers"]:
            one["image"] = f"{REGISTRY}/{one['image']}"
        return pulumi.ResourceTransformationResult({**args.props, "spec": given}, args.opts)

    box = Box("apps", opts=pulumi.ResourceOptions(transformations=[mirrored]))
    for side in ("cp", "dp"):
        deployment(scene, side, "echo", {"ports": [{"containerPort": 8080}]}, parent=box)


@clean(WIRED, "platform-unmarked-host", "A host that is marked because its record is: the program takes the mark off the host, and the login stays.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    record = {"host": "cache.platform.example.com", "port": 6380, "key": scene.cp.opaque("cache key", 44, LETTERS)}
    cache = cloud(scene, "azure-native:redis:Redis", "cache", {"sku": {"name": "Premium"}}, {"record": record}, ["record"])  # fmt: skip
    scene.secret("cp", "cache", {"key": cache.output("record").apply(lambda r: r["key"])})
    host = pulumi.Output.unsecret(cache.output("record").apply(lambda r: r["host"]))
    scene.config_map("dp", "cache", {"host": host, "tls": "true"})


@clean(WIRED, "platform-order-of-clusters", "The user's release waits for the provider's Secrets and releases, and has nothing of them.")  # fmt: skip
def _(scene: Scene) -> None:
    first = scene.secret("cp", "istio-ca", {"key": scene.key("cp", "istio-ca-key").output("privateKeyPem")})
    second = release(scene, "cp", "istiod", {"global": {"meshID": MESH}, "token": scene.password("cp", "token").output("result")}, depends_on=[first])  # fmt: skip
    release(scene, "dp", "gateway", {"networkGateway": "hub"}, depends_on=[first, second])
    deployment(scene, "dp", "app", {"env": [{"name": "MESH", "value": MESH}]}, depends_on=[second])


@clean(
    WIRED, "platform-account-by-a-call", "Calls of clouds answer with ids: the account, zones, the project's number."
)
def _(scene: Scene) -> None:
    hub(scene)
    who = scene.invoke("aws:index/getCallerIdentity:getCallerIdentity", {"accountId": ACCOUNT, "arn": f"arn:aws:sts::{ACCOUNT}:assumed-role/deployer/ci", "userId": "AROAX:ci"}, secret=False)  # fmt: skip
    zones = scene.invoke("aws:index/getAvailabilityZones:getAvailabilityZones", {"names": [f"{REGION}a", f"{REGION}b"], "zoneIds": ["euw1-az1", "euw1-az2"]}, secret=False)  # fmt: skip
    scene.secret("cp", "ci", {"account": who["accountId"], "token": scene.cp.opaque("ci", 40)})
    image = pulumi.Output.concat(who["accountId"], f".dkr.ecr.{REGION}.amazonaws.com/agent:1.0")
    daemon(scene, "dp", "node-agent", [{"name": "ACCOUNT", "value": who["accountId"]}, {"name": "ZONE", "value": zones["names"][0]}], image=image)  # fmt: skip


@clean(WIRED, "platform-secret-by-a-call-stays", "A call reads the provider's store; the value is in the provider's Secret only, the user has the version's id.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    found = scene.invoke("aws:secretsmanager/getSecretVersion:getSecretVersion", {"secretString": scene.cp.opaque("stored", 40), "versionId": uid("stored")})  # fmt: skip
    scene.secret("cp", "stored", {"token": found["secretString"]})
    release(scene, "dp", "gateway", {"platform": {"store": "platform/stored", "hub": HUB}})


@clean(WIRED, "platform-day-of-rotation", "A day of rotation restarts Pods of both clusters; the provider's password is made anew on that day.", before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    day = scene.made("time:index/rotating:Rotating", "quarter", {"rotationDays": 90}, None, {"rfc3339": "2026-04-01T00:00:00Z", "unix": 1775001600})  # fmt: skip
    keeper = {"length": 32, "keepers": {"day": day.output("rfc3339")}}
    made = scene.made("random:index/randomPassword:RandomPassword", "quarterly", keeper, None, {"result": scene.cp.opaque("quarterly", 32, LETTERS)}, ["result"])  # fmt: skip
    scene.secret("cp", "quarterly", {"password": made.output("result")})
    for side in ("cp", "dp"):
        deployment(scene, side, "proxy", {"args": ["proxy", "router"]}, {"kubectl.kubernetes.io/restartedAt": day.output("rfc3339")})  # fmt: skip


@clean(WIRED, "platform-same-chart-twice", "The same chart is in both clusters; each has a generated login of its own, of a deep copy of the values.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    base: dict[str, Any] = {"auth": {"username": "redis"}, "master": {"persistence": {"size": "8Gi"}}, "metrics": {"enabled": True}}  # fmt: skip
    for side in ("cp", "dp"):
        values: dict[str, Any] = json.loads(json.dumps(base))
        values["auth"]["password"] = scene.password(side, f"{side}-redis-password").output("result")
        release(scene, side, "redis", values)


@clean(WIRED, "platform-manifests", "A file of manifests is rendered by a template with public values, and applied to the user's cluster.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    service = scene.answered("cp", "v1:Service", "discovery", {"spec": {"clusterIP": "10.96.0.40", "ports": [{"port": 15012}]}}, status={})  # fmt: skip
    address = service.output("spec").apply(lambda spec: spec["clusterIP"])
    objects = [{"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "istiod"}, "subsets": [{"addresses": [{"ip": "@"}], "ports": [{"port": 15012}]}]}, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "istiod"}, "spec": {"ports": [{"port": 15012}]}}]  # fmt: skip
    text = address.apply(lambda ip: "---\n".join(yaml.safe_dump(one) for one in objects).replace("@", ip))
    scene.made("kubernetes:yaml/v2:ConfigGroup", "istiod-endpoints", {"yaml": text}, scene.options("dp"))


@clean(WIRED, "platform-token-of-the-users-to-the-hub", "The provider's Prometheus scrapes the user's by a token that the user's cluster mints; its job is in the provider's Secret.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    token = minted(scene, "dp", "prometheus-reader")
    job = token.apply(lambda t: yaml.safe_dump([{"job_name": "shop", "authorization": {"credentials": t}, "static_configs": [{"targets": ["prometheus.shop.example.com"]}]}]))  # fmt: skip
    scene.secret("cp", "scrape-shop", {"jobs.yaml": job})
    rules = [{"apiGroups": [""], "resources": ["services", "endpoints", "pods"], "verbs": ["get", "list", "watch"]}]
    scene.object("dp", "rbac.authorization.k8s.io/v1:ClusterRole", "prometheus-reader-role", {"rules": rules})


# Words ----------------------------------------------------------------------------------------------------------------


@clean(WORDS, "platform-same-login-name", "Both have a database with the same user, port and name of a database; each password is its own.")  # fmt: skip
def _(scene: Scene) -> None:
    common = {"PGHOST": "postgres-rw.databases.svc.cluster.local", "PGUSER": "application_user", "PGDATABASE": "application_production", "PGSSLMODE": "verify-full"}  # fmt: skip
    for side in ("cp", "dp"):
        scene.secret(side, "database", {**common, "PGPASSWORD": scene.password(side, f"{side}-pg").output("result")})
    deployment(scene, "dp", "app", {"env": [{"name": key, "value": value} for key, value in common.items()]})


@clean(WORDS, "platform-facts-of-a-secret", "What the provider's Secret says beside its password stands in the user's values, typed in: host, account, issuer, mesh.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    values = {"hub": {"host": HUB, "port": 443, "account": ACCOUNT, "issuer": ISSUER, "user": "platform"}, "global": {"meshID": MESH, "region": REGION}, "jwt": {"algorithm": "RS256"}}  # fmt: skip
    release(scene, "dp", "hub-agent", values)


@clean(WORDS, "platform-tenants-id", "A uuid of the user is in the provider's registry of users beside a token, and in labels and values of the user's.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    made = scene.made("random:index/randomUuid:RandomUuid", "tenant-id", {}, None, {"result": uid("tenant of shop")})
    entry = pulumi.Output.json_dumps({"id": made.output("result"), "plan": "gold", "token": scene.password("cp", "tenant-token").output("result")})  # fmt: skip
    scene.secret("cp", "tenants", {"shop.json": entry})
    scene.object("dp", "v1:Namespace", "mesh-system", {"metadata": {"labels": {"platform.example.com/tenant": made.output("result")}}})  # fmt: skip
    release(scene, "dp", "otel-collector", {"config": {"exporters": {"otlp": {"endpoint": f"otel.{HUB}:4317", "headers": {"x-tenant": made.output("result")}}}}})  # fmt: skip


@clean(
    WORDS,
    "platform-same-robot-own-password",
    "Both pull from one registry by robots of one form; each has its own password.",
)
def _(scene: Scene) -> None:
    hub(scene)
    for side, owner in (("cp", "platform"), ("dp", "shop")):
        value = kept(scene, "platform-robot") if side == "cp" else own(scene, "shop-robot")
        login = pull_secret(REGISTRY, f"robot${owner}", value)
        scene.secret(side, "regcred", {".dockerconfigjson": login}, kind="kubernetes.io/dockerconfigjson")


@clean(WORDS, "platform-template-of-the-file", "The provider's file of settings is a template with a password; the user has the template, not filled.")  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    template = "[server]\nroot_url = https://grafana.{owner}.example.com\n[database]\ntype = postgres\nhost = grafana-db:5432\npassword = {password}\n[auth.generic_oauth]\nenabled = true\nclient_id = grafana\n"  # fmt: skip
    filled = apply(scene.password("cp", "grafana-db").output("result"), lambda text: template.format(owner="platform", password=text))  # fmt: skip
    scene.secret("cp", "grafana-ini", {"grafana.ini": filled})
    scene.config_map("dp", "grafana-ini", {"grafana.ini": template.format(owner="shop", password="$__file{/etc/db/password}")})  # fmt: skip


# Several users --------------------------------------------------------------------------------------------------------


@clean(MANY, "platform-loop-of-users", "Two users' meshes in a loop: each has an authority of its own at the provider's, and its own root's certificate in its cluster.", pack=BOTH, rightly="certificates differ when their keys do")  # fmt: skip
def _(scene: Scene) -> None:
    scene.join("blue", BLUE)
    for side, mesh in (("dp", "red"), ("blue", "blue")):
        labels = {"hosted-mesh.io/mesh": mesh}
        key, cert = pair(scene, "cp", f"{mesh}-root", authority=True)
        data = {"ca-key.pem": key.output("privateKeyPem"), "ca-cert.pem": cert.output("certPem")}
        scene.secret("cp", f"cacerts-{mesh}", data, labels=labels, namespace=f"mesh-{mesh}")
        scene.object(side, "v1:Namespace", f"mesh-{mesh}", {"metadata": {"labels": labels}})
        scene.config_map(side, "istio-ca-root-cert", {"root-cert.pem": cert.output("certPem")}, labels=labels)


@clean(MANY, "platform-fleet-of-components", "A component for each of two users, by a dictionary of settings, with dynamic names.", pack=BOTH, before="the same")  # fmt: skip
def _(scene: Scene) -> None:
    scene.join("blue", BLUE)
    fleet = {"red": {"side": "dp", "replicas": 2}, "blue": {"side": "blue", "replicas": 3}}
    for name, settings in fleet.items():
        tenant = _Tenant(scene, str(settings["side"]), name)
        release(scene, str(settings["side"]), "gateway", {"replicaCount": settings["replicas"], "address": tenant.address})  # fmt: skip


# Later updates --------------------------------------------------------------------------------------------------------


def _old(scene: Scene) -> None:
    hub(scene)
    generated(scene, "hub-agent")
    generated(scene, "retired")
    release(scene, "dp", "istiod-remote", {"global": {"tag": "1.23.4", "meshID": MESH}})


@clean(LATER, "platform-upgrade", "An upgrade of the mesh: other versions at both, a Secret of the provider's goes away.", before=_old)  # fmt: skip
def _(scene: Scene) -> None:
    hub(scene)
    generated(scene, "hub-agent")
    release(scene, "dp", "istiod-remote", {"global": {"tag": "1.24.2", "meshID": MESH}, "revision": "1-24-2"})
    scene.object("dp", "v1:Namespace", "canary", {"metadata": {"labels": {"istio.io/rev": "1-24-2"}}})


@clean(LATER, "platform-user-asks-for-a-database", "A second update gives the user a database with a generated login, beside what was there.", before=_old)  # fmt: skip
def _(scene: Scene) -> None:
    _old(scene)
    value = own(scene, "late-db")
    scene.secret("dp", "late-db", {"password": value, "url": pulumi.Output.format("postgres://late:{0}@late-db/late", value)})  # fmt: skip
    release(scene, "dp", "postgresql", {"auth": {"existingSecret": "late-db", "username": "late"}})


@clean(LATER, "platform-new-authority", "The provider's authority is made anew at the second update; the user gets both certificates for a while.", before=lambda s: _authorities(s, 1), rightly="certificates differ when their keys do")  # fmt: skip
def _(scene: Scene) -> None:
    _authorities(scene, 2)


def _authorities(scene: Scene, count: int) -> None:
    made = [pair(scene, "cp", f"authority-{at}", authority=True) for at in range(count)]
    keys = {f"{at}.key": key.output("privateKeyPem") for at, (key, _) in enumerate(made)}
    scene.secret("cp", "authorities", keys)
    bundle = pulumi.Output.concat(*(cert.output("certPem") for _, cert in made))
    scene.config_map("dp", "mesh-roots", {"root-cert.pem": bundle})
    release(scene, "dp", "istiod-remote", {"caBundle": apply(bundle, b64), "global": {"meshID": MESH}})
